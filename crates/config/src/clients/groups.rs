//! Every server a file has, for whatever folder, each in our own words.

use std::path::Path;

use super::convert::disabled;
use super::recognize::{is_bare, recognize, root_of};
use super::table::Client;
use super::{at, entry, named, own_root};
use crate::file::{Node, Object};
use crate::problem::{Problem, Problems};

/// The servers of a file.
pub(crate) struct Groups {
    /// Whose file it is; `None` for one of our own.
    pub(crate) client: Option<&'static Client>,
    pub(crate) groups: Vec<Group>,
    /// What the program asks its user for.
    pub(crate) inputs: Vec<Object>,
}

/// Those that are meant for the same folder.
pub(crate) struct Group {
    /// The folder; `None` for those that are used everywhere.
    pub(crate) folder: Option<String>,
    pub(crate) entries: Vec<Entry>,
    /// Servers this folder goes without, its own and others.
    pub(crate) disabled: Vec<String>,
}

/// One server.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) node: Node,
    /// What was said while it was brought into our words.
    pub(crate) problems: Vec<Problem>,
}

/// Takes all servers out of a file that is this program's, or whoever's it turns out to be.
pub(crate) fn groups(
    document: &Object,
    path: &Path,
    client: Option<&'static Client>,
    problems: &mut Problems,
) -> Groups {
    let told = match client {
        Some(client) => root_of(client, document, true).map(|root| (client, root)),
        None => recognize(document, Some(path)).map(|told| (told.client, told.root)),
    };
    let Some((client, root)) = told else {
        let groups = if client.is_some() { Vec::new() } else { own(document) };
        return Groups { client, groups, inputs: Vec::new() };
    };
    let mut everywhere = Group::of(client, None, at(document, root));
    everywhere.disabled = switched_off(client, document, &everywhere.entries);
    let mut groups = vec![everywhere];
    let projects = client.projects.as_ref().and_then(|key| document.object(key));
    for (folder, project) in projects.into_iter().flat_map(|projects| &projects.members) {
        let Some(project) = project.object() else { continue };
        let mut group = Group::of(client, Some(folder), at(project, root));
        group.disabled = disabled(project, folder, problems).into_iter().map(str::to_owned).collect();
        groups.push(group);
    }
    let beside = root.split_last().map(|(_, way)| way).unwrap_or_default();
    let beside = if beside.is_empty() { Some(document) } else { at(document, beside).and_then(Node::object) };
    let inputs = beside.and_then(|object| object.members.get("inputs")).and_then(Node::list);
    let inputs = inputs.unwrap_or_default().iter().filter_map(|input| input.object().cloned()).collect();
    Groups { client: Some(client), groups, inputs }
}

/// Returns the servers that lists beside them do not let be used.
fn switched_off(client: &Client, document: &Object, entries: &[Entry]) -> Vec<String> {
    let list = |path: &[String]| {
        let names = at(document, path)?.list()?.iter().filter_map(Node::written);
        Some(names.collect::<Vec<_>>())
    };
    let (allowed, excluded) = (list(&client.allowed), list(&client.excluded));
    let is_off = |name: &str| {
        allowed.as_ref().is_some_and(|names| !names.contains(&name))
            || excluded.as_ref().is_some_and(|names| names.contains(&name))
    };
    entries.iter().map(|entry| entry.name.clone()).filter(|name| is_off(name)).collect()
}

/// A file in one of our own formats, or a bare map of servers.
fn own(document: &Object) -> Vec<Group> {
    if is_bare(document) {
        let servers = document.members.iter().filter(|(key, _)| *key != "$schema");
        return vec![Group::plain(servers.map(|(name, node)| (name.clone(), node.clone())))];
    }
    let plain = |node: Option<&Node>| {
        let mut node = node?.clone();
        entry::unfold_transports(&mut node);
        let entries = named(&node).into_iter().filter_map(|(name, node)| Some((name?, node.clone())));
        Some(Group::plain(entries))
    };
    match own_root(document) {
        "schemas" => {
            let schemas = document.object("schemas").into_iter().flat_map(|schemas| schemas.members.values());
            schemas.filter_map(|schema| plain(schema.object()?.members.get("mcpServers"))).collect()
        }
        root => plain(document.members.get(root)).into_iter().collect(),
    }
}

impl Group {
    fn of(client: &'static Client, folder: Option<&String>, servers: Option<&Node>) -> Self {
        let mut entries = Vec::new();
        for (name, node) in servers.map(named).unwrap_or_default() {
            let Some(name) = name else { continue };
            let mut problems = Problems::default();
            // What only the program itself can run is nothing we could take over.
            if let Some(node) = entry::convert(client, node, &name, &mut problems) {
                entries.push(Entry { name, node, problems: problems.into_sorted() });
            }
        }
        Self { folder: folder.cloned(), entries, disabled: Vec::new() }
    }

    fn plain(servers: impl Iterator<Item = (String, Node)>) -> Self {
        let entries = servers.map(|(name, node)| Entry { name, node, problems: Vec::new() });
        Self { folder: None, entries: entries.collect(), disabled: Vec::new() }
    }
}
