//! The services behind it: how they are reached, and what it costs when one fails.

use super::*;

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

// S3-16, decision 15: a service's own error is not ours to change
#[test]
fn a_services_own_error_passes_unchanged() {
    let sandbox = Sandbox::new();
    let error = json!({"code": -32050, "message": "busy", "data": {"retry": 1.5}});
    let config = json!({"mcpServers": {"Time": fake(json!({"error": {"tools/call": error}}))}});
    let mut client = client(&sandbox, &config);
    assert_eq!(client.call("Time__echo", json!({}))["error"], error);
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
