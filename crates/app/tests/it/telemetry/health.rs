use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::Conn;
use manifold_testkit::{Sandbox, until};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{Gateway, call, config};
use crate::modern_http::{VERSION, signed};

fn word(gateway: &Gateway, path: &str) -> (u16, String) {
    // No token, and a name that nobody knows.
    let answer = gateway.ask("GET", path, &[("Host", "balancer.internal")], "");
    (answer.status, answer.text())
}

#[test]
fn ready_is_said_once_every_server_is_known() {
    let sandbox = Sandbox::new();
    let token = sandbox.write_private("token", "long enough to be one");
    let mut config = config(&sandbox, json!({}));
    config["mcpServers"]["broken"] = json!({"command": sandbox.path("nobody"), "args": []});
    let gateway = Gateway::start(&sandbox, &config, &["--token-file", &token]);
    assert_eq!(word(&gateway, "/livez"), (200, "live".to_owned()));
    let first = word(&gateway, "/readyz");
    assert!(first == (503, "starting".to_owned()) || first == (200, "ready".to_owned()), "{first:?}");
    assert!(
        until(PATIENCE, || word(&gateway, "/readyz") == (200, "ready".to_owned())),
        "{}",
        gateway.client.stderr()
    );
    assert_eq!(gateway.ask("POST", "/readyz", &[("Content-Type", "application/json")], "").status, 401);
    assert_eq!(word(&gateway, "/mcp").0, 403, "all else is as closed as before");
}

#[test]
fn a_gateway_that_drains_says_so_and_serves_on() {
    let sandbox = Sandbox::new();
    let config = config(&sandbox, json!({"scale": {"drainDelay": 600_000}, "drainTimeout": 60_000}));
    let mut gateway = Gateway::start(&sandbox, &config, &[]);
    assert!(until(PATIENCE, || word(&gateway, "/readyz").0 == 200));
    let filter = signed(json!({"notifications": {"toolsListChanged": true}}), &json!({}));
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", VERSION),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let mut listening = Conn::open(gateway.port);
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": filter}).to_string();
    listening.send("POST", "/mcp", &headers, &body);
    let mut events = listening.response().events();
    assert_eq!(
        events.next().expect("it is heard").json()["method"],
        json!("notifications/subscriptions/acknowledged")
    );
    gateway.signal(Signal::SIGTERM);
    assert!(until(PATIENCE, || word(&gateway, "/readyz") == (503, "draining".to_owned())));
    for _ in 0..5 {
        assert!(call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}))["result"].is_object());
        assert_eq!(word(&gateway, "/livez").0, 200);
    }
    let last = gateway.ask("GET", "/livez", &[], "");
    assert_eq!(last.header("connection"), Some("close"), "a balancer makes its next connection elsewhere");
    // Who cannot wait for the delay says so once more, and the process ends at once.
    gateway.signal(Signal::SIGTERM);
    gateway.client.wait_exit(PATIENCE);
}

#[test]
fn after_the_delay_what_is_in_flight_is_finished() {
    let sandbox = Sandbox::new();
    let config = config(&sandbox, json!({"scale": {"drainDelay": 300}, "drainTimeout": 60_000}));
    let mut gateway = Gateway::start(&sandbox, &config, &[]);
    assert!(until(PATIENCE, || word(&gateway, "/readyz").0 == 200));
    let caller = manifold_testkit::HttpCaller::new(gateway.port, "/mcp", json!({}));
    let pending = caller.open("tools/call", json!({"name": "s__sleep", "arguments": {"ms": 1500}}));
    assert!(until(PATIENCE, || !sandbox.received("s.log", "tools/call").is_empty()));
    gateway.signal(Signal::SIGTERM);
    assert!(pending.response()["result"].is_object(), "it was under way");
    assert!(gateway.client.wait_exit(PATIENCE).success());
}
