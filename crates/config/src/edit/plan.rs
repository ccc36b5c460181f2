//! From what is wanted to changes of the tree.

mod permission;
mod references;

use super::change::{Change, Step, agrees, at, key, object, text};
use super::locate::{Found, Home, Servers, in_schema};
use super::{Edit, EditError};
use crate::expand::Text;
use crate::file::{Node, Object, Value};
use crate::keys::Section;
use crate::keys::table::SERVER;
use crate::meant::respelled;
use crate::problem::Problems;
use crate::syntax::Syntax;

/// Returns the changes that bring about what is wanted; none where it is so already.
pub(super) fn plan(edit: &Edit, document: &Object, servers: &Servers) -> Result<Vec<Change>, EditError> {
    match edit {
        Edit::Text(_) => Ok(Vec::new()),
        Edit::PutServer { id, entry } => put(id, entry, document, servers),
        Edit::RemoveServer { id } => {
            let found = servers.find(id)?;
            let mut changes = references::removals(document, found.first());
            // From the end, so that the items of a list keep their numbers.
            changes.extend(found.iter().rev().map(|one| Change::Remove { at: one.at.clone() }));
            Ok(changes)
        }
        Edit::RenameServer { id, to } => rename(id, to, document, servers),
        Edit::SetEnabled { id, enabled } => set_enabled(id, *enabled, document, servers),
        Edit::SetPermission { namespace, server, kind, name, allow } => {
            let item = permission::Item { namespace, server, kind: *kind, name };
            permission::plan(&item, *allow, document, servers)
        }
    }
}

fn put(id: &str, entry: &str, document: &Object, servers: &Servers) -> Result<Vec<Change>, EditError> {
    let entry = read_entry(entry)?;
    match servers.find(id) {
        Ok(found) => {
            let Some(there) = found.last() else { return Ok(Vec::new()) };
            Ok(replacement(document, there, entry))
        }
        Err(EditError::NoSuchServer { .. }) => add(id, entry, servers),
        Err(other) => Err(other),
    }
}

fn read_entry(entry: &str) -> Result<Object, EditError> {
    let wrong = |what: &str| EditError::BadEntry(format!("the entry of a server {what}"));
    match Syntax::Json.read(entry, &mut Problems::default()) {
        Ok(Some(Node { value: Value::Object(object), .. })) => Ok(object),
        Ok(_) => Err(wrong("is an object")),
        Err(_) => Err(wrong("is JSON, which this is not")),
    }
}

fn add(id: &str, entry: Object, servers: &Servers) -> Result<Vec<Change>, EditError> {
    if id.is_empty() {
        return Err(EditError::BadEntry("a server needs an id".to_owned()));
    }
    let (root, id) = match &servers.home {
        Home::Map(root) => (root.clone(), id),
        Home::List(root) => {
            let named = [("name".to_owned(), text(id))];
            let members = entry.members.into_iter().filter(|(key, _)| key != "name");
            let value = object(named.into_iter().chain(members.map(|(key, node)| (key, node.value))));
            return Ok(vec![Change::Push { list: root.clone(), value }]);
        }
        Home::Schemas(schemas) => {
            let named = schemas.iter().find_map(|schema| {
                Some((
                    schema,
                    id.strip_prefix(schema.as_str())?.strip_prefix('/').filter(|id| !id.is_empty())?,
                ))
            });
            match (named, schemas.as_slice()) {
                (Some((schema, id)), _) => (in_schema(schema), id),
                (None, [only]) => (in_schema(only), id),
                (None, _) => {
                    let what =
                        format!("say which schema it is for, as in `schema/{id}`: {}", schemas.join(", "));
                    return Err(EditError::BadEntry(what));
                }
            }
        }
    };
    Ok(vec![Change::Set { at: below(&root, id), value: Value::Object(entry) }])
}

/// Writes only what differs, so that the comments in an entry stay.
fn replacement(document: &Object, there: &Found, mut entry: Object) -> Vec<Change> {
    let Some(old) = at(document, &there.at) else { return Vec::new() };
    if let (Some(Step::Index(_)), Some(name)) =
        (there.at.last(), old.object().and_then(|old| old.members.get("name")))
    {
        entry.members.insert("name".to_owned(), name.clone());
    }
    let new = Node { line: 1, value: Value::Object(entry) };
    let mut changes = Vec::new();
    differences(&there.at, old, &new, &mut changes);
    changes
}

pub(super) fn differences(place: &[Step], old: &Node, new: &Node, changes: &mut Vec<Change>) {
    if let (Some(before @ [_, ..]), Some(after @ [_, ..])) = (old.list(), new.list()) {
        return list_differences(place, before, after, changes);
    }
    let (Some(before), Some(after)) = (old.object(), new.object()) else {
        if !agrees(None, new, old) {
            changes.push(Change::Set { at: place.to_vec(), value: new.value.clone() });
        }
        return;
    };
    if before.members.is_empty() || after.members.is_empty() {
        if before.members.len() != after.members.len() {
            changes.push(Change::Set { at: place.to_vec(), value: new.value.clone() });
        }
        return;
    }
    for (key, node) in &after.members {
        match before.members.get(key) {
            Some(old) => differences(&below(place, key), old, node, changes),
            None => changes.push(Change::Set { at: below(place, key), value: node.value.clone() }),
        }
    }
    for gone in before.members.keys().filter(|key| !after.members.contains_key(*key)) {
        changes.push(Change::Remove { at: below(place, gone) });
    }
}

/// Writes item by item, so that the comments between them stay.
fn list_differences(place: &[Step], before: &[Node], after: &[Node], changes: &mut Vec<Change>) {
    let item = |index: usize| place.iter().cloned().chain([Step::Index(index)]).collect::<Vec<_>>();
    for (index, (old, new)) in before.iter().zip(after).enumerate() {
        differences(&item(index), old, new, changes);
    }
    let removed = (after.len()..before.len()).rev();
    changes.extend(removed.map(|index| Change::Remove { at: item(index) }));
    let added = after.iter().skip(before.len());
    changes.extend(added.map(|new| Change::Push { list: place.to_vec(), value: new.value.clone() }));
}

fn rename(id: &str, to: &str, document: &Object, servers: &Servers) -> Result<Vec<Change>, EditError> {
    let found = servers.find(id)?;
    let Some(first) = found.first() else { return Ok(Vec::new()) };
    if first.id == to {
        return Ok(Vec::new());
    }
    if to.is_empty() {
        return Err(EditError::BadEntry("a server needs an id".to_owned()));
    }
    if servers.found.iter().any(|one| one.id == to && one.schema == first.schema) {
        return Err(EditError::ServerExists { id: to.to_owned() });
    }
    let mut changes = references::renames(document, first, to);
    changes.extend(found.iter().map(|one| match one.at.last() {
        Some(Step::Index(_)) => Change::Set { at: below(&one.at, "name"), value: text(to) },
        _ => Change::Rename { at: one.at.clone(), to: to.to_owned() },
    }));
    Ok(changes)
}

fn set_enabled(
    id: &str,
    enabled: bool,
    document: &Object,
    servers: &Servers,
) -> Result<Vec<Change>, EditError> {
    let found = servers.find(id)?;
    let Some(there) = found.last() else { return Ok(Vec::new()) };
    let Some(entry) = at(document, &there.at).and_then(Node::object) else {
        return Err(EditError::BadEntry(format!("the entry of `{id}` is no object")));
    };
    let (on, off) = (written(entry, &SERVER, "enabled"), written(entry, &SERVER, "disabled"));
    let set = |key: &str, flag: bool| Change::Set { at: below(&there.at, key), value: Value::Flag(flag) };
    let differs = |key: Option<&str>, flag: bool| {
        key.filter(|key| entry.members.get(*key).and_then(flag_of) != Some(flag)).map(|key| set(key, flag))
    };
    if enabled {
        let mut changes = Vec::from_iter(differs(on, true));
        changes.extend(switched_on(entry, off, there));
        changes.extend(in_disabled_list(id, document, servers));
        return Ok(changes);
    }
    let is_off = |key: Option<&str>, flag| key.is_some() && differs(key, flag).is_none();
    Ok(match (on, off) {
        _ if is_off(on, false) || is_off(off, true) => Vec::new(),
        (Some(on), _) => vec![set(on, false)],
        (None, Some(off)) => vec![set(off, true)],
        (None, None) if says_disabled(document, there, servers) => vec![set("disabled", true)],
        (None, None) => vec![set("enabled", false)],
    })
}

/// Takes a `disabled` away again where it stands last, as one does that we wrote; any other is turned.
fn switched_on(entry: &Object, off: Option<&str>, there: &Found) -> Option<Change> {
    let off = off?;
    let node = entry.members.get(off)?;
    // Tables below it come last in TOML.
    let mut plain = entry.members.iter().filter(|(_, node)| node.object().is_none());
    let is_last = plain.next_back().is_some_and(|(last, _)| last == off);
    let at = below(&there.at, off);
    match flag_of(node) {
        Some(false) => None,
        _ if is_last && entry.members.len() > 1 => Some(Change::Remove { at }),
        _ => Some(Change::Set { at, value: Value::Flag(false) }),
    }
}

fn in_disabled_list(id: &str, document: &Object, servers: &Servers) -> Vec<Change> {
    let Some(list) = &servers.disabled else { return Vec::new() };
    let names = at(document, list).and_then(Node::list).unwrap_or_default();
    let named = names.iter().enumerate().filter(|(_, name)| name.written() == Some(id)).rev();
    let item = |index: usize| list.iter().cloned().chain([Step::Index(index)]).collect();
    named.map(|(index, _)| Change::Remove { at: item(index) }).collect()
}

/// Tells how the file says that a server is not used: as its other servers do, else as such files do.
fn says_disabled(document: &Object, there: &Found, servers: &Servers) -> bool {
    let entries = servers.found.iter().filter_map(|one| at(document, &one.at)?.object());
    let said = entries.into_iter().find_map(|entry| {
        let says = |name| written(entry, &SERVER, name).is_some();
        says("disabled").then_some(true).or(says("enabled").then_some(false))
    });
    said.unwrap_or_else(|| {
        let root = there.at.iter().rev().nth(1);
        matches!(root, None | Some(Step::Index(_)))
            || matches!(root, Some(Step::Key(root)) if root.ends_with("mcpServers"))
    })
}

/// Returns how a key is spelt here, if it is there.
fn written<'a>(object: &'a Object, section: &Section, name: &str) -> Option<&'a str> {
    let exact = object.members.get_key_value(name).map(|(key, _)| key.as_str());
    exact.or_else(|| {
        object.members.keys().find(|key| respelled(section, key) == Some(name)).map(String::as_str)
    })
}

/// Returns a flag as it is read.
fn flag_of(node: &Node) -> Option<bool> {
    let read = |text: &Text| match text.raw.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    match &node.value {
        Value::Flag(flag) => Some(*flag),
        Value::Text(text) => read(text),
        _ => None,
    }
}

pub(super) fn below(place: &[Step], last: &str) -> Vec<Step> {
    place.iter().cloned().chain([key(last)]).collect()
}
