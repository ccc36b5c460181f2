use std::path::Path;

use expect_test::{Expect, expect};

use crate::edit::revert;

/// Takes back what made `after` of `before`, from what is there now.
fn check(path: &str, before: &str, after: &str, now: &str, names: &[&str], expected: Expect) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let names = (!names.is_empty()).then_some(names.as_slice());
    let shown = match revert(now, before, after, Path::new(path), names) {
        Ok(done) if done.left.is_empty() => done.text,
        Ok(done) => format!("{}left: {}\n", done.text, done.left.join(", ")),
        Err(error) => format!("refused: {error}\n"),
    };
    expected.assert_eq(&shown);
}

const BEFORE: &str = "{\n  \"numStartups\": 1,\n  \"mcpServers\": {\"git\": {\"command\": \"git\"}}\n}\n";

// Claude Code rewrites its file whole, counters and all.
#[test]
fn our_entry_goes_and_every_other_stays() {
    let after = BEFORE.replace("{\"git\"", "{\"manifold\": {\"command\": \"/m\"}, \"git\"");
    let now = "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"git\": {\n      \"command\": \"git\"\n    },\n    \"manifold\": {\n      \"command\": \"/m\"\n    },\n    \"new\": {\n      \"command\": \"n\"\n    }\n  }\n}\n";
    check(
        "/h/.claude.json",
        BEFORE,
        &after,
        now,
        &["manifold"],
        expect![[r#"
            {
              "numStartups": 7,
              "mcpServers": {
                "git": {
                  "command": "git"
                },
                "new": {
                  "command": "n"
                }
              }
            }
        "#]],
    );
}

// What it changed besides, on its own account, is not ours to take back.
#[test]
fn only_what_is_named_is_taken_back() {
    let after = BEFORE
        .replace("Startups\": 1", "Startups\": 2")
        .replace("\"git\": {\"command\": \"git\"}", "\"m\": {\"command\": \"/m\"}");
    let now = after.replace("Startups\": 2", "Startups\": 3");
    check(
        "/h/.claude.json",
        BEFORE,
        &after,
        &now,
        &["m", "git"],
        expect![[r#"
            {
              "numStartups": 3,
              "mcpServers": {"git": {"command": "git"}}
            }
        "#]],
    );
}

#[test]
fn an_entry_that_was_changed_since_is_left() {
    let after = BEFORE.replace("{\"git\"", "{\"m\": {\"command\": \"/m\"}, \"git\"");
    let now = after.replace("/m", "/mine");
    check(
        "/h/.claude.json",
        BEFORE,
        &after,
        &now,
        &["m"],
        expect![[r#"
            {
              "numStartups": 1,
              "mcpServers": {"m": {"command": "/mine"}, "git": {"command": "git"}}
            }
            left: mcpServers.m
        "#]],
    );
}

#[test]
fn a_file_that_was_not_there_keeps_what_others_wrote() {
    let after = "{\"mcpServers\": {\"m\": {\"command\": \"/m\"}}}\n";
    let now = "{\"mcpServers\": {\"m\": {\"command\": \"/m\"}}, \"theme\": \"dark\"}\n";
    check(
        "/h/.cursor/mcp.json",
        "",
        after,
        now,
        &["m"],
        expect![[r#"
        {"theme": "dark"}
    "#]],
    );
    let now = "{\"mcpServers\": {\"m\": {\"command\": \"/m\"}, \"x\": {\"url\": \"http://x\"}}}\n";
    check(
        "/h/.cursor/mcp.json",
        "",
        after,
        now,
        &["m"],
        expect![[r#"
        {"mcpServers": {"x": {"url": "http://x"}}}
    "#]],
    );
}

#[test]
fn tables_and_lists_of_servers_too() {
    let before = "# mine\nmodel = \"o\"\n\n[mcp_servers.git]\ncommand = \"git\"\n";
    let after = format!("{before}\n[mcp_servers.m]\ncommand = \"/m\"\n");
    let now = after.replace("\"o\"", "\"p\" # new");
    check(
        "/h/.codex/config.toml",
        before,
        &after,
        &now,
        &["m"],
        expect![[r#"
        # mine
        model = "p" # new

        [mcp_servers.git]
        command = "git"
    "#]],
    );
    let before = "name: x\nmcpServers:\n  - name: git\n    command: git\n";
    let after = "name: x\nmcpServers:\n  - name: m\n    command: /m\n";
    let now = "name: y\nmcpServers:\n  - name: m\n    command: /m\n  - name: z\n    command: z\n";
    check(
        "/h/.continue/config.yaml",
        before,
        after,
        now,
        &["m", "git"],
        expect![[r#"
        name: y
        mcpServers:
          - name: z
            command: z
          - name: git
            command: git
    "#]],
    );
}

// Our own config: all that a command changed, wherever that was.
#[test]
fn a_change_of_ours_is_taken_back_wherever_it_was() {
    let before = r#"{
  "mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}, // two
  "namespaces": {"n": {"servers": ["a", "b"]}}
}
"#;
    let after = r#"{
  "mcpServers": {"a": {"command": "a"}}, // two
  "namespaces": {"n": {"servers": ["a"]}}
}
"#;
    let now = r#"{
  "mcpServers": {"a": {"command": "a"}, "c": {"command": "c"}}, // two
  "namespaces": {"n": {"servers": ["a", "c"]}}
}
"#;
    check(
        "/h/manifold.json",
        before,
        after,
        now,
        &[],
        expect![[r#"
        {
          "mcpServers": {"a": {"command": "a"}, "c": {"command": "c"}, "b": {"command": "b"}}, // two
          "namespaces": {"n": {"servers": ["a", "c", "b"]}}
        }
    "#]],
    );
    check(
        "/h/manifold.json",
        after,
        before,
        "{",
        &[],
        expect![[r#"
            refused: /h/manifold.json:1: the `{` that opens here is never closed; add the `}` that belongs to it
        "#]],
    );
}
