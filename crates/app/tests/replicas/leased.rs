//! A server that runs at one of several replicas.

use std::net::TcpStream;
use std::thread;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::Conn;
use manifold_testkit::{Sandbox, until};
use serde_json::{Value, json};

use crate::fixture::{NEW, Replicas, config, elicit, modern};
use crate::redis::Program;
use crate::shared::{sharing_with, to_the_end};

/// The servers run once, and one of its tools has a name that is not shown as it is.
fn once(home: &Sandbox) -> Value {
    let mut config = config(home);
    config["mcpServers"]["s"]["replicas"] = json!("one");
    config
}

fn two(home: &Sandbox) -> Option<(Program, Replicas)> {
    sharing_with(home, 2, once)
}

/// Returns which process of the server answers at a replica; `None` where nobody does.
fn pid_at(port: u16) -> Option<String> {
    let answer = modern(port, "tools/call", &json!({"name": "pid", "arguments": {}}));
    Some(answer.json()["result"]["content"][0]["text"].as_str()?.to_owned())
}

fn names_at(port: u16) -> Vec<String> {
    let answer = modern(port, "tools/list", &json!({})).json();
    let tools = answer["result"]["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
}

#[test]
fn one_process_serves_the_clients_of_all_replicas() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = two(&home) else { return };
    let (first, second) = (replicas.port(0), replicas.port(1));
    let pid = pid_at(first).expect("it is started where it is called first");
    assert_eq!(pid_at(second).as_deref(), Some(pid.as_str()));
    assert!(until(PATIENCE, || !names_at(second).is_empty() && names_at(first) == names_at(second)));
    // Clients of either era are asked through the other replica, and answer there.
    let mut asked = modern(second, "tools/call", &elicit()).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let key = asked["result"]["inputRequests"].as_object().and_then(|all| all.keys().next().cloned());
    let mut again = elicit();
    again["requestState"] = asked["result"]["requestState"].take();
    again["inputResponses"] = json!({key.expect("a question has a key"): {"action": "decline"}});
    let answer = modern(second, "tools/call", &again).json();
    assert!(answer["result"]["content"].is_array(), "{answer}");
    let session = replicas.all[1].session("/mcp", NEW, json!({}));
    let mut call = session.call(9, "progress", json!({"steps": 3, "ms": 1}), Some(json!("t")));
    let heard = to_the_end(&mut call.response().events());
    let progress = heard.iter().filter(|(_, message)| message["method"] == "notifications/progress");
    assert_eq!(progress.count(), 3, "{heard:?}");
    println!("one process for two replicas: {pid}");
}

#[test]
fn another_replica_takes_over_the_server_of_one_that_is_gone() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = two(&home) else { return };
    let (first, second) = (replicas.port(0), replicas.port(1));
    let before = pid_at(first).expect("it is started where it is called first");
    assert_eq!(pid_at(second).as_deref(), Some(before.as_str()));
    replicas.kill(0);
    assert!(until(PATIENCE, || TcpStream::connect(("127.0.0.1", first)).is_err()), "it is gone");
    // Calls that come meanwhile wait; none of them was in flight.
    let pid = || modern(second, "tools/call", &json!({"name": "pid", "arguments": {}})).json();
    let waiting: Vec<Value> = thread::scope(|scope| {
        let calls: Vec<_> = (0..3).map(|_| scope.spawn(pid)).collect();
        calls.into_iter().map(|call| call.join().expect("it comes back")).collect()
    });
    let after = waiting[0]["result"]["content"][0]["text"].as_str();
    assert!(after.is_some() && waiting.iter().all(|answer| answer == &waiting[0]), "{waiting:?}");
    assert_ne!(after, Some(before.as_str()), "it is another process");
}

#[test]
fn a_replica_that_ends_lets_go_of_its_servers_at_once() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = two(&home) else { return };
    let before = pid_at(replicas.port(0)).expect("it is started where it is called first");
    assert_eq!(pid_at(replicas.port(1)).as_deref(), Some(before.as_str()));
    replicas.all[0].signal(nix::sys::signal::Signal::SIGTERM);
    assert!(until(PATIENCE, || crate::redis::ask(redis.port, &["KEYS", "mf:lease:*"]).starts_with("*0")));
    let after = pid_at(replicas.port(1)).expect("a call waits until the server is had");
    assert_ne!(after, before);
    // Nor is it taken for one that lives.
    assert!(until(PATIENCE, || replicas.said(1, "replicas=1") >= 1));
    assert!(crate::redis::ask(redis.port, &["HLEN", "mf:nodes"]).starts_with(":1"));
}

// Nobody but another replica comes in there, whatever else it has.
#[test]
fn servers_of_replicas_are_for_replicas_alone() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = two(&home) else { return };
    for word in ["", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        let mut connection = Conn::open(replicas.port(0));
        let headers = [("Manifold-Replica", word), ("MCP-Protocol-Version", "2026-07-28")];
        connection.send("POST", "/replica/AHM", &headers, "{}");
        assert_eq!(connection.answer().status, 404);
    }
}
