//! S1-61 to S1-63, S3-14, S3-15, decision 17, F16, F17, F25 to F27: every way out, and what is left behind.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, alive, figures, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::studio::{fake_with, studio, studio_with, text_of};

const SOON: Duration = Duration::from_secs(60);

fn send(client: &Client, signal: Signal) {
    let pid = Pid::from_raw(client.pid().cast_signed());
    assert_eq!(kill(pid, signal), Ok(()), "the gateway is there to be signalled");
}

fn server(sandbox: &Sandbox) -> Value {
    let knobs = json!({"log": sandbox.path("alpha.log"), "pid": sandbox.path("alpha.pid")});
    json!({"mcpServers": {"alpha": fake_with(&["echo", "sleep"], knobs)}})
}

fn pids(sandbox: &Sandbox, file: &str) -> Vec<u32> {
    let text = fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Starts a call that takes a while and waits until its server has it.
fn sleeping(sandbox: &Sandbox, client: &mut Client, ms: u64) -> u64 {
    client.tool_names();
    let id = client.request("tools/call", json!({"name": "alpha.sleep", "arguments": {"ms": ms}}));
    assert!(until(SOON, || !sandbox.received("alpha.log", "tools/call").is_empty()));
    id
}

fn nothing_left(sandbox: &Sandbox) {
    let gone = until(SOON, || sandbox.processes().is_empty());
    assert!(gone, "left behind: {:?}", sandbox.processes());
}

// S3-14, decision 17
#[test]
fn shutdown_is_answered_after_the_calls_in_flight() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &server(&sandbox));
    let call = sleeping(&sandbox, &mut client, 800);
    let shutdown = client.request("shutdown", Value::Null);
    let late = client.request("tools/call", json!({"name": "alpha.echo", "arguments": {}}));
    let ping = client.request("ping", Value::Null);
    let order: Vec<Value> = (0..4).map(|_| client.recv(SOON)).collect();
    let at = |id: u64| order.iter().position(|answer| answer["id"] == id).expect("an answer");
    assert_eq!(order[at(late)]["error"]["code"], -32600, "no more requests");
    assert_eq!(order[at(ping)]["error"]["code"], -32600);
    assert_eq!(text_of(&order[at(call)]), "slept");
    assert_eq!(order[at(shutdown)]["result"], json!({}));
    assert!(at(shutdown) > at(call));
    client.notify("notifications/exit", json!({}));
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
    nothing_left(&sandbox);
}

// Decision 17: the last call in flight may also be taken back
#[test]
fn shutdown_is_answered_when_the_last_call_is_cancelled() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &server(&sandbox));
    let call = sleeping(&sandbox, &mut client, 60_000);
    let shutdown = client.request("shutdown", Value::Null);
    client.notify("notifications/cancelled", json!({"requestId": call}));
    assert_eq!(client.wait_for(shutdown, SOON)["result"], json!({}));
    client.close_stdin();
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
}

// S3-15: exit without shutdown, under both names
#[test]
fn exit_ends_the_process() {
    for method in ["notifications/exit", "exit"] {
        let sandbox = Sandbox::new();
        let mut client = studio(&sandbox, &server(&sandbox));
        client.call("alpha.echo", json!({}));
        client.notify(method, json!({}));
        assert_eq!(client.wait_exit(SOON).code(), Some(0), "{method}");
        assert!(client.try_recv(SOON).is_none(), "and says nothing");
        nothing_left(&sandbox);
    }
}

// S1-62, F25
#[test]
fn an_idle_gateway_leaves_at_once() {
    for how in ["eof", "eof before initialize", "SIGTERM", "SIGINT", "SIGHUP"] {
        let sandbox = Sandbox::new();
        let mut client = sandbox.serve(&server(&sandbox), &["--profile", "mcp-studio"]);
        if how != "eof before initialize" {
            client.initialize("2025-06-18", json!({}));
            client.call("alpha.echo", json!({}));
        } else {
            client.ask("ping", Value::Null);
        }
        let began = Instant::now();
        match how {
            "SIGTERM" => send(&client, Signal::SIGTERM),
            "SIGINT" => send(&client, Signal::SIGINT),
            "SIGHUP" => send(&client, Signal::SIGHUP),
            _ => client.close_stdin(),
        }
        assert_eq!(client.wait_exit(SOON).code(), Some(0), "{how}");
        let took = began.elapsed();
        figures::took(&format!("F25: an idle gateway leaves ({how})"), took, Duration::from_secs(2));
        nothing_left(&sandbox);
        eprintln!("F25: {how}: exit after {took:?}");
    }
}

// S1-61, F25, F27: calls in flight are finished first
#[test]
fn calls_in_flight_are_drained() {
    for how in ["eof", "exit", "SIGTERM", "SIGINT"] {
        let sandbox = Sandbox::new();
        let mut client = studio(&sandbox, &server(&sandbox));
        let call = sleeping(&sandbox, &mut client, 900);
        match how {
            "eof" => client.close_stdin(),
            "exit" => client.notify("notifications/exit", json!({})),
            "SIGTERM" => send(&client, Signal::SIGTERM),
            _ => send(&client, Signal::SIGINT),
        }
        assert_eq!(text_of(&client.wait_for(call, SOON)), "slept", "{how}");
        let answered = Instant::now();
        assert_eq!(client.wait_exit(SOON).code(), Some(0), "{how}");
        let took = answered.elapsed();
        nothing_left(&sandbox);
        eprintln!("F27: {how}: the call in flight was answered, exit 0 {took:?} later, nothing left");
    }
}

// S1-61: a client that is still there is heard while its calls are drained
#[test]
fn questions_and_cancellations_pass_while_draining() {
    let sandbox = Sandbox::new();
    let knobs = json!({"log": sandbox.path("alpha.log")});
    let config = json!({"mcpServers": {"alpha": fake_with(&["ask", "sleep"], knobs)}});
    let mut client = studio_with(&sandbox, &config, json!({"elicitation": {}}));
    let sleeping = sleeping(&sandbox, &mut client, 60_000);
    let arguments = json!({"method": "elicitation/create", "params": {"message": "really?"}});
    let asking = client.request("tools/call", json!({"name": "alpha.ask", "arguments": arguments}));
    let question = client.wait_for_notification("elicitation/create", SOON);
    send(&client, Signal::SIGTERM);
    assert!(until(SOON, || client.stderr().contains("asked to stop")));
    let late = client.request("tools/call", json!({"name": "alpha.ask", "arguments": {}}));
    assert_eq!(client.wait_for(late, SOON)["error"]["code"], -32600, "no more requests");
    client.notify("notifications/cancelled", json!({"requestId": sleeping}));
    client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}));
    assert_eq!(text_of(&client.wait_for(asking, SOON)), r#"{"action":"accept"}"#);
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
    nothing_left(&sandbox);
}

// A last message without its newline is served, too
#[test]
fn the_last_line_may_lack_its_end() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &server(&sandbox));
    client.send_raw(br#"{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"alpha.echo","arguments":{"text":"x"}}}"#);
    client.close_stdin();
    assert_eq!(text_of(&client.wait_for("last", SOON)), "x");
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
}

// Decision 17: at most `drainTimeout`; what is not done by then is cancelled at its server
#[test]
fn draining_ends_after_its_time() {
    for how in ["eof", "SIGTERM"] {
        let sandbox = Sandbox::new();
        let mut config = server(&sandbox);
        config["drainTimeout"] = json!(700);
        let mut client = studio(&sandbox, &config);
        let call = sleeping(&sandbox, &mut client, 60_000);
        let began = Instant::now();
        match how {
            "eof" => client.close_stdin(),
            _ => send(&client, Signal::SIGTERM),
        }
        assert_eq!(client.wait_exit(SOON).code(), Some(0), "{how}");
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(650), "{how}: {took:?}");
        let cancelled = sandbox.received("alpha.log", "notifications/cancelled");
        assert_eq!(cancelled.len(), 1, "{how}");
        assert!(client.wait_for(call, SOON)["error"].is_object(), "{how}: and its caller hears so");
        nothing_left(&sandbox);
    }
}

// Decision 17, F26
#[test]
fn a_second_signal_ends_at_once() {
    for (first, second) in [
        (Signal::SIGTERM, Signal::SIGTERM),
        (Signal::SIGINT, Signal::SIGINT),
        (Signal::SIGINT, Signal::SIGTERM),
    ] {
        let sandbox = Sandbox::new();
        let mut client = studio(&sandbox, &server(&sandbox));
        sleeping(&sandbox, &mut client, 60_000);
        send(&client, first);
        assert!(until(SOON, || client.stderr().contains("asked to stop")));
        let began = Instant::now();
        send(&client, second);
        let status = client.wait_exit(SOON);
        let took = began.elapsed();
        assert_eq!(status.code(), Some(1), "not a clean end");
        figures::took("F26: the end after a second signal", took, Duration::from_millis(200));
        nothing_left(&sandbox);
        eprintln!("F26: second signal: exit after {took:?}");
    }
}

// F26
#[test]
fn a_thousand_calls_in_flight_are_answered_before_the_end() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &server(&sandbox));
    client.tool_names();
    let calls: Vec<u64> = (0..1000)
        .map(|_| client.request("tools/call", json!({"name": "alpha.sleep", "arguments": {"ms": 300}})))
        .collect();
    // Answered in order, so all calls before it have been taken.
    let ping = client.request("ping", Value::Null);
    client.wait_for(ping, SOON);
    let began = Instant::now();
    send(&client, Signal::SIGTERM);
    let answered = calls.into_iter().filter(|id| client.wait_for(*id, SOON)["error"].is_null()).count();
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
    assert_eq!(answered, 1000);
    nothing_left(&sandbox);
    eprintln!("F26: {answered}/1000 answered, exit after {:?}", began.elapsed());
}

/// Returns how a server was asked to end.
fn steps(sandbox: &Sandbox) -> Vec<Value> {
    let lines = sandbox.log("alpha.log");
    lines.iter().map(|line| line["dir"].clone()).filter(|dir| dir != "in").collect()
}

// D2: in every state, by every end; one killed in its start leaves locks behind
#[test]
fn a_server_in_its_handshake_is_ended_like_any_other() {
    for (stubborn, ready) in [(false, false), (true, false), (false, true), (true, true)] {
        for how in ["eof", "SIGTERM", "stop"] {
            let sandbox = Sandbox::new();
            let mut knobs = json!({"log": sandbox.path("alpha.log"), "pid": sandbox.path("alpha.pid"), "ignoreEof": stubborn, "ignoreTerm": stubborn});
            if !ready {
                knobs["hangOn"] = json!("initialize");
            }
            // The list that waits for the server is not waited for.
            let config = json!({"drainTimeout": 1, "mcpServers": {"alpha": fake_with(&["echo"], knobs)}});
            let mut client = studio(&sandbox, &config);
            client.request("tools/list", json!({}));
            let last = if ready { "tools/list" } else { "initialize" };
            assert!(until(SOON, || !sandbox.received("alpha.log", last).is_empty()));
            let what = format!("{how}, stubborn: {stubborn}, ready: {ready}");
            match how {
                "eof" => client.close_stdin(),
                "SIGTERM" => send(&client, Signal::SIGTERM),
                _ => {
                    let stopped = client.call("mcp-studio.servers_stop", json!({"server_id": "alpha"}));
                    assert!(stopped["error"].is_null(), "{what}: {stopped}");
                    client.close_stdin();
                }
            }
            assert_eq!(client.wait_exit(SOON).code(), Some(0), "{what}");
            let expected: &[&str] = if stubborn { &["eof", "term"] } else { &["eof"] };
            assert_eq!(steps(&sandbox), expected, "{what}");
            assert!(pids(&sandbox, "alpha.pid").iter().all(|pid| !alive(*pid)), "{what}: gone before we are");
            nothing_left(&sandbox);
        }
    }
}

// D2: one whose start has failed is still given its time when the gateway ends
#[test]
fn a_server_that_failed_to_start_is_waited_for() {
    let sandbox = Sandbox::new();
    let knobs = json!({"log": sandbox.path("alpha.log"), "error": {"initialize": {"code": -32000, "message": "no"}}, "ignoreEof": true, "ignoreTerm": true});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&["echo"], knobs)}}));
    assert_eq!(client.call("alpha.echo", json!({}))["error"]["code"], -32001);
    client.close_stdin();
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
    assert_eq!(steps(&sandbox), ["eof", "term"]);
    nothing_left(&sandbox);
}

// F16, S1-61, D2: stdin closed, 0.3 s, SIGTERM, 0.5 s, SIGKILL
#[test]
fn a_server_that_ignores_everything_is_killed() {
    let sandbox = Sandbox::new();
    let knobs = json!({"ignoreEof": true, "ignoreTerm": true, "log": sandbox.path("alpha.log"), "pid": sandbox.path("alpha.pid")});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&["echo"], knobs)}}));
    client.call("alpha.echo", json!({}));
    let began = Instant::now();
    client.close_stdin();
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(800), "{took:?}");
    figures::took("F16: a server that ignores everything is gone", took, Duration::from_secs(1));
    assert_eq!(steps(&sandbox), ["eof", "term"], "asked twice before it was killed");
    assert!(pids(&sandbox, "alpha.pid").iter().all(|pid| !alive(*pid)));
    nothing_left(&sandbox);
    eprintln!("F16: gone after {took:?}");
}

// S1-61: all servers have the same time, not one after the other
#[test]
fn servers_are_stopped_together() {
    let sandbox = Sandbox::new();
    let stubborn = || fake_with(&["echo"], json!({"ignoreEof": true, "ignoreTerm": true}));
    let config = json!({"mcpServers": {"a": stubborn(), "b": stubborn(), "c": stubborn(), "d": stubborn()}});
    let mut client = studio(&sandbox, &config);
    client.tool_names();
    let began = Instant::now();
    client.close_stdin();
    assert_eq!(client.wait_exit(SOON).code(), Some(0));
    figures::took("F16: four stubborn servers stopped together", began.elapsed(), Duration::from_secs(1));
    nothing_left(&sandbox);
}

// F17: on stop, restart and crash of the child
#[test]
fn grandchildren_go_with_their_server() {
    for kind in ["plain", "setsid", "doublefork"] {
        for hold in [false, true] {
            let sandbox = Sandbox::new();
            let knobs = json!({"grandchildren": kind, "holdStdout": hold, "pidFile": sandbox.path("grand.pid"), "pid": sandbox.path("alpha.pid")});
            let config = json!({"mcpServers": {"alpha": fake_with(&["echo", "crash"], knobs)}});
            let mut client = studio(&sandbox, &config);
            let what = format!("{kind}, stdout held: {hold}");
            // Returns once the grandchild of the nth start is gone.
            let gone = |nth: usize| {
                let grand = pids(&sandbox, "grand.pid")[nth];
                until(SOON, || !alive(grand))
            };
            client.call("alpha.echo", json!({}));
            assert!(alive(pids(&sandbox, "grand.pid")[0]), "{what}: there is one to begin with");
            client.call("mcp-studio.servers_stop", json!({"server_id": "alpha"}));
            assert!(gone(0), "{what}: left after a stop");
            client.call("mcp-studio.servers_start", json!({"server_id": "alpha"}));
            client.call("mcp-studio.servers_restart", json!({"server_id": "alpha"}));
            assert!(gone(1), "{what}: left after a restart");
            assert_eq!(client.call("alpha.crash", json!({}))["error"]["code"], -32603, "{what}");
            assert!(gone(2), "{what}: left after a crash");
            client.close_stdin();
            assert_eq!(client.wait_exit(SOON).code(), Some(0), "{what}");
            assert!(pids(&sandbox, "grand.pid").iter().all(|pid| !alive(*pid)), "{what}: left after the end");
            nothing_left(&sandbox);
        }
    }
}

// F20: a client that never reads does not keep us from leaving
#[test]
fn a_client_that_never_reads_is_left() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&json!({"mcpServers": {"alpha": fake_with(&["big"], json!({}))}}));
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--profile", "mcp-studio", "--config"]).arg(path);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    command.stdin(std::process::Stdio::piped()).stdout(writer).stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("the gateway starts");
    drop(command);
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let calls: String = (0..50)
        .map(|n| json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "alpha.big", "arguments": {"bytes": 1_000_000}}}).to_string() + "\n")
        .collect();
    let hello = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
    std::io::Write::write_all(&mut stdin, format!("{hello}\n{calls}").as_bytes()).expect("the gateway reads");
    let status = |pid: u32| fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident = |pid: u32| {
        let text = status(pid);
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default().to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default()
    };
    let before = Instant::now();
    let mut most = 0;
    until(Duration::from_secs(3), || {
        most = most.max(resident(child.id()));
        before.elapsed() > Duration::from_secs(2)
    });
    drop(stdin);
    let left = until(SOON, || child.try_wait().expect("a child can be waited for").is_some());
    assert!(left, "the end does not wait for a client that never reads");
    nothing_left(&sandbox);
    drop(reader);
    eprintln!("F20: 50 MB owed, at most {most} kB resident");
}

// D2: the drain time is for calls at servers; a list that waits for a start keeps nobody, and says what is known
#[test]
fn a_list_that_waits_for_a_start_is_answered_at_once_when_we_leave() {
    for how in ["eof", "exit", "SIGTERM", "both"] {
        let sandbox = Sandbox::new();
        let knobs = json!({"log": sandbox.path("alpha.log"), "hangOn": "initialize"});
        let slow = fake_with(&["echo"], knobs);
        let quick = fake_with(&["echo"], json!({}));
        let config = json!({"drainTimeout": 60_000, "mcpServers": {"alpha": slow, "beta": quick}});
        let mut client = studio(&sandbox, &config);
        client.call("beta.echo", json!({}));
        let list = client.request("tools/list", json!({}));
        assert!(until(SOON, || !sandbox.received("alpha.log", "initialize").is_empty()), "{how}");
        let began = Instant::now();
        match how {
            "eof" => client.close_stdin(),
            "exit" => client.notify("notifications/exit", json!({})),
            "SIGTERM" => send(&client, Signal::SIGTERM),
            _ => {
                send(&client, Signal::SIGTERM);
                client.close_stdin();
            }
        }
        let answer = client.wait_for(list, SOON);
        let tools = answer["result"]["tools"].as_array().expect("a list");
        assert!(
            tools.iter().any(|tool| tool["name"] == "beta.echo"),
            "{how}: what is known is said: {answer}"
        );
        assert_eq!(client.wait_exit(SOON).code(), Some(0), "{how}");
        let took = began.elapsed();
        figures::took(&format!("D2: a list that waits is left ({how})"), took, Duration::from_secs(1));
        assert_eq!(steps(&sandbox), ["eof"], "{how}");
        nothing_left(&sandbox);
    }
}
