//! Fifty servers that hang at the handshake and one that works (F3): the one is there at once.
#![expect(clippy::disallowed_types, reason = "how soon a tool can be called is measured in real time")]

use std::time::{Duration, Instant};

use manifold_testkit::{Sandbox, fake, figures, until};
use serde_json::{Map, Value, json};

use crate::alone;

const HUNG: usize = 50;
const SOON: Duration = Duration::from_secs(60);

/// Servers that do as the file of knobs says, whose definition does not change with it.
fn config(sandbox: &Sandbox, hung: Value) -> Value {
    let knobs = sandbox.write("hung.json", &hung.to_string());
    let mut servers = Map::new();
    for at in 0..HUNG {
        let mut server = fake(json!({}));
        server["args"] = json!([format!("@{}", knobs.display()), at.to_string()]);
        servers.insert(format!("hung{at}"), server);
    }
    servers.insert("works".to_owned(), fake(json!({})));
    json!({"mcpServers": servers, "managerTools": false})
}

/// Starts the gateway, has all lists begun, and calls the tool that works. Returns how long that took from the start.
fn call_after_cold_start(hung: Value) -> Duration {
    let sandbox = Sandbox::new();
    let config = config(&sandbox, hung);
    let began = Instant::now();
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    client.request("tools/list", json!({}));
    let answer = client.call("works__echo", json!({"text": "here"}));
    let took = began.elapsed();
    assert_eq!(answer["result"]["content"][0]["text"], "here", "{answer}");
    took
}

// F3
#[test]
fn one_that_works_can_be_called_while_fifty_hang() {
    let _alone = alone();
    for (how, hung) in [
        ("at `initialize`", json!({"hangOn": "initialize"})),
        ("at `server/discover`", json!({"hangOn": "server/discover"})),
    ] {
        let took = call_after_cold_start(hung);
        println!("F3: {HUNG} servers hang {how}; the one that works answered {took:?} after a cold start");
        figures::took(&format!("F3: the one that works, fifty hang {how}"), took, Duration::from_millis(300));
    }
}

/// Returns how long the last of all servers stands in line for its start (D3): a place for each half processor, for 0.4 s.
fn in_line() -> Duration {
    let places = 2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Duration::from_millis(400) * u32::try_from(HUNG / places).unwrap_or(u32::MAX)
}

/// Lists while fifty hang with this start timeout, and returns how long after the question all were marked as failed.
fn marked_after(hung: Value, start_timeout: Duration) -> Duration {
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox, hung);
    for server in config["mcpServers"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        server["startTimeout"] = json!(start_timeout.as_millis());
    }
    config["managerTools"] = json!(true);
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    let asked = Instant::now();
    client.request("tools/list", json!({}));
    let answer = client.call("works__echo", json!({"text": "here"}));
    let called = asked.elapsed();
    assert_eq!(answer["result"]["content"][0]["text"], "here", "{answer}");
    figures::took("F3: a call while fifty are listed", called, Duration::from_millis(300));
    let mut failed = 0;
    until(SOON, || {
        let table = client.call("manifold__servers_list", json!({}));
        let rows = table["result"]["content"][0]["text"].as_str().unwrap_or_default();
        failed = rows.matches(r#""state":"failed""#).count();
        failed == HUNG
    });
    let took = asked.elapsed();
    assert_eq!(failed, HUNG);
    took
}

// F3: each has a deadline of its own, from its own start; none waits for another's, nor for a process that will not go
#[test]
fn fifty_that_hang_are_marked_by_their_deadline() {
    let _alone = alone();
    let start_timeout = Duration::from_secs(3);
    for (how, hung) in [
        ("at `initialize`", json!({"hangOn": "initialize"})),
        ("at `server/discover`", json!({"hangOn": "server/discover", "delayMs": {"initialize": 60_000}})),
        ("and will not go", json!({"hangOn": "initialize", "ignoreEof": true, "ignoreTerm": true})),
    ] {
        let took = marked_after(hung, start_timeout);
        let late = took.saturating_sub(start_timeout + in_line());
        println!(
            "F3: {HUNG} servers hang {how}; all are marked {late:?} after their start timeout of {start_timeout:?}"
        );
        figures::took("F3: all fifty marked, after their deadline", late, Duration::from_millis(500));
    }
}

// F3, S1-28: a cold list takes as long as the slowest of its servers
#[test]
fn ten_slow_handshakes_take_as_long_as_one() {
    let _alone = alone();
    let handshake = Duration::from_millis(1500);
    let slow = fake(json!({"delayMs": {"initialize": handshake.as_millis() as u64}}));
    let servers: Map<String, Value> = (0..10).map(|at| (format!("s{at}"), slow.clone())).collect();
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&json!({"mcpServers": servers, "managerTools": false}), &[]);
    client.initialize("2025-11-25", json!({}));
    let asked = Instant::now();
    assert_eq!(client.tool_names().len(), 10);
    let took = asked.elapsed();
    println!("F3: a cold list of 10 servers whose handshakes take {handshake:?} in {took:?}");
    figures::took("F3: a cold list of ten servers", took, handshake * 2);
}

// F3, F11
#[test]
fn lists_come_from_what_is_saved_while_fifty_hang() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let good = config(&sandbox, json!({}));
    let mut client = sandbox.serve(&good, &[]);
    client.initialize("2025-11-25", json!({}));
    let known = until(SOON, || client.tool_names().len() == HUNG + 1);
    assert!(known, "all are known");
    client.leave();
    // The same definitions, and now they hang.
    config(&sandbox, json!({"hangOn": "initialize"}));
    let mut client = sandbox.serve(&good, &[]);
    client.initialize("2025-11-25", json!({}));
    let asked = Instant::now();
    let id = client.request("tools/list", json!({}));
    let text = client.wait_for_text(id, SOON);
    let took = asked.elapsed();
    assert_eq!(text.matches("__echo\"").count(), HUNG + 1, "{text}");
    println!("F3: tools/list of {} servers from what was saved in {took:?}", HUNG + 1);
    figures::took("F11: a list from what was saved", took, Duration::from_millis(5));
    let answer = client.call("works__echo", json!({"text": "here"}));
    assert_eq!(answer["result"]["content"][0]["text"], "here", "{answer}");
}
