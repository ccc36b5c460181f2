//! Much work changes nothing (F42): memory, open files, threads and processes after many calls are those after few.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use manifold_testkit::http_client::headers_of;
use manifold_testkit::modern::Marks;
use manifold_testkit::{Client, Sandbox, fake, own_kib, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::alone;
use crate::http::{Conn, Gateway, calling, end_quietly};

const PATIENCE: Duration = Duration::from_secs(30);
const AT_ONCE: usize = 50;
const CONNECTIONS: usize = 16;

/// What a gateway holds, its guard and servers included where they are counted.
#[derive(Debug)]
struct Held {
    resident_kib: u64,
    open_files: usize,
    threads: u64,
    processes: usize,
}

fn held(pid: u32) -> Held {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let number = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    Held {
        resident_kib: own_kib(pid),
        open_files: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(),
        threads: number("Threads:"),
        processes: descendants(pid),
    }
}

fn descendants(pid: u32) -> usize {
    // One that ends while we look has none.
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let children = tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")));
    let children = children.map(Result::unwrap_or_default).collect::<String>();
    children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .map(|child| 1 + descendants(child))
        .sum()
}

/// Has few calls made and then many more, and compares what the gateway holds after each.
#[expect(clippy::print_stdout, reason = "tests print their figures")]
fn soak(what: &str, pid: u32, mut make: impl FnMut(usize)) {
    let long = std::env::var_os("MANIFOLD_LONG").is_some();
    let (few, many) = if long { (10_000, 1_000_000) } else { (5_000, 30_000) };
    make(few);
    let before = held(pid);
    make(many - few);
    // Fewer is as good: a thread that helped for a moment leaves when it has rested.
    let mut after = held(pid);
    until(PATIENCE, || {
        after = held(pid);
        after.open_files <= before.open_files
            && after.threads <= before.threads
            && after.processes <= before.processes
    });
    println!("F42: {what}: after {few} calls {before:?}, after {many} calls {after:?}");
    let allowed = (before.resident_kib / 100).max(1024);
    assert!(after.resident_kib <= before.resident_kib + allowed, "memory grew: {before:?}, {after:?}");
    assert!(after.open_files <= before.open_files, "files: {before:?}, {after:?}");
    assert!(after.threads <= before.threads, "threads: {before:?}, {after:?}");
    assert!(after.processes <= before.processes, "processes: {before:?}, {after:?}");
}

// F42
#[test]
fn many_calls_leave_no_trace() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&json!({"mcpServers": {"a": fake(json!({}))}}), &[]);
    client.initialize("2025-11-25", json!({}));
    soak("stdio", client.pid(), |count| call_in_waves(&mut client, count));
}

fn call_in_waves(client: &mut Client, count: usize) {
    let arguments = json!({"name": "a__echo", "arguments": {"text": "x".repeat(200)}});
    for _ in 0..count / AT_ONCE {
        let ids: Vec<u64> = (0..AT_ONCE).map(|_| client.request("tools/call", arguments.clone())).collect();
        for id in ids {
            let answer = client.wait_for(id, PATIENCE);
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
}

// F42
#[test]
fn many_calls_over_http_leave_no_trace() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"a": fake(json!({}))}, "managerTools": false});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let mut connections = connect(gateway.port);
    soak("HTTP", gateway.client.pid(), |count| call_at_once(&mut connections, count, &["a"]));
    end_quietly(gateway.client);
}

fn connect(port: u16) -> Vec<Conn> {
    let open = |_| {
        let connection = Conn::open(port);
        connection.patience(PATIENCE);
        connection
    };
    (0..CONNECTIONS).map(open).collect()
}

/// Calls on all connections, the servers by turns; only the first of several may fail.
fn call_at_once(connections: &mut [Conn], count: usize, servers: &[&str]) {
    let left = AtomicUsize::new(count);
    thread::scope(|scope| {
        for connection in connections {
            scope.spawn(|| {
                let take = |left: usize| left.checked_sub(1);
                while let Ok(n) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
                    let server = servers[n % servers.len()];
                    let answer = echo(connection, server);
                    let may_fail = servers.len() > 1 && server == servers[0];
                    assert!(may_fail || answer["result"].is_object(), "{server}: {answer}");
                }
            });
        }
    });
}

fn echo(connection: &mut Conn, server: &str) -> Value {
    let call = json!({"name": format!("{server}__echo"), "arguments": {"text": "x".repeat(200)}});
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
    connection.answer().json()
}

// F42 with F2, F19 and F31 mixed in
#[test]
fn kills_hang_ups_and_config_writes_leave_no_trace() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let server = |name: &str| fake(json!({"name": name, "pid": sandbox.path(&format!("{name}.pid"))}));
    let slow = fake(json!({"tools": [{"name": "sleep"}], "log": sandbox.path("slow.log")}));
    let servers = json!({"mortal": server("mortal"), "b": server("b"), "slow": slow});
    let steady = json!({"mcpServers": servers, "managerTools": false});
    let mut other = steady.clone();
    other["mcpServers"]["c"] = server("c");
    let gateway = Gateway::start(&sandbox, &steady, &[]);
    let (port, path) = (gateway.port, sandbox.path(".config/manifold/config.json"));
    let mut connections = connect(port);
    let hung_up = || {
        let count = |method: &str| sandbox.received("slow.log", method).len();
        (count("tools/call"), count("notifications/cancelled"))
    };
    soak("HTTP with kills, hang-ups and config writes", gateway.client.pid(), |count| {
        let over = AtomicBool::new(false);
        let now_and_then = |pause: u64, disturb: &dyn Fn(usize)| {
            for n in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                disturb(n);
                thread::sleep(Duration::from_millis(pause));
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| now_and_then(500, &|_| kill_last(&sandbox.path("mortal.pid"))));
            scope.spawn(|| now_and_then(20, &|_| hang_up(port)));
            scope.spawn(|| {
                let texts = [other.to_string(), "{\"mcpServers\": {".to_owned(), steady.to_string()];
                now_and_then(150, &|n| rename_over(&path, &texts[n % texts.len()]));
            });
            call_at_once(&mut connections, count, &["mortal", "b"]);
            over.store(true, Ordering::Relaxed);
        });
        rename_over(&path, &steady.to_string());
        let connection = &mut connections[0];
        assert!(until(PATIENCE, || !tools(connection).contains("c__echo")), "the last write is in force");
        assert!(until(PATIENCE, || echo(connection, "mortal")["result"].is_object()), "it is back");
        assert_eq!(starts(&sandbox.path("b.pid")), 1, "an untouched server runs on");
        let all_taken_back = || {
            let (called, cancelled) = hung_up();
            called == cancelled
        };
        assert!(until(PATIENCE, all_taken_back), "called and taken back: {:?}", hung_up());
    });
    let starts = starts(&sandbox.path("mortal.pid"));
    println!(
        "F42: meanwhile {starts} starts of a server that was killed, {} hang-ups taken back",
        hung_up().1
    );
    end_quietly(gateway.client);
}

fn kill_last(pids: &Path) {
    let pids = fs::read_to_string(pids).unwrap_or_default();
    // A line without its end is being written.
    let pid = pids.strip_suffix('\n').and_then(|pids| pids.lines().last()?.parse().ok());
    if let Some(pid) = pid {
        // It may be gone already.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

fn starts(pids: &Path) -> usize {
    fs::read_to_string(pids).unwrap_or_default().lines().count()
}

/// Starts a call without a session, which would take its time, and lets it go.
fn hang_up(port: u16) {
    let marks = Marks { capabilities: json!({}), log_level: None };
    let params = marks.put_on(&json!({"name": "slow__sleep", "arguments": {"ms": 600_000}}));
    let headers = headers_of("tools/call", &params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut connection = Conn::open(port);
    connection.send("POST", "/mcp", &headers, &calling(1, "tools/call", params));
    // Mostly long enough for the server to have it; all moments are welcome.
    thread::sleep(Duration::from_millis(10));
}

fn rename_over(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

fn tools(connection: &mut Conn) -> String {
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/list", json!({})));
    connection.answer().text()
}
