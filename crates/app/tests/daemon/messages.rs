//! What clients send and get through a shim: framings, sizes, eras, cancellation.

use std::io::Write;
use std::process::Stdio;

use manifold_testkit::{Framing, Sandbox, until};
use serde_json::{Value, json};

use crate::home::Home;
use crate::{SOON, fake_with, text_of};

const LOG: &str = "fx.log";

fn home() -> Home {
    let sandbox = Sandbox::new();
    let tools = ["echo", "big", "sleep", "ask", "progress"];
    let servers = json!({"fx": fake_with(&tools, json!({"log": sandbox.path(LOG)}))});
    let limits = json!({"requestBytes": "64MB"});
    Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": 1000}, "limits": limits}))
}

#[test]
fn both_framings_go_through_a_shim() {
    let home = home();
    for framing in [Framing::ContentLength, Framing::Newline] {
        let mut client = home.open_framed(framing);
        assert_eq!(text_of(&client.call("fx__echo", json!({"text": "a\nb é"}))), "a\nb é", "{framing:?}");
        client.leave();
    }
}

#[test]
fn large_messages_go_through_in_both_directions() {
    let home = home();
    let mut client = home.open();
    for bytes in [1 << 20, 20 << 20] {
        let text = "0123456789abcdef".repeat(bytes / 16);
        let answer = client.call("fx__echo", json!({"text": text}));
        assert!(text_of(&answer) == text, "{bytes} bytes come back as they went");
        let answer = client.call("fx__big", json!({"bytes": bytes}));
        assert_eq!(text_of(&answer).len(), bytes);
    }
}

/// Ids of any kind, members nobody knows, spaces and escapes: what a server says comes byte for byte.
#[test]
fn answers_keep_their_bytes() {
    let home = home();
    let mut client = home.open();
    for id in ["7", "\"a\\u0062\"", "-1"] {
        let call = r#"{"name":"fx__echo","arguments":{"text":"x"},"odd":1.0}"#;
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{call}}}"#));
        let frame = client.recv_raw(SOON).expect("an answer");
        let expected =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"text":"x","type":"text"}}]}}}}"#);
        assert_eq!(String::from_utf8_lossy(&frame), expected);
    }
    let received = home.sandbox.received(LOG, "tools/call");
    assert_eq!(received[0]["params"]["odd"], json!(1.0));
}

#[test]
fn a_batch_is_answered_as_one() {
    let home = home();
    let mut client = home.window();
    client.initialize("2025-03-26", json!({}));
    client.send(json!([
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "fx__echo", "arguments": {"text": "x"}}},
    ]));
    let answer = client.recv(SOON);
    assert_eq!(answer.as_array().map(Vec::len), Some(2), "{answer}");
}

#[test]
fn a_client_that_does_not_read_blocks_nobody() {
    let home = home();
    let mut command = home.shim();
    let mut mute = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = mute.stdin.take().expect("it is piped");
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "m", "version": "1"}});
    let mut said =
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string() + "\n";
    for id in 1..=40 {
        let params = json!({"name": "fx__big", "arguments": {"bytes": 1 << 20}});
        said += &(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
            + "\n");
    }
    input.write_all(said.as_bytes()).expect("the shim reads");
    let asked = || !home.sandbox.received(LOG, "tools/call").is_empty();
    assert!(until(SOON, asked), "its calls are under way");
    let mut other = home.open();
    for _ in 0..20 {
        assert_eq!(text_of(&other.call("fx__big", json!({"bytes": 100_000}))).len(), 100_000);
    }
    mute.kill().expect("it is there");
    mute.wait().expect("it ends");
    assert_eq!(text_of(&other.call("fx__echo", json!({"text": "on"}))), "on");
}

#[test]
fn a_client_without_a_session_goes_through_a_shim() {
    let home = home();
    let mut client = home.window();
    client.speak_modern(json!({"elicitation": {}}));
    client.answer(|_, _| Ok(json!({"action": "decline"})));
    assert!(client.ask("server/discover", json!({}))["result"]["supportedVersions"].is_array());
    assert!(client.tool_names().contains(&"fx__echo".to_owned()));
    assert_eq!(text_of(&client.call("fx__echo", json!({"text": "new"}))), "new");
    let asked = client.call("fx__ask", json!({"method": "elicitation/create", "params": {"message": "?"}}));
    assert!(text_of(&asked).contains("decline"), "{asked}");
}

#[test]
fn a_question_in_mid_call_reaches_the_client_who_called() {
    let home = home();
    let mut bystander = home.open();
    bystander.call("fx__echo", json!({"text": "here"}));
    let mut client = home.window();
    client.answer(|method, _| Ok(json!({"action": "accept", "content": {"said": method}})));
    client.initialize("2025-11-25", json!({"elicitation": {}}));
    let question = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}});
    let asked = client.call("fx__ask", question);
    assert!(text_of(&asked).contains("accept"), "{asked}");
    assert_eq!(bystander.notifications(), Vec::<Value>::new());
}

#[test]
fn a_cancelled_call_is_cancelled_at_its_server_and_not_answered() {
    let home = home();
    let mut client = home.open();
    let id = client.request("tools/call", json!({"name": "fx__sleep", "arguments": {"ms": 600_000}}));
    assert!(until(SOON, || !home.sandbox.received(LOG, "tools/call").is_empty()));
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    assert!(until(SOON, || !home.sandbox.received(LOG, "notifications/cancelled").is_empty()));
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}));
    assert_eq!(client.try_recv(std::time::Duration::ZERO), None);
    // Its place is free again, and so is its id.
    assert_eq!(text_of(&client.call("fx__echo", json!({"text": "on"}))), "on");
}

#[test]
fn progress_goes_to_the_one_who_asked_for_it() {
    let home = home();
    let mut windows = [home.open(), home.open()];
    let params = json!({"name": "fx__progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "t"}});
    let answer = windows[0].ask("tools/call", params);
    assert_eq!(text_of(&answer), "3 steps");
    let told = windows[0].notifications();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|one| one["params"]["progressToken"] == json!("t")), "{told:?}");
    assert_eq!(windows[1].ask("ping", Value::Null)["result"], json!({}));
    assert_eq!(windows[1].notifications(), Vec::<Value>::new());
}

#[test]
fn nonsense_is_answered_as_without_a_daemon() {
    let home = home();
    let answers = |mut client: manifold_testkit::Client| {
        let nonsense = [
            "{",
            "nonsense",
            "[]",
            "[1]",
            r#"{"jsonrpc":"2.0","id":3}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#,
        ];
        for text in &nonsense[1..] {
            client.send_text(text);
        }
        let id = client.request("ping", Value::Null);
        let mut answers = Vec::new();
        loop {
            let frame = client.recv_raw(SOON).expect("an answer");
            let text = String::from_utf8_lossy(&frame).into_owned();
            if text.contains(&format!(r#""id":{id},"result""#)) {
                return answers;
            }
            answers.push(text);
        }
    };
    let mut alone = home.shim();
    alone.arg("--alone");
    let alone = answers(crate::home::opened(manifold_testkit::Client::spawn(alone)));
    assert_eq!(answers(home.open()), alone);
}

#[test]
fn what_is_written_before_the_end_of_input_is_answered() {
    let home = home();
    let mut client = home.open();
    let ids: Vec<u64> = (0..20)
        .map(|n| {
            client.request("tools/call", json!({"name": "fx__echo", "arguments": {"text": n.to_string()}}))
        })
        .collect();
    client.close_stdin();
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(text_of(&client.wait_for(id, SOON)), n.to_string());
    }
    assert!(client.wait_exit(SOON).success());
}
