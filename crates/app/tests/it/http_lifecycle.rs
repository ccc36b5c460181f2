//! HTTP from the start to the end of the program: addresses that cannot be had, signals, and what is in flight then.
#![expect(clippy::disallowed_types, reason = "how soon a failure is told is measured in real time")]

use std::net::{TcpListener, TcpStream};
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
pub(crate) fn one(sandbox: &Sandbox) -> Value {
    let tools = ["echo", "sleep", "progress", "ask", "addtool", "pid", "log"];
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    json!({"mcpServers": {"s": fake(json!({"name": "s", "tools": tools, "log": sandbox.path("s.log"), "pid": sandbox.path("s.pid")}))}})
}

pub(crate) const OLD: &str = "2025-06-18";
pub(crate) const NEW: &str = "2025-11-25";

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

// F26: 1,000 calls of 500 ms in flight
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
