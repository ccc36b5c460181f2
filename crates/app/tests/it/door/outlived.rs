//! What is open ends with what let its client in, and takes part in what is granted later: WebSockets, streams and
//! listeners.

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::end_quietly;
use manifold_testkit::{Sandbox, until};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::oauth::{World, now};
use super::tokens::{created, sha256, verb};
use super::*;
use crate::cli::run;
use crate::http_lifecycle::{BOTH, Conn};
use crate::litemcp::{Socket, close_code, message, open, receive, send};
use crate::modern_http::signed;

const TOKEN: &str = "a token with some rights";

/// Makes something with a token that is over soon, and lets nobody wait for long; however slow the machine is.
fn with_short<T>(world: &World, make: impl Fn(&str) -> Option<T>) -> (T, u64) {
    let lives = [3, 12, 48, 200];
    let made = lives.iter().find_map(|life| {
        let over = now() + life;
        Some((make(&world.token(json!({"exp": over})))?, over))
    });
    made.unwrap()
}

fn socket(gateway: &Gateway, path: &str, token: &str) -> Result<Socket, u16> {
    match open(gateway, path, &[("Authorization", &bearer(token))]) {
        Ok(socket) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        other => panic!("{other:?}"),
    }
}

/// Calls a tool by the one that stands for all; returns what is said of a failure.
fn call(socket: &mut Socket, id: u64, tool: &str) -> Option<String> {
    send(socket, &message(id, "call", &json!({"tool": tool, "arguments": []})));
    let response = receive(socket)["data"]["response"].clone();
    (response["error"] == true).then(|| response.to_string())
}

#[test]
fn a_websocket_ends_with_its_token() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({"leeway": 0}))), &[]);
    let (mut socket, over) = with_short(&world, |token| {
        let mut socket = socket(&gateway, "/litemcp/both", token).ok()?;
        send(&mut socket, &message(3, "get", &Value::Null));
        // It may be over before this is read.
        let answer = socket.read().ok().filter(tokio_tungstenite::tungstenite::Message::is_text);
        answer.map(|_| socket)
    });
    assert_eq!(close_code(&mut socket), CloseCode::Policy);
    assert!(now() >= over, "not before");
    // One that lasts is not touched by that.
    let mut other = self::socket(&gateway, "/litemcp/both", &world.token(json!({}))).unwrap();
    assert_eq!(call(&mut other, 4, "a__echo"), None);
    end_quietly(gateway.client);
}

#[test]
fn a_websocket_ends_with_its_revocation() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &two(&sandbox, json!({})), &[]);
    let (ci, other) = (created(&sandbox, &["ci"]), created(&sandbox, &["other"]));
    let opened = |token: &str| {
        let mut opened = None;
        assert!(until(PATIENCE, || {
            opened = socket(&gateway, "/litemcp/both", token).ok();
            opened.is_some() && gateway.ask("GET", "/api/status", &[], "").status == 401
        }));
        socket(&gateway, "/litemcp/both", token).unwrap()
    };
    let (mut ours, mut stays) = (opened(&ci), opened(&other));
    assert_eq!(call(&mut ours, 5, "a__echo"), None);
    assert_eq!(run(verb(&sandbox, &["revoke", "ci"])).code, Some(0));
    assert_eq!(close_code(&mut ours), CloseCode::Policy, "nobody asked anything");
    assert_eq!(call(&mut stays, 6, "a__echo"), None);
    end_quietly(gateway.client);
}

fn granting(sandbox: &Sandbox, token: &Value) -> Value {
    let mut token = token.clone();
    token["hash"] = json!(sha256(TOKEN));
    two(sandbox, json!({"tokens": {"ci": token}}))
}

#[test]
fn a_websocket_has_what_is_granted_now_and_nothing_else() {
    let sandbox = Sandbox::new();
    let grant = json!({"namespaces": ["both"], "tools": ["a__e*"]});
    let gateway = Gateway::start(&sandbox, &granting(&sandbox, &grant), &[]);
    assert_eq!(socket(&gateway, "/litemcp/work", TOKEN).err(), Some(404), "hidden, as if it were not there");
    let mut socket = socket(&gateway, "/litemcp/both", TOKEN).unwrap();
    assert_eq!(call(&mut socket, 1, "a__echo"), None);
    // An id counts once.
    for (id, hidden) in (2..).zip(["a__headers", "b__echo", "no_such"]) {
        let why = call(&mut socket, id, hidden).unwrap().to_lowercase();
        assert!(why.contains("not found"), "{hidden}: {why}");
    }
    send(&mut socket, &message(9, "get", &Value::Null));
    let told = receive(&mut socket).to_string();
    assert!(told.contains("a__echo") && !told.contains("a__headers") && !told.contains("b__echo"), "{told}");
    // Narrowed while it is open.
    sandbox.write_config(&granting(&sandbox, &json!({"namespaces": ["both"], "tools": ["a__env"]})));
    let mut id = 10;
    assert!(until(PATIENCE, || {
        id += 1;
        call(&mut socket, id, "a__echo").is_some()
    }));
    assert_eq!(sandbox.received("b.log", "tools/call").len(), 0);
    // And taken away with its namespace.
    sandbox.write_config(&granting(&sandbox, &json!({"namespaces": ["home"], "tools": ["a__env"]})));
    assert_eq!(close_code(&mut socket), CloseCode::Policy);
    end_quietly(gateway.client);
}

// The old transport hides what the others hide.
#[test]
fn the_old_transport_shows_what_is_granted() {
    let sandbox = Sandbox::new();
    let grant = json!({"namespaces": ["both"], "tools": ["a__e*"]});
    let gateway = Gateway::start(&sandbox, &granting(&sandbox, &grant), &[]);
    let credential = bearer(TOKEN);
    let headers = [("Authorization", credential.as_str()), ("Accept", "text/event-stream")];
    assert_eq!(gateway.ask("GET", "/sse/work", &headers, "").status, 404);
    let mut stream = Conn::open(gateway.port);
    stream.send("GET", "/sse/both", &headers, "");
    let mut events = stream.response().events();
    let path = events.next().unwrap().data;
    let post = |id: u64, method: &str, params: Value| {
        let headers = [("Authorization", credential.as_str())];
        let answer = gateway.ask("POST", &path, &headers, &calling(id, method, params));
        assert_eq!(answer.status, 202, "{}", answer.text());
    };
    let hello = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let mut answer = |id: u64, method: &str, params: Value| {
        post(id, method, params);
        loop {
            let message = events.message();
            if message["id"] == id {
                return message;
            }
        }
    };
    answer(1, "initialize", hello);
    let listed = answer(2, "tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["a__echo", "a__env"]);
    let call = |tool: &str| json!({"name": tool, "arguments": {"text": "in"}});
    assert_eq!(answer(3, "tools/call", call("a__echo"))["result"]["content"][0]["text"], "in");
    for hidden in ["a__headers", "b__echo"] {
        let refused = answer(4, "tools/call", call(hidden));
        assert!(refused["error"]["message"].as_str().unwrap().contains("not found"), "{hidden}: {refused}");
    }
    assert_eq!(sandbox.received("b.log", "tools/call").len(), 0);
    end_quietly(gateway.client);
}

/// Begins to listen for changes, or to a session's stream.
fn listen(gateway: &Gateway, token: &str) -> Conn {
    let params = signed(json!({"notifications": {"toolsListChanged": true}}), &json!({}));
    let credential = bearer(token);
    let headers = [
        ("Authorization", credential.as_str()),
        ("Accept", BOTH),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let mut connection = Conn::open(gateway.port);
    connection.send("POST", "/mcp", &headers, &calling(7, "subscriptions/listen", params));
    connection
}

/// Reads a stream whose head was read to its end.
fn to_end(connection: &mut Conn) {
    while connection.line().unwrap() != "0" {}
}

#[test]
fn who_listens_hears_nothing_once_its_token_is_revoked() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &two(&sandbox, json!({})), &[]);
    let (ci, other) = (created(&sandbox, &["ci"]), created(&sandbox, &["other"]));
    assert!(until(PATIENCE, || api(&gateway, "both", &other, "ping", json!({})).status == 200));
    let (mut ours, mut stays) = (listen(&gateway, &ci), listen(&gateway, &other));
    for connection in [&mut ours, &mut stays] {
        assert_eq!(connection.response().status, 200);
    }
    assert_eq!(run(verb(&sandbox, &["revoke", "ci"])).code, Some(0));
    to_end(&mut ours);
    assert_eq!(api(&gateway, "both", &other, "ping", json!({})).status, 200);
    drop(stays);
    end_quietly(gateway.client);
}

#[test]
fn streams_end_with_the_token_they_were_opened_with() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({"leeway": 0}))), &[]);
    let (mut listener, over) = with_short(&world, |token| {
        let mut listener = listen(&gateway, token);
        let status = listener.response().status;
        (status == 200).then_some(listener)
    });
    to_end(&mut listener);
    assert!(now() >= over);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let (mut stream, over) = with_short(&world, |token| {
        let credential = bearer(token);
        let headers = [("Authorization", credential.as_str()), ("Accept", BOTH)];
        let opened = gateway.ask("POST", "/mcp", &headers, &calling(1, "initialize", hello.clone()));
        let session = opened.header("mcp-session-id")?.to_owned();
        let mut stream = Conn::open(gateway.port);
        stream.send("GET", "/mcp", &[headers[0], headers[1], ("Mcp-Session-Id", &session)], "");
        let status = stream.response().status;
        (status == 200).then_some(stream)
    });
    to_end(&mut stream);
    assert!(now() >= over);
    end_quietly(gateway.client);
}
