//! `add`, `add-json`, `remove`, `rename`: what they make of the config file, and what they ask of a gateway.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Gateway, Ran, ran};

const CONFIG: &str = ".config/manifold/config.json";

const WRITTEN: &str = r#"{
  // mine
  "mcpServers": {
    "clock": {"builtin": "time"}, // ticks
    "files": {"command": "true", "args": ["a"]}
  },
  "namespaces": {"work": {"serverIds": ["files", "clock"]}}
}
"#;

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(CONFIG, WRITTEN);
    sandbox
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let mut command = sandbox.daemon();
    command.args(words).stdin(Stdio::null());
    ran(command)
}

#[track_caller]
fn done(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let ran = run(sandbox, words);
    assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    ran
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(CONFIG)).expect("a config")
}

/// Returns the entry that a fresh home has after a command.
#[track_caller]
fn added(words: &[&str]) -> (String, Value) {
    let sandbox = Sandbox::new();
    done(&sandbox, words);
    let config: Value = serde_json::from_str(&text(&sandbox)).expect("JSON");
    let servers = config["mcpServers"].as_object().expect("servers");
    assert_eq!(servers.len(), 1, "{words:?}: {config}");
    let (id, entry) = servers.iter().next().expect("one");
    (id.clone(), entry.clone())
}

/// Returns the commands that can be undone, the first one first.
fn records(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.path(".local/state/manifold/backups");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names.iter().filter_map(|name| Some(name.split_once('-')?.1.to_owned())).collect()
}

#[test]
fn a_server_is_added_and_the_rest_stays() {
    let sandbox = home();
    let ran = done(&sandbox, &["add", "git", "--", "true", "--config", "x", "-e", "--", "--json"]);
    assert!(
        ran.stdout.starts_with("git has been added; it starts true --config x -e -- --json\n"),
        "{ran:?}"
    );
    let entry = "\"files\": {\"command\": \"true\", \"args\": [\"a\"]}";
    let both = format!(
        "{entry},\n    \"git\": {{\"command\": \"true\", \"args\": [\"--config\", \"x\", \"-e\", \"--\", \"--json\"]}}"
    );
    let with = text(&sandbox);
    assert_eq!(with.replace(['\n', ' '], ""), WRITTEN.replace(entry, &both).replace(['\n', ' '], ""));
    assert!(with.contains("// mine") && with.contains("// ticks"));
    let again = done(&sandbox, &["add", "git", "--", "true", "--config", "x", "-e", "--", "--json"]);
    assert!(again.stdout.starts_with("git is there already;"), "{again:?}");
    let other = run(&sandbox, &["add", "git", "--", "false"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("there is a server 'git' already") && other.stderr.contains("--force"));
    assert_eq!(text(&sandbox), with);
    assert_eq!(records(&sandbox), ["add"], "what changed nothing cannot be undone");
    done(&sandbox, &["add", "git", "--force", "--", "false"]);
    assert!(
        text(&sandbox).contains("\"git\": {\"command\": \"false\"}") || text(&sandbox).contains("\"false\"")
    );
    assert_eq!(records(&sandbox), ["add", "add"]);
}

#[test]
fn the_first_server_makes_the_file() {
    let sandbox = Sandbox::new();
    let ran = done(&sandbox, &["add", "time", "--json", "--", "uvx", "mcp-server-time"]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&report["added"], &report["changed"]), (&json!(["time"]), &json!(true)));
    assert_eq!(report["answeredBy"], "files");
    let path = sandbox.path(CONFIG);
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let config: Value = serde_json::from_str(&text(&sandbox)).expect("JSON");
    assert_eq!(config["mcpServers"]["time"]["command"], "uvx", "what is built in stands in for servers only");
}

#[test]
fn what_people_paste_is_understood() {
    let of = |command: &str, args: &[&str]| json!({"command": command, "args": args});
    let npx = of("npx", &["-y", "@acme/mcp-server-files", "~/my notes"]);
    let files = || ("files".to_owned(), npx.clone());
    assert_eq!(added(&["add", "npx -y @acme/mcp-server-files '~/my notes'"]), files());
    assert_eq!(added(&["add", "npx", "-y", "@acme/mcp-server-files", "~/my notes"]), files());
    assert_eq!(added(&["add", "--", "npx", "-y", "@acme/mcp-server-files", "~/my notes"]), files());
    assert_eq!(added(&["add", "files", "npx", "-y", "@acme/mcp-server-files", "~/my notes"]), files());
    let docker = "$ docker run -i --rm -e ACME_TOKEN ghcr.io/acme/acme-mcp-server";
    let mut expected =
        of("docker", &["run", "-i", "--rm", "-e", "ACME_TOKEN", "ghcr.io/acme/acme-mcp-server"]);
    expected["env"] = json!({"ACME_TOKEN": "${ACME_TOKEN}"});
    assert_eq!(added(&["add", docker]), ("acme".to_owned(), expected));
    let line = "MODE=fast \\\n  acme-server --dir \"$HOME/x y\"";
    let mut expected = of("acme-server", &["--dir", "${HOME}/x y"]);
    expected["env"] = json!({"MODE": "fast"});
    assert_eq!(added(&["add", line]), ("acme".to_owned(), expected));
    let url = json!({"url": "https://mcp.acme.dev/mcp"});
    assert_eq!(added(&["add", "https://mcp.acme.dev/mcp"]), ("acme".to_owned(), url));
}

#[test]
fn entries_of_other_programs_are_understood() {
    let entry = json!({"command": "acme-server", "args": ["x"]});
    for text in [
        r#"{"mcpServers": {"acme": {"command": "acme-server", "args": ["x"]}}}"#,
        r#"{"servers": {"acme": {"type": "stdio", "command": "acme-server", "args": ["x"]}}}"#,
        r#"{"acme": {"command": "acme-server", "args": ["x"]}}"#,
        r#""acme": {"command": "acme-server", "args": ["x"]},"#,
        r#"{"command": "acme-server", "args": ["x"]}"#,
        r#"claude mcp add-json acme '{"command": "acme-server", "args": ["x"]}'"#,
        r#"code --add-mcp '{"name": "acme", "command": "acme-server", "args": ["x"]}'"#,
        "claude mcp add --scope user acme -- acme-server x",
        "codex mcp add acme -- acme-server x",
        "gemini mcp add -s user acme acme-server x",
    ] {
        let (id, found) = added(&["add", text]);
        assert_eq!(
            (id.as_str(), &found["command"], &found["args"]),
            ("acme", &entry["command"], &entry["args"]),
            "{text}"
        );
    }
    let remote = json!({"url": "https://a.example/mcp", "headers": {"X-Team": "tools"}, "type": "http"});
    let (id, found) = added(&[
        "add",
        "claude mcp add --transport http acme https://a.example/mcp --header 'X-Team: tools'",
    ]);
    assert_eq!((id.as_str(), &found), ("acme", &remote));
    let (_, found) =
        added(&["add", "codex mcp add acme --url https://a.example/mcp --bearer-token-env-var ACME"]);
    assert_eq!(found["headers"]["Authorization"], "Bearer ${ACME}");
    let several = r#"{"mcpServers": {"a": {"command": "true"}, "b": {"url": "https://b.example/mcp"}}}"#;
    let sandbox = Sandbox::new();
    done(&sandbox, &["add", several]);
    let config: Value = serde_json::from_str(&text(&sandbox)).expect("JSON");
    assert_eq!(config["mcpServers"].as_object().map(serde_json::Map::len), Some(2));
    assert_eq!(records(&sandbox), ["add"], "one step");
    assert_eq!(run(&sandbox, &["add", "c", several]).code, Some(2));
}

#[test]
fn options_are_part_of_the_entry() {
    let (_, entry) = added(&[
        "add",
        "x",
        "-e",
        "A=1",
        "-e",
        "B",
        "--cwd",
        "sub",
        "--shared",
        "project",
        "--disabled",
        "--",
        "true",
    ]);
    assert_eq!(entry["env"], json!({"A": "1", "B": "${B}"}));
    assert!(entry["cwd"].as_str().expect("a folder").starts_with('/'), "{entry}");
    assert_eq!((&entry["shared"], &entry["disabled"]), (&json!("project"), &json!(true)));
    let (_, entry) =
        added(&["add", "x", "https://x.example/sse", "--transport", "sse", "-H", "X-Team: a: b"]);
    assert_eq!(entry, json!({"url": "https://x.example/sse", "headers": {"X-Team": "a: b"}, "type": "sse"}));
    let (_, entry) = added(&["add", "npx -y @modelcontextprotocol/server-github"]);
    assert_eq!(entry["shared"], json!(true), "it is known not to use its folder");
    let (_, entry) = added(&["add", "--shared", "false", "npx -y @modelcontextprotocol/server-github"]);
    assert_eq!(entry["shared"], json!(false));
    let sandbox = Sandbox::new();
    for wrong in [
        &["add"][..],
        &["add", "git"],
        &["add", "git", "ftp://x"],
        &["add", "git", "https://x.example/mcp", "-e", "A=1"],
        &["add", "git", "-H", "A: b", "--", "true"],
        &["add", "git", "true | false"],
        &["add", "git", "true 'x"],
        &["add", "a b", "--", "true"],
        &["add", "git", "{\"mcpServers\": {}}"],
        &["add", "git", "{\"command\": "],
        &["add-json", "git", "[]"],
        &["add-json", "git", "{}"],
        &["add-json", "git", "{\"command\": 1}"],
    ] {
        let ran = run(&sandbox, wrong);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{wrong:?}: {ran:?}");
        assert!(ran.stderr.starts_with("manifold: "), "{ran:?}");
    }
    assert!(!sandbox.path(CONFIG).exists());
    assert!(records(&sandbox).is_empty());
}

#[test]
fn a_secret_is_warned_of_and_not_shown() {
    let sandbox = Sandbox::new();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let ran = done(
        &sandbox,
        &["add", "hub", "-e", &format!("GITHUB_TOKEN={token}"), "--", "true", "--token", token],
    );
    assert!(!ran.stdout.contains(token) && !ran.stderr.contains(token), "{ran:?}");
    assert!(ran.stderr.contains("manifold secret set"), "{ran:?}");
    assert!(text(&sandbox).contains(token), "it is what was asked for");
    let ran = done(&sandbox, &["add", "other", "-e", "GITHUB_TOKEN=${GITHUB_TOKEN}", "--", "true"]);
    assert!(!ran.stderr.contains("secret set"), "{ran:?}");
}

#[test]
fn what_is_missing_is_said() {
    let sandbox = Sandbox::new();
    let ran = done(&sandbox, &["add", "tickets", "--", "no-such-ticket-server"]);
    assert_eq!(ran.stdout, "tickets has been added; it starts no-such-ticket-server\n");
    assert!(ran.stderr.contains("cannot find the program `no-such-ticket-server`"), "{ran:?}");
    let json = done(&sandbox, &["add", "more", "--json", "--", "no-such-ticket-server"]);
    let report: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(1), "{report}");
}

#[test]
fn a_name_is_checked_wherever_it_is_given() {
    let sandbox = home();
    for name in ["../x", "a/b", "a b", "..", "/x", "x/", "a/../b", "-x", ""] {
        for words in [
            &["add", name, "--", "cat"][..],
            &["add-json", name, "{\"command\": \"cat\"}"],
            &["rename", "files", name],
        ] {
            assert_eq!(run(&sandbox, words).code, Some(2), "{words:?}");
        }
    }
    assert_eq!(text(&sandbox), WRITTEN);
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = home();
    for words in [
        &["add", "git", "--dry-run", "--", "true"][..],
        &["add-json", "git", "{\"command\": \"true\"}", "--dry-run"],
        &["remove", "files", "--dry-run"],
        &["rename", "files", "notes", "--dry-run"],
    ] {
        let ran = done(&sandbox, words);
        assert!(ran.stdout.contains(" would be "), "{ran:?}");
        let with_json: Vec<&str> =
            [words[0], "--json"].into_iter().chain(words[1..].iter().copied()).collect();
        let report: Value = serde_json::from_str(&done(&sandbox, &with_json).stdout).expect("JSON");
        assert_eq!((&report["dryRun"], &report["changed"]), (&json!(true), &json!(true)), "{report}");
    }
    assert_eq!(text(&sandbox), WRITTEN);
    assert!(records(&sandbox).is_empty());
}

#[test]
fn servers_are_removed_and_renamed_wherever_they_are_named() {
    let sandbox = home();
    assert_eq!(done(&sandbox, &["rename", "files", "notes"]).stdout, "files is called notes now\n");
    assert_eq!(text(&sandbox), WRITTEN.replace("files", "notes"));
    let ran = run(&sandbox, &["remove", "notes", "clocc"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.stderr.contains("there is no server 'clocc'; did you mean `clock`?"), "{ran:?}");
    assert_eq!(text(&sandbox), WRITTEN.replace("files", "notes"), "all or none");
    assert_eq!(run(&sandbox, &["rename", "notes", "clock"]).code, Some(2));
    assert_eq!(run(&sandbox, &["rename", "other", "x"]).code, Some(7));
    let ran = done(&sandbox, &["remove", "notes", "clock"]);
    assert_eq!(ran.stdout, "notes has been removed\nclock has been removed\n");
    assert!(text(&sandbox).contains("\"serverIds\": []") && text(&sandbox).contains("// mine"));
    assert_eq!(records(&sandbox), ["rename", "remove"]);
}

#[test]
fn a_server_can_join_a_namespace() {
    let sandbox = home();
    let ran = done(&sandbox, &["add", "git", "--namespace", "work", "--", "true"]);
    assert_eq!(ran.stderr, "");
    assert!(text(&sandbox).contains(r#""serverIds": ["files", "clock", "git"]"#), "{}", text(&sandbox));
    let ran = run(&sandbox, &["add", "hg", "--namespace", "home", "--", "true"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    let ran = done(&sandbox, &["add", "hg", "--", "true"]);
    assert!(ran.stderr.contains("no namespace names hg"), "{ran:?}");
}

#[test]
fn what_was_switched_can_be_undone_too() {
    let sandbox = home();
    done(&sandbox, &["disable", "clock"]);
    done(&sandbox, &["disable", "clock"]);
    done(&sandbox, &["enable", "clock"]);
    assert_eq!(text(&sandbox), WRITTEN);
    assert_eq!(records(&sandbox), ["disable", "enable"], "what was so already is no change");
    assert_eq!(run(&sandbox, &["disable", "nobody"]).code, Some(7));
    assert_eq!(records(&sandbox).len(), 2);
}

#[test]
fn changes_are_in_the_audit_though_nothing_runs() {
    let sandbox = home();
    done(&sandbox, &["add", "git", "--", "true"]);
    done(&sandbox, &["rename", "git", "vcs"]);
    let lines: Value = serde_json::from_str(&done(&sandbox, &["audit", "--json"]).stdout).expect("JSON");
    let told: Vec<(&Value, &Value)> =
        lines.as_array().expect("lines").iter().map(|line| (&line["verb"], &line["target"])).collect();
    assert_eq!(told, [(&json!("add"), &json!("git")), (&json!("rename"), &json!("git to vcs"))]);
}

fn gateway() -> Gateway {
    let gateway = Gateway::new();
    let path = gateway.sandbox.path(CONFIG);
    let text = fs::read_to_string(&path).expect("a config");
    gateway.says("GET /v1/config", &json!({"path": path, "text": text, "revision": "r1", "problems": []}))
}

#[test]
fn a_gateway_makes_the_change_of_what_was_read() {
    let changed = json!({"path": "/x", "before": "r1", "revision": "r2", "report": {}});
    let gateway = gateway()
        .says("PUT /v1/config/servers/new", &changed)
        .says("DELETE /v1/config/servers/git", &changed)
        .says("POST /v1/config/servers/git/rename", &changed)
        .says("PUT /v1/config", &changed);
    let before = fs::read_to_string(gateway.sandbox.path(CONFIG)).expect("a config");
    let ran = gateway.run("add new -- true x");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = gateway.json("add new --json -- true x");
    assert_eq!((&report["answeredBy"], &report["added"]), (&json!("daemon"), &json!(["new"])));
    gateway.shown("remove git");
    gateway.shown("rename git vcs");
    assert_eq!(gateway.run("remove git files").code, Some(0));
    let changes: Vec<_> =
        gateway.asked().into_iter().filter(|asked| !asked.line.starts_with("GET")).collect();
    assert!(changes.iter().all(|asked| asked.if_match.as_deref() == Some("r1")), "{changes:?}");
    let lines: Vec<&str> = changes.iter().map(|asked| asked.line.as_str()).collect();
    let expected = [
        "PUT /v1/config/servers/new",
        "PUT /v1/config/servers/new",
        "DELETE /v1/config/servers/git",
        "POST /v1/config/servers/git/rename",
        "PUT /v1/config",
    ];
    assert_eq!(lines, expected);
    assert_eq!(changes[0].body, json!({"command": "true", "args": ["x"]}));
    assert_eq!(changes[3].body, json!({"to": "vcs"}));
    assert_eq!(
        fs::read_to_string(gateway.sandbox.path(CONFIG)).expect("a config"),
        before,
        "it writes, not we"
    );
}

#[test]
fn a_change_is_thought_out_anew_where_the_config_was_changed_meanwhile() {
    let gateway = gateway().refuses("DELETE /v1/config/servers/git", 412, "stale", "it has changed");
    assert_eq!(gateway.fails("remove git", 2, "the config is being changed by somebody else"), "stale");
    let reads = gateway.asked().iter().filter(|asked| asked.line == "GET /v1/config").count();
    assert_eq!(reads, 800, "four hundred times for each of two commands");
    assert!(records(&gateway.sandbox).is_empty(), "what was not done cannot be undone");
}

#[test]
fn an_earlier_daemon_is_told_the_whole_text() {
    let gateway = gateway()
        .refuses("POST /v1/config/servers/git/rename", 404, "unknown-route", "there is no such resource")
        .says("PUT /v1/config", &json!({"path": "/x", "before": "r1", "revision": "r2", "report": {}}));
    assert_eq!(gateway.shown("rename git vcs"), "git is called vcs now\n");
    let last = gateway.asked().pop().expect("asked");
    assert!(last.body["text"].as_str().is_some_and(|text| text.contains("\"vcs\"")), "{last:?}");
}
