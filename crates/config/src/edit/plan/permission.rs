//! The rule for one item of a server in a namespace.

use super::super::change::{Change, Step, key, object, text};
use super::super::locate::{Home, Servers};
use super::super::{EditError, PermissionKind};
use super::references::{NAMESPACE_OF, SERVER_OF, namespaces, said};
use super::{below, flag_of, written};
use crate::file::{Node, Object, Value};
use crate::keys::table::{PERMISSION, TOP};

/// What a rule is about.
pub(super) struct Item<'a> {
    pub(super) namespace: &'a str,
    pub(super) server: &'a str,
    pub(super) kind: PermissionKind,
    pub(super) name: &'a str,
}

const LABELS: [&str; 3] = ["toolName", "promptName", "resourceUri"];

/// A rule about the item.
struct Rule<'a> {
    at: Vec<Step>,
    rule: &'a Object,
    /// How the key that names the item is spelt.
    label: &'a str,
    /// It is about this item alone.
    alone: bool,
}

pub(super) fn plan(
    item: &Item<'_>,
    allow: Option<bool>,
    document: &Object,
    servers: &Servers,
) -> Result<Vec<Change>, EditError> {
    let server = server_in_namespace(item, document, servers)?;
    let list = written(document, &TOP, "toolPermissions").unwrap_or("toolPermissions");
    let rules = document.members.get(list).and_then(Node::list).unwrap_or_default();
    let about = rules
        .iter()
        .enumerate()
        .filter_map(|(index, rule)| Some((vec![key(list), Step::Index(index)], rule.object()?)));
    let mut about: Vec<Rule<'_>> = about.filter_map(|(at, rule)| matches(item, &server, at, rule)).collect();
    let Some(allow) = allow else {
        // A list of no rules says nothing.
        if about.len() == rules.len() && !about.is_empty() && about.iter().all(|rule| rule.alone) {
            return Ok(vec![Change::Remove { at: vec![key(list)] }]);
        }
        // From the end, so that the others keep their numbers.
        return Ok(about.drain(..).rev().map(Rule::without).collect());
    };
    // Of several the last one counts.
    match about.pop() {
        Some(last) if last.allows() == allow => Ok(Vec::new()),
        Some(last) if last.alone => {
            let enabled = written(last.rule, &PERMISSION, "enabled").unwrap_or("enabled");
            Ok(vec![Change::Set { at: below(&last.at, enabled), value: Value::Flag(allow) }])
        }
        _ => Ok(vec![Change::Push { list: vec![key(list)], value: new_rule(item, &server, allow, rules) }]),
    }
}

/// Returns the server's id in the namespace.
fn server_in_namespace(item: &Item<'_>, document: &Object, servers: &Servers) -> Result<String, EditError> {
    let unknown = |exists: Vec<String>| EditError::NoSuchNamespace { id: item.namespace.to_owned(), exists };
    let outside =
        || EditError::NotInNamespace { namespace: item.namespace.to_owned(), server: item.server.to_owned() };
    if let Home::Schemas(schemas) = &servers.home {
        if !schemas.iter().any(|schema| schema == item.namespace) {
            return Err(unknown(schemas.clone()));
        }
        let own = item.server.strip_prefix(item.namespace).and_then(|rest| rest.strip_prefix('/'));
        let is_there = |id: &str| {
            servers.found.iter().any(|one| one.schema.as_deref() == Some(item.namespace) && one.id == id)
        };
        let found = [Some(item.server), own].into_iter().flatten().find(|id| is_there(id));
        return found.map(str::to_owned).ok_or_else(outside);
    }
    servers.find(item.server)?;
    let all: Vec<(String, &Object)> =
        namespaces(document).into_iter().filter_map(|(at, one)| Some((id_of(&at, one)?, one))).collect();
    let Some((_, namespace)) = all.iter().find(|(id, _)| id == item.namespace) else {
        return Err(unknown(all.into_iter().map(|(id, _)| id).collect()));
    };
    let ids = namespace.members.get("serverIds").and_then(Node::list).unwrap_or_default();
    let is_member = ids.iter().any(|id| id.written() == Some(item.server));
    if is_member { Ok(item.server.to_owned()) } else { Err(outside()) }
}

fn id_of(at: &[Step], namespace: &Object) -> Option<String> {
    match at.last() {
        Some(Step::Key(id)) => Some(id.clone()),
        _ => {
            let id = namespace.written("id").filter(|id| !id.is_empty());
            id.or_else(|| namespace.written("name")).map(str::to_owned)
        }
    }
}

fn matches<'a>(item: &Item<'_>, server: &str, at: Vec<Step>, rule: &'a Object) -> Option<Rule<'a>> {
    let is_about = said(rule, NAMESPACE_OF)?.1 == item.namespace && said(rule, SERVER_OF)?.1 == server;
    let label = written(rule, &PERMISSION, label(item.kind))?;
    if !is_about || rule.written(label) != Some(item.name) {
        return None;
    }
    let labels = LABELS.into_iter().filter(|label| written(rule, &PERMISSION, label).is_some());
    Some(Rule { at, rule, label, alone: labels.count() == 1 })
}

impl Rule<'_> {
    fn allows(&self) -> bool {
        let enabled = written(self.rule, &PERMISSION, "enabled").and_then(|key| self.rule.members.get(key));
        enabled.and_then(flag_of).unwrap_or(false)
    }

    fn without(self) -> Change {
        let at = if self.alone { self.at } else { below(&self.at, self.label) };
        Change::Remove { at }
    }
}

/// Writes a rule with the keys that the other rules have.
fn new_rule(item: &Item<'_>, server: &str, allow: bool, others: &[Node]) -> Value {
    let first = others.iter().find_map(Node::object);
    let spelt = |either: [&'static str; 2]| {
        let same = first.and_then(|rule| either.into_iter().find(|key| rule.members.contains_key(*key)));
        same.unwrap_or(either[1]).to_owned()
    };
    object([
        (spelt(NAMESPACE_OF), text(item.namespace)),
        (spelt(SERVER_OF), text(server)),
        (label(item.kind).to_owned(), text(item.name)),
        ("enabled".to_owned(), Value::Flag(allow)),
    ])
}

fn label(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::Tool => LABELS[0],
        PermissionKind::Prompt => LABELS[1],
        PermissionKind::Resource => LABELS[2],
    }
}
