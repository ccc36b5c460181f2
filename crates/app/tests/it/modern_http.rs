//! Clients without sessions (2026-07-28) over HTTP, as raw requests: what is asked, what comes back, what is checked.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Sandbox, fake, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::http_lifecycle::{Answer, Conn, Gateway, calling};
use crate::studio::text_of;

pub(crate) const VERSION: &str = "2026-07-28";
const BOTH: &str = "application/json, text/event-stream";

/// Returns parameters that say who asks.
pub(crate) fn signed(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(VERSION);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    params
}

/// One server `s` with every tool that waits or asks.
fn config(sandbox: &Sandbox) -> Value {
    let tools = ["echo", "sleep", "progress", "ask", "addtool", "update"];
    let mut tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    let region =
        json!({"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Region"}}});
    tools.push(json!({"name": "where", "inputSchema": region}));
    let knobs = json!({"name": "s", "tools": tools, "log": sandbox.path("s.log"), "pid": sandbox.path("s.pid"),
        "resources": [{"uri": "file:///a", "name": "a"}],
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}}});
    json!({"separator": "", "managerTools": false, "mcpServers": {"s": fake(knobs)}})
}

/// Sends a request with the headers it must have, unless others are given.
fn send(gateway: &Gateway, method: &str, params: &Value, headers: &[(&str, &str)]) -> Conn {
    let mut connection = Conn::open(gateway.port);
    let name = ["name", "uri"].iter().find_map(|key| params[key].as_str());
    let mut all = vec![("Accept", BOTH), ("MCP-Protocol-Version", VERSION), ("Mcp-Method", method)];
    all.extend(name.map(|name| ("Mcp-Name", name)));
    all.retain(|(key, _)| !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(key)));
    all.extend_from_slice(headers);
    connection.send("POST", "/mcp", &all, &calling(7, method, params.clone()));
    connection
}

fn ask(gateway: &Gateway, method: &str, params: Value) -> Answer {
    send(gateway, method, &signed(params, &json!({"elicitation": {}})), &[]).answer()
}

/// Sends a request and returns its answer, be it plain or the last message of a stream.
fn result(gateway: &Gateway, method: &str, params: Value) -> Value {
    let answer = ask(gateway, method, params);
    match answer.header("content-type") {
        Some("text/event-stream") => {
            let text = answer.text();
            let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
            serde_json::from_str(last.expect("a stream ends with the answer")).expect("a message is JSON")
        }
        _ => answer.json(),
    }
}

fn elicit() -> Value {
    json!({"name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": "really?", "requestedSchema": {"type": "object", "properties": {}}}}})
}

#[test]
fn discovery_starts_nothing() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let answer = ask(&gateway, "server/discover", json!({}));
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    let found = &answer.json()["result"];
    assert_eq!(found["supportedVersions"], json!([VERSION]));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "manifold");
    assert!(!sandbox.path("s.pid").exists(), "nothing was started");

    let listed = result(&gateway, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(7));
    assert_eq!(
        text_of(&result(&gateway, "tools/call", json!({"name": "echo", "arguments": {"text": "hi"}}))),
        "hi"
    );
}

#[track_caller]
fn check_refused(
    gateway: &Gateway,
    method: &str,
    params: &Value,
    headers: &[(&str, &str)],
    expected: (u16, i64),
) {
    let answer = send(gateway, method, params, headers).answer();
    let body = answer.json();
    assert_eq!((answer.status, body["error"]["code"].as_i64()), (expected.0, Some(expected.1)), "{body}");
    assert_eq!(body["id"], 7);
}

// T10: a header that names another method or tool than the body is refused
#[test]
fn headers_must_say_what_the_body_says() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let echo = signed(json!({"name": "echo", "arguments": {}}), &json!({}));
    for wrong in [
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", ""),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", ""),
        ("Mcp-Name", "sleep"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "=?base64?!?="),
    ] {
        check_refused(&gateway, "tools/call", &echo, &[wrong], (400, -32020));
    }
    let twice = [("Mcp-Method", "tools/call"), ("Mcp-Method", "tools/call")];
    check_refused(&gateway, "tools/call", &echo, &twice, (400, -32020));
    assert_eq!(
        send(&gateway, "tools/call", &echo, &[("Mcp-Name", "=?base64?ZWNobw==?=")]).answer().status,
        200
    );

    // Arguments that go into headers are checked once the tool is known.
    result(&gateway, "tools/list", json!({}));
    let there = signed(json!({"name": "where", "arguments": {"text": "eu"}}), &json!({}));
    check_refused(&gateway, "tools/call", &there, &[], (400, -32020));
    check_refused(&gateway, "tools/call", &there, &[("Mcp-Param-Region", "us")], (400, -32020));
    assert_eq!(send(&gateway, "tools/call", &there, &[("Mcp-Param-Region", "eu")]).answer().status, 200);
    let nowhere = signed(json!({"name": "where", "arguments": {}}), &json!({}));
    check_refused(&gateway, "tools/call", &nowhere, &[("Mcp-Param-Region", "eu")], (400, -32020));
    assert_eq!(send(&gateway, "tools/call", &nowhere, &[]).answer().status, 200);
}

#[test]
fn a_wrong_version_header_is_let_pass_where_the_config_says_so() {
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox);
    config["server"] = json!({"lenientHeaders": true});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let params = signed(json!({}), &json!({}));
    let answer =
        send(&gateway, "server/discover", &params, &[("MCP-Protocol-Version", "2025-11-25")]).answer();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(until(PATIENCE, || gateway.client.stderr().contains("lenientHeaders")), "it is logged");
}

#[test]
fn what_is_wrong_with_a_request_is_said_in_the_status_too() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let good = signed(json!({}), &json!({}));
    for removed in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"] {
        check_refused(&gateway, removed, &good, &[], (404, -32601));
    }
    check_refused(&gateway, "tools/list", &json!({}), &[], (400, -32602));
    let mut lacking = good.clone();
    lacking["_meta"].as_object_mut().expect("an object").remove("io.modelcontextprotocol/clientCapabilities");
    check_refused(&gateway, "tools/list", &lacking, &[], (400, -32602));
    let mut unknown = good.clone();
    unknown["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    check_refused(&gateway, "tools/list", &unknown, &[("MCP-Protocol-Version", "2099-01-01")], (400, -32022));
    // What only the handler can tell is its own.
    let no_tool = signed(json!({"name": "none"}), &json!({}));
    check_refused(&gateway, "tools/call", &no_tool, &[], (200, -32602));

    let version = [("MCP-Protocol-Version", VERSION), ("Accept", BOTH)];
    let batch = gateway.ask("POST", "/mcp", &version, &format!("[{}]", calling(1, "tools/list", good)));
    assert_eq!((batch.status, batch.json()["error"]["code"].as_i64()), (400, Some(-32600)));
    assert!(batch.json().get("id").is_none());
    let garbage = gateway.ask("POST", "/mcp", &version, "{");
    assert_eq!((garbage.status, garbage.json()["error"]["code"].as_i64()), (400, Some(-32700)));
    assert!(garbage.json().get("id").is_none());
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(gateway.ask("POST", "/mcp", &version, &told.to_string()).status, 202);
    assert_eq!(gateway.ask("GET", "/mcp", &version, "").status, 405);
    assert_eq!(gateway.ask("DELETE", "/mcp", &version, "").status, 405);
}

#[test]
fn a_question_is_answered_by_a_retry_and_the_tool_runs_once() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let round = result(&gateway, "tools/call", elicit());
    let round = &round["result"];
    assert_eq!(round["resultType"], "input_required", "{round}");
    let (key, question) =
        round["inputRequests"].as_object().and_then(|asked| asked.iter().next()).expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "really?");

    let back = |state: String| {
        let mut params = elicit();
        params["inputResponses"] = json!({key: {"action": "accept", "content": {}}});
        params["requestState"] = json!(state);
        result(&gateway, "tools/call", params)
    };
    let state = round["requestState"].as_str().expect("a state").to_owned();
    assert_eq!(back(format!("{state}x"))["error"]["code"], -32602);
    let done = back(state.clone());
    assert_eq!(text_of(&done), r#"{"action":"accept","content":{}}"#);
    assert_eq!(done["result"]["resultType"], "complete");
    let late = back(state);
    assert!(
        late["error"]["message"].as_str().is_some_and(|why| why.contains("start the call again")),
        "{late}"
    );
    assert_eq!(sandbox.received("s.log", "tools/call").len(), 1);
}

#[test]
fn hanging_up_takes_the_call_back() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let sleep = signed(json!({"name": "sleep", "arguments": {"ms": 60000}}), &json!({}));
    let cancelled = || sandbox.received("s.log", "notifications/cancelled").len();
    // Once while a stream is open, once while a plain answer is waited for.
    for (accept, times) in [(BOTH, 1), ("application/json", 2)] {
        let mut connection = send(&gateway, "tools/call", &sleep, &[("Accept", accept)]);
        assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == times));
        if accept == BOTH {
            assert_eq!(connection.response().header("content-type"), Some("text/event-stream"));
        }
        assert_eq!(cancelled(), times - 1);
        drop(connection);
        assert!(until(PATIENCE, || cancelled() == times), "the server is told");
    }
}

#[test]
fn a_listener_hears_of_changes_until_it_leaves() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    result(&gateway, "tools/list", json!({}));
    let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a", "file:///none"]}});
    let mut connection = send(&gateway, "subscriptions/listen", &signed(filter, &json!({})), &[]);
    let response = connection.response();
    assert_eq!((response.status, response.header("x-accel-buffering")), (200, Some("no")));
    let mut events = response.events();
    let tag = json!({"io.modelcontextprotocol/subscriptionId": 7});
    let acknowledged = events.message();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"], tag);
    assert_eq!(acknowledged["params"]["notifications"]["toolsListChanged"], true);
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"][0], "file:///a");

    result(&gateway, "tools/call", json!({"name": "update", "arguments": {"uri": "file:///a"}}));
    let updated = events.message();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"], json!({"uri": "file:///a", "_meta": tag}));
    result(&gateway, "tools/call", json!({"name": "addtool", "arguments": {"tool": {"name": "new"}}}));
    let changed = events.message();
    assert_eq!(
        (&changed["method"], &changed["params"]["_meta"]),
        (&json!("notifications/tools/list_changed"), &tag)
    );
    drop(events);
    drop(connection);
    let told = || sandbox.received("s.log", "resources/unsubscribe").len();
    assert!(until(PATIENCE, || told() > 0), "nobody listens any more");
}

#[test]
fn a_signal_ends_listeners_with_a_result() {
    let sandbox = Sandbox::new();
    let mut gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let filter = signed(json!({"notifications": {"promptsListChanged": true}}), &json!({}));
    let mut connection = send(&gateway, "subscriptions/listen", &filter, &[]);
    let mut events = connection.response().events();
    events.message();
    gateway.signal(Signal::SIGTERM);
    let last = events.message();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&json!(7), &json!("complete")));
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    // It held nothing up: the drain time is longer.
    assert!(gateway.client.wait_exit(PATIENCE).success());
}

#[test]
fn progress_makes_a_stream_without_ids() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let mut params = signed(json!({"name": "progress", "arguments": {"steps": 2}}), &json!({}));
    params["_meta"]["progressToken"] = json!("t");
    let mut connection = send(&gateway, "tools/call", &params, &[]);
    let mut events = connection.response().events();
    for step in 1..=2 {
        let event = events.next().expect("an event");
        assert_eq!(event.id, None);
        assert_eq!(event.json()["params"], json!({"progressToken": "t", "progress": step, "total": 2}));
    }
    assert_eq!(text_of(&events.message()), "2 steps");
    assert!(events.next().is_none(), "the answer ends the stream");
}

#[test]
fn both_eras_share_a_url() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let echo = |text: &str| json!({"name": "echo", "arguments": {"text": text}});
    assert_eq!(text_of(&result(&gateway, "tools/call", echo("one"))), "one");
    let session = gateway.session("/mcp", "2025-11-25", json!({}));
    let old = session.post(BOTH, &calling(7, "tools/call", echo("two")));
    assert_eq!(text_of(&old.json()), "two");
    assert!(old.json()["result"].get("resultType").is_none());
    assert_eq!(text_of(&result(&gateway, "tools/call", echo("three"))), "three");
    // The body counts, whatever session its sender also has.
    let params = signed(echo("four"), &json!({}));
    let answer = send(&gateway, "tools/call", &params, &[("Mcp-Session-Id", &session.id)]).answer();
    assert_eq!(answer.json()["result"]["resultType"], "complete");
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(session.delete(), 204);
}
