//! S1-3, S1-6, S1-35 to S1-46, S1-57 to S1-59 and decisions 11, 20: the wire, as the client sees it.

use std::time::Duration;

use manifold_testkit::{Client, Framing, Sandbox, until};
use serde_json::{Value, json};

use crate::studio::{STUDIO, fake_with, studio, text_of};

const SOON: Duration = Duration::from_secs(60);

fn one_server() -> Value {
    json!({"mcpServers": {"alpha": fake_with(&["echo", "sleep"], json!({}))}})
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

// S1-3
#[test]
fn serve_speaks_stdio_without_being_told() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&one_server());
    let mut command = sandbox.manifold();
    command.args(["serve", "--profile", "mcp-studio", "--config"]).arg(path);
    let mut client = Client::spawn(command);
    assert_eq!(client.initialize("2025-06-18", json!({}))["result"]["serverInfo"]["name"], "mcp-studio");
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "hi"}))), "hi");
}

// S1-38
#[test]
fn initialize_says_who_we_are_and_what_we_offer() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &STUDIO);
    let response = client.initialize("2025-06-18", json!({}));
    let expected = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {
            "tools": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true},
            "logging": {},
            "completions": {},
        },
        "serverInfo": {"name": "mcp-studio", "version": env!("CARGO_PKG_VERSION")},
    });
    assert_eq!(response, json!({"jsonrpc": "2.0", "id": 1, "result": expected}));
}

// S1-39
#[test]
fn every_revision_is_negotiated() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let sandbox = Sandbox::new();
        let mut client = sandbox.serve(&one_server(), &STUDIO);
        assert_eq!(client.initialize(version, json!({}))["result"]["protocolVersion"], version);
        assert_eq!(text_of(&client.call("alpha.echo", json!({"text": version}))), version);
    }
    for version in ["2026-07-28", "1999-01-01", ""] {
        let sandbox = Sandbox::new();
        let mut client = sandbox.serve(&one_server(), &STUDIO);
        assert_eq!(client.initialize(version, json!({}))["result"]["protocolVersion"], "2025-11-25");
    }
}

// S1-40, S0-6: notifications get no reply, known or not
#[test]
fn notifications_are_silent() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &STUDIO);
    client.initialize("2025-06-18", json!({}));
    client.notify("notifications/initialized", json!({}));
    client.notify("notifications/nobody/knows", json!({"x": 1}));
    client.notify("tools/list", json!({}));
    client.notify("notifications/cancelled", json!({"requestId": 4711}));
    client.notify("notifications/cancelled", json!({}));
    let id = client.request("ping", Value::Null);
    assert_eq!(client.recv(SOON), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
}

// S1-41
#[test]
fn ping_is_answered_at_any_time() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &STUDIO);
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}));
    client.initialize("2025-06-18", json!({}));
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

// S0-6: ids come back as they were spelled
#[test]
fn ids_are_echoed_as_spelled() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &one_server());
    for id in ["0", r#""""#, r#""abc""#, "-7", "1.50", "18446744073709551616", r#""ü☃""#, r#""\u0041""#] {
        let call = r#""method":"tools/call","params":{"name":"alpha.echo","arguments":{"text":"x"}}"#;
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},{call}}}"#));
        let text = client.recv_raw(SOON).map(|frame| String::from_utf8_lossy(&frame).into_owned());
        let text = text.unwrap_or_default();
        assert!(text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{id}: {text}");
    }
}

// S1-36, S1-37: answered in the framing it was asked in
#[test]
fn content_length_framing_goes_both_ways() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&one_server());
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--profile", "mcp-studio", "--config"]).arg(path);
    let mut client = Client::spawn_framed(command, Framing::ContentLength);
    assert_eq!(client.initialize("2025-06-18", json!({}))["result"]["protocolVersion"], "2025-06-18");
    // Bytes are counted, not characters.
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "grüße ☃ 🙂"}))), "grüße ☃ 🙂");
    let body = r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#;
    for header in [
        format!(
            "content-length:{}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
            body.len()
        ),
        format!("Content-Type: text/plain\r\nCONTENT-LENGTH:  {}  \r\n\r\n", body.len()),
        format!("Content-Length: {}\n\n", body.len()),
    ] {
        client.send_raw(format!("{header}{body}").as_bytes());
        assert_eq!(client.wait_for("x", SOON)["result"], json!({}), "{header:?}");
    }
    // A newline within a counted body is part of it.
    let spread = body.replace(',', ",\n");
    client.send_text(&spread);
    assert_eq!(client.wait_for("x", SOON)["result"], json!({}));
    // A body that is no JSON costs one error and nothing else.
    client.send_text("{nonsense}");
    let error = client.recv(SOON);
    assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32700), &Value::Null));
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "still here"}))), "still here");
}

// S1-36, S1-37: a server's own news come in the client's framing, too
#[test]
fn framing_can_be_forced() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&one_server());
    for (flag, framing) in [("newline", Framing::Newline), ("content-length", Framing::ContentLength)] {
        let mut command = sandbox.manifold();
        command.args(["serve", "--stdio", "--framing", flag, "--config"]).arg(&path);
        let mut client = Client::spawn_framed(command, framing);
        assert_eq!(client.initialize("2025-06-18", json!({}))["result"]["protocolVersion"], "2025-06-18");
    }
}

// S1-37, decision 11: whatever a newline client may write
#[test]
fn newline_input_is_taken_in_every_spelling() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &STUDIO);
    // A byte order mark, blank lines and CRLF before and between messages.
    client.send_raw(b"\xef\xbb\xbf\r\n\n");
    client.send_raw(format!("{INITIALIZE}\r\n").as_bytes());
    assert_eq!(client.wait_for(1, SOON)["result"]["protocolVersion"], "2025-06-18");
    client.send_raw(b"\n  \n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r\n");
    assert_eq!(client.wait_for(2, SOON)["result"], json!({}));
    // Pretty-printed, over several lines.
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "alpha.echo", "arguments": {"text": "a \"quoted\" } brace"}}});
    client.send_raw(format!("{call:#}\n").as_bytes());
    assert_eq!(text_of(&client.wait_for(3, SOON)), "a \"quoted\" } brace");
    client.send_raw(format!("{call:#}\n").replace('\n', "\r\n").replace("\"id\": 3", "\"id\": 4").as_bytes());
    assert_eq!(text_of(&client.wait_for(4, SOON)), "a \"quoted\" } brace");
    // Two messages in one write, and one message in many writes.
    client.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\n");
    client.wait_for(5, SOON);
    client.wait_for(6, SOON);
    for byte in "{\"jsonrpc\":\"2.0\",\"id\":\"ü\",\"method\":\"ping\"}\n".bytes() {
        client.send_raw(&[byte]);
    }
    assert_eq!(client.wait_for("ü", SOON)["result"], json!({}));
}

// S1-46, decision 11
#[test]
fn a_broken_line_costs_exactly_one_parse_error() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &one_server());
    let broken = [
        "hello",
        "{\"jsonrpc\":\"2.0\",\"id\":1,}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}",
        "{'jsonrpc':'2.0'}",
        "{\"jsonrpc\":\"2.0\" \"id\":1}",
        "\u{1}",
    ];
    for line in broken {
        client.send_raw(format!("{line}\n").as_bytes());
        let error = client.recv(SOON);
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32700), &Value::Null), "{line}");
        let id = client.request("ping", Value::Null);
        assert_eq!(client.recv(SOON)["id"], json!(id), "one error only for {line:?}");
    }
    // Half a message, then a whole one: the half is refused, the whole is served.
    client.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":9,\n");
    let id = client.request("ping", Value::Null);
    assert_eq!(client.recv(SOON)["error"]["code"], -32700);
    assert_eq!(client.recv(SOON), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
}

// S1-46, S1-55: JSON, but no message
#[test]
fn what_is_json_but_no_request_is_invalid() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &one_server());
    for (line, id) in [
        ("42", json!(null)),
        ("\"text\"", json!(null)),
        ("{}", json!(null)),
        (r#"{"jsonrpc":"2.0","id":"a"}"#, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"b","method":7}"#, json!("b")),
        (r#"{"jsonrpc":"1.0","id":"c","method":"ping"}"#, json!("c")),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, json!(null)),
    ] {
        client.send_text(line);
        let error = client.recv(SOON);
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32600), &id), "{line}: {error}");
    }
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}));
}

// S1-55
#[test]
fn an_unknown_method_is_not_found() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &one_server());
    for method in ["invalid/method", "sampling/createMessage", "", "tools/List"] {
        let error = client.ask(method, json!({}))["error"].clone();
        assert_eq!(error, json!({"code": -32601, "message": format!("Method '{method}' not found")}));
    }
}

// Section 2.2: second initialize, or anything else before it
#[test]
fn the_handshake_comes_first_and_once() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &STUDIO);
    for method in ["tools/list", "tools/call", "resources/list", "prompts/get"] {
        assert_eq!(client.ask(method, json!({"name": "alpha.echo"}))["error"]["code"], -32600, "{method}");
    }
    assert_eq!(client.ask("initialize", json!({}))["error"]["code"], -32602, "no protocolVersion");
    assert_eq!(client.initialize("2025-06-18", json!({}))["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(client.initialize("2025-06-18", json!({}))["error"]["code"], -32600);
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "unharmed"}))), "unharmed");
}

// Decision 20
#[test]
fn batches_exist_in_one_revision_only() {
    let batch = r#"[{"jsonrpc":"2.0","id":"p","method":"ping"},{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"alpha.echo","arguments":{"text":"in a batch"}}},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"u","method":"nope"},7]"#;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let sandbox = Sandbox::new();
        let mut client = sandbox.serve(&one_server(), &STUDIO);
        client.initialize(version, json!({}));
        client.send_text(batch);
        let error = client.recv(SOON);
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32600), &Value::Null), "{version}");
        assert_eq!(client.ask("ping", Value::Null)["result"], json!({}));
    }
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &STUDIO);
    client.initialize("2025-03-26", json!({}));
    client.send_text(batch);
    let answers = client.recv(SOON);
    let answers = answers.as_array().expect("a batch is answered with an array");
    let by_id = |id: &str| answers.iter().find(|one| one["id"] == id).expect("an answer for each id");
    assert_eq!(answers.len(), 4, "one for each request, one for what is none: {answers:?}");
    assert_eq!(by_id("p")["result"], json!({}));
    assert_eq!(text_of(by_id("e")), "in a batch");
    assert_eq!(by_id("u")["error"]["code"], -32601);
    assert!(answers.iter().any(|one| one["id"].is_null() && one["error"]["code"] == -32600));
    // Only notifications: no answer at all. An empty one: one error.
    client.send_text(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#);
    client.send_text("[]");
    assert_eq!(client.recv(SOON)["error"]["code"], -32600);
    // The end may be asked for in a batch, too.
    client.send_text(
        r#"[{"jsonrpc":"2.0","id":"p","method":"ping"},{"jsonrpc":"2.0","id":"s","method":"shutdown"}]"#,
    );
    let answers = client.recv(SOON);
    let expected = ["p", "s"].map(|id| json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    assert_eq!(answers, json!(expected));
}

// F24: the second is refused, the first unharmed
#[test]
fn a_duplicate_id_in_flight_is_refused() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("alpha.log");
    let config = json!({"mcpServers": {"alpha": fake_with(&["echo", "sleep"], json!({"log": log}))}});
    let mut client = studio(&sandbox, &config);
    client.call("alpha.echo", json!({}));
    let call = |tool: &str| {
        json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call",
            "params": {"name": tool, "arguments": {"ms": 700, "text": "second"}}})
    };
    client.send(call("alpha.sleep"));
    client.send(call("alpha.echo"));
    let refused = client.wait_for("same", SOON);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(text_of(&client.wait_for("same", SOON)), "slept");
    // Once it is answered the id is free again.
    client.send(call("alpha.echo"));
    assert_eq!(text_of(&client.wait_for("same", SOON)), "second");
    assert_eq!(sandbox.received("alpha.log", "tools/call").len(), 3, "the refused one never left");
}

// S1-45: a slow server never blocks the loop
#[test]
fn quick_calls_overtake_slow_ones() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "slow": fake_with(&["sleep"], json!({})),
        "quick": fake_with(&["echo"], json!({})),
    }});
    let mut client = studio(&sandbox, &config);
    client.tool_names();
    let slow: Vec<u64> = (0..20)
        .map(|_| client.request("tools/call", json!({"name": "slow.sleep", "arguments": {"ms": 1000}})))
        .collect();
    let quick: Vec<u64> = (0..200)
        .map(|n| {
            client.request("tools/call", json!({"name": "quick.echo", "arguments": {"text": n.to_string()}}))
        })
        .collect();
    let mut order = Vec::new();
    for _ in 0..220 {
        let answer = client.recv(SOON);
        order.push(answer["id"].as_u64().expect("an answer"));
    }
    let first_slow = order.iter().position(|id| slow.contains(id)).expect("the slow ones are answered");
    assert_eq!(first_slow, 200, "every quick call is answered before the first slow one");
    // One server's quick answers come in the order of their calls.
    assert_eq!(order[..200], quick[..]);
}

// S1-35, S1-57 to S1-59
#[test]
fn logs_go_to_stderr_and_say_what_happened() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&one_server());
    let mut command = sandbox.manifold();
    command.args(["serve", "--log-format", "json", "--config"]).arg(path).args(STUDIO);
    command.env("MANIFOLD_LOG_LEVEL", "debug");
    // The client refuses anything on stdout that is no JSON message.
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    client.call("alpha.echo", json!({"text": "x"}));
    client.call("alpha.echo", json!({"text": "y"}));
    client.close_stdin();
    assert!(client.wait_exit(SOON).success());
    assert!(until(SOON, || client.stderr().contains("\"stopped\"")), "{}", client.stderr());
    let log = client.stderr();
    let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines: Vec<Value> =
        whole.lines().map(|line| serde_json::from_str(line).expect("every log line is JSON")).collect();
    let find = |level: &str, what: &str| {
        lines.iter().find(|line| {
            line["level"] == level && line["message"].as_str().is_some_and(|text| text.contains(what))
        })
    };
    assert!(find("DEBUG", "request").is_some_and(|line| line["method"] == "initialize"), "{lines:#?}");
    assert!(lines.iter().any(|line| line["level"] == "DEBUG" && line["method"] == "tools/call"));
    assert!(find("INFO", "starting").is_some_and(|line| line["server"] == "alpha"));
    assert!(find("INFO", "ready").is_some_and(|line| line["server"] == "alpha" && line["pid"].is_u64()));
    assert!(find("INFO", "stopped").is_some());
}

// S1-6: the flag wins over the variable, and a higher level hides the lower ones
#[test]
fn the_log_level_is_obeyed() {
    for (flag, variable, debug, info) in [
        (Some("error"), "debug", false, false),
        (Some("debug"), "error", true, true),
        (None, "info", false, true),
    ] {
        let sandbox = Sandbox::new();
        let path = sandbox.write_config(&one_server());
        let mut command = sandbox.manifold();
        command.args(["serve", "--config"]).arg(path).env("MANIFOLD_LOG_LEVEL", variable);
        if let Some(level) = flag {
            command.args(["--log-level", level]);
        }
        let mut client = Client::spawn(command);
        client.initialize("2025-06-18", json!({}));
        client.call("alpha__echo", json!({}));
        client.close_stdin();
        client.wait_exit(SOON);
        let said = |word: &str| client.stderr().contains(word);
        let right = || (said("DEBUG"), said("INFO")) == (debug, info);
        assert!(until(SOON, right), "{flag:?} {variable}: {}", client.stderr());
    }
}

// S1-35, decision 11: never speak first
#[test]
fn nothing_is_said_before_the_client_speaks() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&one_server(), &["--profile", "mcp-studio", "--eager"]);
    assert!(until(SOON, || client.stderr().contains("serving on stdio")));
    assert!(client.try_recv(Duration::from_millis(200)).is_none());
    client.initialize("2025-06-18", json!({}));
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "hi"}))), "hi");
}
