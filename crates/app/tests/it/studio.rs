//! The gateway as mcp-studio, which many tests drive, with fake servers behind it.

use manifold_testkit::{Client, Sandbox, fake};
use serde_json::{Value, json};

pub(crate) const STUDIO: [&str; 2] = ["--profile", "mcp-studio"];

/// Starts the gateway as mcp-studio and shakes hands.
pub(crate) fn studio(sandbox: &Sandbox, config: &Value) -> Client {
    studio_with(sandbox, config, json!({}))
}

/// The same, for a client with these capabilities.
pub(crate) fn studio_with(sandbox: &Sandbox, config: &Value, capabilities: Value) -> Client {
    let mut client = sandbox.serve(config, &STUDIO);
    let response = client.initialize("2025-06-18", capabilities);
    assert_eq!(response["error"], Value::Null, "the handshake works");
    client
}

/// Returns the entry of a fake server with these tools, and more knobs.
pub(crate) fn fake_with(tools: &[&str], more: Value) -> Value {
    let mut knobs = more;
    knobs["tools"] = tools.iter().map(|name| json!({"name": name})).collect();
    fake(knobs)
}

/// Returns the text of a tool's result.
pub(crate) fn text_of(response: &Value) -> &str {
    match response["result"]["content"][0]["text"].as_str() {
        Some(text) => text,
        None => panic!("no text in {response}"),
    }
}

/// Returns the parsed text of a tool's result.
pub(crate) fn json_of(response: &Value) -> Value {
    match serde_json::from_str(text_of(response)) {
        Ok(value) => value,
        Err(error) => panic!("no JSON in {response}: {error}"),
    }
}
