//! Whose file it is, told by its content and its name.

use std::path::Path;

use super::table::{Client, clients};
use super::{OWN_ROOTS, SERVER_KEYS, at};
use crate::file::{Node, Object, Value};
use crate::keys::table::{SERVER, TOP};

/// Whose file it is, and where its servers are.
pub(super) struct Told {
    pub(super) client: &'static Client,
    pub(super) root: &'static [String],
    /// By more than where its servers stand.
    pub(super) surely: bool,
}

pub(super) fn recognize(document: &Object, path: Option<&Path>) -> Option<Told> {
    let own = OWN_ROOTS.iter().any(|root| document.members.get(*root).is_some_and(|node| size(node) > 0));
    let mut best: Option<(u32, Told)> = None;
    for client in clients() {
        let by_file = path.is_some_and(|path| client.keeps(path));
        let by_sign = client.signs.iter().any(|sign| document.members.contains_key(sign));
        let Some(root) = root_of(client, document, by_sign) else { continue };
        let is_own = matches!(root, [only] if OWN_ROOTS.contains(&only.as_str()));
        let node = at(document, root);
        let by_list = client.list && node.is_some_and(|node| node.list().is_some());
        let fits = by_file || node.is_none_or(|node| client.list == node.list().is_some());
        let surely = by_file || by_sign || by_list;
        if (own && !is_own) || (is_own && !surely) || (client.by_file && !by_file) || !fits {
            continue;
        }
        let points = 8 * u32::from(by_file)
            + 4 * u32::from(by_sign)
            + 2 * u32::from(node.is_some_and(|node| has_its_shape(client, node)))
            + u32::from(node.is_some_and(|node| size(node) > 0));
        if best.as_ref().is_none_or(|(most, _)| points > *most) {
            best = Some((points, Told { client, root, surely }));
        }
    }
    best.map(|(_, told)| told)
}

/// Returns the first of a program's roots that holds servers, or that is there to hold some.
pub(super) fn root_of(
    client: &'static Client,
    document: &Object,
    by_sign: bool,
) -> Option<&'static [String]> {
    let holds = |root: &&Vec<String>| at(document, root).is_some_and(|node| entries(node).any(is_server));
    let waits = |root: &&Vec<String>| {
        at(document, root).is_some_and(|node| size(node) == 0 && !matches!(node.value, Value::Null))
    };
    let found = client.roots.iter().find(holds).or_else(|| client.roots.iter().find(waits));
    let of_projects = || {
        let has_projects = by_sign && document.object(client.projects.as_deref()?).is_some();
        client.roots.first().filter(|_| has_projects)
    };
    found.or_else(of_projects).map(Vec::as_slice)
}

/// Tells whether the whole file is a map of servers by name, without a key around it.
pub(super) fn is_bare(document: &Object) -> bool {
    let is_setting = |key: &String| key != "$schema" && TOP.key(key).is_some();
    document.members.values().any(is_server) && !document.members.keys().any(is_setting)
}

pub(super) fn size(node: &Node) -> usize {
    match &node.value {
        Value::Object(object) => object.members.len(),
        Value::List(items) => items.len(),
        _ => 0,
    }
}

fn entries(node: &Node) -> impl Iterator<Item = &Node> {
    let members = node.object().into_iter().flat_map(|object| object.members.values());
    members.chain(node.list().unwrap_or_default())
}

fn is_server(node: &Node) -> bool {
    let has = |object: &Object| SERVER_KEYS.iter().any(|key| object.members.contains_key(*key));
    let Some(object) = node.object() else { return false };
    has(object)
        || object.object("transport").is_some_and(has)
        || object.members.contains_key("builtin")
        || object.members.contains_key("replay")
}

/// Tells whether entries are written as only this program writes them.
fn has_its_shape(client: &Client, node: &Node) -> bool {
    let of_its_type = |entry: &Object| {
        entry.written("type").is_some_and(|said| client.types.iter().any(|(known, _)| known == said))
    };
    let with_its_keys = |entry: &Object| {
        let mut keys = client.fields.iter().filter_map(|(key, _)| key.split('.').next());
        keys.any(|key| SERVER.key(key).is_none() && entry.members.contains_key(key))
    };
    entries(node).filter_map(Node::object).any(|entry| of_its_type(entry) || with_its_keys(entry))
}
