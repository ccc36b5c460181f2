//! Who comes in over HTTP: tokens by name, tokens of authorization servers, and what each may use.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod certificates;
mod oauth;
mod outlived;
mod owners;
mod tokens;

use manifold_testkit::{Sandbox, fake};
use serde_json::{Value, json};

use crate::http_lifecycle::{Answer, Gateway, calling};

/// Two servers, in a namespace each and one with both.
fn two(sandbox: &Sandbox, server: Value) -> Value {
    let one = |name: &str| {
        let tools: Vec<Value> =
            ["echo", "env", "headers", "ask"].iter().map(|tool| json!({"name": tool})).collect();
        fake(
            json!({"name": name, "tools": tools, "prompts": [{"name": "p"}], "log": sandbox.path(&format!("{name}.log"))}),
        )
    };
    json!({
        "servers": {"a": one("a"), "b": one("b")},
        "namespaces": {
            "work": {"serverIds": ["a"]}, "home": {"serverIds": ["b"]}, "both": {"serverIds": ["a", "b"]}
        },
        "defaultNamespaceId": "both",
        "managerTools": false,
        "server": server
    })
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Asks the plain API of a namespace.
fn api(gateway: &Gateway, namespace: &str, token: &str, method: &str, params: Value) -> Answer {
    let credential = bearer(token);
    let headers = [("Authorization", credential.as_str())];
    gateway.ask("POST", &format!("/api/{namespace}/mcp"), &headers, &calling(1, method, params))
}

/// Returns the names of the tools that a token is shown.
fn tools(gateway: &Gateway, namespace: &str, token: &str) -> Vec<String> {
    let answer = api(gateway, namespace, token, "tools/list", json!({}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tools = answer.json()["result"]["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn echo(gateway: &Gateway, namespace: &str, token: &str, tool: &str) -> Answer {
    api(gateway, namespace, token, "tools/call", json!({"name": tool, "arguments": {"text": "in"}}))
}
