//! Lines without an end (F6) and results of a hundred megabytes (F12): bounded while they come, gone when they are over.
#![expect(clippy::disallowed_types, reason = "how soon the next call works is measured in real time")]

use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, Usage, fake, figures};
use serde_json::{Value, json};

use crate::http::{Conn, Gateway, calling, end_quietly};
use crate::{alone, figure};

const PATIENCE: Duration = Duration::from_secs(600);
const HUNDRED_MEGABYTES: usize = 100_000_000;
/// More than once, so that what stays would show.
const ROUNDS: usize = 2;

/// A gateway for one server with tools for large things, and messages of at most this many MiB.
fn config(cap_mib: u64) -> Value {
    let tools = json!([{"name": "echo"}, {"name": "emit"}, {"name": "big"}]);
    let mut server = fake(json!({"tools": tools}));
    server["timeout"] = json!(PATIENCE.as_millis() as u64);
    json!({"mcpServers": {"a": server}, "managerTools": false, "limits": {"messageBytes": cap_mib << 20}})
}

fn open(sandbox: &Sandbox, cap_mib: u64) -> Client {
    let mut client = sandbox.serve(&config(cap_mib), &[]);
    client.initialize("2025-11-25", json!({}));
    assert_eq!(echo(&mut client), "x");
    client
}

fn echo(client: &mut Client) -> String {
    let answer = client.call("a__echo", json!({"text": "x"}));
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

// F6
#[test]
fn a_line_without_an_end_costs_no_more_than_the_cap() {
    const CAP_MIB: u64 = 16;
    let _alone = alone();
    let gib = figure(1, 10);
    let sandbox = Sandbox::new();
    let mut client = open(&sandbox, CAP_MIB);
    let usage = Usage::watch(client.pid());
    let began = Instant::now();
    let line = json!({"name": "a__emit", "arguments": {"line": "x", "repeat": gib << 30}});
    let id = client.request("tools/call", line);
    // Its own answer is on the line after, which is read as if nothing had been.
    let answer = client.wait_for(id, PATIENCE);
    assert_eq!(answer["result"]["content"][0]["text"], "emitted", "{answer}");
    let (took, next) = (began.elapsed(), Instant::now());
    assert_eq!(echo(&mut client), "x");
    let next = next.elapsed();
    let grown = usage.most();
    println!(
        "F6: {gib} GiB on one line in {took:?}, at most {grown} KiB more for a cap of {CAP_MIB} MiB, next call after {next:?}"
    );
    assert!(grown <= (CAP_MIB + 8) << 10, "{grown} KiB");
    figures::took("F6: the next call after an endless line", next, Duration::from_secs(1));
}

// F12
#[test]
fn a_result_of_a_hundred_megabytes_is_one_clear_error_by_the_cap() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let mut client = open(&sandbox, 64);
    let usage = Usage::watch(client.pid());
    for _ in 0..ROUNDS {
        let id = client
            .request("tools/call", json!({"name": "a__big", "arguments": {"bytes": HUNDRED_MEGABYTES}}));
        let error = client.wait_for(id, PATIENCE)["error"].clone();
        let message = error["message"].as_str().unwrap_or_else(|| panic!("{error}"));
        assert!(message.contains("messageBytes") && message.contains('a'), "{error}");
        assert_eq!(echo(&mut client), "x");
    }
    let (most, after) = (usage.most(), usage.now());
    println!(
        "F12: {ROUNDS} results of 100 MB refused by a cap of 64 MiB, one error each; at most {} KiB more, {} KiB after",
        most, after
    );
    assert!(most <= (64 + 8) << 10, "{most} KiB");
    assert!(after <= 8 << 10, "{after} KiB");
}

// F12
#[test]
fn a_result_of_a_hundred_megabytes_comes_whole_where_the_cap_allows_it() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let mut client = open(&sandbox, 128);
    let usage = Usage::watch(client.pid());
    for _ in 0..ROUNDS {
        let id = client
            .request("tools/call", json!({"name": "a__big", "arguments": {"bytes": HUNDRED_MEGABYTES}}));
        let text = client.wait_for_text(id, PATIENCE);
        assert!(text.len() > HUNDRED_MEGABYTES, "{}", text.len());
    }
    assert_eq!(echo(&mut client), "x");
    let (most, after) = (usage.most(), usage.now());
    println!("F12: stdio, {ROUNDS} results of 100 MB whole; at most {} KiB more, {} KiB after", most, after);
    assert!(after <= 8 << 10, "{after} KiB");
}

// F12
#[test]
fn and_over_http() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(128), &[]);
    let mut connection = Conn::open(gateway.port);
    connection.patience(PATIENCE);
    let mut call = |tool: &str, arguments: Value| {
        let call = json!({"name": tool, "arguments": arguments});
        connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
        connection.answer()
    };
    call("a__echo", json!({"text": "x"}));
    let pid = gateway.client.pid();
    let usage = Usage::watch(pid);
    for _ in 0..ROUNDS {
        let answer = call("a__big", json!({"bytes": HUNDRED_MEGABYTES}));
        assert!(answer.status == 200 && answer.body.len() > HUNDRED_MEGABYTES, "{}", answer.body.len());
    }
    assert_eq!(call("a__echo", json!({"text": "x"})).json()["result"]["content"][0]["text"], "x");
    let (most, after) = (usage.most(), usage.now());
    println!("F12: HTTP, {ROUNDS} results of 100 MB whole; at most {} KiB more, {} KiB after", most, after);
    assert!(after <= 8 << 10, "{after} KiB");
    end_quietly(gateway.client);
}
