//! Namespaces, as a list with ids or as a map by name, and the permissions in them.

use std::collections::BTreeMap;

use crate::alike::did_you_mean;
use crate::fields::Fields;
use crate::file::{Node, Object, Value};
use crate::keys::table::{NAMESPACE, PERMISSION};
use crate::model::{Namespace, Permissions, Server, ServerKey};
use crate::problem::Problems;

/// Reads `namespaces` in either shape.
pub(super) fn resolve(top: Fields<'_>, servers: &[Server], problems: &mut Problems) -> Vec<Namespace> {
    let mut found: Vec<Namespace> = Vec::new();
    for (key, place, node) in entries(top) {
        let Value::Object(object) = &node.value else { continue };
        let fields = Fields::new(object, &NAMESPACE);
        let written = || fields.string("id").or_else(|| fields.string("name")).filter(|id| !id.is_empty());
        let Some(id) = key.map(str::to_owned).or_else(written) else {
            problems.warn(node.line, &place, "has no `id`", Some("it is left out".to_owned()));
            continue;
        };
        if found.iter().any(|other| other.id == id) {
            let what = format!("there is another namespace '{id}'");
            problems.warn(node.line, &place, what, Some("the first one counts".to_owned()));
            continue;
        }
        let mut namespace = described(fields, &id);
        namespace.servers = members(fields, servers, &place, problems);
        namespace.accounts = accounts(fields, &namespace, &place, problems);
        check_server_defaults(fields, &namespace, &place, problems);
        found.push(namespace);
    }
    // Without any namespace every server is served.
    if let Some(node) = top
        .get("namespaces")
        .filter(|_| found.is_empty() && !entries(top).is_empty() && !problems.is_refused())
    {
        let hint = "give one an `id`, or remove `namespaces`".to_owned();
        problems.refuse(node.line, "namespaces", "none of them can be used", Some(hint));
    }
    found
}

/// Reads what namespaces and schemas have in common, without their servers.
pub(super) fn described(fields: Fields<'_>, id: &str) -> Namespace {
    let server_defaults = fields.object("serverDefaults").map(flags).unwrap_or_default();
    Namespace {
        id: id.to_owned(),
        name: fields.string("name").filter(|name| !name.is_empty()).unwrap_or_else(|| id.to_owned()),
        description: fields.string("description").unwrap_or_default(),
        enabled: fields.flag("enabled").unwrap_or(true),
        servers: Vec::new(),
        accounts: BTreeMap::new(),
        permissions: Permissions {
            deny_by_default: fields.flag("denyByDefault").unwrap_or(false),
            server_defaults,
            rules: BTreeMap::new(),
            prompts: BTreeMap::new(),
            resources: BTreeMap::new(),
        },
    }
}

/// Reads which account each server is used by here.
fn accounts(
    fields: Fields<'_>,
    namespace: &Namespace,
    place: &str,
    problems: &mut Problems,
) -> BTreeMap<String, String> {
    let mut accounts = fields.texts_by_name("accounts");
    let line = fields.get("accounts").map_or(fields.object.line, |node| node.line);
    accounts.retain(|id, account| {
        if namespace.servers.iter().any(|key| key.id == *id) {
            return !account.is_empty();
        }
        let hint = did_you_mean(id, namespace.servers.iter().map(|key| key.id.as_str()));
        let what = format!("`{id}` is not a server of this namespace");
        problems.warn(line, &format!("{place}.accounts"), what, hint);
        false
    });
    accounts
}

pub(super) fn check_server_defaults(
    fields: Fields<'_>,
    namespace: &Namespace,
    place: &str,
    problems: &mut Problems,
) {
    let Some(node) = fields.get("serverDefaults") else { return };
    for id in namespace.permissions.server_defaults.keys() {
        if !namespace.servers.iter().any(|key| key.id == *id) {
            let hint = did_you_mean(id, namespace.servers.iter().map(|key| key.id.as_str()));
            let what = format!("`{id}` is not a server of this namespace");
            problems.warn(node.line, &format!("{place}.serverDefaults"), what, hint);
        }
    }
}

/// Reads `toolPermissions` into the namespaces they belong to.
pub(super) fn apply_permissions(
    top: Fields<'_>,
    servers: &[Server],
    namespaces: &mut [Namespace],
    separator: &str,
    problems: &mut Problems,
) {
    for (index, node) in top.items("toolPermissions").unwrap_or_default().iter().enumerate() {
        let Value::Object(object) = &node.value else { continue };
        let (rule, place) = (Fields::new(object, &PERMISSION), format!("toolPermissions[{index}]"));
        match apply(rule, namespaces) {
            Ok(server) => {
                let exposed = servers.iter().find(|one| one.key == server).map(|one| one.exposed_id.as_str());
                if let (Some(exposed), Some(tool)) = (exposed, rule.string("toolName")) {
                    tell_unlikely_tool(&tool, (exposed, separator), (node.line, &place), problems);
                }
            }
            Err(Unfit::Elsewhere(what)) => {
                problems.warn(node.line, &place, what, Some("it changes nothing".to_owned()));
            }
            // A denial nobody can carry out must not mean that all is allowed.
            Err(Unfit::Unsaid(what)) if rule.flag("enabled") != Some(true) => {
                problems.refuse(node.line, &place, what, Some("name it, or remove the rule".to_owned()));
            }
            Err(Unfit::Unsaid(what)) => {
                problems.warn(node.line, &place, what, Some("it changes nothing".to_owned()));
            }
        }
    }
}

/// Warns of a tool that is named as clients see it: rules go by the server's own names alone.
pub(super) fn tell_unlikely_tool(
    tool: &str,
    (exposed_id, separator): (&str, &str),
    (line, place): (usize, &str),
    problems: &mut Problems,
) {
    let own = tool.strip_prefix(exposed_id).and_then(|rest| rest.strip_prefix(separator));
    if let Some(own) = own.filter(|own| !own.is_empty() && !separator.is_empty()) {
        let what = format!("`{tool}` is what clients see, and rules go by the server's own names");
        problems.warn(line, place, what, Some(format!("write `{own}`")));
    }
}

/// Why a rule is not carried out.
enum Unfit {
    /// It does not say what it is about.
    Unsaid(&'static str),
    /// It is about something that is not there.
    Elsewhere(String),
}

fn apply(rule: Fields<'_>, namespaces: &mut [Namespace]) -> Result<ServerKey, Unfit> {
    let either = |id: &str, name: &str| rule.string(id).or_else(|| rule.string(name));
    let id = either("namespaceId", "namespace").ok_or(Unfit::Unsaid("names no `namespace`"))?;
    let server = either("serverId", "server").ok_or(Unfit::Unsaid("names no `server`"))?;
    let keys = ["toolName", "promptName", "resourceUri"];
    let named = keys.map(|key| rule.string(key));
    if named.iter().all(Option::is_none) {
        return Err(Unfit::Unsaid("has no `toolName`, `promptName` or `resourceUri`"));
    }
    let namespace = namespaces.iter_mut().find(|namespace| namespace.id == id);
    let namespace = namespace.ok_or_else(|| Unfit::Elsewhere(format!("there is no namespace '{id}'")))?;
    let Some(key) = namespace.servers.iter().find(|key| key.id == server).cloned() else {
        return Err(Unfit::Elsewhere(format!("'{server}' is not a server of namespace '{id}'")));
    };
    // A rule that does not say is taken for a denial, the safe way to be wrong.
    let allowed = rule.flag("enabled").unwrap_or(false);
    let Permissions { rules, prompts, resources, .. } = &mut namespace.permissions;
    for (rules, label) in [rules, prompts, resources].into_iter().zip(named) {
        rules.extend(label.map(|label| ((server.clone(), label), allowed)));
    }
    Ok(key)
}

/// Returns each namespace with its key, if the shape has keys, and its place.
fn entries<'a>(top: Fields<'a>) -> Vec<(Option<&'a str>, String, &'a Node)> {
    match top.get("namespaces").map(|node| &node.value) {
        Some(Value::Object(map)) => {
            let entries = map.members.iter();
            entries.map(|(key, node)| (Some(key.as_str()), format!("namespaces.{key}"), node)).collect()
        }
        Some(Value::List(list)) => {
            let entries = list.iter().enumerate();
            entries.map(|(index, node)| (None, format!("namespaces[{index}]"), node)).collect()
        }
        _ => Vec::new(),
    }
}

fn members(fields: Fields<'_>, servers: &[Server], place: &str, problems: &mut Problems) -> Vec<ServerKey> {
    let mut keys = Vec::new();
    for id in fields.strings("serverIds").unwrap_or_default() {
        let key = ServerKey { schema: None, id };
        if !servers.iter().any(|server| server.key == key) {
            let line = fields.get("serverIds").map_or(fields.object.line, |node| node.line);
            let hint = did_you_mean(&key.id, servers.iter().map(|server| server.key.id.as_str()));
            problems.warn(
                line,
                &format!("{place}.serverIds"),
                format!("there is no server '{}'", key.id),
                hint,
            );
        } else if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn flags(object: &Object) -> BTreeMap<String, bool> {
    let flags = object.members.iter().filter_map(|(name, node)| match node.value {
        Value::Flag(flag) => Some((name.clone(), flag)),
        _ => None,
    });
    flags.collect()
}
