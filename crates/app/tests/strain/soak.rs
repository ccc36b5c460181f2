//! Much work changes nothing: memory, open files and processes after many calls are those after few.
#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::fs;
use std::time::Duration;

use manifold_testkit::{Client, Sandbox, fake};
use serde_json::json;

use crate::alone;

const PATIENCE: Duration = Duration::from_secs(30);
const AT_ONCE: u64 = 50;

struct Held {
    resident_kib: u64,
    open_files: usize,
    threads: usize,
}

fn held(pid: u32) -> Held {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let number = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    Held {
        resident_kib: number("VmRSS:"),
        open_files: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(),
        threads: number("Threads:") as usize,
    }
}

fn call(client: &mut Client, count: u64) {
    for _ in 0..count / AT_ONCE {
        let arguments = json!({"name": "a__echo", "arguments": {"text": "x".repeat(200)}});
        let ids: Vec<u64> = (0..AT_ONCE).map(|_| client.request("tools/call", arguments.clone())).collect();
        for id in ids {
            let answer = client.wait_for(id, PATIENCE);
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
}

#[test]
fn many_calls_leave_no_trace() {
    let _alone = alone();
    let (few, many) =
        if std::env::var_os("MANIFOLD_LONG").is_some() { (10_000, 200_000) } else { (2_000, 6_000) };
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&json!({"mcpServers": {"a": fake(json!({}))}}), &[]);
    client.initialize("2025-11-25", json!({}));
    call(&mut client, few);
    let before = held(client.pid());
    call(&mut client, many);
    let after = held(client.pid());
    println!("{few} calls: {} KiB; {} calls: {} KiB", before.resident_kib, few + many, after.resident_kib);
    assert!(after.resident_kib <= before.resident_kib + 1024, "memory grew");
    // Fewer is as good: a thread that helped with the start leaves when it has rested.
    assert!(
        after.open_files <= before.open_files,
        "{} files, {} before",
        after.open_files,
        before.open_files
    );
    assert!(after.threads <= before.threads, "{} threads, {} before", after.threads, before.threads);
}
