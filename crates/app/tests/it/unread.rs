//! F20: a client that never reads costs little, is the only one to suffer, and gets all it is owed once it reads.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use manifold_testkit::{HttpFake, Sandbox, Style, Trouble, Usage, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, text_of};
use manifold_testkit::http::{BOTH, Gateway, calling, end_quietly};

const SOON: Duration = Duration::from_secs(60);
/// What the figure allows a client that never reads to cost.
const ALLOWED_KIB: u64 = 64 << 10;
/// What is asked for and not read.
const CALLS: usize = 90;
const BYTES: usize = 1_000_000;

fn line(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string() + "\n"
}

/// Has a client on stdio ask these servers for more than it may be owed, and read nothing before the gateway is at rest.
/// Returns how many KiB that cost at the most.
fn left_unread(sandbox: &Sandbox, servers: Value) -> u64 {
    let names: Vec<String> = servers.as_object().unwrap().keys().cloned().collect();
    let path = sandbox.write_config(&json!({"mcpServers": servers, "managerTools": false}));
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(path);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut read = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("no message: {line:.100}"))
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    stdin.write_all(line("hello", "initialize", hello).as_bytes()).unwrap();
    read();
    for server in &names {
        let echo = json!({"name": format!("{server}__echo"), "arguments": {"text": server}});
        stdin.write_all(line(server.as_str(), "tools/call", echo).as_bytes()).unwrap();
        assert_eq!(text_of(&read()), *server);
    }
    let usage = Usage::watch(child.id());
    for n in 0..CALLS {
        let server = &names[n % names.len()];
        let big = json!({"name": format!("{server}__big"), "arguments": {"bytes": BYTES}});
        stdin.write_all(line(n, "tools/call", big).as_bytes()).unwrap();
    }
    // It takes what it may, and then is at rest: a quick look would find servers that have hardly begun.
    let mut last = 0;
    let calm = until(SOON, || {
        std::thread::sleep(Duration::from_millis(700));
        let now = usage.now();
        now > 15 << 10 && last == std::mem::replace(&mut last, now)
    });
    assert!(calm, "it grows on");
    let grown = usage.most();
    let mut seen = vec![0; CALLS];
    while seen.contains(&0) {
        let answer = read();
        // Servers may have told of changes meanwhile.
        let Some(id) = answer["id"].as_u64() else { continue };
        assert_eq!(text_of(&answer).len(), BYTES, "whole");
        seen[id as usize] += 1;
    }
    assert!(seen.iter().all(|count| *count == 1), "each once");
    drop(stdin);
    assert!(until(SOON, || child.try_wait().unwrap().is_some()), "it leaves");
    grown
}

// F20
#[test]
fn on_stdio_what_a_client_does_not_read_stays_with_the_servers() {
    let sandbox = Sandbox::new();
    let server = |name: &str| fake_with(&["echo", "big"], json!({"log": sandbox.path(name)}));
    let grown = left_unread(&sandbox, json!({"a": server("a.log"), "b": server("b.log")}));
    println!(
        "F20: stdio, {CALLS} answers of {BYTES} bytes unread, at most {grown} KiB more; then each came once"
    );
    assert!(grown <= ALLOWED_KIB, "{grown} KiB");
}

// F20: the same where servers are remote, in every way they may answer
#[test]
fn on_stdio_what_a_client_does_not_read_stays_with_remote_servers() {
    for (style, old) in [(Style::Json, false), (Style::Events, false), (Style::Events, true)] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(style, &["echo", "big"]);
        // So that all answers come at once, when all calls are out.
        server.trouble("tools/call", CALLS + 1, Trouble::Delay(Duration::from_secs(2)));
        let far = match old {
            true => json!({"type": "sse", "url": server.sse_url(), "timeout": 300_000}),
            false => json!({"type": "http", "url": server.url(), "timeout": 300_000}),
        };
        let grown = left_unread(&sandbox, json!({"far": far}));
        println!(
            "F20: stdio, {CALLS} answers of {BYTES} bytes of a remote server ({style:?}, old: {old}) unread, at most \
             {grown} KiB more; then each came once"
        );
        assert!(grown <= ALLOWED_KIB, "{style:?}, old: {old}: {grown} KiB");
    }
}

// F20
#[test]
fn over_http_a_client_that_does_not_read_costs_little_and_nobody_else_waits() {
    // More than the kernel takes for a connection.
    const LARGE: usize = 12_000_000;
    const UNREAD: usize = 16;
    let sandbox = Sandbox::new();
    let server = fake_with(&["echo", "big", "flood"], json!({"log": sandbox.path("a.log")}));
    let quick = fake_with(&["echo"], json!({}));
    let servers = json!({"mcpServers": {"a": server, "b": quick}, "managerTools": false});
    let gateway = Gateway::start(&sandbox, &servers, &[]);
    let pid = gateway.client.pid();
    let other = gateway.session("/mcp", "2025-11-25", json!({}));
    let echo = |id: u64| {
        let call = json!({"name": "b__echo", "arguments": {"text": id.to_string()}});
        text_of(&other.post(BOTH, &calling(id, "tools/call", call)).json()) == id.to_string()
    };
    assert!(echo(1));
    let usage = Usage::watch(pid);
    let mute = gateway.session("/mcp", "2025-11-25", json!({}));
    // Its own stream and its answers, none of which it reads.
    let _stream = mute.listen(None);
    let data = "x".repeat(10_000);
    let flood =
        json!({"n": 2_000, "method": "notifications/message", "params": {"level": "info", "data": data}});
    let _flood = mute.call(1, "a__flood", flood, None);
    let _answers: Vec<_> =
        (0..UNREAD).map(|n| mute.call(2 + n as u64, "a__big", json!({"bytes": LARGE}), None)).collect();
    // Once it has left too much unread it is served no more; what it is owed is dropped in time.
    let mut last = (0, 0);
    let calm = until(SOON, || {
        std::thread::sleep(Duration::from_millis(700));
        let now = (sandbox.received("a.log", "tools/call").len(), usage.now());
        now.0 > 0 && std::mem::replace(&mut last, now) == now
    });
    assert!(calm, "{last:?}");
    let right = (0..200).filter(|n| echo(2 + n)).count();
    let grown = usage.most();
    println!(
        "F20: HTTP, {UNREAD} answers of {LARGE} bytes and 20 MB of log unread, at most {grown} KiB more; {right} of 200 calls of another client right"
    );
    assert_eq!(right, 200);
    assert!(grown <= ALLOWED_KIB, "{grown} KiB");
    end_quietly(gateway.client);
}
