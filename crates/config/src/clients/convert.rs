//! A file of another program, in the shape of `mcpServers`.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::recognize::{Told, size};
use super::table::Client;
use super::{OWN_ROOTS, at, entry, named};
use crate::environment::Environment;
use crate::file::{Node, Object, Value};
use crate::keys::table::TOP;
use crate::problem::Problems;

impl Told {
    /// Takes the servers out of the file, each entry in our own words: those for one folder, or for any.
    pub(super) fn convert(
        self,
        mut document: Object,
        folder: Option<&Path>,
        problems: &mut Problems,
    ) -> Object {
        let mut servers = IndexMap::new();
        let mut line = 1;
        if let Some(node) = at(&document, self.root) {
            line = node.line;
            if !matches!(node.value, Value::Object(_) | Value::List(_) | Value::Null) {
                return Object {
                    line: 1,
                    members: IndexMap::from([("mcpServers".to_owned(), node.clone())]),
                };
            }
            self.take(node, &self.root.join("."), &mut servers, problems);
        }
        match folder {
            Some(folder) => self.take_project(&document, folder, &mut servers, problems),
            None => self.take_every_project(&document, &mut servers, problems),
        }
        let node = Node { line, value: Value::Object(Object { line, members: servers }) };
        match self.root {
            [own] if OWN_ROOTS.contains(&own.as_str()) => {
                if self.client.settings && self.surely {
                    document.members.retain(|key, _| TOP.key(key).is_some());
                }
                document.members.insert(own.clone(), node);
                document
            }
            _ => Object { line: 1, members: IndexMap::from([("mcpServers".to_owned(), node)]) },
        }
    }

    fn take(&self, node: &Node, place: &str, servers: &mut IndexMap<String, Node>, problems: &mut Problems) {
        for (index, (name, item)) in named(node).into_iter().enumerate() {
            let Some(name) = name else {
                let place = format!("{place}[{index}]");
                problems.warn(item.line, &place, "has no `name`", Some("it is left out".to_owned()));
                continue;
            };
            if let Some(entry) = entry::convert(self.client, item, &format!("{place}.{name}"), problems) {
                servers.insert(name, entry);
            }
        }
    }

    /// Adds what the program would use in any folder, under names that say which.
    fn take_every_project(
        &self,
        document: &Object,
        servers: &mut IndexMap<String, Node>,
        problems: &mut Problems,
    ) {
        let projects = self.client.projects.as_ref().and_then(|key| document.object(key));
        for (folder, project) in projects.into_iter().flat_map(|projects| &projects.members) {
            let mut own = IndexMap::new();
            if let Some(node) = project.object().and_then(|project| at(project, self.root)) {
                self.take(node, folder, &mut own, problems);
            }
            servers.extend(own.into_iter().map(|(name, node)| (format!("{name} in {folder}"), node)));
        }
    }

    /// Returns the project that has servers for this folder, and its own folder.
    pub(super) fn project<'a>(
        &self,
        document: &'a Object,
        folder: &'a Path,
    ) -> Option<(&'a str, &'a Object)> {
        let projects = document.object(self.client.projects.as_ref()?)?;
        folder.ancestors().filter_map(Path::to_str).find_map(|folder| {
            let project = projects.object(folder)?;
            at(project, self.root).is_some_and(|node| size(node) > 0).then_some((folder, project))
        })
    }

    /// Adds what the program would use in the folder we are in; it comes before what holds everywhere.
    fn take_project(
        &self,
        document: &Object,
        folder: &Path,
        servers: &mut IndexMap<String, Node>,
        problems: &mut Problems,
    ) {
        let Some(key) = &self.client.projects else { return };
        let Some(projects) = document.object(key) else { return };
        let Some((folder, project)) = self.project(document, folder) else {
            if servers.is_empty() {
                tell_other_projects(projects, self.root, key, problems);
            }
            return;
        };
        if let Some(node) = at(project, self.root) {
            self.take(node, &format!("{key}.{folder}.{}", self.root.join(".")), servers, problems);
        }
        for name in disabled(project, &format!("{key}.{folder}"), problems) {
            if let Some(Node { value: Value::Object(entry), line }) = servers.get_mut(name) {
                let flag = Node { line: *line, value: Value::Flag(true) };
                entry.members.insert("disabled".to_owned(), flag);
            }
        }
    }
}

/// The servers a project goes without.
pub(super) const DISABLED: &str = "disabledMcpServers";

/// Returns the servers a project goes without. A list that cannot be read must not mean that all are used.
pub(super) fn disabled<'a>(project: &'a Object, place: &str, problems: &mut Problems) -> Vec<&'a str> {
    let Some(node) = project.members.get(DISABLED).filter(|node| !matches!(node.value, Value::Null)) else {
        return Vec::new();
    };
    let names: Option<Vec<&str>> = match &node.value {
        Value::Text(name) => Some(vec![&name.raw]),
        Value::List(items) => items.iter().map(Node::written).collect(),
        _ => None,
    };
    names.unwrap_or_else(|| {
        let hint = "write a list of names".to_owned();
        problems.refuse(node.line, &format!("{place}.{DISABLED}"), "is no list of names", Some(hint));
        Vec::new()
    })
}

fn tell_other_projects(projects: &Object, root: &[String], key: &str, problems: &mut Problems) {
    let with_servers = projects.members.iter().filter(|(_, project)| {
        project.object().and_then(|project| at(project, root)).is_some_and(|node| size(node) > 0)
    });
    let folders: Vec<&str> = with_servers.map(|(folder, _)| folder.as_str()).collect();
    if !folders.is_empty() {
        let what = format!("its servers belong to other folders: {}", folders.join(", "));
        let hint = "start in one of these, or copy its servers to a file of your own".to_owned();
        problems.warn(projects.line, key, what, Some(hint));
    }
}

pub(super) fn servers_only(servers: Object) -> Object {
    let node = Node { line: 1, value: Value::Object(servers) };
    Object { line: 1, members: IndexMap::from([("mcpServers".to_owned(), node)]) }
}

/// Returns the folder an editor would have open: the project whose file this is, else where we were started.
pub(super) fn workspace(client: Option<&Client>, path: Option<&Path>, environment: &Environment) -> PathBuf {
    let path = path.map(|path| environment.cwd.join(path));
    let project = path.as_deref().and_then(|path| client?.project_of(path));
    // The file of a user lies in the home folder as that of a project does in its own.
    let project = project.filter(|project| Some(*project) != environment.home.as_deref());
    project.unwrap_or(&environment.cwd).to_path_buf()
}
