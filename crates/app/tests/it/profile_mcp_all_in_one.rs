//! The profile `mcp-all-in-one` (S3): its sample session. What goes in is the published text, byte for byte.

mod messages;
mod services;

use std::process::Command;
use std::time::Duration;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::{logged_at_start, named, run};

const MCP_JSON: &str = "openspec/specs/test-sample/mcp.json";

const INITIALIZE: &str = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "protocolVersion": "2025-06-18",
    "capabilities": {
      "tools": {},
      "roots": {},
      "sampling": {}
    },
    "clientInfo": {
      "name": "test-client",
      "version": "1.0.0"
    }
  }
}
"#;

const INITIALIZED: &str = r#"{
  "jsonrpc": "2.0",
  "method": "notifications/initialized"
}
"#;

const LIST_TOOLS: &str = r#"{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "tools/list"
}
"#;

const CALL_TIME: &str = r#"{
  "jsonrpc": "2.0",
  "id": 3,
  "method": "tools/call",
  "params": {
    "name": "Time__get_current_time",
    "arguments": {
      "timezone": "Asia/Shanghai"
    }
  }
}
"#;

const CALL_SEARCH: &str = r#"{
  "jsonrpc": "2.0",
  "id": 4,
  "method": "tools/call",
  "params": {
    "name": "zhipu-web-search__web_search",
    "arguments": {
      "query": "Model Context Protocol",
      "num_results": 3
    }
  }
}
"#;

const CALL_NONEXISTENT: &str = r#"{
  "jsonrpc": "2.0",
  "id": 5,
  "method": "tools/call",
  "params": {
    "name": "nonexistent_tool",
    "arguments": {}
  }
}
"#;

const CALL_WITHOUT_QUERY: &str = r#"{
  "jsonrpc": "2.0",
  "id": 6,
  "method": "tools/call",
  "params": {
    "name": "zhipu-web-search__web_search",
    "arguments": {}
  }
}
"#;

const INVALID_METHOD: &str = r#"{
  "jsonrpc": "2.0",
  "id": 7,
  "method": "invalid/method",
  "params": {}
}
"#;

const SHUTDOWN: &str = r#"{
  "jsonrpc": "2.0",
  "id": 8,
  "method": "shutdown"
}
"#;

const EXIT: &str = r#"{
  "jsonrpc": "2.0",
  "method": "notifications/exit"
}
"#;

/// The tools of the seed, as its two services list them.
fn time_tool() -> Value {
    json!({
        "name": "get_current_time",
        "description": "Get the current time in a specified timezone",
        "inputSchema": {"type": "object", "properties": {"timezone": {
            "type": "string", "description": "IANA timezone identifier (e.g., 'Asia/Shanghai')"}}},
    })
}

fn search_tool() -> Value {
    json!({
        "name": "web_search",
        "description": "Search the web using Zhipu AI",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Search query"},
                "num_results": {"type": "number", "description": "Number of results to return (default: 10)"},
            },
            "required": ["query"],
        },
    })
}

/// Returns the tool as the seed's gateway lists it.
fn listed(service: &str, mut tool: Value) -> Value {
    tool["name"] = json!(format!("{service}__{}", tool["name"].as_str().unwrap_or_default()));
    tool["description"] = json!(format!("[{service}] {}", tool["description"].as_str().unwrap_or_default()));
    tool
}

fn time(sandbox: &Sandbox) -> Value {
    fake(json!({"name": "time", "tools": [time_tool()], "log": sandbox.path("time.log")}))
}

fn search(sandbox: &Sandbox) -> Value {
    fake(json!({"name": "search", "tools": [search_tool()], "log": sandbox.path("search.log")}))
}

/// S3's own remote entry, with the key in a variable.
fn remote_search() -> Value {
    json!({"type": "http", "url": "https://search.invalid/api/mcp/web_search",
           "headers": {"Authorization": "Bearer ${Z_AI_API_KEY}"}})
}

fn sample(sandbox: &Sandbox) -> Value {
    json!({"mcpServers": {"Time": time(sandbox), "zhipu-web-search": search(sandbox)}})
}

/// Returns `mcp-all-in-one stdio --mcp-config …`, after writing that file.
fn all_in_one(sandbox: &Sandbox, config: &Value) -> Command {
    sandbox.write(MCP_JSON, &format!("{config:#}"));
    let mut command = sandbox.command(named(sandbox, "mcp-all-in-one"));
    command.args(["stdio", "--mcp-config", MCP_JSON]);
    command
}

fn client(sandbox: &Sandbox, config: &Value) -> Client {
    let mut client = Client::spawn(all_in_one(sandbox, config));
    client.send_raw(INITIALIZE.as_bytes());
    client.wait_for(1, PATIENCE);
    client.send_raw(INITIALIZED.as_bytes());
    client
}

/// Sends one of the seed's messages and returns the whole answer.
fn say(client: &mut Client, message: &str) -> Value {
    client.send_raw(message.as_bytes());
    let id = serde_json::from_str::<Value>(message).unwrap_or_default()["id"].clone();
    client.wait_for(id, PATIENCE)
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// The seed's session from beginning to end.
fn check_session(sandbox: &Sandbox, command: Command) {
    let mut client = Client::spawn(command);
    // S3-2
    let answer = say(&mut client, INITIALIZE);
    let result = &answer["result"];
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)));
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));
    assert_eq!(result["capabilities"]["roots"], json!({}));
    assert_eq!(result["capabilities"]["sampling"], json!({}));
    assert_eq!(result["serverInfo"], json!({"name": "mcp-all-in-one", "version": "1.0.0"}));
    // S3-3: what comes next is the answer to the next request.
    client.send_raw(INITIALIZED.as_bytes());
    // S3-4 to S3-7, S3-17
    client.send_raw(LIST_TOOLS.as_bytes());
    let tools = [listed("Time", time_tool()), listed("zhipu-web-search", search_tool())];
    assert_eq!(client.recv(PATIENCE), json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}}));
    // S3-8: the fakes say what they were called with.
    let answer = say(&mut client, CALL_TIME);
    assert_eq!(answer["result"]["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(answer["result"]["content"][0]["type"], "text");
    let heard: Value = serde_json::from_str(text(&answer)).unwrap_or_default();
    assert_eq!(heard, json!({"timezone": "Asia/Shanghai"}));
    let received = sandbox.received("time.log", "tools/call");
    assert_eq!(received[0]["params"]["name"], "get_current_time");
    let answer = say(&mut client, CALL_SEARCH);
    assert_eq!(answer["result"]["content"][0]["type"], "text");
    let heard: Value = serde_json::from_str(text(&answer)).unwrap_or_default();
    assert_eq!(heard, json!({"query": "Model Context Protocol", "num_results": 3}));
    // S3-11
    let error = json!({"code": -32601, "message": "Tool 'nonexistent_tool' not found"});
    assert_eq!(say(&mut client, CALL_NONEXISTENT), json!({"jsonrpc": "2.0", "id": 5, "error": error}));
    // S3-12
    let answer = say(&mut client, CALL_WITHOUT_QUERY);
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["message"], "Invalid params: Missing required parameter 'query'");
    assert_eq!(answer["error"]["data"]["parameter"], "query");
    assert_eq!(sandbox.received("search.log", "tools/call").len(), 1, "nothing was sent for that one");
    // S3-13
    let error = json!({"code": -32601, "message": "Method 'invalid/method' not found"});
    assert_eq!(say(&mut client, INVALID_METHOD), json!({"jsonrpc": "2.0", "id": 7, "error": error}));
    // S3-14
    assert_eq!(say(&mut client, SHUTDOWN), json!({"jsonrpc": "2.0", "id": 8, "result": {}}));
    // S3-15
    client.send_raw(EXIT.as_bytes());
    assert_eq!(client.wait_exit(PATIENCE).code(), Some(0), "{}", client.stderr());
    assert_eq!(client.try_recv(PATIENCE), None, "an exit has no answer");
}

// S3-1 to S3-8, S3-11 to S3-17
#[test]
fn the_sample_session_under_its_own_name() {
    let sandbox = Sandbox::new();
    let command = all_in_one(&sandbox, &sample(&sandbox));
    check_session(&sandbox, command);
}

// Section 3: the profile by its flag
#[test]
fn the_sample_session_by_the_profiles_flag() {
    let sandbox = Sandbox::new();
    sandbox.write(MCP_JSON, &sample(&sandbox).to_string());
    let mut command = sandbox.manifold();
    command.args(["--profile", "mcp-all-in-one", "stdio", "--mcp-config", MCP_JSON]);
    check_session(&sandbox, command);
}

// S3-1: the file at the program's own path is read when none is named
#[test]
fn the_sample_session_from_the_programs_own_path() {
    let sandbox = Sandbox::new();
    sandbox.write(".mcp-all-in-one/mcp.json", &sample(&sandbox).to_string());
    let mut command = sandbox.command(named(&sandbox, "mcp-all-in-one"));
    command.arg("stdio");
    check_session(&sandbox, command);
}
