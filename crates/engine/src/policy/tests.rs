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
            if permits(permissions, server, Kind::Tools, tool) {
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

#[test]
fn rules_go_by_patterns_too() {
    check("", "", &rule("a", "*", false), &["b:read", "b:write"]);
    check("", "", &rule("a", "w*", false), &["a:read", "b:read", "b:write"]);
    let rules = format!("{},{}", rule("a", "*", false), rule("a", "read", true));
    check("", "", &rules, &["a:read", "b:read", "b:write"]);
    check("", r#","denyByDefault":true"#, &rule("b", "*e*d", true), &["b:read"]);
    check(r#","deniedTools":["w*"]"#, "", "", &["a:read", "b:read", "b:write"]);
    check(r#","allowedTools":["*ite"]"#, "", "", &["a:write", "b:read", "b:write"]);
}

fn permissions(namespace: &str, rules: &[&str]) -> manifold_config::Config {
    let rules: Vec<String> =
        rules.iter().map(|rule| format!(r#"{{"namespaceId":"n","serverId":"a",{rule}}}"#)).collect();
    let config = fake::config(&format!(
        r#"{{"servers":{{"a":{{"builtin":"time","deniedTools":["x"]}},"ab":{{"builtin":"time"}}}},
            "namespaces":[{{"id":"n","serverIds":["a","ab"]{namespace}}}],"toolPermissions":[{}]}}"#,
        rules.join(",")
    ));
    assert_eq!(config.problems, [], "the test's own config is right");
    config
}

/// Says which of these items of server `a` may be seen.
#[track_caller]
fn check_kind(kind: Kind, namespace: &str, rules: &[&str], labels: &[&str], allowed: &[&str]) {
    let config = permissions(namespace, rules);
    let (server, permissions) = (&config.servers[0], &config.namespaces[0].permissions);
    let found: Vec<&str> =
        labels.iter().copied().filter(|label| permits(permissions, server, kind, label)).collect();
    assert_eq!(found, allowed);
}

const DENIED: &str = r#","denyByDefault":true"#;

// T7: permissions cover every kind, not tools alone.
#[test]
fn what_no_rule_allows_is_denied_of_every_kind() {
    for namespace in [DENIED, r#","serverDefaults":{"a":true}"#] {
        for kind in Kind::ALL {
            check_kind(
                kind,
                namespace,
                &[r#""toolName":"y","enabled":true"#],
                &["x", "z", "x://1", "*"],
                &[],
            );
        }
        let config = permissions(namespace, &[]);
        assert!(!permits_unnamed(&config.namespaces[0].permissions, &config.servers[0]));
    }
    for kind in [Kind::Resources, Kind::Templates, Kind::Prompts] {
        check_kind(kind, "", &[], &["x", "z"], &["x", "z"]);
    }
}

#[test]
fn prompts_have_rules_by_name() {
    let labels = ["greet", "Greet", "part", "*"];
    let rules = [r#""promptName":"greet","enabled":true"#, r#""toolName":"part","enabled":true"#];
    check_kind(Kind::Prompts, DENIED, &rules, &labels, &["greet"]);
    let rules = [r#""promptName":"*","enabled":true"#, r#""promptName":"part","enabled":false"#];
    check_kind(Kind::Prompts, DENIED, &rules, &labels, &["greet", "Greet", "*"]);
    check_kind(Kind::Prompts, "", &[r#""promptName":"gr*""#], &labels, &["Greet", "part", "*"]);
    check_kind(Kind::Prompts, "", &[r#""promptName":"part""#], &labels, &["greet", "Greet", "*"]);
}

#[test]
fn resources_have_rules_by_uri_and_by_template() {
    let labels =
        ["file:///a", "file:///pub/a", "file:///pub/b/c", "file:///pub/secret", "file:///pub/{name}"];
    let check = |rules: &[&str], allowed: &[&str]| {
        for kind in [Kind::Resources, Kind::Templates] {
            check_kind(kind, DENIED, rules, &labels, allowed);
        }
    };
    check(&[r#""resourceUri":"file:///a","enabled":true"#], &["file:///a"]);
    check(&[r#""resourceUri":"*","enabled":true"#], &labels);
    let public = r#""resourceUri":"file:///pub/{name}","enabled":true"#;
    check(&[public], &["file:///pub/a", "file:///pub/secret", "file:///pub/{name}"]);
    let secret = r#""resourceUri":"file:///pub/secret","enabled":false"#;
    check(&[public, secret], &["file:///pub/a", "file:///pub/{name}"]);
    let all = r#""resourceUri":"*","enabled":true"#;
    let closed = r#""resourceUri":"file:///pub/{+path}","enabled":false"#;
    check(&[all, closed], &["file:///a"]);
    let (one, other) = (r#""resourceUri":"file:///{x}","enabled":true"#, r#""resourceUri":"file:///{y}""#);
    check(&[one, other], &[]);
}

#[test]
fn another_spelling_of_a_uri_is_worth_no_more() {
    let public = [r#""resourceUri":"file:///pub/{+path}","enabled":true"#];
    let labels = [
        "file:///pub/a",
        "file:///pub/../etc/x",
        "file:///pub/%2e%2e/etc/x",
        "file:///pub/./a",
        "FILE:///pub/a",
    ];
    check_kind(Kind::Resources, DENIED, &public, &labels, &["file:///pub/a", "file:///pub/./a"]);
    let secret = [r#""resourceUri":"file:///a%20b/secret""#];
    let labels = [
        "file:///a b/secret",
        "file:///a%20b/./secret",
        "File:///a%20b/secret",
        "file:///a%20b/secre%74",
        "file:///c",
    ];
    check_kind(Kind::Resources, "", &secret, &labels, &["file:///c"]);
}

// A server that is not listed yet may read names as it likes.
#[test]
fn no_denied_tool_is_called_by_a_name_in_another_case() {
    let config = permissions("", &[r#""toolName":"Drop""#]);
    let (server, ruled) = (&config.servers[0], &config.namespaces[0].permissions);
    for tool in ["x", "X", "drop", "DROP", "Drop"] {
        assert!(!permits_unlisted_tool(ruled, server, tool), "{tool}");
    }
    assert!(permits_unlisted_tool(ruled, server, "dropped"));

    let config = permissions("", &[r#""toolName":"Drop*""#, r#""toolName":"dropped","enabled":true"#]);
    let (server, permissions) = (&config.servers[0], &config.namespaces[0].permissions);
    for (tool, may) in [("drop", false), ("DROPS", false), ("dropped", true), ("read", true)] {
        assert_eq!(permits_unlisted_tool(permissions, server, tool), may, "{tool}");
    }
}

/// Returns what the parsers of Node and browsers make of a URI, and then a server that decodes once more and follows dots.
fn read_by_a_server(uri: &str) -> String {
    let uri = uri.trim_matches(|c: char| c <= ' ').replace(['\t', '\n', '\r'], "").replace('\\', "/");
    let (scheme, rest) = uri.split_once(':').unwrap_or(("", &uri));
    let mut path = rest.trim_start_matches('/').to_owned();
    for _ in 0..3 {
        for (escape, meant) in
            [("%2e", "."), ("%2E", "."), ("%2f", "/"), ("%5c", "/"), ("%09", ""), ("%00", ""), ("%25", "%")]
        {
            path = path.replace(escape, meant);
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name.split(';').next() {
            Some("..") => drop(names.pop()),
            Some(".") => {}
            _ => names.push(name),
        }
    }
    format!("{}:///{}", scheme.to_ascii_lowercase(), names.join("/"))
}

/// Returns whether a URI that is not listed may be asked for.
fn permits_made_up(config: &manifold_config::Config, uri: &str) -> bool {
    let (server, permissions) = (&config.servers[0], &config.namespaces[0].permissions);
    permits(permissions, server, Kind::Resources, uri) && can_be_judged(permissions, uri)
}

fn any_spelling() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let part = proptest::sample::select(vec![
        "pub", "secret", "a", "..", ".", "/", "/", "/", "/../", "\\", "%2e", "%2E", "%2f", "%5c", "%252e",
        "%25", "%09", "%00", "\t", "\n", "\r", " ", ";", ".\t.", "%", "?", "#",
    ]);
    let start = proptest::sample::select(vec![
        "file:///",
        "file:///pub/",
        "FILE:///pub/",
        "file:/",
        "file:\\\\\\pub\\",
        " file:///pub/",
        "f\tile:///",
    ]);
    (start, proptest::collection::vec(part, 0..8))
        .prop_map(|(start, parts)| start.to_owned() + &parts.concat())
}

proptest::proptest! {
    // B1: whatever is let through is inside of what is allowed, and outside of what is denied, to the server, too
    #[test]
    fn no_spelling_leads_out_of_what_is_allowed_or_into_what_is_denied(uri in any_spelling()) {
        let config = permissions(DENIED, &[r#""resourceUri":"file:///pub/{+path}","enabled":true"#]);
        let read = read_by_a_server(&uri);
        if permits_made_up(&config, &uri) {
            proptest::prop_assert!(read.starts_with("file:///pub/"), "{uri:?} is {read}");
        }
        let config = permissions("", &[r#""resourceUri":"file:///secret/{+path}""#]);
        if read.starts_with("file:///secret/") {
            proptest::prop_assert!(!permits_made_up(&config, &uri), "{uri:?} is {read}");
        }
    }
}

// B1: where nothing is ruled, a URI is the server's affair.
#[test]
fn without_rules_every_spelling_passes() {
    for uri in ["file:///a\t/../b", "x://%", "x://a%00", "x:\\b"] {
        assert!(permits_made_up(&permissions("", &[r#""toolName":"y""#]), uri), "{uri:?}");
        for namespace in [DENIED, r#","serverDefaults":{"a":true}"#, r#","serverDefaults":{"ab":true}"#] {
            let config = permissions(namespace, &[r#""resourceUri":"*","enabled":true"#]);
            assert!(!permits_made_up(&config, uri), "{uri:?}");
            assert!(
                permits(&config.namespaces[0].permissions, &config.servers[0], Kind::Resources, uri),
                "listed"
            );
        }
    }
}
