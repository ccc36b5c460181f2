//! Which rule forbids an item, in words for whoever wrote the rules. Clients are never told.

use manifold_admin::{DecidedBy, ToolPermission};
use manifold_config::{Permissions, Server};
use manifold_protocol::Kind;

use super::{is_among_allowed, is_among_denied, named, permits, ruled};

/// Returns the rule by which an item of a server may not be used, by the server's own name or URI for it. It is `None`
/// exactly where [`permits`] says yes.
pub(crate) fn reason(
    permissions: &Permissions,
    namespace: Option<&str>,
    server: &Server,
    kind: Kind,
    label: &str,
) -> Option<String> {
    if permits(permissions, server, kind, label) {
        return None;
    }
    let id = &server.key.id;
    if kind == Kind::Tools && is_among_denied(server, label) {
        return Some(format!("`deniedTools` of server '{id}' names '{label}'"));
    }
    if kind == Kind::Tools && !is_among_allowed(server, label) {
        return Some(format!("`allowedTools` of server '{id}' does not name '{label}'"));
    }
    let namespace = namespace.map_or_else(|| "all servers".to_owned(), |id| format!("namespace '{id}'"));
    if ruled(permissions, server, kind, label).is_some() {
        return Some(format!("a rule of `toolPermissions` denies '{label}' of server '{id}' in {namespace}"));
    }
    Some(match permissions.server_defaults.get(id) {
        Some(_) => format!("`serverDefaults` of {namespace} denies what no rule allows of server '{id}'"),
        None => format!("`denyByDefault` of {namespace} denies what no rule allows"),
    })
}

/// Returns what holds for a tool of a server, and what decided that.
pub(crate) fn decided(permissions: &Permissions, server: &Server, label: &str) -> ToolPermission {
    let id = &server.key.id;
    let rule = named(&permissions.rules, server, label);
    let by = if is_among_denied(server, label) {
        DecidedBy::DeniedTools
    } else if !is_among_allowed(server, label) {
        DecidedBy::AllowedTools
    } else if rule.is_some() {
        DecidedBy::Rule
    } else if permissions.server_defaults.contains_key(id) {
        DecidedBy::ServerDefault
    } else {
        DecidedBy::NamespaceDefault
    };
    ToolPermission {
        server: id.clone(),
        name: label.to_owned(),
        allow: permits(permissions, server, Kind::Tools, label),
        by,
        rule: rule.filter(|_| by == DecidedBy::Rule).map(|(name, _)| name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use manifold_config::Config;

    use super::*;
    use crate::fake::config;

    fn why(config: &Config, server: &str, kind: Kind, label: &str) -> Option<String> {
        let namespace = &config.namespaces[0];
        let server = config.servers.iter().find(|one| one.key.id == server).unwrap();
        let why = reason(&namespace.permissions, Some(&namespace.id), server, kind, label);
        assert_eq!(why.is_none(), permits(&namespace.permissions, server, kind, label));
        why
    }

    #[test]
    fn every_rule_has_its_words() {
        let config = config(
            r#"{"servers":{"a":{"builtin":"time","deniedTools":["x"],"allowedTools":["x","y","z"]},
                           "b":{"builtin":"time"}},
                "namespaces":[{"id":"n","serverIds":["a","b"],"denyByDefault":true,"serverDefaults":{"a":true}}],
                "toolPermissions":[{"namespaceId":"n","serverId":"a","toolName":"y","enabled":true},
                                   {"namespaceId":"n","serverId":"b","toolName":"y","enabled":false},
                                   {"namespaceId":"n","serverId":"b","resourceUri":"*","enabled":false}]}"#,
        );
        let check = |server, kind, label, words: Option<&str>| {
            assert_eq!(why(&config, server, kind, label).as_deref(), words, "{server} {label}");
        };
        check("a", Kind::Tools, "x", Some("`deniedTools` of server 'a' names 'x'"));
        check("a", Kind::Tools, "w", Some("`allowedTools` of server 'a' does not name 'w'"));
        check("a", Kind::Tools, "y", None);
        let unnamed = "`serverDefaults` of namespace 'n' denies what no rule allows of server 'a'";
        check("a", Kind::Tools, "z", Some(unnamed));
        check("a", Kind::Prompts, "x", Some(unnamed));
        let ruled = "a rule of `toolPermissions` denies 'y' of server 'b' in namespace 'n'";
        check("b", Kind::Tools, "y", Some(ruled));
        check("b", Kind::Tools, "z", Some("`denyByDefault` of namespace 'n' denies what no rule allows"));
        let ruled = "a rule of `toolPermissions` denies 'file:///x' of server 'b' in namespace 'n'";
        check("b", Kind::Resources, "file:///x", Some(ruled));
    }

    // What the page shows of a rule with a pattern is what the engine makes of it.
    #[test]
    fn each_tool_has_what_decided_it() {
        let config = config(
            r#"{"servers":{"git":{"builtin":"time","deniedTools":["gc"]},
                           "fs":{"builtin":"time","allowedTools":["read"]},"web":{"builtin":"time"}},
                "namespaces":[{"id":"n","serverIds":["git","fs","web"],"serverDefaults":{"web":true}}],
                "toolPermissions":[{"namespaceId":"n","serverId":"git","toolName":"*","enabled":false},
                                   {"namespaceId":"n","serverId":"git","toolName":"log*","enabled":true},
                                   {"namespaceId":"n","serverId":"git","toolName":"log_all","enabled":false},
                                   {"namespaceId":"n","serverId":"web","toolName":"get","enabled":true}]}"#,
        );
        let namespace = &config.namespaces[0];
        let check = |server: &str, label, allow, by, rule: Option<&str>| {
            let server = config.servers.iter().find(|one| one.key.id == server).unwrap();
            let found = decided(&namespace.permissions, server, label);
            assert_eq!((found.allow, found.by, found.rule.as_deref()), (allow, by, rule), "{label}");
            assert_eq!(found.allow, permits(&namespace.permissions, server, Kind::Tools, label));
        };
        check("git", "push", false, DecidedBy::Rule, Some("*"));
        check("git", "log", true, DecidedBy::Rule, Some("log*"));
        check("git", "log_all", false, DecidedBy::Rule, Some("log_all"));
        check("git", "gc", false, DecidedBy::DeniedTools, None);
        check("fs", "read", true, DecidedBy::NamespaceDefault, None);
        check("fs", "write", false, DecidedBy::AllowedTools, None);
        check("web", "get", true, DecidedBy::Rule, Some("get"));
        check("web", "post", false, DecidedBy::ServerDefault, None);
    }
}
