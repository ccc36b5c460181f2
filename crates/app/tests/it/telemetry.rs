//! What is told of calls to those who look at many gateways, by the real binary: words for balancers, metrics, traces, the
//! audit, limits.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

mod health;
mod limits;
mod metrics;
mod traces;

use std::process::Command;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{Gateway, http_command, port_of};
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

/// One server `s` with tools that answer and tools that fail.
fn config(sandbox: &Sandbox, more: Value) -> Value {
    let tools: Vec<Value> = ["echo", "sleep", "fail"].iter().map(|name| json!({"name": name})).collect();
    let knobs =
        json!({"name": "s", "tools": tools, "log": sandbox.path("s.log"), "pid": sandbox.path("s.pid")});
    let mut config = json!({"mcpServers": {"s": fake(knobs)}, "managerTools": false});
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    config
}

/// Starts a gateway whose command was changed.
fn start(sandbox: &Sandbox, config: &Value, more: &[&str], change: impl FnOnce(&mut Command)) -> Gateway {
    let mut command = http_command(sandbox, config, more);
    change(&mut command);
    let client = Client::spawn(command);
    let port = port_of(&client);
    Gateway { client, port }
}

/// Waits until every server is known.
fn await_ready(gateway: &Gateway) {
    let is_ready = || gateway.ask("GET", "/readyz", &[], "").status == 200;
    assert!(until(PATIENCE, is_ready), "{}", gateway.client.stderr());
}

/// Returns the port that metrics are read at.
fn metrics_port(gateway: &Gateway) -> u16 {
    let found = || {
        let log = gateway.client.stderr();
        let (_, rest) = log.split_once("metrics at http://127.0.0.1:")?;
        rest.split('/').next()?.parse().ok()
    };
    assert!(until(PATIENCE, || found().is_some()), "{}", gateway.client.stderr());
    found().expect("it was just there")
}

/// Calls a tool without a session and returns the answer's result.
fn call(gateway: &Gateway, tool: &str, mut params: Value) -> Value {
    params["name"] = json!(tool);
    let caller = manifold_testkit::HttpCaller::new(gateway.port, "/mcp", json!({}));
    caller.open("tools/call", params).response()
}
