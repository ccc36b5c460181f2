//! F14, T12, T28 and decision 33: a server at an address fails in every way it can, and comes back. What was written
//! is never sent twice. Each test of a figure prints it.
#![expect(clippy::disallowed_types, reason = "real sockets run in real time")]

mod answers;
mod cut_off;

use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, HttpFake, Sandbox, Style, Trouble, Usage, figures, until};
use serde_json::{Value, json};

use crate::remote::{SOON, TOOLS, beside_a_local_one, with_env};
use crate::studio::{studio, text_of};

/// A gateway in front of a server that is in session, and of a local one.
fn in_session(sandbox: &Sandbox, style: Style, more: Value) -> (HttpFake, Client) {
    let server = HttpFake::start(style, &TOOLS);
    let mut client = studio(sandbox, &beside_a_local_one(&server.url(), more));
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
    (server, client)
}

/// The same over the old transport.
fn in_old_session(sandbox: &Sandbox, more: Value) -> (HttpFake, Client) {
    let server = HttpFake::start(Style::Events, &TOOLS);
    let mut config = beside_a_local_one(&server.sse_url(), more);
    config["mcpServers"]["far"]["type"] = json!("sse");
    let mut client = studio(sandbox, &config);
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
    (server, client)
}

/// How often the call with this text reached the server, and how often it was carried out.
fn times(server: &HttpFake, text: &str) -> (usize, usize) {
    let sent = server.received("tools/call");
    let sent = sent.iter().filter(|request| request.body["params"]["arguments"]["text"] == text).count();
    (sent, server.ran().iter().filter(|params| params["arguments"]["text"] == text).count())
}

/// The error names the server, and the others do not notice.
#[track_caller]
fn typed(client: &mut Client, answer: &Value, code: i64) -> String {
    let error = &answer["error"];
    assert_eq!(error["code"], code, "{answer}");
    assert_eq!(
        (&error["data"]["serverId"], &error["data"]["service"]),
        (&json!("far"), &json!("far")),
        "{answer}"
    );
    let message = error["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("'far'"), "{message}");
    assert_eq!(text_of(&client.call("near.echo", json!({"text": "fine"}))), "fine");
    message
}

// F14: one transparent re-initialise
#[test]
fn a_lost_session_is_renewed_and_the_call_runs_once() {
    for style in [Style::Json, Style::Events] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, style, json!({}));
        server.forget_sessions();
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "after"}))), "after");
        assert_eq!(server.received("initialize").len(), 2);
        assert_eq!(server.received("notifications/initialized").len(), 2);
        let (sent, ran) = times(&server, "after");
        assert_eq!(ran, 1);
        assert!(sent <= 2, "once refused with 404, once carried out: {sent}");
        let sessions: Vec<_> = server
            .received("tools/call")
            .iter()
            .map(|r| r.header("mcp-session-id").map(str::to_owned))
            .collect();
        assert_ne!(sessions.first(), sessions.last());
    }
}

// F14: one re-initialise however many find out, and whoever comes while it lasts waits for it
#[test]
fn a_session_lost_under_many_calls_is_renewed_once() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    server.without_listening();
    server.trouble("initialize", 1, Trouble::Delay(Duration::from_millis(300)));
    server.forget_sessions();
    let mut calls = Vec::new();
    for n in 0..100 {
        if n == 50 {
            // The others come in the middle of the handshake.
            assert!(until(SOON, || server.received("initialize").len() == 2), "it shakes hands again");
        }
        let params = json!({"name": "far.echo", "arguments": {"text": format!("call {n}")}});
        calls.push((client.request("tools/call", params), format!("call {n}")));
    }
    for (id, text) in calls {
        assert_eq!(text_of(&client.wait_for(id, SOON)), text);
        assert_eq!(times(&server, &text).1, 1, "{text}");
    }
    assert_eq!(server.received("initialize").len(), 2, "one more than at the start");
    for request in server.received("tools/call") {
        assert!(request.header("mcp-session-id").is_some(), "no call goes out without a session");
    }
    eprintln!("F14: 100 calls over a lost session, 1 re-initialise, each carried out once");
}

// F14: a server that loses every session is not asked for ever
#[test]
fn a_session_that_is_lost_again_at_once_is_an_error() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    server.trouble_for_good("tools/call", Trouble::status(404));
    let answer = client.call("far.echo", json!({"text": "lost"}));
    let message = typed(&mut client, &answer, -32603);
    assert!(message.contains("404"), "{message}");
    assert_eq!(times(&server, "lost"), (2, 0), "one renewal, one more try");
    server.heal();
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "healed"}))), "healed");
}

// F14: connect refused is tried again, `retries` times `retryDelay` apart, and then told
#[test]
fn a_refused_connection_is_tried_again_and_heals_within_a_second() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"retries": 2, "retryDelay": 300}));
    server.go_down();
    let began = Instant::now();
    let answer = client.call("far.echo", json!({"text": "down"}));
    let took = began.elapsed();
    let message = typed(&mut client, &answer, -32003);
    assert!(message.contains("refused"), "{message}");
    assert!(took >= Duration::from_millis(600), "two delays of 300 ms: {took:?}");
    // While it is away, callers hear so at once.
    thread::sleep(Duration::from_millis(2500));
    let began = Instant::now();
    let answer = client.call("far.echo", json!({"text": "still down"}));
    assert!(answer["error"]["data"]["serverId"] == "far", "{answer}");
    eprintln!("F14: an error after {:?} while it is away", began.elapsed());
    server.come_back();
    let began = Instant::now();
    let healed = until(SOON, || client.call("far.echo", json!({"text": "back"}))["error"].is_null());
    let took = began.elapsed();
    assert!(healed);
    figures::took("F14: healed after it was back", took, Duration::from_secs(1));
    eprintln!("F14: healed {took:?} after it was back");
    assert_eq!((times(&server, "down").1, times(&server, "back").1), (0, 1));
}

// F14: a short absence is not noticed
#[test]
fn a_server_that_is_back_before_the_retries_are_spent_serves_the_call() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"retries": 10, "retryDelay": 100}));
    server.go_down();
    let id = client.request("tools/call", json!({"name": "far.echo", "arguments": {"text": "patient"}}));
    thread::sleep(Duration::from_millis(350));
    server.come_back();
    assert_eq!(text_of(&client.wait_for(id, SOON)), "patient");
    assert_eq!(times(&server, "patient"), (1, 1));
}

// F14: never there at all
#[test]
fn a_server_that_is_not_there_is_named_and_comes_when_it_does() {
    for kind in ["http", "sse"] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Events, &TOOLS);
        server.go_down();
        let url = if kind == "sse" { server.sse_url() } else { server.url() };
        let mut config = beside_a_local_one(&url, json!({"retries": 1, "retryDelay": 100}));
        config["mcpServers"]["far"]["type"] = json!(kind);
        let mut client = studio(&sandbox, &config);
        let answer = client.call("far.echo", json!({}));
        let message = typed(&mut client, &answer, -32001);
        assert!(message.contains("refused"), "{message}");
        let names = client.tool_names();
        assert!(
            names.contains(&"near.echo".to_owned()) && !names.iter().any(|name| name.starts_with("far."))
        );
        thread::sleep(Duration::from_secs(2));
        server.come_back();
        let began = Instant::now();
        let healed = until(SOON, || client.call("far.echo", json!({"text": "hi"}))["error"].is_null());
        assert!(healed, "{kind}");
        figures::took("F14: served after it came", began.elapsed(), Duration::from_millis(1100));
        eprintln!("F14: a server ({kind}) that was never there served {:?} after it came", began.elapsed());
    }
}

// F14: Retry-After is honoured
#[test]
fn a_server_that_asks_for_patience_gets_it() {
    for status in [429, 503] {
        for old in [false, true] {
            let sandbox = Sandbox::new();
            let (server, mut client) = match old {
                false => in_session(&sandbox, Style::Json, json!({})),
                true => in_old_session(&sandbox, json!({})),
            };
            server.trouble("tools/call", 1, Trouble::retry_after(status, 1));
            assert_eq!(text_of(&client.call("far.echo", json!({"text": "later"}))), "later");
            let tries: Vec<Instant> = server
                .received("tools/call")
                .iter()
                .filter(|request| request.body["params"]["arguments"]["text"] == "later")
                .map(|request| request.at)
                .collect();
            assert_eq!(tries.len(), 2, "{status}");
            let waited = tries[1] - tries[0];
            assert!(waited >= Duration::from_millis(990), "{status}: {waited:?}");
            assert_eq!(times(&server, "later").1, 1);
        }
    }
}

// F14: without `Retry-After`, with a longer one than the call has, or again and again
#[test]
fn patience_has_its_limits() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"retries": 1, "timeout": 1500}));
    server.trouble("tools/call", 1, Trouble::status(503));
    let answer = client.call("far.echo", json!({"text": "no word"}));
    assert!(typed(&mut client, &answer, -32603).contains("503"));
    assert_eq!(times(&server, "no word"), (1, 0));
    server.trouble("tools/call", 1, Trouble::retry_after(429, 3600));
    let answer = client.call("far.echo", json!({"text": "too long"}));
    assert!(typed(&mut client, &answer, -32603).contains("429"));
    assert_eq!(times(&server, "too long"), (1, 0));
    server.trouble("tools/call", 1, Trouble::retry_after(429, 3));
    // B8: that the time would be over says less than what the server asked for.
    let answer = client.call("far.echo", json!({"text": "past the deadline"}));
    assert!(typed(&mut client, &answer, -32603).contains("429"), "{answer}");
    assert!(answer.to_string().contains("it asks to be tried again in 3 s"), "{answer}");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(times(&server, "past the deadline"), (1, 0), "nobody waits for it any more");
}

// F14: 500 and its kind are errors that name the server, not retried
#[test]
fn a_server_error_is_typed_and_not_sent_again() {
    for status in [500, 502, 504, 418] {
        for old in [false, true] {
            let sandbox = Sandbox::new();
            let (server, mut client) = match old {
                false => in_session(&sandbox, Style::Json, json!({})),
                true => in_old_session(&sandbox, json!({})),
            };
            let body = "the \u{1b}[31mdatabase is gone".to_owned();
            server.trouble("tools/call", 1, Trouble::Status { status, headers: Vec::new(), body });
            let answer = client.call("far.echo", json!({"text": "once"}));
            let message = typed(&mut client, &answer, -32603);
            assert!(
                message.contains(&status.to_string()) && message.contains("database is gone"),
                "{message}"
            );
            assert!(!message.contains('\u{1b}'), "T27: {message:?}");
            assert_eq!(times(&server, "once"), (1, 0));
            assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
            assert_eq!(server.received("initialize").len(), 1, "the session goes on");
        }
    }
}

// F14 over the old transport: the session ends with its stream
#[test]
fn an_old_server_that_goes_down_fails_its_calls_at_once_and_heals() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_old_session(&sandbox, json!({"retries": 1, "retryDelay": 100}));
    let id =
        client.request("tools/call", json!({"name": "far.sleep", "arguments": {"text": "slow", "ms": 9000}}));
    assert!(until(SOON, || times(&server, "slow").1 == 1));
    server.go_down();
    let began = Instant::now();
    let answer = client.wait_for(id, SOON);
    typed(&mut client, &answer, -32603);
    figures::took(
        "F14: the error of an old server that went down",
        began.elapsed(),
        Duration::from_millis(500),
    );
    thread::sleep(Duration::from_secs(2));
    server.come_back();
    let began = Instant::now();
    let healed = until(SOON, || client.call("far.echo", json!({"text": "back"}))["error"].is_null());
    let took = began.elapsed();
    assert!(healed);
    figures::took("F14: an old server healed after it was back", took, Duration::from_millis(1100));
    assert_eq!((times(&server, "slow").0, times(&server, "back").1), (1, 1));
    eprintln!("F14: an old server healed {took:?} after it was back");
}
