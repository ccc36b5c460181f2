//! Whose file it is, and what is said where it is nobody's.

use expect_test::expect;

use super::{check, load_at};
use crate::testing::{load, problems};

fn client(path: &str, text: &str) -> Option<&'static str> {
    load_at(path, text).source.client
}

// D8: a file with no servers in it is never silently fine.
#[test]
fn a_file_without_servers_says_what_was_looked_for() {
    expect![[r#"
        config.json: has no servers: looked for `mcpServers`, `servers`, `schemas`, `amp.mcpServers`, `mcp_servers`, `mcp`, `extensions`, `mcp.servers`, `context_servers`, and for servers by name; add `"mcpServers": { … }`
        config.json:1: unknown key `tools`
    "#]].assert_eq(&problems(r#"{"tools": {"git": {"command": "x"}}}"#));
    expect![[r#"
        config.json:2: mcpServers: has no servers; add one
    "#]]
    .assert_eq(&problems("{\n\"mcpServers\": {}}"));
    expect![[r#"
        config.json:1: schemas: has no servers; add one
    "#]]
    .assert_eq(&problems(r#"{"schemas": {"a": {}}}"#));
    check(
        "opencode.json",
        r#"{"mcp": {}}"#,
        expect![[r#"
        opencode config, 0 servers
        ! opencode.json:1: mcp: has no servers; add one
    "#]],
    );
    check(
        "settings.json",
        r#"{"theme": "x", "context_servers": {}}"#,
        expect![[r#"
        Zed config, 0 servers
        ! settings.json:1: context_servers: has no servers; add one
    "#]],
    );
}

// D8: in another folder Claude Code would use none of these either, and it is said where it would.
#[test]
fn servers_of_other_projects_are_told_of() {
    let text = r#"{"numStartups": 1, "projects": {"/elsewhere": {"mcpServers": {"a": {"command": "fs"}}}, "/empty": {}}}"#;
    check(
        "/home/ann/.claude.json",
        text,
        expect![[r#"
        Claude Code config, 0 servers
        ! /home/ann/.claude.json:1: projects: its servers belong to other folders: /elsewhere; start in one of these, or copy its servers to a file of your own
        ! /home/ann/.claude.json:1: mcpServers: has no servers; add one
    "#]],
    );
}

// D8: what nobody else writes is ours, and settings of ours beside servers still count.
#[test]
fn our_own_files_stay_ours() {
    for text in [
        r#"{"mcpServers": {"a": {"command": "fs"}}}"#,
        r#"{"servers": {"a": {"command": "fs"}}, "namespaces": []}"#,
        r#"{"schemas": {"a": {"mcpServers": {"a": {"command": "fs"}}}}}"#,
        r#"{"mcp": {"a": {"command": ["fs"]}}, "mcpServers": {"a": {"command": "fs"}}}"#,
    ] {
        assert_eq!(client("config.json", text), None, "{text}");
    }
    let config = load(
        r#"{"inputs": [], "servers": {"a": {"builtin": "time"}}, "namespaces": {"n": {"serverIds": ["a"]}}, "separator": "-"}"#,
    );
    assert_eq!((config.source.client, config.namespaces.len()), (Some("VS Code"), 1));
    assert_eq!(config.settings.separator, "-");
}

// D8: two programs write the same key; the entries tell them apart.
#[test]
fn programs_with_the_same_key_are_told_apart() {
    let local = r#"{"mcp": {"a": {"type": "local", "command": ["fs"]}}}"#;
    assert_eq!(client("x.json", local), Some("opencode"));
    assert_eq!(client("x.json", r#"{"mcp": {"a": {"type": "stdio", "command": "fs"}}}"#), Some("Crush"));
    assert_eq!(client("/home/ann/.config/kilo/kilo.json", local), Some("Kilo"));
    assert_eq!(client("x.toml", "[mcp_servers.a]\ncommand = \"fs\""), Some("Codex"));
    assert_eq!(client("x.toml", "[[mcp_servers]]\nname = \"a\"\ncommand = \"fs\""), Some("Mistral Vibe"));
    assert_eq!(client("/home/ann/.grok/config.toml", "[mcp_servers.a]\ncommand = \"fs\""), Some("Grok"));
}

// D8: the content decides, the name is a hint only.
#[test]
fn the_syntax_is_told_by_the_content() {
    let toml = "[mcp_servers.a]\ncommand = \"fs\"";
    let yaml = "extensions:\n  a:\n    cmd: fs\n    type: stdio\n";
    for name in ["config", "config.json", "config.conf", "config.toml"] {
        assert_eq!(client(name, toml), Some("Codex"), "{name}");
    }
    for name in ["config", "config.json", "config.yml", "config.yaml"] {
        assert_eq!(client(name, yaml), Some("goose"), "{name}");
    }
    let json = "{\"mcpServers\": {\"a\": {\"command\": \"fs\"}}}";
    for name in ["config", "config.toml", "config.yaml"] {
        assert_eq!(load_at(name, json).servers.len(), 1, "{name}");
    }
}
