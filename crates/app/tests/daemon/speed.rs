//! What operators are answered with: how long that is, and, as figures, how soon it comes and what it costs others.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use manifold_admin::Method;
use manifold_testkit::{Sandbox, fake, figures, until};
use serde_json::{Value, json};

use crate::home::Home;
use crate::operator::{Desk, ran, run};
use crate::readers::{make_calls, stalled};
use crate::{SOON, fake_with, figure};

/// How often something is timed; the median counts.
const TIMES: usize = 20;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(mut what: impl FnMut()) -> Duration {
    let once = || {
        let begun = Instant::now();
        what();
        begun.elapsed()
    };
    median(std::iter::repeat_with(once).take(TIMES).collect())
}

/// A home with so many servers of so many tools.
fn large(servers: usize, tools: usize) -> Home {
    let sandbox = Sandbox::new();
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string", "description": "Where it is"}}});
    let tool = |n: usize| json!({"name": format!("tool-{n}"), "description": "Does one thing, and says so at some length", "inputSchema": schema});
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    // Too long for a command line.
    let knobs = sandbox.write("knobs.json", &json!({ "tools": tools }).to_string());
    let mut entry = fake(json!({}));
    entry["args"] = json!([format!("@{}", knobs.display())]);
    // Wherever somebody asks from, it is the same process.
    entry["shared"] = json!(true);
    let servers: serde_json::Map<String, Value> =
        (0..servers).map(|n| (format!("server-{n}"), entry.clone())).collect();
    let config = json!({"mcpServers": servers, "managerTools": false, "daemon": {"linger": 1000}});
    Home::within(sandbox, config)
}

// B2
#[test]
fn a_snapshot_of_many_servers_and_tools_is_small() {
    const TOOLS: usize = 100;
    let servers = if figures::are_wanted() { 100 } else { figure(20, 100) };
    let home = large(servers, TOOLS);
    let mut window = home.open();
    // A list that is asked for meanwhile has what is there by then.
    let all = until(SOON, || window.tool_names().len() == servers * TOOLS);
    assert!(all, "{} tools", window.tool_names().len());
    let desk = Desk::of(&home);
    let snapshot = || desk.client().send_raw(Method::Get, "/v1/snapshot", None::<&()>).expect("it answers");
    let bytes = snapshot();
    println!("a snapshot of {servers} servers and {} tools: {} bytes", servers * TOOLS, bytes.len());
    assert!(bytes.len() <= servers * (3 << 20) / 100, "{} bytes", bytes.len());
    let told: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    let of_server = |server: &Value| (server["state"].clone(), server["lists"]["tools"].clone());
    let all = told["servers"].as_array().expect("a list");
    assert_eq!(all.len(), servers);
    assert!(all.iter().all(|server| of_server(server) == (json!("ready"), json!(TOOLS))), "{told}");
    let what = format!("B2: a snapshot of {servers} servers of {TOOLS} tools");
    figures::took(&what, timed(|| _ = snapshot()), Duration::from_millis(20));
    // Tools come by pages.
    let (mut cursor, mut tools, mut pages) = (String::new(), 0, 0);
    loop {
        let page = desk.get(&format!("/v1/tools?{cursor}"));
        tools += page["items"].as_array().map_or(0, Vec::len);
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("cursor={}", manifold_admin_client::segment(next)),
            None => break,
        }
    }
    assert_eq!((tools, pages), (servers * TOOLS, servers * TOOLS / 1000));
}

/// The command line as a shell runs it: from the start of the process to its end.
// B9
#[test]
fn verbs_that_only_look_are_quick() {
    let servers: serde_json::Map<String, Value> =
        (0..10).map(|n| (format!("s{n}"), fake_with(&["echo"], json!({"name": "fake"})))).collect();
    let home = Home::new(Value::Object(servers));
    let mut window = home.open();
    window.tool_names();
    let complete = || {
        let mut command = home.sandbox.daemon();
        command.env("MANIFOLD_COMPLETE", "fish").args(["--", "manifold", "call", "s1"]);
        let ran = ran(command);
        assert!(ran.stdout.contains("s1__echo"), "{ran:?}");
    };
    let verb = |words: &[&str]| {
        let ran = run(&home.sandbox, words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert!(ran.stdout.contains("s1"), "{words:?}: {ran:?}");
    };
    let figures = |with: &str, wanted: u64| {
        let wanted = Duration::from_millis(wanted);
        figures::took(&format!("B9: `manifold list` {with}"), timed(|| verb(&["list"])), wanted);
        figures::took(&format!("B9: `manifold status` {with}"), timed(|| verb(&["status"])), wanted);
        figures::took(&format!("B9: a completion {with}"), timed(complete), wanted);
    };
    figures("with a daemon", 15);
    window.leave();
    home.wait_gone();
    figures("without one", 25);
}

// B4
#[test]
fn calls_are_as_quick_beside_readers_that_never_read() {
    if !figures::are_wanted() {
        return;
    }
    const CALLS: usize = 16_000;
    let home = Home::new(json!({"fx": fake_with(&["echo", "complain"], json!({}))}));
    let mut window = home.open();
    make_calls(&mut window, CALLS);
    let desk = Desk::of(&home);
    // By turns, so that a busy moment is one for both.
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..2 * TIMES {
        let readers: Vec<UnixStream> = if round % 2 == 1 { stalled(&desk) } else { Vec::new() };
        let begun = Instant::now();
        make_calls(&mut window, CALLS);
        times[round % 2].push(begun.elapsed());
        drop(readers);
    }
    let [without, with] = times.map(median).map(|time| time.as_secs_f64());
    figures::ratio("B4: time of calls beside 100 stalled readers, over that without", with / without, 1.01);
}
