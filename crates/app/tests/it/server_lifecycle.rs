//! S1-23 to S1-34, decision 18, F1 to F3: when servers start, and what their failures cost.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, bin, fake, figures, until};
use serde_json::{Value, json};

use crate::studio::{STUDIO, fake_with, json_of, studio, text_of};

const SOON: Duration = Duration::from_secs(60);

/// Returns the pids a server has had, first to last.
fn pids(sandbox: &Sandbox, file: &str) -> Vec<u32> {
    let text = fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Returns a fake with these tools that leaves its pid in `<name>.pid` and its messages in `<name>.log`.
fn traced(sandbox: &Sandbox, name: &str, tools: &[&str]) -> Value {
    fake_with(
        tools,
        json!({"pid": sandbox.path(&format!("{name}.pid")), "log": sandbox.path(&format!("{name}.log"))}),
    )
}

fn tools(client: &mut Client) -> Vec<String> {
    client.tool_names().into_iter().filter(|name| !name.starts_with("mcp-studio.")).collect()
}

// S1-23, S1-24
#[test]
fn initialize_starts_nothing_and_a_call_starts_one() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "alpha": traced(&sandbox, "alpha", &["echo"]),
        "beta": traced(&sandbox, "beta", &["echo"]),
    }});
    let mut client = sandbox.serve(&config, &STUDIO);
    let began = Instant::now();
    client.initialize("2025-06-18", json!({}));
    client.ask("ping", Value::Null);
    figures::took("S1-23: initialize and a ping", began.elapsed(), Duration::from_secs(3));
    assert_eq!(sandbox.processes(), [client.pid()], "the gateway and nobody else, no guard either");
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x");
    assert_eq!(pids(&sandbox, "alpha.pid").len(), 1);
    assert!(pids(&sandbox, "beta.pid").is_empty(), "the other sleeps on");
}

// S1-25, decision 29: eager means with the client's first request, and no earlier
#[test]
fn an_eager_server_starts_with_the_handshake() {
    let sandbox = Sandbox::new();
    let mut eager = traced(&sandbox, "eager", &["echo"]);
    eager["eager"] = json!(true);
    let config = json!({"mcpServers": {"eager": eager, "lazy": traced(&sandbox, "lazy", &["echo"])}});
    let mut client = sandbox.serve(&config, &STUDIO);
    assert!(until(SOON, || client.stderr().contains("serving on stdio")));
    client.ask("ping", Value::Null);
    assert_eq!(sandbox.processes(), [client.pid()], "nobody has asked yet");
    client.initialize("2025-06-18", json!({"sampling": {}}));
    assert!(until(SOON, || !sandbox.received("eager.log", "tools/list").is_empty()), "started and asked");
    let told = sandbox.received("eager.log", "initialize");
    assert_eq!(told[0]["params"]["capabilities"], json!({"sampling": {}}), "decision 29");
    assert!(pids(&sandbox, "lazy.pid").is_empty());
}

// S1-7, S1-25
#[test]
fn the_eager_flag_starts_all() {
    let sandbox = Sandbox::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    let servers: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), traced(&sandbox, name, &["echo"]))).collect();
    let mut client = sandbox.serve(&json!({"mcpServers": servers}), &["--profile", "mcp-studio", "--eager"]);
    client.initialize("2025-06-18", json!({}));
    let started = || names.iter().all(|name| pids(&sandbox, &format!("{name}.pid")).len() == 1);
    assert!(until(SOON, started), "each once");
}

// S1-26
#[test]
fn a_manual_server_starts_by_order_only() {
    let sandbox = Sandbox::new();
    let mut manual = traced(&sandbox, "manual", &["echo"]);
    manual["eager"] = json!(false);
    manual["lazy"] = json!(false);
    let config = json!({"mcpServers": {"manual": manual, "alpha": fake_with(&["echo"], json!({}))}});
    let mut client = studio(&sandbox, &config);
    assert_eq!(tools(&mut client), ["alpha.echo"]);
    let error = client.call("manual.echo", json!({}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32003), &json!("manual")));
    assert!(pids(&sandbox, "manual.pid").is_empty());
    client.call("mcp-studio.servers_start", json!({"server_id": "manual"}));
    assert_eq!(text_of(&client.call("manual.echo", json!({"text": "x"}))), "x");
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert_eq!(
        tools(&mut client),
        ["manual.echo", "alpha.echo"].map(str::to_owned).iter().rev().cloned().collect::<Vec<_>>()
    );
}

// S1-27, S1-28: how many at once is told by the tests of `engine/discovery.rs`
#[test]
fn servers_are_discovered_side_by_side() {
    const COUNT: usize = 10;
    let sandbox = Sandbox::new();
    let mut knobs = json!({"delayMs": {"initialize": 1500}, "log": sandbox.path("all.log")});
    let servers: serde_json::Map<String, Value> = (0..COUNT)
        .map(|n| {
            knobs["name"] = json!(format!("s{n}"));
            (format!("s{n}"), fake(knobs.clone()))
        })
        .collect();
    let mut client = studio(&sandbox, &json!({"mcpServers": servers}));
    client.request("tools/list", json!({}));
    let arrived = |method: &str| sandbox.received("all.log", method).len();
    assert!(until(SOON, || arrived("initialize") == COUNT), "{} began", arrived("initialize"));
    assert!(until(SOON, || tools(&mut client).len() == COUNT), "all in the end");
    assert_eq!(arrived("initialize"), COUNT, "each is started once");
}

// S1-29, decision 18, F3, F11
#[test]
fn a_slow_server_holds_up_nobody_and_is_announced() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "slow": fake(json!({"delayMs": {"initialize": 8000}})),
        "hung": fake(json!({"hangOn": "initialize"})),
        "good": fake(json!({})),
    }});
    let mut client = studio(&sandbox, &config);
    let began = Instant::now();
    let list = client.request("tools/list", json!({}));
    // A call never waits behind the discovery of others.
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
    let called = began.elapsed();
    figures::took("F3: a call beside slow servers", called, Duration::from_millis(300));
    let response = client.wait_for(list, SOON);
    let answered = began.elapsed();
    assert!(answered >= Duration::from_secs(3), "{answered:?}");
    let names: Vec<&str> = response["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"good.echo") && !names.contains(&"slow.echo"), "{names:?}");
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert!(client.request("ping", Value::Null) > 0);
    // The hung one is still hung: this list waits for it again, and has the late one.
    let late = client.tool_names();
    assert!(late.contains(&"slow.echo".to_owned()), "{late:?}");
    eprintln!("F3: good tool answered after {called:?}, list after {answered:?}");
}

// S1-31 to S1-34, F1
#[test]
fn a_failing_server_leaves_the_others_alone() {
    let sandbox = Sandbox::new();
    let not_executable = sandbox.write("plain-file", "no program");
    let config = json!({"mcpServers": {
        "good": fake(json!({})),
        "dies": {"command": "sh", "args": ["-c", "echo no database >&2; exit 3"]},
        "lost": {"command": "/nowhere/at-all"},
        "plain": {"command": not_executable},
        "mute": {"command": "true"},
        "refuses": fake(json!({"error": {"initialize": {"code": -32099, "message": "not today"}}})),
    }});
    let mut client = studio(&sandbox, &config);
    let began = Instant::now();
    assert_eq!(tools(&mut client), ["good.echo"]);
    figures::took("F1: a list beside servers that fail", began.elapsed(), Duration::from_secs(4));
    for (server, reason) in [
        ("dies", "no database"),
        ("lost", "/nowhere/at-all"),
        ("plain", "plain-file"),
        ("mute", "exit code 0"),
        ("refuses", "not today"),
    ] {
        let began = Instant::now();
        let error = client.call(&format!("{server}.anything"), json!({}))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32001), &json!(server)), "{error}");
        assert!(error["data"]["reason"].as_str().is_some_and(|text| text.contains(reason)), "{error}");
        figures::took("F1: the error of a server that failed", began.elapsed(), Duration::from_millis(300));
        assert_eq!(text_of(&client.call("good.echo", json!({"text": server}))), server);
    }
    let rows = json_of(&client.call("mcp-studio.servers_list", json!({})));
    let dies = rows.as_array().and_then(|rows| rows.iter().find(|row| row["id"] == "dies")).expect("a row");
    assert_eq!(dies["state"], "failed");
    assert!(dies["error"].as_str().is_some_and(|text| text.contains("exit code 3")), "{dies}");
}

// F1, D4: a server that cannot start is not hammered, neither by itself nor by a flood of calls, and is complained of once
#[test]
fn a_dead_server_is_given_ever_longer_rests() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"dies": fake(json!({
        "failStarts": 1000, "stateFile": sandbox.path("state"), "pid": sandbox.path("dies.pid"),
    }))}});
    let mut client = studio(&sandbox, &config);
    let began = Instant::now();
    let mut calls = 0;
    while began.elapsed() < Duration::from_secs(4) {
        assert_eq!(client.call("dies.echo", json!({}))["error"]["code"], -32001);
        calls += 1;
    }
    // By itself after half a second, one, two...: at most eight in the first minute. Calls add three at once, and one in
    // five seconds.
    let starts = pids(&sandbox, "dies.pid").len();
    assert!((1..=8).contains(&starts), "{starts} starts for {calls} calls in 4 s");
    eprintln!("F1: {starts} starts for {calls} calls in 4 s");
    let complaints =
        client.stderr().lines().filter(|line| line.contains(" WARN ") && line.contains("server=")).count();
    assert_eq!(complaints, 1, "{}", client.stderr());
}

// D4: lists never wait for a server that has failed, whether it rests or is being tried
#[test]
fn a_failing_server_costs_one_list_its_patience_and_no_other() {
    let sandbox = Sandbox::new();
    let mut hangs = fake(json!({"hangOn": "initialize", "pid": sandbox.path("hangs.pid")}));
    hangs["startTimeout"] = json!(1000);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"hangs": hangs, "good": fake(json!({}))}}));
    assert_eq!(tools(&mut client), ["good.echo"]);
    let failed = |client: &mut Client| {
        let rows = json_of(&client.call("mcp-studio.servers_list", json!({})));
        rows.as_array().is_some_and(|rows| rows.iter().any(|row| row["state"] == "failed"))
    };
    assert!(until(SOON, || failed(&mut client)));
    // It is started again by itself meanwhile; it goes on to be shown as what it is.
    while pids(&sandbox, "hangs.pid").len() < 3 {
        assert_eq!(tools(&mut client), ["good.echo"]);
        assert!(failed(&mut client));
    }
    // A machine that is busy may be a reason of its own; the same is never said twice in a row.
    let stderr = client.stderr();
    let complaints = stderr.lines().filter(|line| line.contains(" WARN ") && line.contains("server=hangs"));
    let reasons: Vec<&str> =
        complaints.filter_map(|line| line.split_once("failed to start")).map(|two| two.1).collect();
    assert!(!reasons.is_empty() && reasons.windows(2).all(|two| two[0] != two[1]), "{stderr}");
}

// S1-31: what failed once may work the next time
#[test]
fn a_server_that_recovers_is_served() {
    let sandbox = Sandbox::new();
    let knobs =
        json!({"failStarts": 2, "stateFile": sandbox.path("state"), "pid": sandbox.path("alpha.pid")});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake(knobs)}}));
    let error = client.call("alpha.echo", json!({}))["error"].clone();
    assert_eq!(error["code"], -32001);
    assert!(
        error["data"]["reason"].as_str().is_some_and(|text| text.contains("failing start number 1")),
        "{error}"
    );
    let works = || client.call("alpha.echo", json!({"text": "x"}))["error"].is_null();
    assert!(until(SOON, works));
    assert_eq!(pids(&sandbox, "alpha.pid").len(), 3);
}

// S1-30: asked once, kept for the session
#[test]
fn lists_are_kept() {
    let sandbox = Sandbox::new();
    let mut client =
        studio(&sandbox, &json!({"mcpServers": {"alpha": traced(&sandbox, "alpha", &["echo"])}}));
    for _ in 0..5 {
        assert_eq!(tools(&mut client), ["alpha.echo"]);
    }
    assert_eq!(sandbox.received("alpha.log", "tools/list").len(), 1);
}

// S1-30, F2: a crash costs the calls in flight one error each, then the server is back with a fresh list
#[test]
fn a_crashed_server_comes_back_with_a_fresh_list() {
    let sandbox = Sandbox::new();
    let first = json!({"tools": [{"name": "crash"}, {"name": "sleep"}, {"name": "old"}], "pid": sandbox.path("alpha.pid")});
    let second = json!({"tools": [{"name": "echo"}, {"name": "new"}], "pid": sandbox.path("alpha.pid")});
    let script = r#"if [ -e "$0" ]; then exec "$1" "$3"; fi; : >"$0"; exec "$1" "$2""#;
    let args = json!([
        "-c",
        script,
        sandbox.path("again"),
        bin("fake-server"),
        first.to_string(),
        second.to_string()
    ]);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": {"command": "sh", "args": args}}}));
    assert_eq!(tools(&mut client), ["alpha.crash", "alpha.sleep", "alpha.old"]);
    let sleeping: Vec<u64> = (0..5)
        .map(|_| client.request("tools/call", json!({"name": "alpha.sleep", "arguments": {"ms": 60000}})))
        .collect();
    let began = Instant::now();
    let error = client.call("alpha.crash", json!({}))["error"].clone();
    let heard = began.elapsed();
    assert_eq!(error["code"], -32603);
    assert_eq!((&error["data"]["serverId"], &error["data"]["toolName"]), (&json!("alpha"), &json!("crash")));
    let reason = error["data"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("exit code 7") && reason.contains("crashing in a call"), "{reason}");
    for id in sleeping {
        let error = client.wait_for(id, SOON)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["toolName"]), (&json!(-32603), &json!("sleep")));
    }
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    let back = began.elapsed();
    assert_eq!(tools(&mut client), ["alpha.echo", "alpha.new"]);
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x");
    assert_eq!(pids(&sandbox, "alpha.pid").len(), 2);
    assert!(client.notifications().is_empty(), "said once");
    eprintln!("F2: error after {heard:?}, fresh list after {back:?}");
}

// Several callers, one process
#[test]
fn calls_that_come_together_start_one_process() {
    let sandbox = Sandbox::new();
    let mut client =
        studio(&sandbox, &json!({"mcpServers": {"alpha": traced(&sandbox, "alpha", &["echo"])}}));
    let calls: Vec<u64> = (0..50)
        .map(|n| {
            client.request("tools/call", json!({"name": "alpha.echo", "arguments": {"text": n.to_string()}}))
        })
        .collect();
    let list = client.request("tools/list", json!({}));
    for (n, id) in calls.into_iter().enumerate() {
        assert_eq!(text_of(&client.wait_for(id, SOON)), n.to_string());
    }
    client.wait_for(list, SOON);
    assert_eq!(pids(&sandbox, "alpha.pid").len(), 1);
}

// Decision 25: `maxConcurrency` calls at a time, the others wait their turn and lose no time of theirs
#[test]
fn a_server_gets_no_more_calls_at_once_than_it_may() {
    let sandbox = Sandbox::new();
    let mut entry = traced(&sandbox, "alpha", &["sleep"]);
    entry["maxConcurrency"] = json!(2);
    entry["timeout"] = json!(1200);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    client.tool_names();
    let calls: Vec<u64> = (0..6)
        .map(|_| client.request("tools/call", json!({"name": "alpha.sleep", "arguments": {"ms": 600}})))
        .collect();
    let mut most = 0;
    for (done, id) in calls.into_iter().enumerate() {
        let answer = client.wait_for(id, SOON);
        assert_eq!(answer["error"], Value::Null, "waiting is not counted: {answer}");
        most = most.max(sandbox.received("alpha.log", "tools/call").len() - done);
    }
    // When the first answer is read the second may be there, too, and two more on their way.
    assert!(most <= 4, "{most}");
    let starts = sandbox.received("alpha.log", "tools/call").len();
    assert_eq!(starts, 6);
}

// F4: a server that never reads fails alone
#[test]
fn a_server_that_stops_reading_fails_alone() {
    let sandbox = Sandbox::new();
    let mut stuck = fake_with(&["echo"], json!({"stopReadingOn": "tools/call"}));
    stuck["timeout"] = json!(1500);
    let config = json!({"mcpServers": {"stuck": stuck, "good": fake(json!({}))}});
    let mut client = studio(&sandbox, &config);
    client.tool_names();
    let big = "x".repeat(200_000);
    let calls: Vec<u64> = (0..20)
        .map(|_| client.request("tools/call", json!({"name": "stuck.echo", "arguments": {"text": big}})))
        .collect();
    let began = Instant::now();
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
    let other = began.elapsed();
    figures::took("F4: a call beside a server that does not read", other, Duration::from_millis(1400));
    let stuck = calls.len();
    for id in calls {
        let error = client.wait_for(id, SOON)["error"].clone();
        assert_eq!(error["code"], -32002, "each call is answered: {error}");
    }
    eprintln!(
        "F4: {stuck} of {stuck} calls of 200 kB answered with an error, another server's after {other:?}"
    );
}
