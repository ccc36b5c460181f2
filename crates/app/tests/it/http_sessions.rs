//! Sessions over Streamable HTTP: from `initialize` to DELETE, several clients at one server, and calls taken back.

use std::thread;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Sandbox, until};
use serde_json::{Value, json};

use crate::http_lifecycle::{BOTH, Conn, Gateway, NEW, OLD, calling, end_quietly, one};

// Decision 35, T5: a session from `initialize` to DELETE
#[test]
fn a_session_from_beginning_to_end() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for version in ["2025-03-26", OLD, NEW] {
        for path in ["/mcp", "/mcp/default"] {
            let session = gateway.session(path, version, json!({}));
            let listed = session.post(BOTH, &calling(2, "tools/list", json!({})));
            assert_eq!((listed.status, listed.header("mcp-session-id")), (200, Some(session.id.as_str())));
            assert_eq!(
                listed.json()["result"]["tools"].as_array().map(Vec::len),
                Some(7),
                "{}",
                listed.text()
            );
            // A second hello is an error of the client's, and the session lives on.
            let hello = calling(
                3,
                "initialize",
                json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
            );
            assert_eq!(session.post(BOTH, &hello).json()["error"]["code"], -32600);
            let mut listening = session.listen(None);
            let mut events = listening.response().events();
            assert_eq!(session.delete(), 204);
            assert_eq!(events.next(), None, "its stream ends with it");
            for status in [
                session.post(BOTH, &calling(4, "ping", json!({}))).status,
                session.listen(None).answer().status,
                session.delete(),
            ] {
                assert_eq!(status, 404);
            }
        }
    }
    // No id at all is another thing.
    let none = gateway.ask("POST", "/mcp", &[("Accept", BOTH)], &calling(1, "tools/list", json!({})));
    assert_eq!((none.status, &none.json()["error"]["code"]), (400, &json!(-32600)));
    assert_eq!(gateway.ask("GET", "/mcp", &[("Accept", "text/event-stream")], "").status, 400);
    // A handshake that fails leaves no session.
    let bad = gateway.ask("POST", "/mcp", &[("Accept", BOTH)], &calling(1, "initialize", json!({})));
    assert_eq!((bad.header("mcp-session-id"), bad.json()["error"]["code"].is_i64()), (None, true));
    assert_eq!(gateway.ask("PUT", "/mcp", &[], "{}").header("allow"), Some("GET, POST, DELETE"));
    assert_eq!(gateway.ask("POST", "/mcp/nowhere", &[], &calling(1, "initialize", json!({}))).status, 404);
    end_quietly(gateway.client);
}

#[test]
fn the_answer_is_what_the_client_accepts() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let json = "application/json; charset=utf-8";
    let cases = [
        ("application/json, text/event-stream", 0, json),
        ("application/json, text/event-stream", 600, "text/event-stream"),
        ("application/json", 600, json),
        ("*/*", 600, json),
        ("", 600, json),
        ("text/event-stream, application/json", 0, "text/event-stream"),
        ("text/event-stream", 0, "text/event-stream"),
    ];
    session.call(1, "s__echo", json!({}), None).answer();
    for (accept, ms, expected) in cases {
        let tool = if ms == 0 {
            json!({"name": "s__echo", "arguments": {"text": "slept"}})
        } else {
            json!({"name": "s__sleep", "arguments": {"ms": ms}})
        };
        let answer = session.post(accept, &calling(2, "tools/call", tool));
        let text = answer.text();
        assert!(text.contains(r#""text":"slept""#), "{accept:?}: {text}");
        // A quick answer on a busy machine may come as a stream: that is the client's choice as well.
        let kind = answer.header("content-type").unwrap();
        let either = accept.starts_with("application/json, ") && ms == 0;
        assert!(kind == expected || either, "{accept:?}: {kind}");
    }
    assert_eq!(session.send("GET", &[("Accept", "application/json")], "").answer().status, 406);
    end_quietly(gateway.client);
}

// SEP-1699: an event with an id and no data, for those who know it
#[test]
fn only_2025_11_25_is_primed() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for version in ["2025-03-26", OLD, NEW] {
        let session = gateway.session("/mcp", version, json!({}));
        let mut call = session.call(2, "s__progress", json!({"steps": 2, "ms": 5}), Some(json!("t")));
        let mut events = call.response().events();
        let first = events.next().unwrap();
        assert_eq!(first.data.is_empty(), version == NEW, "{version}: {first:?}");
        assert_eq!(first.retry.is_some(), version == NEW, "{version}: {first:?}");
        assert!(first.id.is_some(), "{version}: {first:?}");
        let mut messages: Vec<Value> = Vec::new();
        if version != NEW {
            messages.push(first.json());
        }
        while let Some(event) = events.next() {
            assert!(event.id.is_some() && !event.data.is_empty(), "{event:?}");
            messages.push(event.json());
        }
        let methods: Vec<&str> =
            messages.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect();
        assert_eq!(methods, ["notifications/progress", "notifications/progress", "answer"], "{version}");
    }
    end_quietly(gateway.client);
}

// What belongs to no call comes on the GET stream, to every session; a second listener takes the place of the first
#[test]
fn changes_come_on_the_listening_stream() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let sessions = [gateway.session("/mcp", OLD, json!({})), gateway.session("/mcp/default", NEW, json!({}))];
    for session in &sessions {
        session.post(BOTH, &calling(2, "tools/list", json!({})));
    }
    let mut first = sessions[0].listen(None);
    let mut first = first.response().events();
    let mut streams: Vec<Conn> = sessions.iter().map(|session| session.listen(None)).collect();
    let mut streams: Vec<_> = streams.iter_mut().map(|stream| stream.response().events()).collect();
    assert_eq!(first.next(), None, "the newest listener is the one");
    sessions[0].call(3, "s__addtool", json!({"name": "late"}), None).answer();
    for (stream, session) in streams.iter_mut().zip(&sessions) {
        let message = stream.message();
        assert_eq!(message, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        let listed = session.post(BOTH, &calling(4, "tools/list", json!({})));
        assert!(listed.text().contains("s__late"), "{}", listed.text());
    }
    end_quietly(gateway.client);
}

// One process, two clients with the same ids and tokens: each hears its own progress and its own questions
#[test]
fn two_clients_of_a_shared_server_do_not_mix() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let clients = [
        gateway.session("/mcp", NEW, json!({"sampling": {}})),
        gateway.session("/mcp", NEW, json!({"sampling": {}})),
    ];
    let mut listening: Vec<Conn> = clients.iter().map(|client| client.listen(None)).collect();
    let mut listening: Vec<_> = listening.iter_mut().map(|stream| stream.response().events()).collect();
    // At once, with as many steps as tell them apart.
    thread::scope(|scope| {
        for (client, steps) in clients.iter().zip([7, 9]) {
            scope.spawn(move || {
                for _ in 0..5 {
                    let mut call =
                        client.call(1, "s__progress", json!({"steps": steps, "ms": 5}), Some(json!(1)));
                    let mut events = call.response().events();
                    for step in 1..=steps {
                        let params = json!({"progressToken": 1, "progress": step, "total": steps});
                        assert_eq!(events.message()["params"], params);
                    }
                    assert_eq!(events.message()["result"]["content"][0]["text"], format!("{steps} steps"));
                }
            });
        }
    });
    for (client, word) in [(&clients[0], "first"), (&clients[1], "second"), (&clients[0], "third")] {
        let mut call = client.call(
            1,
            "s__ask",
            json!({"method": "sampling/createMessage", "params": {"word": word}}),
            None,
        );
        let mut events = call.response().events();
        let question = events.message();
        assert_eq!(question["params"]["word"], word);
        // The other client knows no such question.
        let other = if client.id == clients[0].id { &clients[1] } else { &clients[0] };
        other.reply(&question["id"], json!({"said": "by another"}));
        client.reply(&question["id"], json!({"said": word}));
        assert_eq!(events.message()["result"]["content"][0]["text"], json!({"said": word}).to_string());
    }
    assert_eq!(std::fs::read_to_string(sandbox.path("s.pid")).unwrap().lines().count(), 1, "one process");
    // Nothing of all this was said on the streams of nobody's call.
    for client in &clients {
        assert_eq!(client.delete(), 204);
    }
    for stream in &mut listening {
        assert_eq!(stream.next(), None);
    }
    end_quietly(gateway.client);
}

// A client says what it no longer wants; the server hears it, and the connection is let go
#[test]
fn a_cancelled_call_is_taken_back() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let mut call = session.call(2, "s__sleep", json!({"ms": 120_000}), None);
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    assert_eq!(session.post(BOTH, &cancel.to_string()).status, 202);
    assert!(until(PATIENCE, || sandbox.received("s.log", "notifications/cancelled").len() == 1));
    let mut response = call.response();
    while response.bytes().is_some() {}
    end_quietly(gateway.client);
}

// `/api` has no session: a client that hangs up takes its call back
#[test]
fn hanging_up_at_the_plain_api_takes_the_call_back() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let mut connection = Conn::open(gateway.port);
    let call = json!({"name": "s__sleep", "arguments": {"ms": 120_000}});
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1));
    drop(connection);
    assert!(until(PATIENCE, || sandbox.received("s.log", "notifications/cancelled").len() == 1));
    end_quietly(gateway.client);
}
