//! `list`, `get` and the orders to servers.

use expect_test::expect;
use manifold_admin::{Server, ServerId, State};
use manifold_testkit::Sandbox;
use serde_json::json;

use crate::fake::{Gateway, alone};
use crate::{files, git, in_state, snapshot, value};

fn two() -> Gateway {
    Gateway::new().says("GET /v1/snapshot", &snapshot(vec![git(), files()]))
}

#[test]
fn list_shows_every_server_in_each_form() {
    let gateway = two();
    expect![[r#"
        git  ready  stdio  12  2  -
        files  failed  http  -  0  it said \u{1b}[31mno\u{1b}[0m; look at `manifold logs files`
    "#]]
    .assert_eq(&gateway.shown("list"));
    assert_eq!(gateway.shown("list -q"), "git\nfiles\n");
    let expected = json!([
        {"id": "git", "state": "ready", "kind": "stdio", "tools": 12, "listed": true, "clients": 2},
        {"id": "files", "state": "failed", "kind": "http", "tools": 0, "listed": false, "clients": 0,
         "error": "it said \u{1b}[31mno\u{1b}[0m", "hint": "look at `manifold logs files`"},
    ]);
    assert_eq!(gateway.json("list --json"), expected);
    assert_eq!(gateway.asked()[0].face.as_deref(), Some("cli"));
}

#[test]
fn which_gateway_was_asked_is_said_to_those_who_ask() {
    let gateway = two();
    assert_eq!(gateway.run("list -v").stderr, "manifold: asked the daemon (pid 4711)\n");
    assert_eq!(gateway.json("get git --json")["answeredBy"], "daemon");
    let sandbox = Sandbox::new();
    let ran = alone(&sandbox, "list -v");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), "manifold: asked the files, as nothing runs\n"));
    assert_eq!(ran.stdout, "time  idle  builtin  -  0  -\n");
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let gateway = two();
    assert!(!gateway.run("list").stdout.contains('\u{1b}'));
    assert!(gateway.run("list --color always").stdout.starts_with("git  \u{1b}[32mready\u{1b}[0m  stdio"));
    assert!(gateway.run("get git --color always").stdout.contains("\u{1b}[32mready\u{1b}[0m"));
}

#[test]
fn a_full_disk_is_a_failure_and_a_closed_pipe_is_none() {
    let gateway = two();
    for line in ["list", "list --json", "get git", "--help", "completions bash", "config schema"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let ran = gateway.command(line).stdout(full).output().expect("it runs");
        assert_eq!(ran.status.code(), Some(1), "{line}: {ran:?}");
        assert!(
            String::from_utf8_lossy(&ran.stderr).contains("standard output cannot be written"),
            "{ran:?}"
        );
        let (read, write) = std::io::pipe().expect("a pipe");
        drop(read);
        let ran = gateway.command(line).stdout(write).output().expect("it runs");
        assert_eq!((ran.status.code(), ran.stderr.len()), (Some(0), 0), "{line}: {ran:?}");
    }
}

/// Who changes something is told that nobody will know of it.
#[test]
fn a_change_that_is_not_written_down_says_so() {
    let about = json!({"kind": "daemon", "pid": 1, "auditFault": "/x/audit.jsonl: Permission denied"});
    let gateway = two().says("GET /v1/about", &about).says("POST /v1/servers/git/stop", &json!(git()));
    let ran = gateway.run("stop git");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = "manifold: this change is not written down in the audit: /x/audit.jsonl: Permission denied\n";
    assert_eq!(ran.stderr, said);
}

#[test]
fn get_tells_all_of_one_server() {
    let gateway = two();
    expect![[r#"
        id: git
        state: ready
        kind: stdio
        command: uvx
        start: lazy
        for: 1 min
        tools: 12
        definitions: 4321 B
        clients: 2
        calls: 7, 1 failed
        restarts: 3
        pids: 100, 101
        instance: ready, process 100, 2 clients
    "#]]
    .assert_eq(&gateway.shown("get git"));
    let json = gateway.json("get git --json");
    let expected = json!({"id": "git", "state": "ready", "pids": [100, 101], "restarts": 3, "calls": 7, "errors": 1,
                          "command": "uvx", "why": null});
    for (member, expected) in expected.as_object().expect("an object") {
        assert_eq!(&json[member], expected, "{member}");
    }
    assert_eq!(json["instances"].as_array().map(Vec::len), Some(1));
    assert_eq!(gateway.json("get files --json")["url"], "https://h.example");
    assert!(gateway.shown("get files").contains("why: it said \\u{1b}[31mno"));
    let unknown = Server { lists: None, saved: None, ..git() };
    let gateway = Gateway::new().says("GET /v1/snapshot", &snapshot(vec![unknown]));
    assert!(gateway.shown("get git").contains("\ntools: not known yet\n"));
}

#[test]
fn a_name_that_is_not_there_is_never_corrected() {
    let gateway =
        two().refuses("POST /v1/servers/gti/stop", 404, "unknown-server", "there is no server 'gti'");
    for line in ["get gti", "stop gti"] {
        assert_eq!(gateway.fails(line, 7, "there is no server 'gti'; did you mean `git`?"), "unknown-server");
    }
    assert_eq!(gateway.fails("get nothing-like-it", 7, "there is no server"), "unknown-server");
}

#[test]
fn servers_of_two_schemas_are_told_apart() {
    let of = |schema: &str| Server {
        key: ServerId { schema: Some(schema.to_owned()), id: "git".to_owned() },
        ..git()
    };
    let gateway = Gateway::new()
        .says("GET /v1/snapshot", &snapshot(vec![of("work"), of("home")]))
        .says("POST /v1/servers/work%2Fgit/stop", &value(&Server { state: State::Stopped, ..of("work") }));
    let code =
        gateway.fails("get git", 2, "several schemas have a server 'git'; say which: `work/git`, `home/git`");
    assert_eq!(code, "ambiguous-server");
    assert_eq!(gateway.json("get home/git --json")["schema"], "home");
    assert_eq!(gateway.shown("list -q"), "work/git\nhome/git\n");
    assert_eq!(gateway.shown("stop work/git"), "work/git is stopped\n");
}

#[test]
fn an_order_is_one_request_and_says_what_came_of_it() {
    let orders = [
        ("start", State::Ready),
        ("stop", State::Stopped),
        ("restart", State::Ready),
        ("enable", State::Idle),
        ("disable", State::Disabled),
        ("refresh", State::Ready),
    ];
    for (order, state) in orders {
        let request = format!("POST /v1/servers/git/{order}");
        let gateway = Gateway::new().says(&request, &value(&in_state(state)));
        let said = if order == "enable" { "enabled" } else { state.as_str() };
        assert_eq!(gateway.shown(&format!("{order} git")), format!("git is {said}\n"));
        let asked = gateway.asked();
        assert_eq!((asked.len(), asked[0].line.as_str()), (1, request.as_str()));
        assert_eq!(asked[0].face.as_deref(), Some("cli"));
        let json = gateway.json(&format!("{order} git --json"));
        assert_eq!((&json["id"], &json["state"]), (&json!("git"), &json!(state.as_str())));
        assert_eq!(json["answeredBy"], "daemon");
    }
    let gateway = Gateway::new().says("POST /v1/servers/files/enable", &value(&files()));
    assert_eq!(
        gateway.shown("enable files"),
        "files is enabled, and has failed: it said \\u{1b}[31mno\\u{1b}[0m\n"
    );
}

#[test]
fn every_refusal_has_its_exit_code() {
    let refusals = [
        (502, "failed-to-start", 4),
        (401, "sign-in", 6),
        (403, "denied", 8),
        (504, "timed-out", 124),
        (501, "unsupported", 1),
        (412, "stale", 2),
        (422, "config-refused", 2),
        (409, "ambiguous-server", 2),
        (503, "shutting-down", 1),
        (500, "a-word-of-tomorrow", 1),
    ];
    for (status, code, exit) in refusals {
        let gateway = Gateway::new().refuses("POST /v1/servers/git/start", status, code, "it cannot");
        let said = gateway.fails("start git", exit, "it cannot");
        assert!(said == code || said == "other", "{said}");
    }
}

#[test]
fn orders_to_what_does_not_run_end_with_3() {
    let sandbox = Sandbox::new();
    for line in [
        "start time",
        "stop time",
        "restart time",
        "wait time",
        "logs time -f",
        "logs",
        "clients",
        "daemon reload",
    ] {
        let ran = alone(&sandbox, line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{line}: {ran:?}");
        assert!(ran.stderr.contains("`manifold daemon start`"), "{line}: {ran:?}");
        let ran = alone(&sandbox, &format!("{line} --json"));
        assert!(ran.stderr.starts_with("{\"error\":{\"code\":\"not-running\","), "{line}: {ran:?}");
    }
}

#[test]
fn without_a_gateway_the_files_are_enough_to_look() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {
        "clock": {"builtin": "time"}, "gone": {"command": "no-such-program"}, "off": {"builtin": "time", "disabled": true}}}));
    let ran = alone(&sandbox, "list --json");
    let rows: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let states: Vec<_> =
        rows.as_array().expect("rows").iter().map(|row| (&row["id"], &row["state"])).collect();
    let expected = [("clock", "idle"), ("gone", "failed"), ("off", "disabled")]
        .map(|(id, state)| (json!(id), json!(state)));
    assert_eq!(states, expected.iter().map(|(id, state)| (id, state)).collect::<Vec<_>>());
    let ran = alone(&sandbox, "get gone --json");
    let gone: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&gone["answeredBy"], &gone["command"]), (&json!("files"), &json!("no-such-program")));
    sandbox.write(".config/manifold/config.json", "{");
    let ran = alone(&sandbox, "list --json");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("{\"error\":{\"code\":\"config-refused\","), "{ran:?}");
}
