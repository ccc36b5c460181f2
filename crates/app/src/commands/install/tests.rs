use manifold_config::client;

use super::choose::picked;
use super::diff::{Line, hidden, is_ours, lines, without_commas};
use super::probe::{Tool, overruns};

#[test]
fn only_what_differs_is_shown() {
    let old = "{\n  \"a\": 1,\n  \"b\": 2\n}\n";
    let new = "{\n  \"a\": 1,\n  \"m\": 3,\n  \"b\": 4\n}\n";
    let shown = [Line::Gone("  \"b\": 2"), Line::New("  \"m\": 3,"), Line::New("  \"b\": 4")];
    assert_eq!(lines(old, new), shown);
    assert_eq!(lines(old, old), []);
    let with_comma = lines("{\n \"a\": 1\n}", "{\n \"a\": 1,\n \"m\": 2\n}");
    assert_eq!(without_commas(with_comma), [Line::New(" \"m\": 2")]);
    let ours = "\"manifold\": {\"command\": \"/m\"}";
    assert!(is_ours("  \"manifold\": {", ours) && !is_ours("\"manifold\": {\"key\": \"s3cr3t\"}", ours));
    assert_eq!(lines("", "a\nb"), [Line::New("a"), Line::New("b")]);
}

#[test]
fn values_of_others_are_hidden() {
    for (line, shown) in [
        ("    \"API_KEY\": \"s3cr3t\",", "    \"API_KEY\": ***"),
        ("    \"s3cr3t\",", "    ***"),
        ("    \"env\": {", "    \"env\": {"),
        ("  },", "  },"),
        ("[mcp_servers.git]", "[mcp_servers.git]"),
        ("args = [\"s3cr3t\"]", "args = ***"),
        ("      - s3cr3t", "      - ***"),
        ("  - name: s3cr3t", "  - name: ***"),
        ("  - --key=s3cr3t", "  - --key=***"),
        ("  - Bearer s3cr3t:x", "  - ***"),
        ("    KEY: s3cr3t", "    KEY: ***"),
        ("{\"mcpServers\":{\"git\":{\"env\":{\"A\":\"s3cr3t\"}}}}", "***"),
    ] {
        assert_eq!(hidden(line), shown);
    }
}

#[test]
fn an_answer_is_numbers_or_names() {
    let present: Vec<_> = ["cursor", "zed", "codex"].iter().filter_map(|id| client(id)).collect();
    let ids = |answer: &str| -> Vec<&str> {
        let picked = picked(answer, &present).unwrap();
        picked.unwrap_or_default().iter().map(|client| client.id()).collect()
    };
    assert_eq!(ids("1, 3\n"), ["cursor", "codex"]);
    assert_eq!(ids("zed 2 zed"), ["zed"]);
    assert_eq!(ids("all"), ["cursor", "zed", "codex"]);
    assert_eq!(ids("\n"), [""; 0]);
    assert!(picked("4", &present).is_err() && picked("cursr", &present).is_err());
}

#[test]
fn what_is_too_much_for_a_client_is_told() {
    let tool = |name: &str, bytes: usize| Tool { name: name.to_owned(), description: "x".repeat(bytes) };
    let cursor = client("cursor").unwrap();
    let many: Vec<Tool> = (0..81).map(|number| tool(&format!("t{number}"), 1)).collect();
    assert!(overruns(cursor, "manifold", &many)[0].starts_with("that is more than the 80"));
    let long = [tool(&"x".repeat(60), 1), tool("short", 1)];
    let said = overruns(cursor, "manifold", &long);
    assert!(
        said[0].starts_with("1 name is longer than 60 characters, and such a tool is left out: mcp_"),
        "{said:?}"
    );
    let claude = client("claude-code").unwrap();
    assert_eq!(overruns(claude, "manifold", &[tool("t", 2049)]), ["1 description will be cut at 2048 bytes"]);
    assert_eq!(overruns(claude, "manifold", &many), [""; 0]);
}
