//! F14, T12, T28 and decision 33: a server at an address fails in every way it can, and comes back. What was written
//! is never sent twice. Each test of a figure prints it.
#![expect(clippy::disallowed_types, reason = "real sockets run in real time")]

use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, HttpFake, Sandbox, Style, Trouble, Usage, figures, until};
use serde_json::{Value, json};

use crate::remote::{SOON, TOOLS, beside_a_local_one, with_env};
use crate::s1_protocol::{studio, text_of};

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
        let params = json!({"name": "far.echo", "arguments": {"text": format!("call {n}")}});
        calls.push((client.request("tools/call", params), format!("call {n}")));
        if n >= 50 {
            // These come in the middle of the handshake.
            thread::sleep(Duration::from_millis(5));
        }
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

// Decision 15: an error that is a JSON-RPC message passes unchanged, whatever the status
#[test]
fn a_json_rpc_error_in_an_http_error_is_the_server_s_own() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    server.trouble("tools/call", 1, Trouble::RpcError { code: -32099, message: "my own words" });
    let answer = client.call("far.echo", json!({}));
    assert_eq!(answer["error"], json!({"code": -32099, "message": "my own words"}));
}

// F14: a stream cut before the answer fails its call at once
#[test]
fn a_cut_stream_without_an_id_fails_at_once_and_is_not_sent_again() {
    for clean in [false, true] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, Style::Events, json!({}));
        server.trouble("tools/call", 1, Trouble::Cut { id: false, clean });
        let began = Instant::now();
        let answer = client.call("far.echo", json!({"text": "cut"}));
        let took = began.elapsed();
        typed(&mut client, &answer, -32603);
        figures::took("F14: the error of a cut stream", took, Duration::from_millis(500));
        assert_eq!(times(&server, "cut").0, 1, "it may have been carried out: never again");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
        eprintln!("F14: a cut stream (clean: {clean}) failed its call after {took:?}");
    }
}

// F14, PROTOCOL.md section 2 (resumability): with an id it is taken up again
#[test]
fn a_cut_stream_with_an_id_is_taken_up_again() {
    for clean in [false, true] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, Style::Events, json!({}));
        server.trouble("tools/call", 1, Trouble::Cut { id: true, clean });
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "resumed"}))), "resumed");
        assert_eq!(times(&server, "resumed"), (1, 1));
        let resumed: Vec<_> =
            server.record().into_iter().filter(|request| request.header("last-event-id").is_some()).collect();
        assert_eq!(resumed.len(), 1);
        assert_eq!(resumed[0].method, "GET");
        assert!(resumed[0].header("mcp-session-id").is_some());
    }
}

// F14: what was written and not answered is never written again
#[test]
fn a_call_that_was_written_is_not_sent_again() {
    for style in [Style::Json, Style::Events] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, style, json!({"retries": 5, "retryDelay": 100}));
        server.trouble("tools/call", 1, Trouble::Close);
        let began = Instant::now();
        let answer = client.call("far.echo", json!({"text": "written"}));
        typed(&mut client, &answer, -32603);
        figures::took("F14: the error of a closed connection", began.elapsed(), Duration::from_millis(500));
        assert_eq!(times(&server, "written").0, 1);
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
        // And when the whole server goes down under a call.
        let id = client
            .request("tools/call", json!({"name": "far.sleep", "arguments": {"text": "slow", "ms": 9000}}));
        assert!(until(SOON, || times(&server, "slow").1 == 1));
        server.go_down();
        let answer = client.wait_for(id, SOON);
        typed(&mut client, &answer, -32603);
        server.come_back();
        assert!(until(SOON, || client.call("far.echo", json!({"text": "again"}))["error"].is_null()));
        assert_eq!(times(&server, "slow").0, 1);
    }
}

// F14: a peer that takes the call and says nothing costs its caller the deadline, and nobody else anything
#[test]
fn a_half_open_server_costs_its_own_calls_their_deadline() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"timeout": 1000}));
    server.trouble_for_good("tools/call", Trouble::HalfOpen);
    let began = Instant::now();
    let calls: Vec<u64> = (0..20)
        .map(|_| client.request("tools/call", json!({"name": "far.echo", "arguments": {"text": "dead"}})))
        .collect();
    for _ in 0..200 {
        assert_eq!(text_of(&client.call("near.echo", json!({"text": "fine"}))), "fine");
    }
    let others = began.elapsed();
    for id in calls {
        let answer = client.wait_for(id, SOON);
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["timeoutMs"], 1000);
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(950), "{took:?}");
    assert!(
        until(SOON, || server.received("notifications/cancelled").len() == 20),
        "each is cancelled upstream"
    );
    // Nobody waits for those answers: their connections are let go.
    let dead = server.received("tools/call");
    let dead: Vec<u64> = dead.iter().skip(1).map(|request| request.connection).collect();
    assert_eq!(dead.len(), 20);
    let held = || server.connections().iter().filter(|open| dead.contains(open)).count();
    assert!(until(SOON, || held() == 0), "{} of 20 connections are still held", held());
    server.heal();
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "alive"}))), "alive");
    assert_eq!(times(&server, "dead").0, 20);
    eprintln!("F14: 20 half-open calls ended after {took:?}; 200 calls next door took {others:?}");
}

// F14: at the handshake, too
#[test]
fn a_server_that_never_answers_the_handshake_is_given_up() {
    for kind in ["http", "sse"] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Json, &TOOLS);
        server.trouble_for_good("*", Trouble::HalfOpen);
        let url = if kind == "sse" { server.sse_url() } else { server.url() };
        let mut config = beside_a_local_one(&url, json!({"startTimeout": 1000}));
        config["mcpServers"]["far"]["type"] = json!(kind);
        let mut client = studio(&sandbox, &config);
        let began = Instant::now();
        let answer = client.call("far.echo", json!({}));
        typed(&mut client, &answer, -32001);
        assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
        server.heal();
        assert!(until(SOON, || client.call("far.echo", json!({"text": "hi"}))["error"].is_null()), "{kind}");
    }
}

// Decision 25: a slow body is an answer, as long as it comes in time
#[test]
fn a_slow_body_is_waited_for_until_the_deadline() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"timeout": 1000}));
    server.trouble("tools/call", 1, Trouble::SlowBody { pause: Duration::from_millis(100) });
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "slow"}))), "slow");
    server.trouble("tools/call", 1, Trouble::SlowBody { pause: Duration::from_millis(600) });
    let answer = client.call("far.echo", json!({"text": "too slow"}));
    typed(&mut client, &answer, -32002);
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
}

// T12
#[test]
fn a_redirect_within_the_origin_is_followed() {
    for status in [307, 308] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Json, &TOOLS);
        let absolute = format!("http://127.0.0.1:{}/moved", server.port());
        let more = json!({"headers": {"Authorization": "Bearer k"}});
        let mut client = studio(&sandbox, &beside_a_local_one(&server.url(), more));
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
        for location in ["/moved", absolute.as_str()] {
            server.trouble("tools/call", 1, Trouble::redirect(status, location));
            assert_eq!(text_of(&client.call("far.echo", json!({"text": location}))), location, "{status}");
            assert_eq!(times(&server, location), (2, 1), "the method and the body go along");
        }
        let moved: Vec<_> =
            server.record().into_iter().filter(|request| request.target == "/moved").collect();
        assert!(moved.iter().all(|request| request.header("authorization") == Some("Bearer k")));
        assert_eq!(moved.len(), 2);
    }
}

// T12: credentials go to nobody else, and neither does the call
#[test]
fn a_redirect_to_another_origin_is_refused_and_nothing_sent_there() {
    for status in [301, 302, 303, 307, 308] {
        let sandbox = Sandbox::new();
        let thief = HttpFake::start(Style::Json, &TOOLS);
        let server = HttpFake::start(Style::Json, &TOOLS);
        let more = json!({"headers": {"Authorization": "Bearer ${KEY}", "X-Api-Key": "${KEY}"}});
        let config = beside_a_local_one(&server.url(), more);
        let mut client = with_env(&sandbox, &config, &["--profile", "mcp-studio"], &[("KEY", "s3cret")]);
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
        let host = format!("http://localhost:{}/mcp", server.port());
        let tricky = format!("//127.0.0.1:{}/mcp", thief.port());
        for location in [thief.url(), host, tricky] {
            server.trouble("tools/call", 1, Trouble::redirect(status, location.as_str()));
            let answer = client.call("far.echo", json!({"text": "led astray"}));
            let message = typed(&mut client, &answer, -32603);
            assert!(!message.contains("s3cret"), "{message}");
        }
        // From the first word on, too.
        server.forget_sessions();
        server.trouble_for_good("*", Trouble::redirect(status, thief.url()));
        assert!(!client.call("far.echo", json!({"text": "led astray"}))["error"].is_null());
        assert_eq!(thief.record().len(), 0, "{status}: {:?}", thief.record());
        assert!(server.ran().iter().all(|params| params["arguments"]["text"] != "led astray"));
    }
}

// T12: nor does a circle go on for ever
#[test]
fn a_circle_of_redirects_is_an_error() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    server.trouble_for_good("tools/call", Trouble::redirect(307, "/mcp"));
    let answer = client.call("far.echo", json!({"text": "round"}));
    typed(&mut client, &answer, -32603);
    assert!(times(&server, "round").0 <= 5);
}

// F10: what is no answer to this call is none
#[test]
fn an_answer_that_is_none_fails_its_call_at_once() {
    let troubles = [
        ("wrong id", Trouble::WrongId),
        ("202", Trouble::Accepted),
        (
            "a page",
            Trouble::Status { status: 200, headers: Vec::new(), body: "<html>Sign in</html>".to_owned() },
        ),
        ("nothing", Trouble::status(200)),
        (
            "half",
            Trouble::Status { status: 200, headers: Vec::new(), body: r#"{"jsonrpc":"2.0","#.to_owned() },
        ),
    ];
    for style in [Style::Json, Style::Events] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, style, json!({"timeout": 5000}));
        for (what, trouble) in &troubles {
            server.trouble("tools/call", 1, trouble.clone());
            let began = Instant::now();
            let answer = client.call("far.echo", json!({"text": what}));
            typed(&mut client, &answer, -32603);
            figures::took(
                &format!("F14: the error of an answer that is none ({what})"),
                began.elapsed(),
                Duration::from_secs(1),
            );
            assert_eq!(times(&server, what).0, 1, "{what}");
            assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next", "{what}");
        }
    }
    // A right answer under a type that says nothing is an answer.
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    for kind in ["text/plain", "", "application/json; charset=utf-8"] {
        server.trouble("tools/call", 1, Trouble::WrongType(kind));
        assert_eq!(text_of(&client.call("far.echo", json!({"text": kind}))), kind);
    }
}

// T28, decision 33: an answer over the limit is refused as it comes, with the same words as a local server's
#[test]
fn an_answer_over_the_limit_is_refused() {
    for (style, old) in [(Style::Json, false), (Style::Events, false), (Style::Events, true)] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(style, &TOOLS);
        let url = if old { server.sse_url() } else { server.url() };
        let timeout_ms = if old { 3000 } else { 60_000 };
        let mut config = beside_a_local_one(&url, json!({"timeout": timeout_ms}));
        config["mcpServers"]["far"]["type"] = json!(if old { "sse" } else { "http" });
        config["limits"] = json!({"messageBytes": 1 << 20});
        let mut client = studio(&sandbox, &config);
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
        let usage = Usage::watch(client.pid());
        let began = Instant::now();
        let answer = client.call("far.big", json!({"bytes": 16 << 20}));
        let took = began.elapsed();
        if old {
            // One stream brings everything: whose answer it was cannot be read, so the deadline tells (decision 33).
            assert!([-32603, -32002].map(Value::from).contains(&answer["error"]["code"]), "{answer}");
        } else {
            let message = typed(&mut client, &answer, -32603);
            assert!(message.contains("larger than 1048576 bytes (limits.messageBytes)"), "{message}");
            assert_eq!(answer["error"]["data"]["limitBytes"], 1 << 20);
            assert!(took < SOON, "as it comes, long before the deadline: {took:?}");
        }
        let grown = usage.most();
        assert!(grown <= (1 << 10) + (8 << 10), "{style:?}: {grown} KiB more for a cap of 1 MiB");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next", "{style:?}");
        eprintln!(
            "T28: a 16 MiB answer ({style:?}, old: {old}) refused after {took:?}, at most {grown} KiB more"
        );
    }
}

// T28: an event that never ends
#[test]
fn an_endless_event_costs_its_call_the_deadline_and_no_memory() {
    let sandbox = Sandbox::new();
    let server = HttpFake::start(Style::Events, &TOOLS);
    let mut config = beside_a_local_one(&server.url(), json!({"timeout": 1500}));
    config["limits"] = json!({"messageBytes": 1 << 20});
    let mut client = studio(&sandbox, &config);
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
    let usage = Usage::watch(client.pid());
    server.trouble("tools/call", 1, Trouble::EndlessEvent { bytes: 64 << 20 });
    let began = Instant::now();
    let answer = client.call("far.echo", json!({"text": "endless"}));
    typed(&mut client, &answer, -32002);
    figures::took(
        "T28: an endless event, past a deadline of 1.5 s",
        began.elapsed(),
        Duration::from_millis(2500),
    );
    let grown = usage.most();
    assert!(grown <= (1 << 10) + (8 << 10), "{grown} KiB more for a cap of 1 MiB");
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
    eprintln!("T28: an endless event of 64 MiB, at most {grown} KiB more");
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

// L18, M5: what nobody asked for, what has no end and what two could read differently fails the call at once, though
// the connection stays open; the server is asked again on a new one.
#[test]
fn an_answer_nobody_asked_for_fails_its_call_and_names_the_server() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"timeout": 300_000}));
    let endless = "HTTP/1.1 102 X\r\n\r\n".repeat(40);
    let cases = [
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "101"),
        ("HTTP/1.1 101 X\r\n\r\n", "101"),
        (&endless, "1xx"),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", "no HTTP"),
        ("HTTP/1.1 200 OK\r\nX: a\rContent-Length: 2\r\n\r\n{}", "no HTTP"),
        ("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", "no HTTP"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;\nxx\r\n{}\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\na: b\n\r\n", "chunk"),
    ];
    for (text, expected) in cases {
        server.trouble("tools/call", 1, Trouble::Raw(text.to_owned()));
        let answer = client.call("far.echo", json!({"text": "none"}));
        let message = typed(&mut client, &answer, -32603);
        assert!(message.contains(expected), "{text:?}: {message}");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "after"}))), "after");
    }
    assert_eq!(times(&server, "none"), (cases.len(), 0), "none is sent twice");
}
