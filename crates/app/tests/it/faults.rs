//! F5 to F10 and F21 to F24: whatever a server or a client writes, the next call works. Each test prints its figure.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

mod from_clients;
mod from_servers;

use std::collections::HashMap;
use std::time::{Duration, Instant};
use std::{env, fs};

use manifold_testkit::{Client, Sandbox, Usage, bin, fake, figures, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, studio, text_of};

const SOON: Duration = Duration::from_secs(60);

const TOOLS: [&str; 10] =
    ["echo", "emit", "sleep", "flood", "twice", "weird", "progress", "pid", "big", "log"];

/// One server with everything that can go wrong, and one that must not notice.
fn faulty(sandbox: &Sandbox, more: Value) -> Value {
    let mut knobs = more;
    knobs["log"] = json!(sandbox.path("bad.log"));
    json!({"mcpServers": {"bad": fake_with(&TOOLS, knobs), "good": fake(json!({}))}})
}

/// The same, where an answer of the bad one never comes and its deadline is waited for.
fn faulty_with_deadline(sandbox: &Sandbox, more: Value) -> Value {
    let mut config = faulty(sandbox, more);
    config["mcpServers"]["bad"]["timeout"] = json!(5000);
    config
}

/// The short figure by default, the whole one when there is time.
fn figure(short: usize, long: usize) -> usize {
    if env::var_os("MANIFOLD_LONG").is_some() { long } else { short }
}

/// Returns a number of `/proc/<pid>/status`, in KiB.
fn memory(client: &Client, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", client.pid())).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").trim().parse().unwrap_or_default()
}

/// Makes this many calls, some at a time, each with a text of its own. Returns how many came back right.
fn pump(client: &mut Client, tool: &str, calls: usize) -> usize {
    let mut waiting: HashMap<u64, String> = HashMap::new();
    let (mut sent, mut right) = (0, 0);
    while sent < calls || !waiting.is_empty() {
        while sent < calls && waiting.len() < 200 {
            let text = format!("call {sent}");
            let id = client.request("tools/call", json!({"name": tool, "arguments": {"text": text}}));
            waiting.insert(id, text);
            sent += 1;
        }
        let message = client.recv(SOON);
        let Some(id) = message["id"].as_u64().filter(|_| message["method"].is_null()) else { continue };
        match waiting.remove(&id) {
            Some(text) if message["result"]["content"][0]["text"] == text => right += 1,
            other => panic!("{message} came for {other:?}"),
        }
    }
    right
}

/// Both servers work, and the bad one is still the process it was.
fn still_works(client: &mut Client, pid: &Value, after: &str) {
    assert_eq!(text_of(&client.call("bad.echo", json!({"text": after}))), after);
    assert_eq!(text_of(&client.call("good.echo", json!({"text": after}))), after);
    assert_eq!(client.call("bad.pid", json!({}))["result"], pid["result"], "still connected after {after}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
