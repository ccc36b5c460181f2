//! B2: a setting that restricts never falls open for the way it is written.

use std::path::Path;

use expect_test::expect;

use crate::load::load_text;
use crate::model::*;
use crate::testing::{load, options, problems, try_load};

fn entry(keys: &str) -> Server {
    load(&format!(r#"{{"mcpServers": {{"g": {{"command": "/bin/sh", {keys}}}}}}}"#)).servers.remove(0)
}

/// Returns a namespace with these keys, beside these keys at the top.
fn namespace(keys: &str, top: &str) -> Permissions {
    load(&with_namespace(keys, top)).namespaces.remove(0).permissions
}

fn with_namespace(keys: &str, top: &str) -> String {
    format!(
        r#"{{"mcpServers": {{"g": {{"builtin": "time"}}}}, "namespaces": [{{"id": "n", "serverIds": ["g"]{keys}}}]{top}}}"#
    )
}

fn inherited(server: &Server) -> InheritEnv {
    match &server.transport {
        Transport::Process(spec) => spec.inherit_env.clone(),
        other => panic!("{other:?}"),
    }
}

// B2: what can only be meant one way is read so, and told.
#[test]
fn what_is_beyond_doubt_is_read_as_meant() {
    for key in
        ["deniedTools", "disabledTools", "excludeTools", "deniedtools", "denied_tools", "disabled_tools"]
    {
        let server = entry(&format!(r#""{key}": "secret""#));
        assert_eq!((server.fault, server.denied_tools), (None, vec!["secret".to_owned()]), "{key}");
    }
    for key in ["allowedTools", "includeTools", "tools", "AllowedTools", "enabled_tools", "available_tools"] {
        let server = entry(&format!(r#""{key}": "ok""#));
        assert_eq!((server.fault, server.allowed_tools), (None, Some(vec!["ok".to_owned()])), "{key}");
    }
    assert!(!entry(r#""disabled": "True""#).enabled && !entry(r#""Disabled": true"#).enabled);
    assert!(!entry(r#""enabled": "false""#).enabled && entry(r#""enabled": "true""#).enabled);
    assert_eq!(entry(r#""shared": "false""#).shared, Sharing::PerClient);
    assert_eq!(inherited(&entry(r#""inheritEnv": "false""#)), InheritEnv::None);
    assert_eq!(inherited(&entry(r#""inherit_env": "PATH""#)), InheritEnv::Only(vec!["PATH".to_owned()]));
    // The one text that denies all of them.
    assert_eq!(entry(r#""deniedTools": ["*"]"#).allowed_tools, Some(Vec::new()));
    expect![[r#"
        config.json:1: mcpServers.g: `deniedtools` is read as `deniedTools`; write `deniedTools`
        config.json:1: mcpServers.g.shared: the text is read as false; write it without quotes
        config.json:1: mcpServers.g.deniedTools: a single text is read as a list of one; write `["…"]`
    "#]]
    .assert_eq(&problems(
        r#"{"mcpServers": {"g": {"command": "/bin/sh", "shared": "false", "deniedtools": "secret"}}}"#,
    ));
}

// B2: what cannot be told makes that one server unusable; the others work.
#[test]
fn a_server_with_a_restriction_nobody_can_read_is_not_used() {
    for keys in [
        r#""deniedTools": [["secret"]]"#,
        r#""deniedTools": {"secret": true}"#,
        r#""deniedTools": 5"#,
        r#""deniedTools": "a, b""#,
        r#""deniedTools": """#,
        r#""excludeTools": true"#,
        r#""allowedTools": {"ok": true}"#,
        r#""includeTools": 7"#,
        r#""tools": false"#,
        r#""tools": [{"name": "ok"}]"#,
        r#""disabled": "yes""#,
        r#""disabled": 1"#,
        r#""enabled": 0"#,
        r#""enabled": "${NOT_SET}""#,
        r#""shared": "no""#,
        r#""inheritEnv": 0"#,
        r#""inheritEnv": {"A": true}"#,
        r#""memoryLimit": "much""#,
        r#""deniedTools": ["a"], "deniedtools": ["b"]"#,
        r#""deniedTools": ["a"], "denied-tools": []"#,
    ] {
        let text = format!(
            r#"{{"mcpServers": {{"g": {{"command": "/bin/sh", {keys}}}, "fine": {{"builtin": "time"}}}}}}"#
        );
        let config = load(&text);
        assert!(matches!(config.servers[0].fault, Some(ServerFault::BadEntry { .. })), "{keys}");
        assert!(config.servers[0].enabled, "it is listed as broken, not as disabled: {keys}");
        assert_eq!(config.servers[1].fault, None);
    }
    expect![[r#"
        config.json:2: mcpServers.a: `deniedTools`: expected a list of texts and nothing else in it; write a list such as `"deniedTools": ["name"]`
        config.json:3: mcpServers.b: `disabled`: expected true or false, found a number; write true or false, without quotes
        config.json:4: mcpServers.c: has both `deniedTools` and `deniedtools`; keep `deniedTools`
    "#]]
    .assert_eq(&problems(
        r#"{"mcpServers": {
  "a": {"command": "/bin/sh", "deniedTools": [["secret"]]},
  "b": {"command": "/bin/sh", "disabled": 1},
  "c": {"command": "/bin/sh", "deniedTools": [], "deniedtools": ["x"]}
}}"#,
    ));
}

// B2: the same in other programs' files.
#[test]
fn other_programs_words_are_read_as_meant_too() {
    let load = |name: &str, text: &str| load_text(text, Some(Path::new(name)), &options()).unwrap();
    let codex = |keys: &str| {
        let text = format!("[mcp_servers.g]\ncommand = \"/bin/sh\"\n{keys}\n");
        load("config.toml", &text).servers.remove(0)
    };
    assert_eq!(codex("disabled_tools = \"y\"").denied_tools, ["y"]);
    assert_eq!(codex("Disabled_Tools = [\"y\"]").denied_tools, ["y"]);
    assert_eq!(codex("enabled_tools = \"y\"").allowed_tools, Some(vec!["y".to_owned()]));
    assert!(!codex("enabled = \"false\"").enabled);
    for keys in ["disabled_tools = 5", "enabled = 0"] {
        assert!(matches!(codex(keys).fault, Some(ServerFault::BadEntry { .. })), "{keys}");
    }
    assert_eq!(codex("deniedTools = [\"a\"]\ndisabled_tools = [\"b\"]").denied_tools, ["a", "b"]);
    let goose = load("config.yaml", "extensions:\n  g:\n    cmd: /bin/sh\n    available_tools: ok\n");
    assert_eq!(goose.servers[0].allowed_tools, Some(vec!["ok".to_owned()]));
    let project = |disabled: &str| {
        let text = format!(
            r#"{{"numStartups": 1, "mcpServers": {{"g": {{"command": "/bin/sh"}}}},
                "projects": {{"/": {{"mcpServers": {{"h": {{"command": "/bin/sh"}}}}, "disabledMcpServers": {disabled}}}}}}}"#
        );
        load_text(&text, Some(Path::new(".claude.json")), &options())
    };
    assert!(!project(r#""g""#).unwrap().servers[0].enabled);
    assert!(project("{}").is_err());
}

// B2: of a namespace and its rules.
#[test]
fn namespaces_and_rules_are_read_as_meant() {
    assert!(namespace(r#", "denyByDefault": "true""#, "").deny_by_default);
    assert!(namespace(r#", "denybydefault": true"#, "").deny_by_default);
    assert!(namespace(r#", "serverDefaults": {"g": "true"}"#, "").server_defaults["g"]);
    assert!(!load(&with_namespace(r#", "enabled": "false""#, "")).namespaces[0].enabled);
    let rule = r#"{"namespaceid": "n", "SERVER": "g", "toolname": "secret", "enabled": "false"}"#;
    for key in ["toolPermissions", "toolpermissions", "tool_permissions"] {
        let rules = namespace("", &format!(r#", "{key}": [{rule}]"#)).rules;
        assert!(!rules[&("g".to_owned(), "secret".to_owned())], "{key}");
    }
    let schema =
        load(r#"{"schemas": {"s": {"DenyByDefault": "true", "mcpServers": {"g": {"builtin": "time"}}}}}"#);
    assert!(schema.namespaces[0].permissions.deny_by_default);
    let token =
        try_load(r#"{"mcpServers": {"g": {"builtin": "time"}}, "Server": {"Token": "abc"}}"#).unwrap();
    assert_eq!(token.settings.http.token.unwrap().expose(), "abc");
}

// B2: what cannot be told is an error of the file, so that nothing is served by it.
#[test]
fn a_file_with_a_rule_nobody_can_read_is_not_used() {
    let rule = |rule: &str| with_namespace("", &format!(r#", "toolPermissions": {rule}"#));
    for text in [
        with_namespace(r#", "denyByDefault": "yes""#, ""),
        with_namespace(r#", "denyByDefault": 1"#, ""),
        with_namespace(r#", "denyByDefault": true, "denybydefault": false"#, ""),
        with_namespace(r#", "serverDefaults": {"g": 1}"#, ""),
        with_namespace(r#", "serverDefaults": ["g"]"#, ""),
        with_namespace(r#", "enabled": 0"#, ""),
        rule("5"),
        rule(r#"{"g": "secret"}"#),
        rule(r#"["secret"]"#),
        rule(r#"[{"namespace": "n", "server": "g", "toolName": ["secret"], "enabled": false}]"#),
        rule(r#"[{"namespace": "n", "server": "g", "enabled": false}]"#),
        rule(r#"[{"namespace": "n", "toolName": "secret"}]"#),
        rule(r#"[{"server": "g", "promptName": "p"}]"#),
        rule(r#"[{"namespace": "n", "server": "g", "toolName": "x", "enabled": 0}]"#),
        r#"{"mcpServers": {"g": {"builtin": "time"}}, "namespaces": 5}"#.to_owned(),
        r#"{"mcpServers": {"g": {"builtin": "time"}}, "namespaces": [3]}"#.to_owned(),
        r#"{"mcpServers": {"g": {"builtin": "time"}}, "namespaces": [{"denyByDefault": true}]}"#.to_owned(),
        r#"{"mcpServers": {"g": {"builtin": "time"}}, "server": "token"}"#.to_owned(),
        r#"{"mcpServers": {"g": {"builtin": "time"}}, "server": {"token": "  "}}"#.to_owned(),
        r#"{"mcpServers": {"g": {"builtin": "time"}}, "server": {"cors": {"enabled": 0, "origins": ["*"]}}}"#
            .to_owned(),
    ] {
        assert!(try_load(&text).is_err(), "{text}");
    }
    expect![[r#"
        config.json:1: namespaces[0].denyByDefault: expected true or false, found text; write true or false, without quotes
    "#]]
    .assert_eq(&problems(&with_namespace(r#", "denyByDefault": "yes""#, "")));
}

// B2: a tool named as clients see it is told of; a pattern is none of those.
#[test]
fn a_tool_by_a_name_that_matches_none_is_told_of() {
    expect![[r#"
        config.json:1: mcpServers.g.deniedTools: `g__secret` is what clients see, and rules go by the server's own names; write `secret`
        config.json:1: toolPermissions[0]: `g__secret` is what clients see, and rules go by the server's own names; write `secret`
    "#]]
    .assert_eq(&problems(
        r#"{"mcpServers": {"g": {"builtin": "time", "deniedTools": ["g__secret", "g__"]}}, "namespaces": [{"id": "n", "serverIds": ["g"]}], "toolPermissions": [{"namespace": "n", "server": "g", "toolName": "g__secret"}, {"namespace": "n", "server": "g", "toolName": "sec*"}]}"#,
    ));
}
