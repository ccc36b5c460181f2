//! Where else in a file a server is named: in namespaces and in rules.

use super::super::change::{Change, Step, key, text};
use super::super::locate::Found;
use super::{below, written};
use crate::file::{Node, Object, Value};
use crate::keys::table::{NAMESPACE, PERMISSION, SCHEMA, TOP};

/// One place that names a server.
enum Reference {
    /// An item of a list of ids.
    Item(Vec<Step>),
    /// A member by that name.
    Member(Vec<Step>),
    /// A rule about it, and where in the rule its name is.
    Rule(Vec<Step>, Vec<Step>),
}

/// Returns the changes after which nothing names the server; from the end, so that lists keep their numbers.
pub(super) fn removals(document: &Object, server: Option<&&Found>) -> Vec<Change> {
    let references = server.map(|server| references(document, server)).unwrap_or_default();
    let removal = |reference| match reference {
        Reference::Item(at) | Reference::Member(at) | Reference::Rule(at, _) => Change::Remove { at },
    };
    references.into_iter().rev().map(removal).collect()
}

/// Returns the changes after which all that names the server calls it so.
pub(super) fn renames(document: &Object, server: &Found, to: &str) -> Vec<Change> {
    let rename = |reference| match reference {
        Reference::Item(at) | Reference::Rule(_, at) => Change::Set { at, value: text(to) },
        Reference::Member(at) => Change::Rename { at, to: to.to_owned() },
    };
    references(document, server).into_iter().map(rename).collect()
}

fn references(document: &Object, server: &Found) -> Vec<Reference> {
    let mut references = Vec::new();
    match &server.schema {
        Some(schema) => {
            let place = vec![key("schemas"), key(schema)];
            let object = super::at(document, &place).and_then(Node::object);
            references.extend(object.and_then(|object| default_of(object, &SCHEMA, &place, &server.id)));
        }
        None => {
            for (place, namespace) in namespaces(document) {
                references.extend(members_of(namespace, &place, &server.id));
                references.extend(default_of(namespace, &NAMESPACE, &place, &server.id));
            }
        }
    }
    references.extend(rules_about(document, server));
    references
}

/// Returns each namespace with the way to it.
pub(super) fn namespaces(document: &Object) -> Vec<(Vec<Step>, &Object)> {
    let Some(name) = written(document, &TOP, "namespaces") else { return Vec::new() };
    let step = |step| vec![key(name), step];
    match document.members.get(name).map(|node| &node.value) {
        Some(Value::Object(map)) => {
            let entries = map.members.iter();
            entries.filter_map(|(id, node)| Some((step(key(id)), node.object()?))).collect()
        }
        Some(Value::List(items)) => {
            let entries = items.iter().enumerate();
            entries.filter_map(|(at, node)| Some((step(Step::Index(at)), node.object()?))).collect()
        }
        _ => Vec::new(),
    }
}

fn members_of(namespace: &Object, place: &[Step], id: &str) -> Vec<Reference> {
    let ids = namespace.members.get("serverIds").and_then(Node::list).unwrap_or_default();
    let named = ids.iter().enumerate().filter(|(_, node)| node.written() == Some(id));
    let item = |index| below(place, "serverIds").into_iter().chain([Step::Index(index)]).collect();
    named.map(|(index, _)| Reference::Item(item(index))).collect()
}

fn default_of(
    object: &Object,
    section: &crate::keys::Section,
    place: &[Step],
    id: &str,
) -> Option<Reference> {
    let name = written(object, section, "serverDefaults")?;
    object.object(name)?.members.get(id)?;
    Some(Reference::Member(below(&below(place, name), id)))
}

fn rules_about(document: &Object, server: &Found) -> Vec<Reference> {
    let Some(name) = written(document, &TOP, "toolPermissions") else { return Vec::new() };
    let rules = document.members.get(name).and_then(Node::list).unwrap_or_default();
    let about = |(index, rule): (usize, &Node)| {
        let rule = rule.object()?;
        let of_schema =
            server.schema.is_none() || said(rule, NAMESPACE_OF).map(|(_, it)| it) == server.schema.as_deref();
        let (spelt, id) = said(rule, SERVER_OF)?;
        let place = vec![key(name), Step::Index(index)];
        (of_schema && id == server.id).then(|| Reference::Rule(place.clone(), below(&place, spelt)))
    };
    rules.iter().enumerate().filter_map(about).collect()
}

pub(super) const NAMESPACE_OF: [&str; 2] = ["namespaceId", "namespace"];
pub(super) const SERVER_OF: [&str; 2] = ["serverId", "server"];

/// Returns how one of two keys of a rule is spelt there, and what it says; the first of them counts.
pub(super) fn said<'a>(rule: &'a Object, either: [&str; 2]) -> Option<(&'a str, &'a str)> {
    either.into_iter().find_map(|name| {
        let spelt = written(rule, &PERMISSION, name)?;
        Some((spelt, rule.written(spelt)?))
    })
}
