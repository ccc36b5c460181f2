//! Seed S3: the mcp-all-in-one sample session. What goes in is the seed's text, byte for byte.

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

// S3-2, decision 26: the echoes are for clients that declared them, and for this profile alone
#[test]
fn only_declared_capabilities_are_echoed() {
    let sandbox = Sandbox::new();
    let mut client = Client::spawn(all_in_one(&sandbox, &sample(&sandbox)));
    let answer = client.initialize("2025-06-18", json!({"sampling": {}}));
    assert_eq!(answer["result"]["capabilities"]["sampling"], json!({}));
    assert_eq!(answer["result"]["capabilities"].get("roots"), None);
    let mut other = sandbox.serve(&sample(&sandbox), &["--profile", "manifold"]);
    let answer = other.initialize("2025-06-18", json!({"sampling": {}, "roots": {}}));
    assert_eq!(answer["result"]["capabilities"].get("sampling"), None);
    assert_eq!(answer["result"]["capabilities"].get("roots"), None);
}

// S3-3; section 2.3: the origin answered notifications with errors
#[test]
fn notifications_are_not_answered() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &sample(&sandbox));
    client.send_raw(INITIALIZED.as_bytes());
    client.notify("notifications/invalid", json!({}));
    client.send_raw(INVALID_METHOD.as_bytes());
    assert_eq!(client.recv(PATIENCE)["id"], 7);
}

// S3-7: not a byte of a schema is changed
#[test]
fn schemas_keep_their_bytes() {
    let sandbox = Sandbox::new();
    let schema = r#"{ "type":"object" ,"properties":{"z":{"const":1.0},"a":{"type":["string","null"],"maximum":1e2}},"x-own":null}"#;
    let knobs = format!(r#"{{"tools":[{{"name":"odd","inputSchema":{schema}}}]}}"#);
    let entry = json!({"command": manifold_testkit::bin("fake-server"), "args": [knobs]});
    let mut client = client(&sandbox, &json!({"mcpServers": {"Time": entry}}));
    client.send_raw(LIST_TOOLS.as_bytes());
    let answer = client.wait_for_text(2, PATIENCE);
    assert!(answer.contains(schema), "{answer}");
}

// S3-5, S3-8; section 2.3: names with a second `__` could not be called
#[test]
fn names_with_the_separator_inside_are_routed() {
    let sandbox = Sandbox::new();
    let knobs =
        |name: &str| json!({"tools": [{"name": "get__it"}, {"name": "pid"}], "log": sandbox.path(name)});
    let config = json!({"mcpServers": {"a": fake(knobs("a")), "a__b": fake(knobs("a__b"))}});
    let mut client = client(&sandbox, &config);
    assert_eq!(client.tool_names(), ["a__get__it", "a__pid", "a__b__get__it", "a__b__pid"]);
    for server in ["a", "a__b"] {
        assert_eq!(text(&client.call(&format!("{server}__get__it"), json!({"text": server}))), server);
        let received = sandbox.received(server, "tools/call");
        assert_eq!(received.len(), 1, "{server}");
        assert_eq!(received[0]["params"]["name"], "get__it");
    }
}

// S3-8
#[test]
fn content_of_every_type_comes_through() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"Time": fake(json!({"tools": [{"name": "weird"}]}))}});
    let mut client = client(&sandbox, &config);
    let raw = r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource_link","uri":"x://y","name":"y"}],"isError":false}"#;
    let id = client.request("tools/call", json!({"name": "Time__weird", "arguments": {"raw": raw}}));
    let answer = client.wait_for_text(id, PATIENCE);
    assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{raw}}}"#));
}

// S3-9
#[test]
fn a_stdio_service_gets_its_command_arguments_and_environment() {
    let sandbox = Sandbox::new();
    let mut entry = fake(json!({"tools": [{"name": "env"}]}));
    entry["type"] = json!("stdio");
    entry["env"] = json!({"OWN": "from ${OUTSIDE}"});
    let mut command = all_in_one(&sandbox, &json!({"mcpServers": {"Time": entry}}));
    command.env("OUTSIDE", "outside");
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(text(&client.call("Time__env", json!({"name": "OWN"}))), "from outside");
}

// S3-9: with its key set, the seed's own file has nothing wrong with it
#[test]
fn a_remote_service_with_its_key_is_a_valid_one() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"Time": time(&sandbox), "zhipu-web-search": remote_search()}});
    let path = sandbox.write(MCP_JSON, &config.to_string());
    let mut command = sandbox.command(named(&sandbox, "mcp-all-in-one"));
    command.env("Z_AI_API_KEY", "k").arg("--validate-mcp-config").arg(&path);
    let ran = run(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("2 servers, 0 namespaces\n"), "{}", ran.stdout);
}

// S3-10, S3-18
#[test]
fn a_missing_key_fails_the_calls_of_its_service_alone() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"Time": time(&sandbox), "zhipu-web-search": remote_search()}});
    let mut client = client(&sandbox, &config);
    let listed_tools = say(&mut client, LIST_TOOLS);
    assert_eq!(listed_tools["result"]["tools"], json!([listed("Time", time_tool())]));
    let expected = json!({
        "jsonrpc": "2.0",
        "id": 4,
        "error": {
            "code": -32603,
            "message": "Authentication failed: Invalid or missing Z_AI_API_KEY",
            "data": {"service": "zhipu-web-search"},
        },
    });
    assert_eq!(say(&mut client, CALL_SEARCH), expected);
    assert_eq!(say(&mut client, CALL_TIME)["result"]["content"][0]["type"], "text");
    let log = logged_at_start(&client);
    assert!(log.contains("variable `Z_AI_API_KEY` is not set"), "{log}");
}

// S3-10: before any list, too
#[test]
fn a_missing_key_is_told_without_a_list() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &json!({"mcpServers": {"zhipu-web-search": remote_search()}}));
    let error = &say(&mut client, CALL_SEARCH)["error"];
    assert_eq!(error["message"], "Authentication failed: Invalid or missing Z_AI_API_KEY");
}

// S3-12, decision 13: the list is read before the first call goes out
#[test]
fn required_arguments_are_checked_without_a_list() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &sample(&sandbox));
    let error = &say(&mut client, CALL_WITHOUT_QUERY)["error"];
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "Invalid params: Missing required parameter 'query'");
    assert_eq!((&error["data"]["parameter"], &error["data"]["field"]), (&json!("query"), &json!("query")));
    assert_eq!(sandbox.received("search.log", "tools/call").len(), 0);
    let no_arguments = client.ask("tools/call", json!({"name": "zhipu-web-search__web_search"}));
    assert_eq!(no_arguments["error"]["code"], -32602);
}

// S3-14, decision 17
#[test]
fn shutdown_waits_for_calls_and_ends_the_service() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log");
    let config = json!({"mcpServers": {"Time": fake(json!({"tools": [{"name": "sleep"}], "log": log}))}});
    let mut client = client(&sandbox, &config);
    client.tool_names();
    let id = client.request("tools/call", json!({"name": "Time__sleep", "arguments": {"ms": 150}}));
    client.send_raw(SHUTDOWN.as_bytes());
    assert_eq!(client.recv(PATIENCE)["id"], id, "the call is answered first");
    assert_eq!(client.recv(PATIENCE), json!({"jsonrpc": "2.0", "id": 8, "result": {}}));
    assert_eq!(say(&mut client, CALL_TIME)["error"]["code"], -32600);
    client.send_raw(EXIT.as_bytes());
    assert_eq!(client.wait_exit(PATIENCE).code(), Some(0));
}

// S3-15, decision 17
#[test]
fn exit_ends_the_process_with_or_without_shutdown() {
    for message in [EXIT, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n"] {
        let sandbox = Sandbox::new();
        let mut client = client(&sandbox, &sample(&sandbox));
        say(&mut client, LIST_TOOLS);
        client.send_raw(message.as_bytes());
        assert_eq!(client.wait_exit(PATIENCE).code(), Some(0), "{}", client.stderr());
        assert_eq!(client.try_recv(PATIENCE), None);
        assert!(until(PATIENCE, || sandbox.processes().is_empty()), "its services are gone with it");
    }
}

// S3-16: our own faults have JSON-RPC's own codes, and name the service
#[test]
fn only_standard_codes_are_used() {
    let sandbox = Sandbox::new();
    let mut disabled = search(&sandbox);
    disabled["disabled"] = json!(true);
    let mut slow = fake(json!({"hangOn": "tools/call"}));
    slow["timeout"] = json!(1000);
    let config = json!({"mcpServers": {
        "gone": {"command": "no-such-program"},
        "failing": {"command": "false"},
        "unset": {"command": "true", "args": ["${NO_SUCH_VARIABLE}"]},
        "disabled": disabled,
        "slow": slow,
    }});
    let mut client = client(&sandbox, &config);
    for service in ["gone", "failing", "unset", "disabled", "slow"] {
        let error = &client.call(&format!("{service}__echo"), json!({"query": 1}))["error"];
        assert_eq!(error["code"], -32603, "{service}: {error}");
        assert_eq!(error["data"]["service"], service, "{error}");
    }
    assert_eq!(client.call("nowhere__echo", json!({}))["error"]["code"], -32601);
    assert_eq!(client.call("slow__nothing", json!({}))["error"]["code"], -32601);
}

// S3-16, decision 15: a service's own error is not ours to change
#[test]
fn a_services_own_error_passes_unchanged() {
    let sandbox = Sandbox::new();
    let error = json!({"code": -32050, "message": "busy", "data": {"retry": 1.5}});
    let config = json!({"mcpServers": {"Time": fake(json!({"error": {"tools/call": error}}))}});
    let mut client = client(&sandbox, &config);
    assert_eq!(client.call("Time__echo", json!({}))["error"], error);
}

// S3-17: no tools beside those of the services
#[test]
fn no_services_means_no_tools() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &json!({"mcpServers": {}}));
    assert_eq!(say(&mut client, LIST_TOOLS), json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": []}}));
}

// S3-18
#[test]
fn a_service_that_cannot_start_affects_nobody_else() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "gone": {"command": "no-such-program"},
        "failing": {"command": "false"},
        "silent": fake(json!({"crashOn": "initialize"})),
        "Time": time(&sandbox),
        "zhipu-web-search": search(&sandbox),
    }});
    let mut client = client(&sandbox, &config);
    let tools = json!([listed("Time", time_tool()), listed("zhipu-web-search", search_tool())]);
    assert_eq!(say(&mut client, LIST_TOOLS)["result"]["tools"], tools);
    assert!(say(&mut client, CALL_TIME)["result"]["content"].is_array());
    assert!(say(&mut client, CALL_SEARCH)["result"]["content"].is_array());
    assert_eq!(say(&mut client, SHUTDOWN)["result"], json!({}));
}

// S3-18
#[test]
fn a_service_that_dies_in_a_call_fails_that_call_alone() {
    let sandbox = Sandbox::new();
    let crashing = fake(json!({"tools": [{"name": "crash"}, {"name": "echo"}]}));
    let mut client = client(&sandbox, &json!({"mcpServers": {"bad": crashing, "Time": time(&sandbox)}}));
    client.tool_names();
    let error = &client.call("bad__crash", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["service"]), (&json!(-32603), &json!("bad")), "{error}");
    assert!(say(&mut client, CALL_TIME)["result"]["content"].is_array());
    assert_eq!(text(&client.call("bad__echo", json!({"text": "back"}))), "back", "it is started again");
    assert_eq!(client.try_recv(Duration::ZERO).filter(|message| message.get("id").is_some()), None);
}
