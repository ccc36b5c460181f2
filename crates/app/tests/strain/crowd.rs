//! Many clients at once: each is served in turn, those who only listen cost little, and one that floods a server keeps
//! nobody else waiting (F36 to F38).
#![allow(clippy::unwrap_used, reason = "this is a test")]
#![expect(clippy::disallowed_types, reason = "how long real clients wait is measured in real time")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Sandbox, fake, figures, own_kib};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::alone;
use crate::http::{Conn, Gateway, HttpClient, calling, end_quietly};

const PATIENCE: Duration = Duration::from_secs(120);

/// The short figure by default, the whole one when there is time.
fn figure(short: usize, long: usize) -> usize {
    if std::env::var_os("MANIFOLD_LONG").is_some() { long } else { short }
}

fn allow_many_files() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(hard.min(25_000)), hard).unwrap();
}

fn resident_kib(gateway: &Gateway) -> u64 {
    own_kib(gateway.client.pid())
}

/// Returns the time that 99 in 100 stay within.
fn p99(mut waits: Vec<Duration>) -> Duration {
    waits.sort();
    waits[(waits.len() * 99).div_ceil(100) - 1]
}

// F36
#[test]
fn no_client_waits_much_longer_than_the_others() {
    const CLIENTS: usize = 1000;
    let _alone = alone();
    allow_many_files();
    let calls = figure(20, 100);
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": {"a": fake(json!({}))}}), &[]);
    let (port, barrier) = (gateway.port, &Barrier::new(CLIENTS));
    let mut waits: Vec<Duration> = thread::scope(|scope| {
        let run = |client: usize| {
            let mut connection = Conn::open(port);
            connection.patience(PATIENCE);
            barrier.wait();
            let times = (0..calls).map(|n| {
                let text = format!("{client} {n}");
                let call = json!({"name": "a__echo", "arguments": {"text": text}});
                let asked = Instant::now();
                connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
                let answer = connection.answer().json();
                assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
                asked.elapsed()
            });
            p99(times.collect())
        };
        let start = |client: usize| {
            thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, move || run(client)).unwrap()
        };
        let clients: Vec<_> = (0..CLIENTS).map(start).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    waits.sort();
    let (median, slowest) = (waits[CLIENTS / 2], waits[CLIENTS - 1]);
    println!(
        "F36: {CLIENTS} clients, {} calls, 0 errors; p99 {median:?} for the median client, {slowest:?} for the slowest: {:.2}x",
        CLIENTS * calls,
        slowest.as_secs_f64() / median.as_secs_f64()
    );
    figures::took("F36: p99 of the slowest client", slowest, 3 * median);
    end_quietly(gateway.client);
}

/// Somebody who only listens; the session, if there is one, ends with it.
struct Idle {
    _stream: Option<Conn>,
    session: Option<HttpClient>,
}

impl Drop for Idle {
    fn drop(&mut self) {
        if let Some(session) = self.session.as_ref().filter(|_| !thread::panicking()) {
            session.delete();
        }
    }
}

fn session(gateway: &Gateway) -> Idle {
    let session = HttpClient::open(gateway.port, "/mcp", "2025-11-25", json!({}));
    Idle { _stream: None, session: Some(session) }
}

fn session_with_stream(gateway: &Gateway) -> Idle {
    let session = HttpClient::open(gateway.port, "/mcp", "2025-11-25", json!({}));
    Idle { _stream: Some(opened(session.listen(None))), session: Some(session) }
}

fn listener(gateway: &Gateway) -> Idle {
    let mut connection = Conn::open(gateway.port);
    let version = "2026-07-28";
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}});
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", version),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    connection.send("POST", "/mcp", &headers, &calling(1, "subscriptions/listen", params));
    Idle { _stream: Some(opened(connection)), session: None }
}

fn socket(gateway: &Gateway) -> Idle {
    let mut connection = Conn::open(gateway.port);
    let headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    connection.send("GET", "/litemcp/default", &headers, "");
    assert_eq!(connection.response().status, 101);
    Idle { _stream: Some(connection), session: None }
}

fn opened(mut connection: Conn) -> Conn {
    let response = connection.response();
    assert_eq!((response.status, response.header("content-type")), (200, Some("text/event-stream")));
    connection
}

/// F37 for one way to be idle: what each costs, and that coming and going adds nothing.
#[expect(clippy::print_stdout, reason = "the figure is what the test is for")]
fn check_idle(what: &str, count: usize, open: fn(&Gateway) -> Idle, most_kib: f64) {
    /// In so many steps everybody is replaced.
    const STEPS: usize = 10;
    const ROUNDS: usize = 5;
    let _alone = alone();
    allow_many_files();
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": {"a": fake(json!({}))}}), &[]);
    // What is made once is made before.
    drop((0..20).map(|_| open(&gateway)).collect::<Vec<_>>());
    let before = resident_kib(&gateway);
    let mut idle: Vec<Idle> = (0..count).map(|_| open(&gateway)).collect();
    let full = resident_kib(&gateway);
    let each = full.saturating_sub(before) as f64 / count as f64;
    let mut replace_all = || {
        for _ in 0..STEPS {
            idle.drain(..count / STEPS);
            idle.extend((0..count / STEPS).map(|_| open(&gateway)));
        }
        resident_kib(&gateway)
    };
    // Once everybody has been replaced, the allocator has found its places. What is never let go grows with every
    // round; on a busy machine those who left may be let go late in one.
    let mut held = vec![replace_all(), replace_all()];
    let settling = |before: u64| (before / 20).max(count as u64);
    while held.len() < ROUNDS && held[held.len() - 1] > held[held.len() - 2] + settling(held[held.len() - 2])
    {
        held.push(replace_all());
    }
    println!(
        "F37: {count} idle {what}: {each:.1} KiB each (20 wanted); {full} KiB, {held:?} when all were replaced"
    );
    assert!(each <= most_kib, "{each} KiB each");
    let (turned, last) = (held[held.len() - 2], held[held.len() - 1]);
    // A twentieth of all that was in memory when pages of the program counted, too: about a KiB each.
    assert!(last <= turned + settling(turned), "it grew with every round: {held:?} KiB");
    drop(idle);
    end_quietly(gateway.client);
}

// F37
#[test]
fn idle_sessions_cost_little() {
    check_idle("sessions", figure(1_000, 10_000), session, 20.0);
}

// F37
#[test]
fn idle_streams_cost_little() {
    check_idle("sessions with a stream", figure(1_000, 10_000), session_with_stream, 20.0);
}

// F37
#[test]
fn idle_listeners_cost_little() {
    check_idle("listen streams", figure(1_000, 10_000), listener, 20.0);
}

// M7: as many as there may be at once
#[test]
fn idle_websockets_cost_little() {
    check_idle("WebSockets", figure(1_000, 4_000), socket, 16.0);
}

/// Calls a tool of a session and returns how long it took.
fn timed(session: &HttpClient, tool: &str, arguments: Value) -> Duration {
    let asked = Instant::now();
    let mut connection = session.call(1, tool, arguments, None);
    connection.patience(PATIENCE);
    let answer = connection.answer().json();
    assert!(answer["result"].is_object(), "{answer}");
    asked.elapsed()
}

/// A few calls, some time apart, as somebody makes who is in no hurry.
fn calm(session: &HttpClient, tool: &str) -> Duration {
    let one = |_| {
        thread::sleep(Duration::from_millis(figure(50, 1000) as u64));
        timed(session, tool, json!({"ms": 100, "text": "x"}))
    };
    p99((0..figure(30, 100)).map(one).collect())
}

fn sleepers() -> Value {
    fake(json!({"tools": [{"name": "sleep"}, {"name": "echo"}]}))
}

// F38
#[test]
fn one_that_floods_a_server_keeps_nobody_waiting() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let mut server = sleepers();
    server["maxConcurrency"] = json!(8);
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": {"a": server}}), &[]);
    let session = || gateway.session("/mcp", "2025-11-25", json!({}));
    let (flood, quiet) = (session(), session());
    timed(&quiet, "a__sleep", json!({"ms": 1}));
    let idle = calm(&quiet, "a__sleep");
    let over = AtomicBool::new(false);
    let (crowded, calls) = thread::scope(|scope| {
        let (over, flood) = (&over, &flood);
        let start = |client: u64| {
            scope.spawn(move || {
                let (mut id, mut calls) = (client << 32, 0_u64);
                while !over.load(Ordering::Relaxed) {
                    // No two are done at the same time for long.
                    let arguments = json!({"ms": 50 + (id * 37) % 100});
                    let mut connection = flood.call(id, "a__sleep", arguments, None);
                    connection.patience(PATIENCE);
                    assert_eq!(connection.answer().status, 200);
                    (id, calls) = (id + 1, calls + 1);
                }
                calls
            })
        };
        let flooding: Vec<_> = (1..=64).map(start).collect();
        let crowded = calm(&quiet, "a__sleep");
        over.store(true, Ordering::Relaxed);
        (crowded, flooding.into_iter().map(|one| one.join().unwrap()).sum::<u64>())
    });
    let ratio = crowded.as_secs_f64() / idle.as_secs_f64();
    println!("F38: p99 {idle:?} alone, {crowded:?} beside 64 calls at once ({calls} in all): {ratio:.2}x");
    figures::ratio("F38: a calm client's p99 beside the noise", ratio, 2.0);
    end_quietly(gateway.client);
}

// F38
#[test]
fn long_calls_on_one_server_do_not_touch_another() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"slow": sleepers(), "b": sleepers()}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let session = || gateway.session("/mcp", "2025-11-25", json!({}));
    let (long, quiet) = (session(), session());
    timed(&long, "slow__sleep", json!({"ms": 1}));
    timed(&quiet, "b__sleep", json!({"ms": 1}));
    let idle = calm(&quiet, "b__sleep");
    let outstanding: Vec<Conn> =
        (1..=256).map(|id| long.call(id, "slow__sleep", json!({"ms": 2000}), None)).collect();
    let beside = calm(&quiet, "b__sleep");
    let ratio = beside.as_secs_f64() / idle.as_secs_f64();
    println!("F38: p99 {idle:?} alone, {beside:?} beside 256 calls of 2 s on another server: {ratio:.2}x");
    figures::ratio("F38: a calm client's p99 beside the noise", ratio, 2.0);
    drop(outstanding);
    end_quietly(gateway.client);
}
