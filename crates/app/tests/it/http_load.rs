//! HTTP with many clients at once: every answer is the right one, and nobody is turned away (F36, S2-22).
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how long real clients wait is measured in real time")]

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Sandbox, fake};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::http_lifecycle::{Conn, Gateway, HttpClient, calling};
use manifold_testkit::http::end_quietly;

/// Lets this process, and what it starts, have as many open files as the system allows.
pub(crate) fn allow_many_files() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
    let wanted = hard.min(20_000);
    if soft < wanted {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
    }
}

/// Two schemas that own a server of the same name each.
fn two_schemas(sandbox: &Sandbox) -> Value {
    let server = |name: &str| {
        let pid = sandbox.path(&format!("{name}.pid"));
        json!({"mcpServers": {"s": fake(json!({"name": name, "tools": [{"name": "echo"}, {"name": "pid"}], "pid": pid}))}})
    };
    json!({"schemas": {"one": server("one"), "two": server("two")}})
}

fn pid(sandbox: &Sandbox, name: &str) -> String {
    let pids = std::fs::read_to_string(sandbox.path(&format!("{name}.pid"))).unwrap();
    assert_eq!(pids.lines().count(), 1, "one process: {pids}");
    pids.trim().to_owned()
}

/// Calls a tool on an open connection, always under id 1, and returns the text it answers.
fn call(connection: &mut Conn, schema: &str, tool: &str, arguments: Value) -> String {
    let call = json!({"name": tool, "arguments": arguments});
    connection.send("POST", &format!("/api/{schema}/mcp"), &[], &calling(1, "tools/call", call));
    let answer = connection.answer();
    let message = answer.json();
    assert_eq!((answer.status, &message["id"]), (200, &json!(1)), "{message}");
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}")).to_owned()
}

// S2-22: 64 clients that all use id 1, 10,000 calls over two schemas
#[test]
fn ten_thousand_calls_under_one_id() {
    const CLIENTS: usize = 64;
    const CALLS: usize = 10_000;
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &two_schemas(&sandbox), &[]);
    let began = Instant::now();
    let right: usize = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let port = gateway.port;
                scope.spawn(move || {
                    let mut connection = Conn::open(port);
                    connection.patience(Duration::from_secs(60));
                    let share = CALLS / CLIENTS + usize::from(client < CALLS % CLIENTS);
                    let mut right = 0;
                    for n in 0..share {
                        let schema = if (client + n) % 2 == 0 { "one" } else { "two" };
                        let text = format!("{schema} {client} {n}");
                        right += usize::from(
                            call(&mut connection, schema, "s__echo", json!({"text": text})) == text,
                        );
                    }
                    right
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    println!("64 clients, all with id 1: {right} of {CALLS} answers right in {:?}", began.elapsed());
    assert_eq!(right, CALLS);
    // The schemas were two worlds all the time.
    let mut connection = Conn::open(gateway.port);
    let (one, two) = (pid(&sandbox, "one"), pid(&sandbox, "two"));
    assert_ne!(one, two);
    assert_eq!(call(&mut connection, "one", "s__pid", json!({})), one);
    assert_eq!(call(&mut connection, "two", "s__pid", json!({})), two);
    end_quietly(gateway.client);
}

// F36
#[test]
fn a_thousand_clients_at_once() {
    const CLIENTS: usize = 1000;
    const CALLS: usize = 5;
    allow_many_files();
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &two_schemas(&sandbox), &[]);
    let barrier = Barrier::new(CLIENTS);
    let (port, barrier_ref) = (gateway.port, &barrier);
    let mut waits: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let run = move || {
                    let mut connection = Conn::open(port);
                    connection.patience(Duration::from_secs(120));
                    barrier_ref.wait();
                    let mut worst = Duration::ZERO;
                    for n in 0..CALLS {
                        let schema = if (client + n) % 2 == 0 { "one" } else { "two" };
                        let text = format!("{client} {n}");
                        let asked = Instant::now();
                        assert_eq!(call(&mut connection, schema, "s__echo", json!({"text": text})), text);
                        worst = worst.max(asked.elapsed());
                    }
                    worst
                };
                thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, run).unwrap()
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    waits.sort();
    let (median, slowest) = (waits[CLIENTS / 2], waits[CLIENTS - 1]);
    println!(
        "F36: 1,000 concurrent clients, {} calls: 0 errors; longest wait {median:?} for the median client, {slowest:?} for the slowest",
        CLIENTS * CALLS
    );
    assert_eq!(waits.len(), CLIENTS);
    end_quietly(gateway.client);
}

// Decision 3: sessions share the processes of a namespace, however many there are
#[test]
fn sessions_share_processes() {
    const SESSIONS: usize = 128;
    allow_many_files();
    let sandbox = Sandbox::new();
    let server = |name: &str| {
        fake(json!({"name": name, "tools": [{"name": "pid"}], "pid": sandbox.path(&format!("{name}.pid"))}))
    };
    let config = json!({"servers": {"a": server("a"), "b": server("b"), "c": server("c")},
        "namespaces": {"work": {"serverIds": ["a", "b"]}, "home": {"serverIds": ["b", "c"]}}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let port = gateway.port;
    let pids: BTreeSet<(&str, String)> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|n| {
                scope.spawn(move || {
                    let (path, servers) =
                        if n % 2 == 0 { ("/mcp/work", ["a", "b"]) } else { ("/mcp/home", ["b", "c"]) };
                    let session = HttpClient::open(port, path, "2025-06-18", json!({}));
                    let mut listening = session.listen(None);
                    let listening = listening.response();
                    assert_eq!(listening.status, 200);
                    servers.map(|server| {
                        let call = calling(1, "tools/call", json!({"name": format!("{server}__pid")}));
                        let answer = session.post("application/json", &call).json();
                        let text = answer["result"]["content"][0]["text"].as_str();
                        (server, text.unwrap_or_else(|| panic!("{answer}")).to_owned())
                    })
                })
            })
            .collect();
        sessions.into_iter().flat_map(|session| session.join().unwrap()).collect()
    });
    println!("{SESSIONS} sessions over 2 namespaces of 3 shared servers: {} processes", pids.len());
    let expected = ["a", "b", "c"].map(|name| (name, pid(&sandbox, name)));
    assert_eq!(pids, BTreeSet::from(expected));
    end_quietly(gateway.client);
}
