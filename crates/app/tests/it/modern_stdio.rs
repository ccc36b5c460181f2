//! Clients without sessions (2026-07-28) on a pipe, alone and together with a session.

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, until};
use serde_json::{Value, json};

use crate::modern_http::{VERSION, signed};
use crate::studio::{fake_with, text_of};

fn config(sandbox: &Sandbox) -> Value {
    let entry = fake_with(
        &["echo", "sleep", "ask", "addtool"],
        json!({"log": sandbox.path("s.log"), "pid": sandbox.path("s.pid")}),
    );
    json!({"separator": "", "managerTools": false, "mcpServers": {"s": entry}})
}

fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    client.ask(method, signed(params, &json!({"elicitation": {}})))
}

fn elicit(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}})
}

#[test]
fn a_client_may_probe_and_then_shake_hands() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&config(&sandbox), &[]);
    let found = ask(&mut client, "server/discover", json!({}));
    assert_eq!(found["result"]["supportedVersions"], json!([VERSION]));
    assert!(!sandbox.path("s.pid").exists(), "nothing was started");
    assert_eq!(client.initialize("2025-06-18", json!({}))["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(text_of(&client.call("echo", json!({"text": "old"}))), "old");
    let new = ask(&mut client, "tools/call", json!({"name": "echo", "arguments": {"text": "new"}}));
    assert_eq!((text_of(&new), &new["result"]["resultType"]), ("new", &json!("complete")));
    assert!(client.call("echo", json!({}))["result"].get("resultType").is_none());
    assert_eq!(ask(&mut client, "ping", json!({}))["error"]["code"], -32601);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn requests_alone_need_no_handshake() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&config(&sandbox), &[]);
    let listed = ask(&mut client, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(4));
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32600, "a session has not begun by it");
    let told = &sandbox.received("s.log", "initialize")[0]["params"];
    assert_eq!(told["clientInfo"]["name"], "test");
    assert!(told["capabilities"]["elicitation"]["url"].is_object());
}

#[test]
fn two_questions_wait_at_once_and_each_tool_runs_once() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&config(&sandbox), &[]);
    let mut rounds = Vec::new();
    for message in ["first", "second"] {
        let round = ask(&mut client, "tools/call", elicit(message));
        assert_eq!(round["result"]["inputRequests"]["q1"]["params"]["message"], message, "{round}");
        rounds.push((message, round["result"]["requestState"].clone()));
    }
    for (message, state) in rounds.iter().rev() {
        let mut params = elicit(message);
        params["inputResponses"] = json!({"q1": {"action": "accept", "content": {"to": message}}});
        params["requestState"] = state.clone();
        let done = ask(&mut client, "tools/call", params);
        assert_eq!(text_of(&done), json!({"action": "accept", "content": {"to": message}}).to_string());
    }
    assert_eq!(sandbox.received("s.log", "tools/call").len(), 2);
}

#[test]
fn ids_are_one_s_own_across_eras_and_cancelling_finds_its_request() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&config(&sandbox), &[]);
    client.initialize("2025-11-25", json!({}));
    let sleep = json!({"name": "sleep", "arguments": {"ms": 60000}});
    let request = |id: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let (old, new) = (sleep.clone(), signed(sleep, &json!({})));
    client.send(request("old", old.clone()));
    client.send(request("new", new.clone()));
    for (id, params) in [("old", new), ("new", old)] {
        client.send(request(id, params));
        assert_eq!(client.wait_for(id, PATIENCE)["error"]["code"], -32600, "{id}");
    }
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 2));
    for id in ["new", "old"] {
        client.notify("notifications/cancelled", json!({"requestId": id}));
    }
    assert!(until(PATIENCE, || sandbox.received("s.log", "notifications/cancelled").len() == 2));
    // Their ids are free again, and nothing was answered.
    client.send(request("new", signed(json!({"name": "echo", "arguments": {"text": "x"}}), &json!({}))));
    assert_eq!(text_of(&client.wait_for("new", PATIENCE)), "x");
}

#[test]
fn a_listener_is_ended_by_cancelling_it_or_by_the_end() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&config(&sandbox), &[]);
    ask(&mut client, "tools/list", json!({}));
    let listen = |client: &mut Client, id: &str| {
        let params = signed(json!({"notifications": {"toolsListChanged": true}}), &json!({}));
        client.send(json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}));
        let told = client.wait_for_notification("notifications/subscriptions/acknowledged", PATIENCE);
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    };
    listen(&mut client, "one");
    listen(&mut client, "two");
    client.notify("notifications/cancelled", json!({"requestId": "one"}));
    ask(&mut client, "tools/call", json!({"name": "addtool", "arguments": {"tool": {"name": "new"}}}));
    let changed = client.wait_for_notification("notifications/tools/list_changed", PATIENCE);
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "two");
    client.close_stdin();
    assert_eq!(client.wait_for("two", PATIENCE)["result"]["resultType"], "complete");
    assert!(client.wait_exit(PATIENCE).success());
    assert!(client.notifications().is_empty(), "the other one was silent");
}

#[test]
fn without_a_namespace_the_first_request_says_why() {
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox);
    config["namespaces"] = json!({"a": {"servers": ["s"]}, "b": {"servers": ["s"]}});
    let mut client = sandbox.serve(&config, &[]);
    let refused = ask(&mut client, "server/discover", json!({}));
    assert_eq!(refused["error"]["data"]["namespaces"], json!(["a", "b"]), "{refused}");
}
