//! `status` with a gateway, `config show`, `daemon reload`.

use manifold_admin::{Snapshot, State};
use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Gateway, alone};
use crate::{files, git, in_state, snapshot, value};

#[test]
fn status_adds_what_runs_to_what_is_written() {
    let gateway = Gateway::new().says("GET /v1/snapshot", &snapshot(vec![git(), files()]));
    let ran = gateway.run("status");
    assert_eq!(ran.code, Some(1), "a server has failed");
    let live = ran.stdout.split_once("\nrunning: ").expect("a live half").1;
    // For how many minutes depends on how long all of these tests take.
    let first = live.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("the daemon (pid 4711), for ") && first.ends_with(" min, 0 clients"),
        "{ran:?}"
    );
    assert!(live.contains("git  ready  stdio  12  2"), "{ran:?}");
    assert!(ran.stdout.contains("[lazy]"), "the file's half is as ever: {ran:?}");
    let ran = gateway.run("status --json");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&report["running"]["pid"], &report["running"]["kind"]), (&json!(4711), &json!("daemon")));
    let row = report["servers"].as_array().expect("rows").iter().find(|row| row["id"] == "git").expect("git");
    assert_eq!((&row["state"], &row["tools"], &row["clients"]), (&json!("ready"), &json!(12), &json!(2)));
    assert_eq!(
        (&row["transport"], &row["target"]),
        (&json!("builtin"), &json!("time")),
        "as the file has it"
    );
    assert!(report["config"].is_string() && report["problems"].is_array());
    let well = Gateway::new().says("GET /v1/snapshot", &snapshot(vec![in_state(State::Ready)]));
    assert_eq!(well.run("status --running").code, Some(0));
}

#[test]
fn status_without_a_gateway_says_so_and_fails_only_where_asked() {
    let sandbox = Sandbox::new();
    let ran = alone(&sandbox, "status");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.ends_with("\nnothing runs for this config\n"), "{ran:?}");
    let ran = alone(&sandbox, "status --json --running");
    assert_eq!(ran.code, Some(3));
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&report["running"], &report["servers"][0]["state"]), (&Value::Null, &json!("idle")));
}

#[test]
fn a_gateway_that_makes_no_sense_is_a_failure() {
    let gateway = Gateway::new().says("GET /v1/snapshot", &json!("no"));
    assert_eq!(gateway.fails("list", 1, "what answers there is no Manifold gateway"), "unreachable");
    let gateway = Gateway::new().says("GET /v1/snapshot", &value(&Snapshot::default()));
    let ran = gateway.run("list");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "no servers are no failure: {ran:?}");
}

#[test]
fn what_is_written_is_shown_whoever_does_not_answer() {
    let gateway = Gateway::new().refuses("GET /v1/snapshot", 500, "failed", "it is of another version");
    for line in ["status", "status --running"] {
        let ran = gateway.run(line);
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (Some(1), "manifold: it is of another version\n"),
            "{ran:?}"
        );
        assert!(ran.stdout.contains("[lazy]") && !ran.stdout.contains("nothing runs"), "{ran:?}");
    }
}

#[test]
fn the_config_is_shown_without_its_secrets() {
    let sandbox = Sandbox::new();
    let text = r#"{
  // mine s3cr3t-comment
  "mcpServers": {
    "git": {"command": "true", "args": ["--key=s3cr3t-argument"], "env": {"A": "s3cr3t-variable", "B": "${HOME}"}}
  }
}"#;
    sandbox.write(".config/manifold/config.json", text);
    let ran = alone(&sandbox, "config show");
    let hidden = text.replace("--key=s3cr3t-argument", "***").replace("s3cr3t-variable", "***");
    let hidden = hidden.replace("// mine s3cr3t-comment", "// ...");
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("{hidden}\n")));
    let ran = alone(&sandbox, "config show --json");
    let shown: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(shown["text"], json!(hidden));
    sandbox.write(".config/manifold/config.json", "{\"mcpServers\": {\"a\": {\"env\": {\"K\": \"s3cr3t\"");
    let ran = alone(&sandbox, "config show");
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.contains("s3cr3t")),
        (Some(2), "", false),
        "{ran:?}"
    );
}

#[test]
fn a_reload_says_what_it_changed() {
    let report = json!({"added": [{"id": "new"}], "removed": [], "restarted": [{"id": "git"}, {"schema": "s", "id": "x"}],
                        "unchanged": 4, "problems": []});
    let gateway = Gateway::new().says("POST /v1/daemon/reload", &report);
    assert_eq!(
        gateway.shown("daemon reload"),
        "added: new\nremoved: none\nrestarted: git, s/x\nunchanged: 4\n"
    );
    assert_eq!(gateway.json("daemon reload --json"), report);
    let gateway =
        Gateway::new().refuses("POST /v1/daemon/reload", 422, "config-refused", "line 3 is no JSON");
    assert_eq!(gateway.fails("daemon reload", 2, "line 3 is no JSON"), "config-refused");
}
