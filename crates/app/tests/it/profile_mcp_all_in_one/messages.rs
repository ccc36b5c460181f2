//! What the program says and does not say, beside the sample session.

use super::*;

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

// S3-17: no tools beside those of the services
#[test]
fn no_services_means_no_tools() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &json!({"mcpServers": {}}));
    assert_eq!(say(&mut client, LIST_TOOLS), json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": []}}));
}
