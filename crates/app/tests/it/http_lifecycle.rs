//! HTTP from the first byte to the last: start, sessions and their streams, shutdown.
#![expect(clippy::disallowed_types, reason = "how soon a failure is told is measured in real time")]

use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, alive, fake, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::cli::run;
pub(crate) use manifold_testkit::http::{
    Answer, BOTH, Conn, Gateway, HttpClient, calling, end_quietly, http_command,
};

/// One server `s` with every tool that waits or asks.
fn one(sandbox: &Sandbox) -> Value {
    let tools = ["echo", "sleep", "progress", "ask", "addtool", "pid", "log"];
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    json!({"mcpServers": {"s": fake(json!({"name": "s", "tools": tools, "log": sandbox.path("s.log"), "pid": sandbox.path("s.pid")}))}})
}

const OLD: &str = "2025-06-18";
const NEW: &str = "2025-11-25";

// F30
#[test]
fn a_port_in_use_is_one_line_and_nothing_is_started() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut config = one(&sandbox);
    config["start"] = json!("eager");
    let began = Instant::now();
    let ran = run(http_command(&sandbox, &config, &["--port", &port.to_string(), "--eager"]));
    eprintln!("F30: a taken port was told after {:?}", began.elapsed());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{}", ran.stderr);
    assert!(lines[0].contains(&format!("127.0.0.1:{port}")) && lines[0].contains("--port"), "{}", ran.stderr);
    assert!(!sandbox.path("s.pid").exists(), "a server was started");
    assert!(sandbox.processes().is_empty());
}

// F30: no permission, an address that is not ours, a name that does not resolve
#[test]
fn an_address_that_cannot_be_had_is_one_line_too() {
    let sandbox = Sandbox::new();
    let token = sandbox.write_private("token", "long enough to be one");
    for host in ["192.0.2.1", "no-such-host.invalid"] {
        let more = ["--host", host, "--token-file", &token, "--eager"];
        let ran = run(http_command(&sandbox, &one(&sandbox), &more));
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(host), "{}", ran.stderr);
        assert!(!sandbox.path("s.pid").exists());
    }
}

// F26 and issue 3: 1,000 calls of 500 ms in flight
#[test]
fn a_signal_lets_a_thousand_calls_finish() {
    crate::http_load::allow_many_files();
    let sandbox = Sandbox::new();
    let mut gateway = Gateway::start(&sandbox, &one(&sandbox), &["--log-level", "debug"]);
    let session = gateway.session("/mcp", OLD, json!({}));
    assert_eq!(session.call(1, "s__echo", json!({"text": "up"}), None).answer().status, 200);
    // Half of them without a session, a quarter with plain answers, a quarter with streams.
    let mut connections: Vec<Conn> = (0..1000).map(|_| Conn::open(gateway.port)).collect();
    for (n, connection) in connections.iter_mut().enumerate() {
        let body =
            calling(n as u64 + 10, "tools/call", json!({"name": "s__sleep", "arguments": {"ms": 500}}));
        let id = ("Mcp-Session-Id", session.id.as_str());
        match n % 4 {
            0 | 1 => connection.send("POST", "/api/default/mcp", &[], &body),
            2 => connection.send("POST", "/mcp", &[id, ("Accept", "application/json")], &body),
            _ => connection.send("POST", "/mcp", &[id, ("Accept", BOTH)], &body),
        }
    }
    let taken = |client: &Client| client.stderr().matches("method=\"tools/call\"").count();
    assert!(until(PATIENCE, || taken(&gateway.client) > 1000), "{} came in", taken(&gateway.client));
    // A stream has its head already; of the others none that says anything is still in flight.
    let plain = connections.iter().enumerate().filter(|(n, _)| n % 4 != 3);
    let early = plain.filter(|(_, connection)| connection.has_something()).count();
    gateway.signal(Signal::SIGTERM);
    let mut answers = 0;
    for (n, connection) in connections.iter_mut().enumerate() {
        let answer = connection.answer();
        assert_eq!(answer.status, 200);
        let message = match answer.header("content-type") {
            Some("text/event-stream") => {
                let text = answer.text();
                let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
                serde_json::from_str(data.unwrap_or_else(|| panic!("no answer: {text}"))).unwrap()
            }
            _ => answer.json(),
        };
        assert_eq!(
            (&message["id"], &message["result"]["content"][0]["text"]),
            (&json!(n + 10), &json!("slept")),
            "{message}"
        );
        answers += 1;
    }
    assert_eq!(gateway.client.wait_exit(PATIENCE).code(), Some(0));
    println!(
        "SIGTERM with 1,000 calls of 500 ms in flight ({early} answered before it): {answers} answers, exit 0"
    );
    assert_eq!(answers, 1000);
    assert!(until(PATIENCE, || sandbox.processes().is_empty()), "servers were left behind");
}

// F26: streams that wait for nothing end properly, and so does the program, at once
#[test]
fn a_signal_ends_open_streams() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let sandbox = Sandbox::new();
        let mut config = one(&sandbox);
        config["drainTimeout"] = json!(60_000);
        let mut gateway = Gateway::start(&sandbox, &config, &[]);
        let sessions: Vec<HttpClient> = (0..8).map(|_| gateway.session("/mcp", NEW, json!({}))).collect();
        let mut streams: Vec<Conn> = sessions.iter().map(|session| session.listen(None)).collect();
        let mut old = Conn::open(gateway.port);
        old.send("GET", "/sse", &[("Accept", "text/event-stream")], "");
        let mut streams: Vec<_> = streams.iter_mut().map(|stream| stream.response().events()).collect();
        let mut old = old.response().events();
        assert_eq!(old.next().map(|event| event.kind).as_deref(), Some("endpoint"));
        let idle = Conn::open(gateway.port);
        gateway.signal(signal);
        for stream in &mut streams {
            assert_eq!(stream.next(), None);
        }
        assert_eq!(old.next(), None);
        assert_eq!(gateway.client.wait_exit(PATIENCE).code(), Some(0), "{}", gateway.client.stderr());
        drop(idle);
        assert!(TcpStream::connect(("127.0.0.1", gateway.port)).is_err());
    }
}

// F26: while calls are in flight nobody new gets in, and what is in flight is answered
#[test]
fn after_a_signal_nobody_new_is_served() {
    let sandbox = Sandbox::new();
    let mut gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let mut call = session.call(2, "s__sleep", json!({"ms": 2000}), None);
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1));
    gateway.signal(Signal::SIGTERM);
    assert!(until(PATIENCE, || TcpStream::connect(("127.0.0.1", gateway.port)).is_err()));
    let answer = call.response().events().message();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(2), &json!("slept")));
    assert_eq!(gateway.client.wait_exit(PATIENCE).code(), Some(0));
}

// F26, decision 17: the second signal does not wait, however long the calls take
#[test]
fn a_second_signal_ends_at_once() {
    let sandbox = Sandbox::new();
    let mut config = one(&sandbox);
    config["drainTimeout"] = json!(120_000);
    let mut gateway = Gateway::start(&sandbox, &config, &[]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let _call = session.call(2, "s__sleep", json!({"ms": 120_000}), None);
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1));
    let pid: u32 = std::fs::read_to_string(sandbox.path("s.pid")).unwrap().trim().parse().unwrap();
    gateway.signal(Signal::SIGTERM);
    assert!(until(PATIENCE, || gateway.client.stderr().contains("no longer accepting")));
    assert!(alive(gateway.client.pid()), "it waits for the call");
    gateway.signal(Signal::SIGTERM);
    let status = gateway.client.wait_exit(PATIENCE);
    assert_eq!(status.code(), Some(1), "ended before its calls were");
    assert!(until(PATIENCE, || !alive(pid) && sandbox.processes().is_empty()), "servers were left behind");
}

// Decision 17: the drain time bounds a call that never ends
#[test]
fn the_drain_time_is_a_bound() {
    let sandbox = Sandbox::new();
    let mut config = one(&sandbox);
    config["drainTimeout"] = json!(300);
    let mut gateway = Gateway::start(&sandbox, &config, &[]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let _call = session.call(2, "s__sleep", json!({"ms": 120_000}), None);
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 1));
    gateway.signal(Signal::SIGTERM);
    assert_eq!(gateway.client.wait_exit(PATIENCE).code(), Some(0), "{}", gateway.client.stderr());
    assert!(until(PATIENCE, || sandbox.processes().is_empty()), "servers were left behind");
}

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

// Progress comes on the stream of its call, under the client's own token, whatever that is
#[test]
fn progress_comes_with_its_call() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", OLD, json!({}));
    for token in [json!("a"), json!(0), json!(7), json!("")] {
        let mut call = session.call(2, "s__progress", json!({"steps": 3, "ms": 1}), Some(token.clone()));
        let mut events = call.response().events();
        for step in 1..=3 {
            let params = json!({"progressToken": token, "progress": step, "total": 3});
            assert_eq!(
                events.message(),
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            );
        }
        assert_eq!(events.message()["result"]["content"][0]["text"], "3 steps");
        assert_eq!(events.next(), None);
    }
    end_quietly(gateway.client);
}

// Resumption: the client lost the connection, not the call
#[test]
fn a_stream_is_taken_up_where_it_was_cut() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for version in [OLD, NEW] {
        let session = gateway.session("/mcp", version, json!({}));
        let mut call = session.call(2, "s__progress", json!({"steps": 20, "ms": 30}), Some(json!(5)));
        let mut events = call.response().events();
        let mut last = String::new();
        let mut seen = 0;
        while seen < 3 {
            let event = events.next().unwrap();
            last = event.id.clone().unwrap();
            if !event.data.is_empty() {
                seen = event.json()["params"]["progress"].as_u64().unwrap();
            }
        }
        drop(events);
        drop(call);
        // Twice, so that what was delivered to nobody is not lost either.
        for cut in [Some(8), None] {
            let mut again = session.listen(Some(&last));
            let mut events = again.response().events();
            loop {
                let event = events.next().expect("the rest of the stream");
                if event.data.is_empty() {
                    continue;
                }
                last = event.id.clone().unwrap();
                let message = event.json();
                if message["id"] == 2 {
                    assert_eq!(message["result"]["content"][0]["text"], "20 steps");
                    assert_eq!(seen, 20, "the answer comes last");
                    seen += 1;
                    break;
                }
                assert_eq!(message["params"]["progress"], seen + 1, "each event once, in order");
                seen += 1;
                if cut == Some(seen) {
                    break;
                }
            }
        }
        assert_eq!(seen, 21);
    }
    assert!(
        sandbox.received("s.log", "notifications/cancelled").is_empty(),
        "a lost connection cancels nothing"
    );
    end_quietly(gateway.client);
}

// An answer that came while nobody listened is kept
#[test]
fn an_answer_waits_for_the_client_to_come_back() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--log-level", "debug"]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let mut call = session.call(2, "s__sleep", json!({"ms": 400}), None);
    let primed = call.response().events().next().unwrap();
    assert_eq!(primed.data, "");
    drop(call);
    // Another session's answer, asked for later and as long, is there: so is this one.
    let other = gateway.session("/mcp", NEW, json!({}));
    assert_eq!(other.call(2, "s__sleep", json!({"ms": 500}), None).answer().status, 200);
    let mut again = session.listen(primed.id.as_deref());
    let mut events = again.response().events();
    let answer = events.message();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(2), &json!("slept")));
    end_quietly(gateway.client);
}

// Questions go out on the stream of the call they belong to; their answers come by POST
#[test]
fn questions_come_with_their_call() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let all = json!({"sampling": {}, "elicitation": {}, "roots": {}});
    for version in [OLD, NEW] {
        let session = gateway.session("/mcp", version, all.clone());
        let cases = [
            (
                "sampling/createMessage",
                json!({"messages": [], "maxTokens": 5}),
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}),
            ),
            (
                "elicitation/create",
                json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
                json!({"action": "accept", "content": {"n": 1}}),
            ),
            ("roots/list", json!({}), json!({"roots": [{"uri": "file:///x"}]})),
        ];
        for (method, params, result) in cases {
            let mut call = session.call(2, "s__ask", json!({"method": method, "params": params}), None);
            let mut events = call.response().events();
            let question = events.message();
            assert_eq!((&question["method"], &question["params"]), (&json!(method), &params), "{question}");
            session.reply(&question["id"], result.clone());
            let answer = events.message();
            assert_eq!(answer["id"], 2, "{answer}");
            let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(serde_json::from_str::<Value>(said).unwrap(), result);
        }
    }
    // Decision 29: one that cannot be asked is not asked.
    let session = gateway.session("/mcp", NEW, json!({}));
    let answer =
        session.call(2, "s__ask", json!({"method": "sampling/createMessage", "params": {}}), None).answer();
    assert!(answer.text().contains(r#""isError":true"#), "{}", answer.text());
    end_quietly(gateway.client);
}

// A client that reads no stream in answer is asked on the one it listens to
#[test]
fn questions_find_a_client_that_takes_plain_answers() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", OLD, json!({"sampling": {}}));
    let mut listening = session.listen(None);
    let mut events = listening.response().events();
    let ask = calling(
        2,
        "tools/call",
        json!({"name": "s__ask", "arguments": {"method": "sampling/createMessage", "params": {}}}),
    );
    let mut call = session.send("POST", &[("Accept", "application/json")], &ask);
    let question = events.message();
    assert_eq!(question["method"], "sampling/createMessage");
    session.reply(&question["id"], json!({"x": 1}));
    assert_eq!(call.answer().json()["result"]["content"][0]["text"], r#"{"x":1}"#);
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

// The old transport (2024-11-05), end to end: everything is said on one stream
#[test]
fn the_old_sse_transport() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for path in ["/sse", "/sse/default"] {
        let mut stream = Conn::open(gateway.port);
        stream.send("GET", path, &[("Accept", "text/event-stream")], "");
        let mut events = stream.response().events();
        let endpoint = events.next().unwrap();
        assert_eq!(endpoint.kind, "endpoint");
        assert!(endpoint.data.starts_with("/messages?sessionId="), "{endpoint:?}");
        let post = |message: Value| {
            let answer = gateway.ask("POST", &endpoint.data, &[], &message.to_string());
            assert_eq!((answer.status, answer.text().as_str()), (202, ""));
        };
        let info = json!({"name": "old", "version": "1"});
        post(
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2024-11-05", "capabilities": {"sampling": {}}, "clientInfo": info}}),
        );
        let hello = events.next().unwrap();
        assert_eq!(
            (hello.kind.as_str(), &hello.json()["result"]["protocolVersion"]),
            ("message", &json!("2024-11-05"))
        );
        post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        post(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        assert_eq!(events.message()["result"]["tools"][0]["name"], "s__echo");
        let call = |id: u64, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}});
        post(call(2, "s__progress", json!({"steps": 2, "ms": 1})));
        assert_eq!(events.message()["params"], json!({"progressToken": "p", "progress": 1, "total": 2}));
        assert_eq!(events.message()["params"]["progress"], 2);
        assert_eq!(events.message()["result"]["content"][0]["text"], "2 steps");
        post(call(3, "s__ask", json!({"method": "sampling/createMessage", "params": {"q": 1}})));
        let question = events.message();
        assert_eq!(
            (&question["method"], &question["params"]),
            (&json!("sampling/createMessage"), &json!({"q": 1}))
        );
        post(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"a": 2}}));
        assert_eq!(events.message()["result"]["content"][0]["text"], r#"{"a":2}"#);
        let bad = gateway.ask("POST", &endpoint.data, &[], "nonsense");
        assert_eq!((bad.status, &bad.json()["error"]["code"]), (400, &json!(-32700)));
        // The session is over with its stream.
        drop(events);
        drop(stream);
        let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}).to_string();
        assert!(until(PATIENCE, || gateway.ask("POST", &endpoint.data, &[], &ping).status == 404));
    }
    assert_eq!(gateway.ask("GET", "/sse/nowhere", &[], "").status, 404);
    assert_eq!(gateway.ask("POST", "/messages", &[], "{}").status, 404);
    end_quietly(gateway.client);
}

// Many requests on one connection, and several sent before the first is answered
#[test]
fn connections_are_kept_and_requests_may_be_pipelined() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let mut connection = Conn::open(gateway.port);
    for id in 1..50 {
        connection.send("POST", "/api/default/mcp", &[], &calling(id, "ping", json!({})));
        assert_eq!(connection.answer().json()["id"], id);
    }
    for id in 1..20 {
        let call = json!({"name": "s__echo", "arguments": {"text": id.to_string()}});
        connection.send("POST", "/api/default/mcp", &[], &calling(id, "tools/call", call));
    }
    for id in 1..20 {
        let answer = connection.answer().json();
        assert_eq!(
            (&answer["id"], &answer["result"]["content"][0]["text"]),
            (&json!(id), &json!(id.to_string()))
        );
    }
    end_quietly(gateway.client);
}

// HTTP/2 with prior knowledge: the plain API, a session, and a hostile name
#[test]
fn http_2_is_spoken() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let curl = |args: &[&str]| {
        let mut command = sandbox.command("curl");
        command.args([
            "-sS",
            "--max-time",
            "20",
            "--http2-prior-knowledge",
            "-w",
            "\n%{http_version} %{http_code}",
        ]);
        command.args(args);
        let ran = run(command);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
        let (body, line) = ran.stdout.rsplit_once('\n').unwrap();
        (body.to_owned(), line.to_owned())
    };
    if run({
        let mut version = sandbox.command("curl");
        version.arg("--version");
        version
    })
    .stdout
    .contains("HTTP2")
    {
        let api = format!("http://127.0.0.1:{}/api/default/mcp", gateway.port);
        let mcp = format!("http://127.0.0.1:{}/mcp", gateway.port);
        let json = "content-type: application/json";
        let call = calling(1, "tools/call", json!({"name": "s__echo", "arguments": {"text": "two"}}));
        let (body, line) = curl(&["-H", json, "-d", &call, &api]);
        assert_eq!(line, "2 200");
        assert!(body.contains(r#""text":"two""#), "{body}");
        let hello = calling(
            1,
            "initialize",
            json!({"protocolVersion": NEW, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        );
        let (body, line) = curl(&[
            "-i",
            "-H",
            json,
            "-H",
            "accept: application/json, text/event-stream",
            "-d",
            &hello,
            &mcp,
        ]);
        assert_eq!(line, "2 200");
        let id =
            body.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
        let sleep = calling(2, "tools/call", json!({"name": "s__sleep", "arguments": {"ms": 300}}));
        let (body, line) = curl(&[
            "-H",
            json,
            "-H",
            "accept: application/json, text/event-stream",
            "-H",
            &format!("mcp-session-id: {id}"),
            "-d",
            &sleep,
            &mcp,
        ]);
        assert_eq!(line, "2 200");
        assert!(body.contains("event: message") && body.contains("slept"), "{body}");
        let (_, line) = curl(&["-H", "host: evil.example", &api]);
        assert_eq!(line, "2 403");
        // Refused with its body unread, it may reach `curl` as a stream cut short; the tool does not run either way.
        let mut hostile = sandbox.command("curl");
        hostile.args(["-sS", "--max-time", "20", "--http2-prior-knowledge", "-H", json]);
        hostile.args(["-H", "host: evil.example", "-d", &call, &api]);
        let ran = run(hostile);
        assert!(!ran.stdout.contains("two"), "{}", ran.stdout);
        assert_eq!(sandbox.received("s.log", "tools/call").len(), 2);
    } else {
        println!("skipped: this curl has no HTTP/2");
    }
    end_quietly(gateway.client);
}
