//! S1-43, S1-55, S1-56, S1-60 and decisions 12 to 16, 25: every error with its code and its facts.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, studio, studio_with, text_of};

const SOON: Duration = Duration::from_secs(60);

fn with_timeout(tools: &[&str], timeout_ms: u64, more: Value) -> Value {
    let mut entry = fake_with(tools, more);
    entry["timeout"] = json!(timeout_ms);
    entry
}

// S1-55: -32000
#[test]
fn a_server_that_does_not_exist() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake(json!({}))}}));
    let expected = json!({"code": -32000, "message": "Server 'zeta' not found: no configured server offers 'read'",
        "data": {"serverId": "zeta", "toolName": "read"}});
    assert_eq!(client.call("zeta.read", json!({}))["error"], expected);
}

// S1-55: -32001, S1-56: with the server's last words
#[test]
fn a_server_that_fails_to_start() {
    let sandbox = Sandbox::new();
    let script = "echo one >&2; echo two >&2; echo 'cannot open /etc/key' >&2; exit 42";
    let mut client =
        studio(&sandbox, &json!({"mcpServers": {"dies": {"command": "sh", "args": ["-c", script]}}}));
    let reason = "it ended during the handshake with exit code 42; its log: one | two | cannot open /etc/key";
    let expected = json!({"code": -32001, "message": format!("Server 'dies' failed to start: {reason}"),
        "data": {"serverId": "dies", "service": "dies", "reason": reason}});
    assert_eq!(client.call("dies.anything", json!({}))["error"], expected);
    assert_eq!(client.call("dies.anything", json!({}))["error"], expected, "and again, at once");
}

// S1-55: -32001 when the handshake takes too long
#[test]
fn a_server_that_never_shakes_hands() {
    let sandbox = Sandbox::new();
    let mut entry = fake(json!({"hangOn": "initialize", "stderrFlood": 1}));
    entry["startTimeout"] = json!(1200);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"hung": entry}}));
    let began = Instant::now();
    let error = client.call("hung.echo", json!({}))["error"].clone();
    assert!(began.elapsed() >= Duration::from_millis(1200));
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32001), &json!("hung")));
    let reason = error["data"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("within 1200 ms") && reason.contains("flood line 0"), "{reason}");
}

// S1-55: -32002, S1-43: no timeout of the client's, so the server's; the call is cancelled upstream (decision 25)
#[test]
fn a_call_that_takes_too_long() {
    let sandbox = Sandbox::new();
    let entry = with_timeout(&["sleep", "echo"], 1000, json!({"log": sandbox.path("alpha.log")}));
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    client.call("alpha.echo", json!({}));
    let began = Instant::now();
    let error = client.call("alpha.sleep", json!({"ms": 60000}))["error"].clone();
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(950), "{took:?}");
    assert_eq!(error["code"], -32002);
    assert_eq!(
        error["data"],
        json!({"serverId": "alpha", "service": "alpha", "toolName": "sleep", "timeoutMs": 1000})
    );
    let message = error["message"].as_str().expect("a message");
    assert!(
        ["sleep", "alpha", "1000 ms", "`timeout`"].iter().all(|word| message.contains(word)),
        "{message}"
    );
    assert!(until(SOON, || !sandbox.received("alpha.log", "notifications/cancelled").is_empty()));
    let cancelled = sandbox.received("alpha.log", "notifications/cancelled").remove(0);
    let sent = sandbox.received("alpha.log", "tools/call").pop().expect("the call");
    assert_eq!(cancelled["params"]["requestId"], sent["id"]);
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x", "the server goes on");
}

// S1-43, decision 25: the server's timeout, else `cli.stdio.timeout`, else `callTimeout`
#[test]
fn timeouts_come_from_the_nearest_place() {
    for (config, expected) in [
        (json!({"callTimeout": 1200}), 1200),
        (json!({"callTimeout": 60000, "cli": {"stdio": {"timeout": 1300}}}), 1300),
    ] {
        let sandbox = Sandbox::new();
        let mut config = config;
        config["mcpServers"] = json!({"alpha": fake_with(&["sleep"], json!({}))});
        let mut client = studio(&sandbox, &config);
        let error = client.call("alpha.sleep", json!({"ms": 60000}))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(expected)));
    }
}

// Decision 25: the time a server takes to start is not the call's
#[test]
fn the_clock_starts_when_the_call_is_written() {
    let sandbox = Sandbox::new();
    let entry = with_timeout(&["echo"], 1000, json!({"delayMs": {"initialize": 2000}}));
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x");
}

// Decision 25: progress starts the clock afresh
#[test]
fn progress_keeps_a_call_alive() {
    let sandbox = Sandbox::new();
    let entry = with_timeout(&["progress"], 1000, json!({}));
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    let arguments = json!({"steps": 6, "ms": 400});
    let began = Instant::now();
    let call = json!({"name": "alpha.progress", "arguments": arguments, "_meta": {"progressToken": "t"}});
    assert_eq!(text_of(&client.ask("tools/call", call)), "6 steps");
    assert!(began.elapsed() > Duration::from_secs(2), "more than twice its timeout");
    // Without a token nobody hears of progress, and the clock runs.
    let error = client.call("alpha.progress", arguments)["error"].clone();
    assert_eq!(error["code"], -32002);
}

// Decision 25: the clock stops while a question to the client is open
#[test]
fn a_question_stops_the_clock() {
    let sandbox = Sandbox::new();
    let entry = with_timeout(&["ask", "sleep"], 1000, json!({}));
    let mut client =
        studio_with(&sandbox, &json!({"mcpServers": {"alpha": entry}}), json!({"elicitation": {}}));
    let arguments = json!({"method": "elicitation/create", "params": {"message": "really?"}});
    let asking = client.request("tools/call", json!({"name": "alpha.ask", "arguments": arguments}));
    let question = client.wait_for_notification("elicitation/create", SOON);
    let began = Instant::now();
    // A person thinks for longer than the server's timeout; nothing may come meanwhile.
    assert!(client.try_recv(Duration::from_millis(2500)).is_none(), "no timeout while the person thinks");
    assert!(began.elapsed() >= Duration::from_millis(2500));
    client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}));
    assert_eq!(text_of(&client.wait_for(asking, SOON)), r#"{"action":"accept"}"#);
    // And it runs again afterwards.
    assert_eq!(client.call("alpha.sleep", json!({"ms": 60000}))["error"]["code"], -32002);
}

// Decision 14: only a tool's timeout is -32002, which elsewhere means a resource that is not there
#[test]
fn other_requests_time_out_with_an_internal_error() {
    let sandbox = Sandbox::new();
    let knobs = json!({
        "resources": [{"uri": "file:///a", "name": "a"}], "prompts": [{"name": "greet"}],
        "delayMs": {"resources/read": 60000, "prompts/get": 60000},
    });
    let entry = with_timeout(&["echo"], 1000, knobs);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    let read = client.request("resources/read", json!({"uri": "file:///a"}));
    let get = client.request("prompts/get", json!({"name": "alpha.greet"}));
    for id in [read, get] {
        let error = client.wait_for(id, SOON)["error"].clone();
        assert_eq!(error["code"], -32603);
        assert_eq!(error["data"], json!({"serverId": "alpha", "service": "alpha", "timeoutMs": 1000}));
    }
}

// S1-56, decision 15: an upstream's own error passes byte for byte
#[test]
fn an_upstreams_own_error_is_not_touched() {
    let sandbox = Sandbox::new();
    for error in [
        r#"{"code":-32050,"message":"mine: \u00e9 \/","data":{"z":1.0,"a":1e400,"a":[1, 2]}}"#,
        r#"{"message":"first","code":-32602,"extra":true}"#,
        r#"{"code":-32002,"message":"looks like ours","data":null}"#,
        r#"{"code":7,"message":""}"#,
    ] {
        let mut entry = fake(json!({}));
        entry["args"] = json!([format!(r#"{{"error":{{"tools/call":{error}}}}}"#)]);
        let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
        let id = client.request("tools/call", json!({"name": "alpha.echo", "arguments": {}}));
        let frame = client.recv_raw(SOON).expect("an answer");
        let text = String::from_utf8(frame).expect("UTF-8");
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
    }
}

// An error within a result is a result
#[test]
fn a_failed_tool_is_a_result() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&["fail"], json!({}))}}));
    let answer = client.call("alpha.fail", json!({"text": "no such file"}));
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "no such file"}], "isError": true})
    );
}

// Decision 13
#[test]
fn required_arguments_are_checked_where_asked_for() {
    let sandbox = Sandbox::new();
    let tool = json!({"name": "search", "inputSchema": {"type": "object",
        "properties": {"query": {"type": "string"}, "n": {"type": "integer"}}, "required": ["query", "n"]}});
    let log = sandbox.path("alpha.log");
    let config = |validate: &str| json!({"validateArguments": validate, "mcpServers": {"alpha": fake(json!({"tools": [tool], "log": log}))}});
    let mut client = studio(&sandbox, &config("required"));
    // Before any list was asked for: it is read once, then the call is checked.
    let missing = |name: &str| {
        json!({"code": -32602, "message": format!("Invalid params: Missing required parameter '{name}'"),
            "data": {"parameter": name, "field": name, "issue": "Required field missing"}})
    };
    assert_eq!(client.call("alpha.search", json!({}))["error"], missing("query"));
    assert_eq!(client.call("alpha.search", json!({"query": "x"}))["error"], missing("n"));
    assert_eq!(client.ask("tools/call", json!({"name": "alpha.search"}))["error"], missing("query"));
    assert!(sandbox.received("alpha.log", "tools/call").is_empty(), "nothing was sent");
    assert_eq!(
        client.call("alpha.search", json!({"query": 1, "n": "no"}))["error"],
        Value::Null,
        "types are the server's"
    );
    let mut client = studio(&sandbox, &config("full"));
    let error = client.call("alpha.search", json!({"query": "x", "n": "no"}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!("n")));
    let mut client = studio(&sandbox, &config("off"));
    assert_eq!(client.call("alpha.search", json!({}))["error"], Value::Null, "left to the server");
}

// S1-60: what goes wrong is in the log with its server and tool
#[test]
fn failures_are_logged_with_their_server() {
    let sandbox = Sandbox::new();
    let config =
        json!({"mcpServers": {"dies": {"command": "false"}, "alpha": fake_with(&["crash"], json!({}))}});
    let mut client: Client = studio(&sandbox, &config);
    client.call("dies.x", json!({}));
    client.call("alpha.crash", json!({}));
    let logged = || {
        let log = client.stderr();
        let line = |server: &str, what: &str| {
            log.lines().any(|line| line.contains("WARN") && line.contains(server) && line.contains(what))
        };
        line("dies", "failed to start") && line("server=alpha", "exit code 7")
    };
    assert!(until(SOON, logged), "{}", client.stderr());
}

// Decision 33: an answer over the limit is refused, not passed in part
#[test]
fn an_answer_over_the_limit_is_refused() {
    let sandbox = Sandbox::new();
    let config = json!({"limits": {"messageBytes": 100_000}, "mcpServers": {"alpha": fake_with(&["big", "echo"], json!({}))}});
    let mut client = studio(&sandbox, &config);
    assert_eq!(text_of(&client.call("alpha.big", json!({"bytes": 90_000}))).len(), 90_000);
    let error = client.call("alpha.big", json!({"bytes": 200_000}))["error"].clone();
    assert_eq!(error["code"], -32603);
    assert_eq!(error["data"], json!({"serverId": "alpha", "service": "alpha", "limitBytes": 100_000}));
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x");
}

// Decision 15, S3-16: profiles with standard codes say the same with -32603
#[test]
fn standard_codes_carry_the_same_facts() {
    let sandbox = Sandbox::new();
    let config = json!({"errorCodes": "standard", "start": "lazy", "mcpServers": {
        "dies": {"command": "false"}, "slow": with_timeout(&["sleep"], 1000, json!({})),
    }});
    let mut client = studio(&sandbox, &config);
    let failed = client.call("dies.x", json!({}))["error"].clone();
    assert_eq!((&failed["code"], &failed["data"]["service"]), (&json!(-32603), &json!("dies")));
    let late = client.call("slow.sleep", json!({"ms": 60000}))["error"].clone();
    assert_eq!((&late["code"], &late["data"]["timeoutMs"]), (&json!(-32603), &json!(1000)));
    assert_eq!(client.call("zeta.x", json!({}))["error"]["code"], -32601);
}
