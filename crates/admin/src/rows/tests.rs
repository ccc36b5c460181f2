//! The shapes that scripts rely on, member by member.

use serde_json::{Value, json};

use super::*;
use crate::tests::example::{failed_server, snapshot};
use crate::{ErrorCode, Lists, Saved, ServerId};

fn members(value: &Value) -> Vec<&str> {
    value.as_object().map(|members| members.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[test]
fn a_server_in_a_list() {
    let failed = json!(ServerRow::of(&failed_server()));
    assert_eq!(
        failed,
        json!({
            "id": "git", "state": "failed", "kind": "stdio", "tools": 12, "listed": true, "clients": 1,
            "error": "Server 'git' failed to start: it ended at once", "hint": "see its log",
        })
    );
    let bare = Server { key: ServerId::from("main/x"), ..Server::default() };
    assert_eq!(
        members(&json!(ServerRow::of(&bare))),
        ["clients", "id", "kind", "listed", "schema", "state", "tools"]
    );
}

#[test]
fn tools_are_those_it_has_before_those_it_had() {
    let saved = Some(Saved { tools: Some(7), ..Saved::default() });
    let resting = Server { saved, ..Server::default() };
    assert_eq!(ServerRow::of(&resting).tools, 7);
    let running = Server { lists: Some(Lists { tools: 3, ..Lists::default() }), ..resting };
    assert_eq!(ServerRow::of(&running).tools, 3);
}

#[test]
fn clients_are_counted_by_namespace_where_instances_do_not_count_them() {
    let whole = snapshot();
    let git = &whole.servers[0];
    let shared = Server { instances: vec![Instance::default()], ..git.clone() };
    assert_eq!(ServerRow::of(&shared).clients, 0);
    assert_eq!(whole.server_row(&shared).clients, 1, "the client of `work`, which shows it");
    let used = |clients| Instance { clients: Some(clients), ..Instance::default() };
    let daemons = Server { instances: vec![used(2), used(3)], ..git.clone() };
    assert_eq!(whole.server_row(&daemons).clients, 5);
}

#[test]
fn all_there_is_to_say_of_a_server() {
    let whole = snapshot();
    let detail = json!(whole.server_detail(&whole.servers[1]));
    assert_eq!(detail["why"], json!("it runs and gives no sign of life"));
    assert_eq!(detail["url"], json!("https://api.example"));
    assert_eq!(detail["pids"], json!([4242]));
    assert_eq!([&detail["restarts"], &detail["calls"], &detail["errors"]], [1, 1204, 2]);
    assert_eq!(detail["instances"].as_array().map(Vec::len), Some(1));
    let failed = json!(whole.server_detail(&whole.servers[0]));
    assert_eq!(failed["why"], failed["error"]);
    assert_eq!(failed["command"], json!("uvx"));
    assert!(failed.get("url").is_none());
}

#[test]
fn why_it_does_not_run_is_told_unless_it_simply_works() {
    let of = |state, start| ServerDetail::of(&Server { state, start, ..Server::default() }).why;
    assert_eq!(of(State::Idle, Start::Lazy).as_deref(), Some("the first call starts it"));
    assert_eq!(of(State::Idle, Start::Manual).as_deref(), Some("it is started by order only"));
    assert_eq!(of(State::Stopped, Start::Lazy).as_deref(), Some("an operator stopped it"));
    assert_eq!(of(State::Ready, Start::Lazy), None);
    let unused = Server { state: State::Disabled, ..failed_server() };
    assert_eq!(ServerRow::of(&unused).error, None, "nobody misses it");
}

#[test]
fn the_members_of_the_other_rows() {
    let whole = snapshot();
    let client = json!(ClientRow::of(&whole.clients[0], "2026-01-02T03:04:05Z".to_owned()));
    assert_eq!(
        client,
        json!({
            "id": 1, "name": "claude-code", "version": "2.1", "era": "legacy", "transport": "http",
            "namespace": "work", "pid": 4711, "since": "2026-01-02T03:04:05Z",
        })
    );
    assert_eq!(members(&json!(ItemRow::default())), ["bytes", "description", "name", "original", "server"]);
    assert_eq!(members(&json!(StatusReport::default())), ["config", "problems", "running", "servers"]);
    assert_eq!(
        json!(Running { pid: 7, kind: "daemon".to_owned(), ..Running::default() }),
        json!({"pid": 7, "kind": "daemon"})
    );
    let row = json!(NamespaceRow::of(&whole.namespaces[0]));
    assert_eq!([&row["id"], &row["servers"], &row["tools"]], [&json!("work"), &json!(["git"]), &json!(41)]);
}

#[test]
fn an_error_line_names_code_message_and_hint() {
    let mut error = CommandError::new(ErrorCode::UnknownServer, "there is no server 'gti'");
    assert_eq!(
        json!(ErrorLine::from(&error)),
        json!({"error": {"code": "unknown-server", "message": "there is no server 'gti'", "hint": null}})
    );
    error.hint = Some("did you mean `git`?".to_owned());
    assert_eq!(json!(ErrorLine::from(&error))["error"]["hint"], "did you mean `git`?");
}
