use super::*;
use crate::fake;

/// `allowed` lists the tools of `a` and `b` that may be seen, of `read` and `write` each.
#[track_caller]
fn check(servers: &str, namespace: &str, permissions: &str, allowed: &[&str]) {
    let config = fake::config(&format!(
        r#"{{"servers":{{"a":{{"builtin":"time"{servers}}},"b":{{"builtin":"time"}}}},
            "namespaces":[{{"id":"n","serverIds":["a","b"]{namespace}}}],"toolPermissions":[{permissions}]}}"#
    ));
    assert_eq!(config.problems, [], "the test's own config is right");
    let permissions = &config.namespaces[0].permissions;
    let mut found = Vec::new();
    for server in &config.servers {
        for tool in ["read", "write"] {
            if permits(permissions, server, tool) {
                found.push(format!("{}:{tool}", server.key.id));
            }
        }
    }
    assert_eq!(found, allowed);
}

fn rule(server: &str, tool: &str, enabled: bool) -> String {
    format!(r#"{{"namespaceId":"n","serverId":"{server}","toolName":"{tool}","enabled":{enabled}}}"#)
}

#[test]
fn everything_is_allowed_unless_something_says_otherwise() {
    check("", "", "", &["a:read", "a:write", "b:read", "b:write"]);
}

#[test]
fn denied_tools_are_denied_whatever_a_namespace_allows() {
    check(r#","deniedTools":["write"]"#, "", &rule("a", "write", true), &["a:read", "b:read", "b:write"]);
}

// D7: where tools are named one by one, no rule of a namespace adds another.
#[test]
fn only_allowed_tools_are_there_whatever_a_namespace_allows() {
    check(r#","allowedTools":["read"]"#, "", &rule("a", "write", true), &["a:read", "b:read", "b:write"]);
    check(r#","includeTools":["read"],"deniedTools":["read"]"#, "", "", &["b:read", "b:write"]);
    check(r#","tools":["*"]"#, "", "", &["a:read", "a:write", "b:read", "b:write"]);
}

#[test]
fn a_rule_goes_before_the_defaults() {
    check("", "", &rule("a", "read", false), &["a:write", "b:read", "b:write"]);
    check("", r#","denyByDefault":true"#, &rule("b", "read", true), &["b:read"]);
    let rules = format!("{},{}", rule("a", "read", true), rule("b", "write", false));
    check("", r#","denyByDefault":true"#, &rules, &["a:read"]);
}

#[test]
fn a_server_s_default_goes_before_the_namespace_s() {
    check("", r#","serverDefaults":{"a":true}"#, "", &["b:read", "b:write"]);
    check("", r#","denyByDefault":true,"serverDefaults":{"b":false}"#, "", &["b:read", "b:write"]);
    check("", r#","serverDefaults":{"a":true}"#, &rule("a", "read", true), &["a:read", "b:read", "b:write"]);
}
