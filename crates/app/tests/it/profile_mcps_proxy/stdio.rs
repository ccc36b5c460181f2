//! `--stdio`: one schema on standard input and output, and every message as JSON-RPC has it.

use super::*;

// S0-4, S0-12
#[test]
fn stdio_serves_the_default_schema_alone() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    assert_eq!(client.tool_names(), ["fs-echo", "fs-pid", "web-search-echo", "web-search-pid"]);
    assert_eq!(text(&client.call("fs-echo", json!({"text": "hi"}))), "hi");
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    assert!(started(&sandbox, "default-fs") && started(&sandbox, "default-web"));
    assert!(!started(&sandbox, "workspace-fs") && !started(&sandbox, "off-fs"));
}

// S0-5, trap (b)
#[test]
fn stdio_serves_the_schema_that_is_named_alone() {
    for args in [&["--stdio", "--schema=workspace"][..], &["--stdio", "--schema", "workspace"]] {
        let sandbox = Sandbox::new();
        let mut client = client(&sandbox, &schemas(&sandbox), args);
        assert_eq!(client.tool_names(), ["fs-echo", "fs-pid"], "{args:?}");
        client.close_stdin();
        assert!(client.wait_exit(PATIENCE).success());
        assert!(started(&sandbox, "workspace-fs"));
        assert!(!started(&sandbox, "default-fs") && !started(&sandbox, "default-web"), "{args:?}");
    }
}

// S0-12: what another schema owns is out of reach, even by name and even when all is started early
#[test]
fn stdio_never_touches_another_schema() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio", "--schema=workspace", "--eager"]);
    assert!(until(PATIENCE, || started(&sandbox, "workspace-fs")));
    assert_eq!(client.call("web-search-echo", json!({}))["error"]["code"], -32000);
    assert_eq!(client.ask("resources/read", json!({"uri": "file:///default-web"}))["error"]["code"], -32002);
    assert!(client.ask("prompts/get", json!({"name": "default-web-prompt"}))["error"]["code"].is_i64());
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    for other in ["default-fs", "default-web", "off-fs"] {
        assert!(!started(&sandbox, other), "{other} was started");
    }
}

// S0-6, trap (e)
#[test]
fn every_id_comes_back_as_it_was() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let ids = ["0", "\"\"", "\"abc\"", "\"0\"", "-7", "9007199254740993", "\"\\u00e9\\n\"", "\"日本\""];
    for id in ids {
        let value: Value = serde_json::from_str(id).unwrap();
        for method in ["ping", "tools/list", "no/such"] {
            client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#));
            let answer = client.wait_for_text(value.clone(), PATIENCE);
            let begins = answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#));
            assert!(begins, "{method} with id {id} was answered by {answer}");
        }
        let call = json!({"name": "fs-echo", "arguments": {"text": id}});
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{call}}}"#));
        let answer = client.wait_for_text(value, PATIENCE);
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#)), "{answer}");
    }
}

// S0-6, trap (e)
#[test]
fn notifications_get_no_reply() {
    let sandbox = Sandbox::new();
    let mut client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &["--stdio"]));
    client.notify("notifications/anything", json!({}));
    client.initialize(VERSION, json!({}));
    client.send_text(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.notify("notifications/cancelled", json!({"requestId": 77}));
    client.notify("notifications/cancelled", json!({}));
    client.notify("notifications/no-such", json!({"a": [1]}));
    // Without an id even a request's method is a notification.
    client.send_text(r#"{"jsonrpc":"2.0","method":"ping"}"#);
    client.send_text(r#"{"jsonrpc":"2.0","method":"no/such"}"#);
    client.send_text(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    let next = client.recv(PATIENCE);
    assert_eq!(next, json!({"jsonrpc": "2.0", "id": "last", "result": {}}));
}

// S0-6
#[test]
fn errors_are_error_objects() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let cases = [
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, json!(7), -32601),
        (r#"{"jsonrpc":"2.0","id":8,"method":5}"#, json!(8), -32600),
        (r#"{"jsonrpc":"2.0","id":9}"#, json!(9), -32600),
        (r#"{"jsonrpc":"1.0","id":10,"method":"ping"}"#, json!(10), -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":11,"method":"tools/call"}"#, json!(11), -32602),
        (r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":5}}"#, json!(12), -32602),
        (r#"{"jsonrpc":"2.0","id":13,"method":"resources/read","params":{}}"#, json!(13), -32602),
        (r#"{"jsonrpc":"2.0","id":14,"method":"prompts/get","params":{}}"#, json!(14), -32602),
        ("5", Value::Null, -32600),
        ("{]", Value::Null, -32700),
        ("no JSON", Value::Null, -32700),
    ];
    for (message, id, code) in cases {
        client.send_text(message);
        let answer = client.recv(PATIENCE);
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{message}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
        assert!(answer["error"]["message"].is_string() && answer.get("result").is_none(), "{answer}");
    }
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}), "the session goes on");
}

// S0-7
#[test]
fn a_tool_is_called_at_its_owner() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let called = client.call("web-search-echo", json!({"text": "found", "n": 1.50}));
    assert_eq!(called["result"]["content"], json!([{"type": "text", "text": "found"}]));
    let received = sandbox.received("default-web.log", "tools/call");
    assert_eq!(received.len(), 1);
    assert_eq!(received[0]["params"], json!({"name": "echo", "arguments": {"text": "found", "n": 1.50}}));
    assert_eq!(sandbox.received("default-fs.log", "tools/call").len(), 0);
}

// S0-8
#[test]
fn a_resource_is_read_from_its_owner() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    for name in ["default-web", "default-fs"] {
        let uri = format!("file:///{name}");
        let read = client.ask("resources/read", json!({"uri": uri}));
        let text = format!("contents of {uri} from {name}");
        let contents = json!([{"uri": uri, "mimeType": "text/plain", "text": text}]);
        assert_eq!(read["result"]["contents"], contents, "{read}");
        let log = format!("{name}.log");
        assert_eq!(sandbox.received(&log, "resources/read").len(), 1, "{name}");
    }
}

// S0-9
#[test]
fn a_prompt_is_fetched_from_its_owner() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    for name in ["default-web", "default-fs"] {
        let prompt = format!("{name}-prompt");
        let got = client.ask("prompts/get", json!({"name": prompt, "arguments": {"x": "1"}}));
        let text = format!(r#"prompt {prompt} of {name} with {{"x":"1"}}"#);
        assert_eq!(got["result"]["messages"][0]["content"]["text"], text, "{got}");
        let log = format!("{name}.log");
        assert_eq!(sandbox.received(&log, "prompts/get").len(), 1, "{name}");
    }
}

// Trap (c); section 2.1: start-up info shows mode and schema
#[test]
fn nothing_but_frames_is_on_stdout() {
    let sandbox = Sandbox::new();
    let config = schemas(&sandbox);
    let args = ["--stdio", "--schema=workspace", "--log-level", "debug", "--eager"];
    let silent = run(mcps_proxy(&sandbox, &config, &args));
    assert_eq!((silent.code, silent.stdout.as_str()), (Some(0), ""));
    let said = silent.stderr.lines().any(|line| line.contains("stdio") && line.contains("workspace"));
    assert!(said, "{}", silent.stderr);
}

// Trap (d): no input is too early
#[test]
fn input_that_was_there_before_the_start_is_answered() {
    let sandbox = Sandbox::new();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "fs-echo", "arguments": {"text": "early"}}});
    let input = format!(
        "{hello}\n{}\n{call}\n{}",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#
    );
    // The last line has no end, and the input ends with it: all is answered before the process leaves.
    let ran = run_with(mcps_proxy(&sandbox, &schemas(&sandbox), &["--stdio"]), &input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut answers: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.retain(|answer| answer.get("id").is_some());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 3, "{}", ran.stdout);
    assert_eq!(answers[0]["result"]["protocolVersion"], VERSION);
    assert_eq!(text(&answers[1]), "early");
    assert_eq!(answers[2]["result"]["tools"].as_array().map(Vec::len), Some(4));
}

// Trap (d): a line may come in pieces
#[test]
fn lines_split_across_reads_are_put_together() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let second = r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"fs-echo","arguments":{"text":"日本é"}}}"#;
    // Cut in a key, in a number, in the middle of a character, and right before the line's end.
    let inside = second.find('日').unwrap() + 1;
    for at in [1, 4, 20, 30, inside, inside + 1, second.len() - 1, second.len()] {
        // The answer to the first line shows that its read, and so the first piece, is over.
        client.send_raw(&[PING.as_bytes(), &second.as_bytes()[..at]].concat());
        client.wait_for(1, PATIENCE);
        client.send_raw(&[&second.as_bytes()[at..], b"\n"].concat());
        assert_eq!(text(&client.wait_for("b", PATIENCE)), "日本é", "cut at {at}");
    }
    for byte in format!("{second}\r\n").bytes() {
        client.send_raw(&[byte]);
    }
    assert_eq!(text(&client.wait_for("b", PATIENCE)), "日本é");
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    assert_eq!(client.try_recv(Duration::ZERO), None, "each was answered once");
}

// Trap (h)
#[test]
fn servers_get_a_whole_handshake() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    client.call("fs-echo", json!({}));
    assert_eq!(sandbox.received("default-fs.log", "initialize").len(), 1);
    assert_eq!(sandbox.received("default-fs.log", "notifications/initialized").len(), 1);
}

// Trap (k)
#[test]
fn an_unknown_tool_is_an_error_and_no_result() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let unknown = client.call("nonexistent_tool", json!({}));
    assert_eq!(unknown["error"], json!({"code": -32601, "message": "Tool 'nonexistent_tool' not found"}));
    let of_known = client.call("web-search-nothing", json!({}));
    assert_eq!(of_known["error"]["code"], -32601, "{of_known}");
    assert_eq!(of_known["error"]["data"]["serverId"], "web-search", "{of_known}");
}
