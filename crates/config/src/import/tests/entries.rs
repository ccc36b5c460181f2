//! Entries in our keys, of whichever program.

use expect_test::{Expect, expect};

use super::{found_at, one};

fn check(path: &str, text: &str, expected: Expect) {
    let mut told = String::new();
    for server in found_at(path, text) {
        let flags = [
            (!server.enabled, " (off)"),
            (!server.approved, " (not approved)"),
            (server.is_ourselves, " (us)"),
        ];
        let flags: String = flags.into_iter().filter(|(is, _)| *is).map(|(_, flag)| flag).collect();
        told.push_str(&format!("{}:{} {}{flags}\n", server.line, server.id, server.entry));
        server.remarks.iter().for_each(|remark| told.push_str(&format!("  ! {remark}\n")));
    }
    expected.assert_eq(&told);
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clients/", $name))
    };
}

#[test]
fn codex() {
    check(
        "/home/ann/.codex/config.toml",
        fixture!("codex.toml"),
        expect![[r#"
        4:git {"command": "uvx", "args": ["mcp-server-git", "${:-${NOT_A_VARIABLE}}"], "env": {"LEVEL": "debug"}, "startTimeout": 20000, "timeout": 90000, "allowedTools": ["status", "diff"], "deniedTools": ["push"], "inheritEnv": ["HOME"]}
        14:figma {"url": "https://mcp.figma.example/mcp", "headers": {"Authorization": "Bearer ${KEY}", "X-Region": "eu"}} (off)
    "#]],
    );
    check(
        "/home/ann/.codex/config.toml",
        "[mcp_servers.x]\nurl = \"https://x.example\"\nenv_http_headers = { A = \"KEY\" }\nhttp_headers = { Authorization = \"old\" }\nbearer_token_env_var = \"KEY\"\nenv_vars = [\"A\", { name = \"B\", source = \"local\" }]",
        expect![[r#"
            1:x {"url": "https://x.example", "headers": {"A": "${KEY}", "Authorization": "Bearer ${KEY}"}, "inheritEnv": ["A", "B"]}
        "#]],
    );
}

#[test]
fn goose() {
    check(
        "/home/ann/.config/goose/config.yaml",
        fixture!("goose.yaml"),
        expect![[r#"
            16:git {"command": "uvx", "args": ["mcp-server-git"], "timeout": 120000, "description": "Git", "env": {"LEVEL": "debug", "KEY": "${KEY}"}}
            30:docs {"type": "http", "headers": {"Authorization": "Bearer ${KEY}"}, "url": "https://docs.example/mcp", "allowedTools": ["search"]}
        "#]],
    );
}

#[test]
fn opencode() {
    check(
        "/home/ann/.config/opencode/opencode.jsonc",
        fixture!("opencode.jsonc"),
        expect![[r#"
            6:git {"command": "uvx", "args": ["mcp-server-git", "--name", "${NAME}", "${:-${NAME}}"], "timeout": 5000, "env": {"KEY": "${KEY}"}}
            13:docs {"url": "https://docs.example/mcp", "headers": {"X-Key": "${KEY}"}, "oauth": false}
            14:old {"command": "x"} (off)
        "#]],
    );
    check(
        "/home/ann/.config/opencode/opencode.json",
        fixture!("opencode-v2.json"),
        expect![[r#"
        2:git {"command": "uvx", "args": ["mcp-server-git"], "startTimeout": 7000, "timeout": 9000}
        3:docs {"url": "https://docs.example/mcp"}
    "#]],
    );
}

#[test]
fn gemini() {
    // Its lists of what may be used at all are kept beside the servers.
    check(
        "/home/ann/.gemini/settings.json",
        fixture!("gemini.json"),
        expect![[r#"
            6:git {"command": "uvx", "args": ["mcp-server-git"], "env": {"KEY": "${KEY}", "N": "%NAME%"}, "timeout": 15000, "trust": true, "allowedTools": ["status"]}
            7:docs {"type": "http", "url": "https://docs.example/mcp", "headers": {"X-Key": "${KEY}"}, "deniedTools": ["rm"]} (off)
            8:events {"url": "https://events.example/sse", "type": "sse"} (off)
        "#]],
    );
}

#[test]
fn vs_code_in_a_project() {
    check(
        "/work/site/.vscode/mcp.json",
        fixture!("vscode.json"),
        expect![[r#"
        6:git {"command": "uvx", "args": ["mcp-server-git", "-r", "/work/site"], "dev": {"watch": "src/**"}} (not approved)
        7:github {"type": "http", "url": "https://api.githubcopilot.example/mcp/", "headers": {"Authorization": "Bearer ${INPUT_GITHUB_TOKEN}"}} (not approved)
        8:events {"type": "sse", "url": "https://events.example/sse"} (not approved)
    "#]],
    );
}

#[test]
fn others() {
    check(
        "/home/ann/.config/amp/settings.json",
        fixture!("amp.json"),
        expect![[r#"
        4:git {"command": "uvx", "args": ["mcp-server-git"], "allowedTools": ["status"]}
        5:docs {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
    "#]],
    );
    check(
        "/home/ann/.continue/config.yaml",
        fixture!("continue.yaml"),
        expect![[r#"
        8:git {"command": "uvx", "args": ["mcp-server-git"], "env": {"PORT": "8080"}, "startTimeout": 20000}
        14:docs {"type": "http", "url": "https://docs.example/mcp", "headers": {"X-Team": "red", "Authorization": "Bearer ${KEY}"}}
    "#]],
    );
    check(
        "/home/ann/.copilot/mcp-config.json",
        fixture!("copilot.json"),
        expect![[r#"
        2:git {"command": "uvx", "args": ["mcp-server-git"]}
        3:docs {"type": "http", "url": "https://docs.example/mcp", "allowedTools": ["search"]}
    "#]],
    );
    check(
        "/home/ann/.config/crush/crush.json",
        fixture!("crush.json"),
        expect![[r#"
        2:git {"command": "uvx", "args": ["mcp-server-git"], "timeout": 120000, "env": {"KEY": "${KEY}"}, "deniedTools": ["push"]}
        3:docs {"type": "http", "url": "https://docs.example/mcp"} (off)
    "#]],
    );
    check(
        "/home/ann/.vibe/config.toml",
        fixture!("vibe.toml"),
        expect![[r#"
        3:git {"command": "uvx", "args": ["mcp-server-git"]}
        9:docs {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
    "#]],
    );
    check(
        "/home/ann/.config/zed/settings.json",
        fixture!("zed.json"),
        expect![[r#"
        6:git {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "1"}}
        7:older {"command": "fs", "args": ["/data"]}
        8:docs {"url": "https://docs.example/mcp", "headers": {"X-A": "b"}, "timeout": 30000}
    "#]],
    );
    check(
        "/home/ann/.cline/mcp.json",
        fixture!("cline_mcp_settings.json"),
        expect![[r#"
        2:git {"command": "uvx", "args": ["mcp-server-git"], "timeout": 60000, "autoApprove": ["status"]}
        3:docs {"type": "http", "url": "https://docs.example/mcp"}
        4:older {"url": "https://older.example/sse", "type": "sse"}
    "#]],
    );
}

#[test]
fn claude_code_has_servers_for_single_folders() {
    check(
        "/home/ann/.claude.json",
        fixture!("claude.json"),
        expect![[r#"
        5:git {"command": "uvx", "args": ["mcp-server-git"]}
          ! it is switched off in /work/site, which is not taken over
        6:docs {"type": "http", "url": "https://docs.example/mcp"}
        12:docs {"type": "sse", "url": "https://local.example/sse"}
        13:files {"command": "fs", "args": ["${PWD:-.}"]}
        17:other {"command": "fs"}
    "#]],
    );
    let found = found_at("/home/ann/.claude.json", fixture!("claude.json"));
    let folders: Vec<_> =
        found.iter().map(|server| server.project.as_deref().and_then(|path| path.to_str())).collect();
    assert_eq!(folders, [None, None, Some("/work/site"), Some("/work/site"), Some("/work/other")]);
}

#[test]
fn our_own_formats() {
    check(
        "/x/a.json",
        r#"{"schemas": {"a": {"mcpServers": {"x": {"command": "x"}}}, "b": {"mcpServers": {"y": {"url": "https://y.example"}}}}}"#,
        expect![[r#"
            1:x {"command": "x"}
            1:y {"url": "https://y.example"}
        "#]],
    );
    check(
        "/x/bare.json",
        fixture!("bare.json"),
        expect![[r#"
        2:git {"command": "uvx", "args": ["mcp-server-git"]}
        3:docs {"url": "https://docs.example/mcp"}
    "#]],
    );
}

// A project's server runs where the project is, from wherever it is used.
#[test]
fn paths_of_a_project_are_absolute() {
    check(
        "/work/site/.mcp.json",
        r#"{"mcpServers": {
            "a": {"command": "./bin/a", "args": ["./x"], "cwd": "sub"},
            "b": {"command": "node_modules/.bin/b", "cwd": ".", "envFile": ".env"},
            "c": {"command": "c", "cwd": "/abs", "envFile": "${HOME}/.env"},
            "d": {"command": "~/d", "cwd": "../up"}
        }}"#,
        expect![[r#"
            2:a {"command": "/work/site/sub/bin/a", "args": ["./x"], "cwd": "/work/site/sub"} (not approved)
            3:b {"command": "/work/site/node_modules/.bin/b", "cwd": "/work/site", "envFile": "/work/site/.env"} (not approved)
            4:c {"command": "c", "cwd": "/abs", "envFile": "${HOME}/.env"} (not approved)
            5:d {"command": "~/d", "cwd": "/work/site/../up"} (not approved)
        "#]],
    );
}

#[test]
fn what_we_have_no_word_for_is_told() {
    let server = one(
        r#"{"url": "https://x.example", "type": "ws", "shine": true, "timeout": null, "oauth": {"scopes": "a"}, "serverUrl": "https://y.example"}"#,
    );
    assert_eq!(server.entry, r#"{"url": "https://x.example", "oauth": {"scopes": "a"}}"#);
    assert_eq!(
        server.remarks,
        [
            "the type `ws` means nothing to us and is left out",
            "`shine` means nothing to us and is left out",
            "line 1: it has several addresses; only `url` is used"
        ]
    );
}

#[test]
fn what_cannot_be_used_says_why() {
    let why = |entry: &str| one(entry).fault.unwrap_or_default();
    assert_eq!(why("{}"), "has neither `command` nor `url`");
    assert_eq!(why("5"), "has neither `command` nor `url`");
    assert_eq!(why(r#"{"command": "x", "url": "https://x.example"}"#), "has both `command` and `url`");
    assert_eq!(why(r#"{"command": "x", "args": "-v"}"#), "`args`: expected a list of texts, found text");
    // Not there yet, or not set yet.
    assert_eq!(why(r#"{"command": "x", "envFile": "/nowhere/.env"}"#), "");
    assert_eq!(why(r#"{"command": "nowhere-to-be-found", "env": {"A": "${NONE}"}}"#), "");
}

#[test]
fn flags_are_read_as_they_are_meant() {
    assert!(!one(r#"{"command": "x", "disabled": "true"}"#).enabled);
    assert!(!one(r#"{"command": "x", "enabled": false}"#).enabled);
    assert!(one(r#"{"command": "x", "disabled": false}"#).enabled);
}

// What YAML takes for a number or a flag is a text to the programs that write it, to the last character.
#[test]
fn yaml_keeps_what_was_written() {
    check(
        "/home/ann/.config/goose/config.yaml",
        "extensions:\n  x:\n    type: stdio\n    enabled: yes\n    cmd: x\n    args: [on, 1.10, 010, 0x1F, true, ~, 1e3, -5]\n    envs: {A: yes, B: 1.0, C: 007, D: No, E: 'on'}\n    timeout: 30\n  y: {type: stdio, enabled: off, cmd: y}\n",
        expect![[r#"
            3:x {"command": "x", "args": ["on", "1.10", "010", "0x1F", "true", null, "1e3", "-5"], "timeout": 30000, "env": {"A": "yes", "B": "1.0", "C": "007", "D": "No", "E": "on"}}
            9:y {"command": "y"} (off)
        "#]],
    );
    check(
        "/home/ann/.continue/config.yaml",
        "name: mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: 2048\n    command: x\n  - name: on\n    command: y\n    args: &a [1.50]\n  - name: z\n    command: z\n    args: *a\n",
        expect![[r#"
            5:2048 {"command": "x"}
            7:on {"command": "y", "args": ["1.50"]}
            10:z {"command": "z", "args": ["1.50"]}
        "#]],
    );
}

#[test]
fn what_a_repeated_key_hides_is_told() {
    let text = r#"{"mcpServers": {"a": {"command": "a"}}, "mcpServers": {"b": {"command": "b"}}}"#;
    let found = found_at("/home/ann/.cursor/mcp.json", text);
    assert_eq!(found.len(), 1);
    let remarks = &found[0].remarks;
    let expected = "left out: /home/ann/.cursor/mcp.json:1: has `mcpServers` twice, first in line 1; the last one counts";
    assert!(remarks.iter().any(|remark| remark == expected), "{remarks:?}");
}
