//! The fake server does what its knobs say, seen by the scripted client (S1-64).

mod eras;

use std::time::Duration;

use manifold_testkit::{Client, Framing, Sandbox, alive, bin, until};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

fn start(sandbox: &Sandbox, knobs: Value) -> Client {
    let mut command = sandbox.command(bin("fake-server"));
    command.arg(knobs.to_string());
    Client::spawn(command)
}

fn ready(sandbox: &Sandbox, knobs: Value) -> Client {
    let mut client = start(sandbox, knobs);
    client.initialize("2025-06-18", json!({}));
    client
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

#[test]
fn it_shakes_hands_lists_and_calls() {
    let sandbox = Sandbox::new();
    let mut client = start(&sandbox, json!({"name": "alpha", "instructions": "be kind"}));
    let response = client.initialize("2025-06-18", json!({}));
    assert_eq!(response["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(response["result"]["serverInfo"]["name"], "alpha");
    assert_eq!(response["result"]["instructions"], "be kind");
    assert_eq!(client.tool_names(), ["echo"]);
    assert_eq!(text(&client.call("echo", json!({"text": "hello"}))), "hello");
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}));
    assert_eq!(client.ask("server/discover", Value::Null)["error"]["code"], -32601);
    client.close_stdin();
    assert!(client.wait_exit(SOON).success());
}

#[test]
fn twenty_slow_calls_run_side_by_side() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"delayMs": {"tools/call": 400}}));
    let ids: Vec<u64> = (0..20).map(|_| client.request("tools/call", json!({"name": "echo"}))).collect();
    let before = std::fs::read_to_string("/proc/uptime").unwrap();
    for id in ids {
        client.wait_for(id, SOON);
    }
    let after = std::fs::read_to_string("/proc/uptime").unwrap();
    assert!(seconds(&after) - seconds(&before) < 4.0, "they ran one after the other");
}

fn seconds(uptime: &str) -> f64 {
    uptime.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[test]
fn a_cancelled_sleep_is_never_answered() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"tools": tools(&["sleep", "echo"])}));
    let id = client.request("tools/call", json!({"name": "sleep", "arguments": {"ms": 300}}));
    client.notify("notifications/cancelled", json!({"requestId": id}));
    client.call("echo", json!({}));
    assert_eq!(client.try_recv(Duration::from_millis(500)), None);
}

#[test]
fn it_asks_the_client_and_repeats_the_answer() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"tools": tools(&["ask"])}));
    client.answer(|method, params| match method {
        "elicitation/create" => Ok(json!({"action": "accept", "content": params})),
        _ => Err(json!({"code": -32601, "message": "no"})),
    });
    let question = json!({"method": "elicitation/create", "params": {"message": "?"}});
    let answer = text(&client.call("ask", question)).to_owned();
    assert_eq!(answer, r#"{"action":"accept","content":{"message":"?"}}"#);
    assert_eq!(client.call("ask", json!({"method": "roots/list"}))["result"]["isError"], true);
}

#[test]
fn progress_comes_before_the_result() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"tools": tools(&["progress"])}));
    let arguments = json!({"steps": 4});
    client.ask(
        "tools/call",
        json!({"name": "progress", "arguments": arguments, "_meta": {"progressToken": "t"}}),
    );
    let told = client.notifications();
    assert_eq!(told.len(), 4);
    assert_eq!(told[3]["params"], json!({"progressToken": "t", "progress": 4, "total": 4}));
}

#[test]
fn a_weird_result_keeps_its_bytes() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"tools": tools(&["weird"])}));
    let raw = r#"{ "z":1.0,"a":1e2, "content":[],"\u0061":"\u00e9" }"#;
    let id = client.request("tools/call", json!({"name": "weird", "arguments": {"raw": raw}}));
    assert_eq!(client.wait_for_text(id, SOON), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{raw}}}"#));
}

#[test]
fn bytes_go_out_as_asked() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"tools": tools(&["emit"])}));
    client.request("tools/call", json!({"name": "emit", "arguments": {"bytesHex": "ff00"}}));
    assert_eq!(client.recv_raw(SOON), Some(vec![0xff, 0x00]));
    client.recv(SOON);
    let flood = json!({"line": "ab", "repeat": 100_000});
    client.request("tools/call", json!({"name": "emit", "arguments": flood}));
    assert_eq!(client.recv_raw(SOON).map(|line| line.len()), Some(200_000));
}

#[test]
fn noise_garbage_and_errors_come_as_told() {
    let sandbox = Sandbox::new();
    let error = json!({"code": -32050, "message": "no", "data": {"why": 1}});
    let mut client =
        start(&sandbox, json!({"garbage": ["hi"], "noise": true, "error": {"tools/list": error}}));
    assert_eq!(client.recv_raw(SOON), Some(b"hi".to_vec()));
    let response = client.ask("tools/list", Value::Null);
    assert_eq!(response["error"], json!({"code": -32050, "data": {"why": 1}, "message": "no"}));
    assert_eq!(client.recv(SOON)["method"], "notifications/noise");
    assert_eq!(client.recv(SOON)["result"], json!({"wrong": true}));
}

#[test]
fn it_crashes_at_the_nth_call_and_says_so() {
    let sandbox = Sandbox::new();
    let mut client = ready(&sandbox, json!({"crashOn": "tools/call", "crashOnNth": 2}));
    client.call("echo", json!({}));
    client.request("tools/call", json!({"name": "echo"}));
    assert_eq!(client.wait_exit(SOON).code(), Some(3));
    assert!(until(SOON, || client.stderr().contains("crashing on tools/call")));
}

#[test]
fn it_fails_its_first_starts_only() {
    let sandbox = Sandbox::new();
    let knobs = json!({"failStarts": 2, "stateFile": sandbox.path("state"), "pid": sandbox.path("pids")});
    for _ in 0..2 {
        assert_eq!(start(&sandbox, knobs.clone()).wait_exit(SOON).code(), Some(1));
    }
    ready(&sandbox, knobs);
    assert_eq!(std::fs::read_to_string(sandbox.path("pids")).unwrap().lines().count(), 3);
}

#[test]
fn lists_come_in_pages() {
    let sandbox = Sandbox::new();
    let knobs =
        json!({"tools": tools(&["a", "b", "c"]), "pages": 3, "emptyCursor": true, "cyclicCursor": true});
    let mut client = ready(&sandbox, knobs);
    let mut cursors = Vec::new();
    let mut params = json!({});
    for _ in 0..4 {
        let page = client.ask("tools/list", params)["result"].clone();
        assert_eq!(page["tools"].as_array().map(Vec::len), Some(1));
        cursors.push(page["nextCursor"].clone());
        params = json!({"cursor": page["nextCursor"]});
    }
    assert_eq!(cursors, ["", "page-2", "", "page-2"]);
}

#[test]
fn resources_prompts_and_completions_are_served() {
    let sandbox = Sandbox::new();
    let mut client = ready(
        &sandbox,
        json!({
            "name": "alpha",
            "tools": tools(&["update"]),
            "resources": [{"uri": "a://1", "name": "one"}],
            "resourceTemplates": [{"uriTemplate": "b://{id}", "name": "b"}],
            "prompts": [{"name": "p"}],
        }),
    );
    for uri in ["a://1", "b://x"] {
        let response = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(response["result"]["contents"][0]["text"], format!("contents of {uri} from alpha"));
    }
    assert_eq!(client.ask("resources/read", json!({"uri": "c://"}))["error"]["code"], -32002);
    client.ask("resources/subscribe", json!({"uri": "a://1"}));
    client.call("update", json!({"uri": "a://1"}));
    let update = client.wait_for_notification("notifications/resources/updated", SOON);
    assert_eq!(update["params"]["uri"], "a://1");
    let prompt = client.ask("prompts/get", json!({"name": "p", "arguments": {"x": "1"}}));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], r#"prompt p of alpha with {"x":"1"}"#);
    let argument =
        json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "x", "value": "v"}});
    let completion = client.ask("completion/complete", argument);
    assert_eq!(completion["result"]["completion"]["values"], json!(["v-a", "v-b"]));
}

#[test]
fn it_outlives_end_of_input_and_term_and_logs_both() {
    let sandbox = Sandbox::new();
    let knobs = json!({"ignoreEof": true, "ignoreTerm": true, "log": sandbox.path("log")});
    let mut client = ready(&sandbox, knobs);
    client.close_stdin();
    assert!(until(SOON, || sandbox.log("log").iter().any(|line| line["dir"] == "eof")));
    std::process::Command::new("kill").arg(client.pid().to_string()).status().unwrap();
    assert!(until(SOON, || sandbox.log("log").iter().any(|line| line["dir"] == "term")));
    assert!(alive(client.pid()));
    assert_eq!(sandbox.received("log", "initialize").len(), 1);
}

#[test]
fn grandchildren_of_each_kind_outlive_it() {
    for kind in ["plain", "setsid", "doublefork"] {
        let sandbox = Sandbox::new();
        let mut client = ready(&sandbox, json!({"grandchildren": kind, "pidFile": sandbox.path("pids")}));
        let pid: u32 = std::fs::read_to_string(sandbox.path("pids")).unwrap().trim().parse().unwrap();
        client.close_stdin();
        client.wait_exit(SOON);
        assert!(alive(pid), "{kind}");
        assert!(sandbox.processes().contains(&pid), "{kind}");
        drop(sandbox);
        assert!(until(SOON, || !alive(pid)), "{kind}: the sandbox left it behind");
    }
}

#[test]
fn the_client_speaks_content_length_too() {
    let mut client = Client::spawn_framed(std::process::Command::new("cat"), Framing::ContentLength);
    client.send_raw(b"content-type: x\r\nCONTENT-LENGTH: 8\r\n\r\n{\"a\":\n1}");
    client.send(json!({"b": "\u{e9}"}));
    assert_eq!(client.recv(SOON), json!({"a": 1}));
    assert_eq!(client.recv(SOON), json!({"b": "\u{e9}"}));
    client.send_raw(b"{\"c\":1}\n");
    assert_eq!(client.recv_raw(SOON), Some(b"{\"c\":1}".to_vec()), "a bare line is shown as it is");
}
