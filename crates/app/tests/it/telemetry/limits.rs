use std::os::unix::fs::PermissionsExt as _;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::calling;
use manifold_testkit::{Sandbox, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Gateway, call, config};
use crate::http_lifecycle::NEW;

#[test]
fn the_door_says_when_to_come_back() {
    let sandbox = Sandbox::new();
    let rule = json!([{"per": "principal", "limit": 2, "window": 3600}]);
    let gateway = Gateway::start(&sandbox, &config(&sandbox, json!({"limits": {"rate": rule}})), &[]);
    for _ in 0..2 {
        assert!(call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}))["result"].is_object());
    }
    // Without a session, with one, and by the plain API.
    let session = gateway.session("/mcp", NEW, json!({}));
    let body = calling(1, "tools/call", json!({"name": "s__echo", "arguments": {"text": "hi"}}));
    let answers = [
        session.post("application/json, text/event-stream", &body),
        gateway.ask("POST", "/api/default/mcp", &[("Content-Type", "application/json")], &body),
    ];
    for answer in answers {
        assert_eq!(answer.status, 429, "{}", answer.text());
        let seconds: u64 = answer.header("retry-after").expect("it says when").parse().expect("in seconds");
        assert!((1700..=1800).contains(&seconds), "{seconds}");
        let error = answer.json()["error"].clone();
        assert_eq!((&error["code"], &error["data"]["retryable"]), (&json!(-32603), &json!(true)), "{error}");
    }
}

#[test]
fn on_a_pipe_it_is_an_error() {
    let sandbox = Sandbox::new();
    let rule = json!([{"per": "principal", "limit": 1, "window": 3600}]);
    let mut client = sandbox.serve(&config(&sandbox, json!({"limits": {"rate": rule}})), &[]);
    client.initialize(NEW, json!({}));
    client.call("s__echo", json!({"text": "hi"}));
    let id = client.request("tools/call", json!({"name": "s__echo", "arguments": {"text": "hi"}}));
    let answer = client.wait_for(id, PATIENCE);
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["retryable"]),
        (&json!(-32603), &json!(true)),
        "{answer}"
    );
}

#[test]
fn every_call_leaves_a_line_in_the_audit() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("calls.jsonl");
    let mut gateway = Gateway::start(
        &sandbox,
        &config(&sandbox, json!({"audit": {"file": path, "payload": "redacted"}})),
        &[],
    );
    for at in 0..20 {
        call(&gateway, "s__echo", json!({"arguments": {"text": at.to_string()}}));
    }
    call(&gateway, "s__fail", json!({}));
    gateway.signal(Signal::SIGTERM);
    assert!(gateway.client.wait_exit(PATIENCE).success());
    let text = std::fs::read_to_string(&path).expect("it was written");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let calls: Vec<&Value> = lines.iter().filter(|line| line["method"] == json!("tools/call")).collect();
    assert_eq!(calls.len(), 21, "{text}");
    assert_eq!(
        (&calls[0]["server"], &calls[0]["tool"], &calls[0]["exposed"]),
        (&json!("s"), &json!("echo"), &json!("s__echo"))
    );
    assert_eq!((&calls[0]["outcome"], &calls[20]["outcome"]), (&json!("ok"), &json!("tool_error")));
    assert_eq!(calls[7]["arguments"], json!(r#"{"text":"7"}"#));
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_line_of_the_audit_may_go_to_standard_output_where_that_is_free() {
    let sandbox = Sandbox::new();
    let config = config(&sandbox, json!({"audit": {"file": "stdout"}}));
    let mut gateway = Gateway::start(&sandbox, &config, &[]);
    call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}));
    let line = gateway.client.recv(PATIENCE);
    assert_eq!((&line["event"], &line["outcome"]), (&json!("call"), &json!("ok")));
    let mut client = sandbox.serve(&config, &[]);
    client.initialize(NEW, json!({}));
    client.call("s__echo", json!({"text": "hi"}));
    assert!(
        until(PATIENCE, || client.stderr().contains("calls are not written down")),
        "{}",
        client.stderr()
    );
}
