//! What setting up must not lose, and must not keep quiet about: entries that somebody has edited, files that cannot be
//! written or read, commands that are undone out of order.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Stdio;

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Gateway, alone, ran};
use crate::install::{done, run};

const CONFIG: &str = ".config/manifold/config.json";
const CURSOR: &str = ".cursor/mcp.json";
const THEIRS: &str = "{\n  \"mcpServers\": {\n    \"git\": {\"command\": \"uvx\"}\n  }\n}\n";

/// A home in which we are in Cursor's file, beside another server.
fn installed() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("bin")).expect("a folder");
    sandbox.write_config(&json!({"mcpServers": {"time": {"builtin": "time"}}}));
    sandbox.write(CURSOR, THEIRS);
    done(&sandbox, "install cursor");
    sandbox
}

fn text(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path(path)).expect("a file")
}

fn found(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(&run(sandbox, "doctor --json").stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("a list").iter();
    checks.filter(|check| check["id"] == id && check["status"] != "ok").cloned().collect()
}

#[test]
fn an_entry_that_was_edited_is_the_users() {
    let sandbox = installed();
    assert!(found(&sandbox, "client-entry-edited").is_empty());
    let edited = text(&sandbox, CURSOR).replacen("\"--stdio\"", "\"--stdio\", \"--verbose\"", 1);
    assert!(edited.contains("--verbose"), "{edited}");
    sandbox.write(CURSOR, &edited);
    let drift = found(&sandbox, "client-entry-edited");
    assert_eq!(drift.len(), 1, "{drift:?}");
    let refused = run(&sandbox, "uninstall cursor");
    assert_eq!((refused.code, text(&sandbox, CURSOR)), (Some(1), edited.clone()));
    assert!(refused.stderr.contains("has been changed since it was written"), "{refused:?}");
    let undone = run(&sandbox, "undo");
    assert_eq!((undone.code, text(&sandbox, CURSOR)), (Some(1), edited), "{undone:?}");
    assert!(undone.stdout.starts_with("not undone: install cursor"), "{undone:?}");
    done(&sandbox, "uninstall cursor --force");
    assert_eq!(text(&sandbox, CURSOR), THEIRS);
}

#[test]
fn what_cannot_be_written_is_not_called_undone() {
    let sandbox = installed();
    let mode =
        |mode| fs::set_permissions(sandbox.path(CURSOR), fs::Permissions::from_mode(mode)).expect("ours");
    mode(0o400);
    let blocked = run(&sandbox, "undo");
    assert_eq!(blocked.code, Some(1), "{blocked:?}");
    assert!(blocked.stdout.starts_with("not undone: install cursor"), "{blocked:?}");
    assert!(blocked.stderr.contains(CURSOR) && blocked.stderr.contains("tries again"), "{blocked:?}");
    mode(0o600);
    assert!(done(&sandbox, "undo").starts_with("undone: install cursor"));
    assert_eq!(text(&sandbox, CURSOR), THEIRS);
}

#[test]
fn an_undo_out_of_order_says_what_stays() {
    let sandbox = Sandbox::new();
    for line in ["add a -- true", "add b -- true"] {
        assert_eq!(alone(&sandbox, line).code, Some(0));
    }
    let list: Value = serde_json::from_str(&alone(&sandbox, "undo --list --json").stdout).expect("JSON");
    let first = list[1]["id"].as_str().expect("an id");
    let undone = alone(&sandbox, &format!("undo {first}"));
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert!(undone.stderr.contains("what `add b` did later stays"), "{undone:?}");
    let config: Value = serde_json::from_str(&text(&sandbox, CONFIG)).expect("JSON");
    assert_eq!(config["mcpServers"], json!({"b": {"command": "true"}}));
}

#[test]
fn an_undo_goes_through_the_gateway_that_serves_the_config() {
    let gateway =
        Gateway::new().says("PUT /v1/config", &json!({"path": "x", "revision": "r", "before": "b"}));
    let config = gateway.sandbox.path(CONFIG);
    let before = fs::read_to_string(&config).expect("a config");
    let elsewhere = gateway.sandbox.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let mut add = gateway.sandbox.daemon();
    add.args(["add", "new", "--", "true"]).env("XDG_RUNTIME_DIR", &elsewhere).stdin(Stdio::null());
    assert_eq!(ran(add).code, Some(0));
    assert_ne!(fs::read_to_string(&config).expect("a config"), before, "nothing ran that it could see");
    let undone = gateway.run("undo --json");
    assert_eq!(undone.code, Some(0), "{undone:?}");
    let asked = gateway.asked();
    let put = asked.iter().find(|one| one.line == "PUT /v1/config").expect("it is asked");
    assert_eq!(put.body["text"], json!(before));
    assert!(put.if_match.is_some() && put.face.as_deref() == Some("cli"), "{put:?}");
    assert_ne!(fs::read_to_string(&config).expect("a config"), before, "nobody else wrote it");
}

#[test]
fn the_change_of_a_file_of_one_line_is_seen() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("bin")).expect("a folder");
    sandbox.write(CURSOR, r#"{"mcpServers":{"git":{"command":"uvx","env":{"T":"hush-hush"}}}}"#);
    let shown = done(&sandbox, "install cursor --dry-run");
    assert!(shown.contains("+ manifold: {") && shown.contains("--stdio"), "{shown}");
    assert!(!shown.contains("hush-hush") && !shown.contains("***"), "{shown}");
}

#[test]
fn in_the_home_folder_nothing_is_told_twice() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("bin")).expect("a folder");
    sandbox.write(CURSOR, "{\"mcpServers\": ");
    let told = found(&sandbox, "client-file");
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.write(CURSOR, "{\"mcpServers\": ");
    sandbox.write(".claude.json", r#"{"mcpServers": {"git": {"command": "uvx"}}}"#);
    let report = |line: &str| -> Value { serde_json::from_str(&alone(&sandbox, line).stdout).expect("JSON") };
    for unread in
        [&report("import --dry-run --json")["unread"], &report("init --dry-run --json")["import"]["unread"]]
    {
        assert_eq!(unread.as_array().map(Vec::len), Some(1), "{unread}");
        assert!(unread[0]["file"].as_str().is_some_and(|file| file.ends_with(CURSOR)), "{unread}");
    }
}

#[test]
fn our_own_entry_at_another_port_is_not_imported() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"time": {"builtin": "time"}}, "server": {"port": 4555}});
    sandbox.write(CONFIG, &config.to_string());
    sandbox.write(CURSOR, r#"{"mcpServers": {"gateway": {"url": "http://localhost:4555/mcp"}}}"#);
    let ran = alone(&sandbox, "import --json");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["added"], json!([]), "{ran:?}");
    assert_eq!(report["skipped"][0]["id"], "gateway", "{ran:?}");
}

#[test]
fn a_config_that_is_a_link_out_of_the_home_is_refused() {
    let (sandbox, outside) = (Sandbox::new(), Sandbox::new());
    outside.write("config.json", "{\"mcpServers\": {}}\n");
    fs::create_dir_all(sandbox.path(".config/manifold")).expect("a folder");
    symlink(outside.path("config.json"), sandbox.path(CONFIG)).expect("a link");
    let refused = alone(&sandbox, "add git -- true");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains(CONFIG) && refused.stderr.contains("outside of the home"), "{refused:?}");
    assert_eq!(text(&outside, "config.json"), "{\"mcpServers\": {}}\n");
}

#[test]
fn another_programs_command_may_be_pasted_as_it_is() {
    let sandbox = Sandbox::new();
    let ran = alone(&sandbox, "add claude mcp add -s user -e A=1 acme -- acme-server --scope x");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let config: Value = serde_json::from_str(&text(&sandbox, CONFIG)).expect("JSON");
    let acme = json!({"command": "acme-server", "args": ["--scope", "x"], "env": {"A": "1"}});
    assert_eq!(config["mcpServers"], json!({"acme": acme}));
}
