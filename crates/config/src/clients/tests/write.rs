//! What is written beside whole files, which `tests/clients.rs` of the crate has: names, variables, commands, links.

use std::path::Path;

use expect_test::{Expect, expect};

use super::super::{Client, OwnCommand, Plug, Scope, client};

fn of(id: &str) -> &'static Client {
    client(id).unwrap()
}

fn stdio(env: &[(&str, &str)]) -> Plug {
    Plug::Stdio { command: "/opt/m".into(), args: vec!["serve".into(), "--stdio".into()], env: pairs(env) }
}

fn http(headers: &[(&str, &str)]) -> Plug {
    Plug::Http { url: "http://127.0.0.1:7777/mcp".into(), headers: pairs(headers) }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn printed(id: &str, plug: &Plug) -> String {
    of(id).printed_entry("m", plug).unwrap_or_else(|error| format!("refused: {error}\n"))
}

#[test]
fn names_are_short_and_nobody_elses() {
    let refused = |id: &str, name: &str| {
        let path = Path::new("x.json");
        of(id).put_entry("", path, name, &stdio(&[])).err().map(|error| error.to_string())
    };
    for name in ["manifold", "m", "A-1", "twelve-chars"] {
        assert_eq!(refused("claude-code", name), None, "{name}");
    }
    for name in ["", "thirteen-long", "a_b", "a b", "-a", "ä"] {
        let said = refused("claude-code", name).unwrap();
        assert!(said.starts_with("the entry's name is 1 to 12"), "{name}: {said}");
    }
    assert_eq!(
        refused("claude-code", "Workspace").unwrap(),
        "Claude Code keeps the name `Workspace` for itself"
    );
    assert_eq!(refused("cursor", "workspace"), None);
}

#[test]
fn what_cannot_be_written_says_why() {
    let put =
        |id: &str, plug: &Plug| of(id).put_entry("", Path::new("x"), "m", plug).unwrap_err().to_string();
    expect![
        "Roo Code: it was discontinued in May 2026; its servers can be imported: manifold import --from roo"
    ]
    .assert_eq(&put("roo", &stdio(&[])));
    expect!["JetBrains AI: its settings are kept by the IDE: paste the entry under Settings, Tools, AI Assistant, Model Context Protocol, Add, As JSON"].assert_eq(&put("jetbrains", &stdio(&[])));
    expect!["Claude Desktop: its file takes no URLs; add the URL in the app under Settings, Connectors, or install without --http"].assert_eq(&put("claude-desktop", &http(&[])));
    expect![[r#"
        {
          "mcpServers": {
            "m": {
              "command": "/opt/m",
              "args": ["serve", "--stdio"]
            }
          }
        }
    "#]]
    .assert_eq(&printed("jetbrains", &stdio(&[])));
}

// Each program's own way to refer to a variable, or the key it has for that.
#[test]
fn variables_are_written_as_the_program_does() {
    let token = http(&[("Authorization", "Bearer ${TOKEN}"), ("X-Team", "${TEAM}"), ("X-A", "b")]);
    let line = |id: &str, key: &str| {
        let text = printed(id, &token);
        text.lines().find(|line| line.contains(key)).unwrap_or(&text).trim().to_owned()
    };
    assert_eq!(line("claude-code", "Auth"), r#""Authorization": "Bearer ${TOKEN}","#);
    assert_eq!(line("cursor", "Auth"), r#""Authorization": "Bearer ${env:TOKEN}","#);
    assert_eq!(line("opencode", "Auth"), r#""Authorization": "Bearer {env:TOKEN}","#);
    assert_eq!(line("crush", "X-Team"), r#""X-Team": "$TEAM","#);
    expect![[r#"
        [mcp_servers.m]
        url = "http://127.0.0.1:7777/mcp"
        bearer_token_env_var = "TOKEN"
        http_headers = { X-A = "b" }
        env_http_headers = { X-Team = "TEAM" }
    "#]]
    .assert_eq(&printed("codex", &token));
    expect![[r#"
        [mcp_servers.m]
        command = "/opt/m"
        args = ["serve", "--stdio"]
        env = { A = "1" }
        env_vars = ["TOKEN"]
    "#]]
    .assert_eq(&printed("codex", &stdio(&[("TOKEN", "${TOKEN}"), ("A", "1")])));
    expect![[r#"
        refused: Authorization refers to the variable TOKEN, which LM Studio cannot do; give the value itself
    "#]]
    .assert_eq(&printed("lmstudio", &token));
    expect![[r#"
        refused: Gemini CLI would take a part of A for a variable
    "#]]
    .assert_eq(&printed("gemini", &stdio(&[("A", "costs $FIVE")])));
}

fn check_command(id: &str, what: OwnCommand, plug: &Plug, expected: Expect) {
    let said = |scope| match of(id).own_command(what, "m", plug, scope) {
        Some(words) => format!("{words:?}\n"),
        None => "none\n".to_owned(),
    };
    expected.assert_eq(&format!("{}{}", said(Scope::User), said(Scope::Project)));
}

#[test]
fn a_program_adds_us_itself() {
    let (local, remote) = (stdio(&[("A", "1")]), http(&[("Authorization", "Bearer ${TOKEN}")]));
    check_command(
        "claude-code",
        OwnCommand::Add,
        &local,
        expect![[r#"
        ["claude", "mcp", "add-json", "--scope", "user", "m", "{\"type\": \"stdio\", \"command\": \"/opt/m\", \"args\": [\"serve\", \"--stdio\"], \"env\": {\"A\": \"1\"}}"]
        ["claude", "mcp", "add-json", "--scope", "project", "m", "{\"type\": \"stdio\", \"command\": \"/opt/m\", \"args\": [\"serve\", \"--stdio\"], \"env\": {\"A\": \"1\"}}"]
    "#]],
    );
    check_command(
        "claude-code",
        OwnCommand::Add,
        &remote,
        expect![[r#"
        ["claude", "mcp", "add-json", "--scope", "user", "m", "{\"type\": \"http\", \"url\": \"http://127.0.0.1:7777/mcp\", \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}}"]
        ["claude", "mcp", "add-json", "--scope", "project", "m", "{\"type\": \"http\", \"url\": \"http://127.0.0.1:7777/mcp\", \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}}"]
    "#]],
    );
    check_command(
        "claude-code",
        OwnCommand::Remove,
        &remote,
        expect![[r#"
        ["claude", "mcp", "remove", "--scope", "user", "m"]
        ["claude", "mcp", "remove", "--scope", "project", "m"]
    "#]],
    );
    check_command(
        "codex",
        OwnCommand::Add,
        &local,
        expect![[r#"
        ["codex", "mcp", "add", "m", "--env=A=1", "--", "/opt/m", "serve", "--stdio"]
        none
    "#]],
    );
    check_command(
        "codex",
        OwnCommand::Add,
        &remote,
        expect![[r#"
        ["codex", "mcp", "add", "m", "--url", "http://127.0.0.1:7777/mcp", "--bearer-token-env-var=TOKEN"]
        none
    "#]],
    );
    check_command(
        "gemini",
        OwnCommand::Add,
        &local,
        expect![[r#"
        ["gemini", "mcp", "add", "--scope", "user", "--env=A=1", "m", "/opt/m", "--", "serve", "--stdio"]
        ["gemini", "mcp", "add", "--scope", "project", "--env=A=1", "m", "/opt/m", "--", "serve", "--stdio"]
    "#]],
    );
    check_command(
        "gemini",
        OwnCommand::Add,
        &remote,
        expect![[r#"
        ["gemini", "mcp", "add", "--scope", "user", "--transport", "http", "--header=Authorization: Bearer ${TOKEN}", "m", "http://127.0.0.1:7777/mcp"]
        ["gemini", "mcp", "add", "--scope", "project", "--transport", "http", "--header=Authorization: Bearer ${TOKEN}", "m", "http://127.0.0.1:7777/mcp"]
    "#]],
    );
    check_command(
        "gemini",
        OwnCommand::Remove,
        &local,
        expect![[r#"
        ["gemini", "mcp", "remove", "--scope", "user", "m"]
        ["gemini", "mcp", "remove", "--scope", "project", "m"]
    "#]],
    );
    check_command(
        "vscode-insiders",
        OwnCommand::Add,
        &local,
        expect![[r#"
        ["code-insiders", "--add-mcp", "{\"name\": \"m\", \"type\": \"stdio\", \"command\": \"/opt/m\", \"args\": [\"serve\", \"--stdio\"], \"env\": {\"A\": \"1\"}}"]
        none
    "#]],
    );
    check_command(
        "vscode",
        OwnCommand::Remove,
        &local,
        expect![[r#"
        none
        none
    "#]],
    );
    check_command(
        "cursor",
        OwnCommand::Add,
        &local,
        expect![[r#"
        none
        none
    "#]],
    );
}

// Other users of the machine see the words of a command.
#[test]
fn a_secret_is_in_no_command() {
    for id in ["claude-code", "codex", "gemini", "vscode"] {
        let plug = http(&[("Authorization", "Bearer hunter2")]);
        assert_eq!(of(id).own_command(OwnCommand::Add, "m", &plug, Scope::User), None, "{id}");
        assert!(!format!("{plug:?}").contains("hunter2"));
    }
    // And what a command has no word for is not left out.
    let plug = http(&[("X-Team", "${TEAM}")]);
    assert_eq!(of("codex").own_command(OwnCommand::Add, "m", &plug, Scope::User), None);
}

#[test]
fn links_carry_the_entry() {
    let links: Vec<String> = super::super::clients()
        .iter()
        .filter_map(|client| client.deep_link("m", &stdio(&[("A", "1 & 2")])))
        .collect();
    expect![[r#"
        cursor://anysphere.cursor-deeplink/mcp/install?name=m&config=eyJjb21tYW5kIjogIi9vcHQvbSIsICJhcmdzIjogWyJzZXJ2ZSIsICItLXN0ZGlvIl0sICJlbnYiOiB7IkEiOiAiMSAmIDIifX0%3D
        lmstudio://add_mcp?name=m&config=eyJjb21tYW5kIjogIi9vcHQvbSIsICJhcmdzIjogWyJzZXJ2ZSIsICItLXN0ZGlvIl0sICJlbnYiOiB7IkEiOiAiMSAmIDIifX0%3D
        vscode:mcp/install?%7B%22name%22%3A%20%22m%22%2C%20%22type%22%3A%20%22stdio%22%2C%20%22command%22%3A%20%22%2Fopt%2Fm%22%2C%20%22args%22%3A%20%5B%22serve%22%2C%20%22--stdio%22%5D%2C%20%22env%22%3A%20%7B%22A%22%3A%20%221%20%26%202%22%7D%7D
        vscode-insiders:mcp/install?%7B%22name%22%3A%20%22m%22%2C%20%22type%22%3A%20%22stdio%22%2C%20%22command%22%3A%20%22%2Fopt%2Fm%22%2C%20%22args%22%3A%20%5B%22serve%22%2C%20%22--stdio%22%5D%2C%20%22env%22%3A%20%7B%22A%22%3A%20%221%20%26%202%22%7D%7D"#]].assert_eq(&links.join("\n"));
}

#[test]
fn limits_count_what_the_program_counts() {
    let limits = |id: &str| of(id).limits();
    let long = "t".repeat(54);
    assert_eq!(limits("claude-code").shown("m", "git__log"), "mcp__m__git__log");
    assert_eq!((limits("cursor").excess("manifold", &long), limits("cursor").max_tools), (2, Some(80)));
    assert_eq!(limits("vscode").excess("manifold", &long), 3);
    assert_eq!(limits("goose").excess("manifold", &long.repeat(9)), 0);
}

// A user's settings of our entry stay; what belongs to the other way to reach us goes.
#[test]
fn an_entry_that_is_there_is_changed_where_it_differs() {
    let before = r#"{
  // mine
  "mcpServers": {
    "m": {"command": "/old/m", "args": ["serve", "--stdio"], "disabled": true, "autoApprove": ["a"]}
  }
}
"#;
    let path = Path::new("mcp.json");
    let kiro = of("kiro");
    let after = kiro.put_entry(before, path, "m", &stdio(&[])).unwrap();
    assert_eq!(after, before.replace("/old/m", "/opt/m"));
    assert_eq!(kiro.put_entry(&after, path, "m", &stdio(&[])).unwrap(), after);
    let remote = kiro.put_entry(&after, path, "m", &http(&[])).unwrap();
    assert_eq!(
        kiro.entry_in(&remote, path, "m").unwrap().unwrap(),
        r#"{"disabled": true, "autoApprove": ["a"], "url": "http://127.0.0.1:7777/mcp"}"#
    );
}

// Gemini CLI's own command writes a URL with a type.
#[test]
fn an_entry_says_one_way_to_reach_us() {
    let before = r#"{"mcpServers": {"m": {"url": "http://x/", "type": "http", "headers": {"A": "b"}, "trust": true}}}"#;
    let (gemini, path) = (of("gemini"), Path::new("settings.json"));
    let entry = |plug: &Plug| {
        let after = gemini.put_entry(before, path, "m", plug).unwrap();
        gemini.entry_in(&after, path, "m").unwrap().unwrap()
    };
    assert_eq!(entry(&stdio(&[])), r#"{"trust": true, "command": "/opt/m", "args": ["serve", "--stdio"]}"#);
    assert_eq!(entry(&http(&[])), r#"{"trust": true, "httpUrl": "http://127.0.0.1:7777/mcp"}"#);
}

// opencode's second version has its servers one key deeper, and no `enabled`.
#[test]
fn the_place_that_a_file_has_is_kept() {
    let put =
        |text: &str| of("opencode").put_entry(text, Path::new("opencode.json"), "m", &stdio(&[])).unwrap();
    let entry = r#"{"type": "local", "command": ["/opt/m", "serve", "--stdio"]"#;
    assert_eq!(
        put(r#"{"mcp": {"servers": {}}}"#),
        format!(r#"{{"mcp": {{"servers": {{"m": {entry}}}}}}}}}"#)
    );
    assert_eq!(put(r#"{"mcp": {}}"#), format!(r#"{{"mcp": {{"m": {entry}, "enabled": true}}}}}}"#));
    // A server of that name is none of it.
    let named = r#"{"mcp": {"servers": {"type": "local", "command": ["x"]}}}"#;
    assert!(put(named).starts_with(r#"{"mcp": {"servers": {"type": "local", "command": ["x"]}, "m": {"#));
    let project = of("copilot").put_entry("", Path::new("/work/site/.mcp.json"), "m", &stdio(&[])).unwrap();
    assert!(!project.contains("tools"), "{project}");
}

// What only the program itself can run stays with it.
#[test]
fn the_others_are_taken_out() {
    let goose = "extensions:\n  developer:\n    type: builtin\n    enabled: true\n  git:\n    type: stdio\n    cmd: git\n  m:\n    cmd: x\n";
    let (text, taken) = of("goose").take_others(goose, Path::new("config.yaml"), "m").unwrap();
    assert_eq!(taken, ["git"]);
    assert_eq!(text, goose.replace("  git:\n    type: stdio\n    cmd: git\n", ""));
    let vibe =
        "[[mcp_servers]]\nname = \"a\"\n\n[[mcp_servers]]\nname = \"m\"\n\n[[mcp_servers]]\nname = \"b\"\n";
    let (text, taken) = of("vibe").take_others(vibe, Path::new("config.toml"), "m").unwrap();
    assert_eq!(taken, ["a", "b"]);
    assert_eq!(of("vibe").names_in(&text, Path::new("config.toml")).unwrap(), ["m"]);
    let (same, none) = of("vibe").take_others(&text, Path::new("config.toml"), "m").unwrap();
    assert_eq!((same, none.len()), (text, 0));
}

#[test]
fn files_that_cannot_be_changed_are_refused() {
    let put = |id: &str, text: &str| {
        let said = of(id).put_entry(text, Path::new("mcp.json"), "m", &stdio(&[])).unwrap_err();
        said.to_string()
    };
    expect!["mcp.json: has comments or commas too many, which GitHub Copilot CLI cannot read; take them out"]
        .assert_eq(&put("copilot", "{\"mcpServers\": {}, // no\n}"));
    expect!["there is something else than an object; change the file by hand"]
        .assert_eq(&put("cursor", "{\"mcpServers\": [1]}"));
    expect!["mcp.json:1: expected an object, found a list; put everything between `{` and `}`"]
        .assert_eq(&put("cursor", "[]"));
    let missing = of("cursor").take_entry("{\"mcpServers\": {\"a\": {}}}", Path::new("mcp.json"), "m");
    expect!["there is no server 'm'; there is a"].assert_eq(&missing.unwrap_err().to_string());
}
