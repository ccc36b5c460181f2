//! `clients`, `ns` and `audit`.

use expect_test::expect;
use manifold_admin::{Namespace, RuleCounts, ServerId, Snapshot};
use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Gateway, alone};
use crate::{files, git, value};

#[test]
fn clients_are_shown_and_sent_away() {
    let clients = json!([
        {"id": 3, "name": "claude\u{7}", "version": "2.1", "protocol": {"revision": "2025-11-25", "era": "legacy"},
         "transport": "stdio", "namespace": "work", "pid": 77, "connectedMs": 1000},
        {"id": 4, "namespace": null, "connectedMs": 5},
    ]);
    let gateway = Gateway::new()
        .says("GET /v1/clients", &clients)
        .says("DELETE /v1/clients/3", &json!({"outcome": "done"}))
        .refuses("DELETE /v1/clients/9", 404, "unknown-client", "there is no client 9");
    let shown = gateway.shown("clients");
    let first: Vec<&str> = shown.lines().next().expect("a line").split("  ").collect();
    assert_eq!(first[..7], ["3", "claude\\u{7}", "2.1", "legacy", "stdio", "work", "77"]);
    assert_eq!(shown.lines().nth(1).expect("a line").split("  ").nth(1), Some("-"), "nobody knows its name");
    assert_eq!(gateway.shown("clients -q"), "3\n4\n");
    let json = gateway.json("clients --json");
    let members = json!({"id": 3, "name": "claude\u{7}", "version": "2.1", "era": "legacy", "transport": "stdio",
                         "namespace": "work", "pid": 77});
    for (member, expected) in members.as_object().expect("an object") {
        assert_eq!(&json[0][member], expected, "{member}");
    }
    assert!(json[0]["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{json}");
    assert_eq!(gateway.shown("clients disconnect 3"), "client 3 has been disconnected\n");
    assert_eq!(gateway.json("clients disconnect 3 --json")["id"], 3);
    let hint = "there is no client 9; `manifold clients` shows who is connected";
    assert_eq!(gateway.fails("clients disconnect 9", 7, hint), "unknown-client");
}

fn work() -> Namespace {
    let mut namespace = Namespace {
        id: Some("work".to_owned()),
        name: "At work".to_owned(),
        enabled: true,
        served: true,
        servers: vec![ServerId { schema: None, id: "git".to_owned() }],
        clients: Some(2),
        ..Namespace::default()
    };
    namespace.permissions.deny_by_default = true;
    namespace.permissions.tools = RuleCounts { allow: 1, deny: 0 };
    namespace
}

fn namespaces() -> Gateway {
    let home = Namespace { id: Some("home".to_owned()), name: "home".to_owned(), ..Namespace::default() };
    let snapshot =
        Snapshot { servers: vec![git(), files()], namespaces: vec![work(), home], ..Snapshot::default() };
    let rule = json!({"server": "git", "item": "tool", "name": "log", "allow": true});
    Gateway::new()
        .says("GET /v1/snapshot", &value(&snapshot))
        .says(
            "GET /v1/permissions?namespace=work",
            &json!([{"namespace": "work", "denyByDefault": true, "rules": [rule]}]),
        )
        .says("PUT /v1/permissions", &json!({}))
}

#[test]
fn namespaces_are_shown() {
    let gateway = namespaces();
    expect![[r#"
        work  served  -  2  git
        home  disabled  -  -  -
    "#]]
    .assert_eq(&gateway.shown("ns"));
    assert_eq!(gateway.shown("ns list"), gateway.shown("ns"));
    assert_eq!(gateway.shown("ns -q"), "work\nhome\n");
    assert_eq!(gateway.json("ns --json")[0]["servers"], json!(["git"]));
    expect![[r#"
        id: work
        name: At work
        state: enabled
        servers: git
        clients: 2
        by default: denied
        tool rules: 1 allow, 0 deny
        allow: git.log
    "#]]
    .assert_eq(&gateway.shown("ns show work"));
    let json = gateway.json("ns show work --json");
    assert_eq!((&json["id"], &json["rules"]["rules"][0]["name"]), (&json!("work"), &json!("log")));
    assert_eq!(
        gateway.fails("ns show wrok", 7, "there is no namespace 'wrok'; did you mean `work`?"),
        "unknown-namespace"
    );
}

#[test]
fn rules_are_set_and_taken_back() {
    let gateway = namespaces();
    assert_eq!(gateway.shown("ns deny work git.log"), "git.log is denied in work\n");
    assert_eq!(gateway.shown("ns allow work git__log"), "git.log is allowed in work\n");
    assert_eq!(
        gateway.shown("ns allow work git/log --unset --kind prompt"),
        "git.log is as by default in work\n"
    );
    assert_eq!(gateway.json("ns deny work git.log --json")["allow"], false);
    let changes: Vec<Value> = gateway
        .asked()
        .into_iter()
        .filter(|one| one.line == "PUT /v1/permissions")
        .map(|one| one.body)
        .collect();
    let change = |item: &str, allow: Value| json!({"namespace": "work", "server": "git", "item": item, "name": "log", "allow": allow});
    let expected = [
        change("tool", json!(false)),
        change("tool", json!(true)),
        change("prompt", Value::Null),
        change("tool", json!(false)),
    ];
    assert_eq!(changes, expected);
    assert_eq!(gateway.fails("ns deny work nosuch.x", 7, "there is no server 'nosuch'"), "unknown-server");
    assert_eq!(gateway.fails("ns deny work log", 2, "`log` does not say whose it is"), "usage");
    let gateway = namespaces().refuses("PUT /v1/permissions", 412, "stale", "the config has changed");
    assert_eq!(gateway.fails("ns deny work git.log", 2, "the config has changed"), "stale");
}

#[test]
fn namespaces_of_files_are_shown_where_nothing_runs() {
    let sandbox = Sandbox::new();
    sandbox.write_config(
        &json!({"mcpServers": {"a": {"builtin": "time"}}, "namespaces": {"n": {"serverIds": ["a"]}}}),
    );
    assert_eq!(alone(&sandbox, "ns").stdout, "n  idle  -  -  a\n");
    let ran = alone(&sandbox, "ns show n");
    assert!(ran.stdout.contains("by default: allowed"), "{ran:?}");
}

#[test]
fn what_operators_changed_is_shown() {
    let lines = json!([
        {"time": "2026-11-17T10:00:00Z", "actor": {"uid": 1, "pid": 5, "face": "cli"}, "verb": "stop", "target": "git", "outcome": "done"},
        {"time": "2026-11-17T10:00:01.27508505Z", "actor": {"face": "tui"}, "verb": "start", "target": "gti", "outcome": "refused", "error": "no such server"},
    ]);
    let gateway =
        Gateway::new().says("GET /v1/audit?lines=50", &lines).says("GET /v1/audit?lines=1", &json!([]));
    expect![[r#"
        2026-11-17T10:00:00.000Z  cli (5)  stop  git  done  -
        2026-11-17T10:00:01.275Z  tui  start  gti  refused  no such server
    "#]]
    .assert_eq(&gateway.shown("audit"));
    assert_eq!(gateway.json("audit --json"), lines);
    let ran = gateway.run("audit -n 1");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(gateway.run("audit -n 0").code, Some(2));
}
