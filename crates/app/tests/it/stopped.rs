//! F15: a server that is stopped in its tracks costs its own callers a timeout and nobody else anything.

use std::fs;
use std::time::Duration;

use manifold_testkit::{Sandbox, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::studio::{fake_with, json_of, studio, text_of};

const SOON: Duration = Duration::from_secs(60);
const CALLS: usize = 20;

// F15
#[test]
fn a_stopped_server_times_out_alone_and_is_well_when_it_goes_on() {
    let sandbox = Sandbox::new();
    let mut frozen =
        fake_with(&["echo"], json!({"pid": sandbox.path("frozen.pid"), "log": sandbox.path("frozen.log")}));
    frozen["timeout"] = json!(1000);
    let config = json!({"mcpServers": {"frozen": frozen, "good": fake_with(&["echo"], json!({}))}});
    let mut client = studio(&sandbox, &config);
    for server in ["frozen", "good"] {
        assert_eq!(text_of(&client.call(&format!("{server}.echo"), json!({"text": "x"}))), "x");
    }
    let pids = || fs::read_to_string(sandbox.path("frozen.pid")).unwrap();
    let pid = Pid::from_raw(pids().trim().parse().unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();

    let waiting: Vec<u64> = (0..CALLS)
        .map(|n| client.request("tools/call", json!({"name": "frozen.echo", "arguments": {"text": n}})))
        .collect();
    let mut others = 0;
    for n in 0..200 {
        others +=
            usize::from(text_of(&client.call("good.echo", json!({"text": n.to_string()}))) == n.to_string());
    }
    for id in waiting {
        let error = client.wait_for(id, SOON)["error"].clone();
        assert_eq!(error["code"], -32002, "{error}");
        assert_eq!(error["data"]["serverId"], "frozen", "{error}");
    }
    assert_eq!(others, 200);
    let mut is = |state: &str| {
        let rows = json_of(&client.call("mcp-studio.servers_list", json!({})));
        rows.as_array().unwrap().iter().any(|row| row["id"] == "frozen" && row["state"] == state)
    };
    assert!(until(SOON, || is("unresponsive")), "it is asked for a sign of life and marked");

    kill(pid, Signal::SIGCONT).unwrap();
    assert!(until(SOON, || is("ready")), "the mark is taken off as soon as it speaks");
    assert_eq!(text_of(&client.call("frozen.echo", json!({"text": "awake"}))), "awake");
    let cancels = || sandbox.received("frozen.log", "notifications/cancelled").len();
    assert!(until(SOON, || cancels() == CALLS), "{} of {CALLS} were taken back", cancels());
    let starts = pids().lines().count();
    println!(
        "F15: {CALLS} calls timed out and were taken back, {others} of 200 to another server right, {starts} start in all"
    );
    assert_eq!(starts, 1, "it was never restarted");
}
