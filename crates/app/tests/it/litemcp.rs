//! LiteMCP clients of the real binary: on a pipe, over HTTP, on a WebSocket.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

mod http;

pub(crate) use http::{Socket, close_code, open, receive, send};

use manifold_engine::Lock as _;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Sandbox, fake, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// The requests of the seed, as it has them, and the answers it gives to them.
const GET: &str = r#"{
    "version": [1, 0, 0],
    "id": 1,
    "type": "get",
    "data": {}
}


"#;
const CALL: &str = r#"{
    "version": [1, 0, 0],
    "id": 2,
    "type": "call",
    "data": {
        "version": [1, 0, 0],
        "tool": "Calculator",
        "arguments": [
          "2",
          "3"
        ]
    }
}


"#;

fn info() -> Value {
    json!({
        "version": [1, 0, 0],
        "id": 1,
        "type": "info",
        "data": {
            "version": [1, 0, 0],
            "name": "Calculator",
            "description": "A simple calculator",
            "example": "Calculate the sum of 2 and 3",
            "parameters": [
                {"name": "a", "type": "number", "description": "The first number", "example": "2"},
                {"name": "b", "type": "number", "description": "The second number", "example": "3"}
            ]
        }
    })
}

fn result() -> Value {
    json!({
        "version": [1, 0, 0],
        "id": 2,
        "type": "result",
        "data": {
            "version": [1, 0, 0],
            "params": {"a": "2", "b": "3"},
            "response": {"content": [{"type": "number", "data": "5"}], "error": false}
        }
    })
}

/// Returns a config with the seed's calculator, as it looks from MCP, and with tools that misbehave.
fn config(sandbox: &Sandbox) -> Value {
    let number = |text: &str| json!({"type": "number", "description": text});
    let tool = |name: &str, parameter: &str, kind: &str| {
        let properties = json!({parameter: {"type": kind}});
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties, "required": [parameter]}})
    };
    let calculator = json!({
        "name": "Calculator",
        "description": "A simple calculator",
        "inputSchema": {
            "type": "object",
            "properties": {"a": number("The first number"), "b": number("The second number")},
            "required": ["a", "b"]
        },
        "_meta": {"litemcp/tool": info()["data"]}
    });
    let question = json!({"name": "ask", "inputSchema": {"type": "object", "properties": {
        "method": {"type": "string"}, "params": {"type": "object"}}}});
    let tools = json!([
        calculator,
        tool("sleep", "ms", "integer"),
        tool("fail", "text", "string"),
        tool("rpcerror", "message", "string"),
        tool("weird", "raw", "string"),
        question
    ]);
    json!({"managerTools": false, "mcpServers": {"s": fake(json!({"tools": tools, "log": sandbox.path("s.log")}))}})
}

/// A client on a pipe.
struct Lite {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<String>,
    stderr: Arc<Mutex<String>>,
}

impl Lite {
    fn start(sandbox: &Sandbox, config: &Value, more: &[&str]) -> Self {
        let path = sandbox.write_config(config);
        let mut command = sandbox.manifold();
        command.args(["litemcp", "--config"]).arg(path).args(more);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = child.stdout.take().expect("stdout is piped");
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut text = String::new();
            let mut chunk = [0; 8192];
            while let Ok(count @ 1..) = stdout.read(&mut chunk) {
                text.push_str(std::str::from_utf8(&chunk[..count]).expect("UTF-8"));
                while let Some((message, rest)) = text.split_once("\n\n\n") {
                    let (message, rest) = (message.to_owned(), rest.to_owned());
                    let _ = sender.send(message);
                    text = rest;
                }
            }
            assert_eq!(text, "", "every answer ends with three newlines");
        });
        let mut errors = child.stderr.take().expect("stderr is piped");
        let stderr = Arc::new(Mutex::new(String::new()));
        let collected = Arc::clone(&stderr);
        thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(count @ 1..) = errors.read(&mut chunk) {
                let text = String::from_utf8_lossy(&chunk[..count]).into_owned();
                collected.locked().push_str(&text);
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, messages, stderr }
    }

    fn send(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(text.as_bytes()).expect("the gateway reads");
        stdin.flush().expect("the gateway reads");
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &[&str]) {
        self.send(&message(id, "call", &json!({"version": [1, 0, 0], "tool": tool, "arguments": arguments})));
    }

    fn receive(&self) -> Value {
        let text = self.messages.recv_timeout(PATIENCE).expect("an answer");
        serde_json::from_str(&text).expect("an answer is JSON")
    }

    fn ask(&mut self, id: u64, tool: &str, arguments: &[&str]) -> Value {
        self.call(id, tool, arguments);
        let answer = self.receive();
        assert_eq!(answer["id"], id);
        answer
    }

    fn stderr(&self) -> String {
        self.stderr.locked().clone()
    }

    fn wait(mut self) -> Option<i32> {
        self.stdin = None;
        self.child.wait().expect("it ends").code()
    }
}

pub(crate) fn message(id: u64, word: &str, data: &Value) -> String {
    format!("{:#}\n\n\n", json!({"version": [1, 0, 0], "id": id, "type": word, "data": data}))
}

fn failed(answer: &Value) -> &str {
    assert_eq!(answer["data"]["response"]["error"], true, "{answer}");
    assert_eq!(answer["type"], "result");
    answer["data"]["response"]["content"][0]["data"].as_str().expect("a reason")
}

// S4-1, S4-2, S4-4, S4-7, S4-8, S4-9, S4-10: the seed's own messages give the seed's own answers.
#[test]
fn the_seeds_sequences_are_answered_as_in_the_seed() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &["--tool", "Calculator"]);
    client.send(GET);
    assert_eq!(client.receive(), info());
    client.send(CALL);
    assert_eq!(client.receive(), result());
    let sent = &sandbox.received("s.log", "tools/call")[0]["params"];
    assert_eq!(sent["arguments"], json!({"a": 2, "b": 3}), "numbers are numbers to the server");
    assert_eq!(client.wait(), Some(0));
}

// S4-2: also as Windows writes them, and with the last one open at the end of input
#[test]
fn line_ends_and_the_end_of_input_do_not_matter() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &["--tool", "s__Calculator"]);
    client.send(&GET.replace('\n', "\r\n"));
    let mut expected = info();
    expected["data"]["name"] = json!("s__Calculator");
    assert_eq!(client.receive(), expected);
    client.send(CALL.trim_end());
    client.stdin = None;
    assert_eq!(client.receive(), result());
    assert_eq!(client.wait(), Some(0));
}

// S4-8: `data` of a request for information may be null, empty or absent.
#[test]
fn data_may_be_absent() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &["--tool", "Calculator"]);
    for (id, data) in [(1, r#","data":null"#), (2, r#","data":{}"#), (3, "")] {
        client.send(&format!(
            "{{\"version\":{{\"major\":1,\"minor\":0,\"patch\":0}},\"id\":{id},\"type\":\"get\"{data}}}\n\n\n"
        ));
        assert_eq!(client.receive()["data"], info()["data"]);
    }
}

// S4-5: a token is HTTP's affair. S4-6: standard error has the log.
#[test]
fn a_pipe_needs_no_token_and_standard_error_has_the_log() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&config(&sandbox));
    let mut command = sandbox.manifold();
    command.args(["litemcp", "--tool", "Calculator", "--config"]).arg(path).env("MANIFOLD_TOKEN", "secret");
    let mut client = Lite::spawn(command);
    client.send("{\"version\":[1,0,0],\"id\":1,\n\n\n");
    client.send("{\"version\":[1,0,0],\"id\":1,\"type\":\"list\"}\n\n\n");
    client.send(GET);
    assert_eq!(client.receive(), info());
    assert!(
        until(PATIENCE, || client.stderr().contains("the JSON ends too early")),
        "a line on standard error"
    );
    let named = until(PATIENCE, || client.stderr().contains("`type` is \"list\""));
    assert!(named, "{}", client.stderr());
}

// S4-3, S4-10: answers are whole and bear the id of their request; a repeated id is not served.
#[test]
fn calls_run_at_once_and_ids_count_once() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    client.call(900, "sleep", &["60000"]);
    for id in 0..200 {
        client.call(id, "Calculator", &["2", "3"]);
        client.call(id, "Calculator", &["2", "3"]);
    }
    let mut answered: Vec<u64> = (0..200)
        .map(|_| {
            let answer = client.receive();
            assert_eq!(answer["data"], result()["data"]);
            answer["id"].as_u64().expect("an id")
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..200).collect::<Vec<_>>());
    assert_eq!(sandbox.received("s.log", "tools/call").len(), 201);
    assert!(client.messages.try_recv().is_err());
}

// S4-11: the shape stays whatever happens.
#[test]
fn failures_are_results_with_their_reason() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    assert_eq!(failed(&client.ask(1, "fail", &["no luck"])), "no luck");
    assert_eq!(failed(&client.ask(2, "rpcerror", &["no such thing"])), "no such thing");
    assert_eq!(failed(&client.ask(3, "nobody", &[])), "Tool 'nobody' not found");
    let few = client.ask(4, "Calculator", &["2"]);
    assert!(failed(&few).contains("'b' is required"), "{few}");
    assert_eq!(few["data"]["params"], json!({"a": "2"}));
    assert!(failed(&client.ask(5, "Calculator", &["2", "3", "4"])).contains("3 arguments were given"));
    assert!(failed(&client.ask(6, "Calculator", &["2", "three"])).contains("'b' is not of type number"));
    client.send(&message(7, "call", &json!({"version": [2, 0, 0], "tool": "Calculator"})));
    assert!(failed(&client.receive()).contains("another version"));
    client.send(&GET.replace("[1, 0, 0]", "[3, 0, 0]").replace("\"id\": 1", "\"id\": 8"));
    assert!(failed(&client.receive()).contains("another version"));
    assert_eq!(sandbox.received("s.log", "tools/call").len(), 2, "what was wrong was not sent");
}

// S4-9: every kind of content is a string with a type.
#[test]
fn every_kind_of_content_is_told_in_strings() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    let content = json!([
        {"type": "text", "text": "hi"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}},
        {"type": "resource_link", "uri": "file:///a", "name": "a"}
    ]);
    let raw = json!({"content": content, "structuredContent": {"sum": 5}}).to_string();
    let answer = client.ask(1, "s__weird", &[&raw]);
    let items: Vec<(&str, &str)> = answer["data"]["response"]["content"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| (item["type"].as_str().expect("a type"), item["data"].as_str().expect("a string")))
        .collect();
    assert_eq!(
        items[..3],
        [("text", "hi"), ("image", "data:image/png;base64,aGk="), ("audio", "data:audio/wav;base64,aGk=")]
    );
    assert_eq!(items[3].0, "resource");
    assert_eq!(
        serde_json::from_str::<Value>(items[3].1).ok(),
        Some(json!({"uri": "file:///a", "text": "hi"}))
    );
    assert_eq!(items[4].0, "resource_link");
    assert_eq!(items[5], ("structured", r#"{"sum":5}"#));
}

// Decision 27
#[test]
fn a_dispatcher_tells_of_all_tools_and_calls_them() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    client.send(GET);
    let tool = client.receive()["data"].clone();
    let names: Vec<&Value> =
        tool["parameters"].as_array().expect("parameters").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["tool", "arguments"]);
    let description = tool["description"].as_str().expect("a description");
    assert!(
        description.contains("- s__Calculator(a: number, b: number): A simple calculator"),
        "{description}"
    );
    let name = tool["name"].as_str().expect("a name");
    for (id, tool) in [(2, "Calculator"), (3, "s__Calculator")] {
        let answer = client.ask(id, name, &[tool, r#"{"a": 2, "b": 3}"#]);
        assert_eq!(answer["data"]["response"], result()["data"]["response"]);
        let answer = client.ask(id + 10, tool, &["2", "3"]);
        assert_eq!(answer["data"], result()["data"], "a real tool can be called as well");
    }
}

#[test]
fn a_question_in_the_middle_of_a_call_is_declined_with_a_reason() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    let answer = client.ask(1, "ask", &["elicitation/create", r#"{"message":"who?"}"#]);
    assert!(failed(&answer).contains("The client does not support `elicitation/create`"), "{answer}");
}

#[test]
fn calls_in_flight_finish_at_the_end_of_input_and_on_signals() {
    let sandbox = Sandbox::new();
    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    client.call(1, "sleep", &["700"]);
    client.stdin = None;
    assert_eq!(client.receive()["data"]["response"]["content"][0]["data"], "slept");
    assert_eq!(client.wait(), Some(0));

    let mut client = Lite::start(&sandbox, &config(&sandbox), &[]);
    client.call(1, "sleep", &["700"]);
    assert!(until(PATIENCE, || sandbox.received("s.log", "tools/call").len() == 2), "the call is under way");
    kill(Pid::from_raw(client.child.id() as i32), Signal::SIGTERM).expect("it runs");
    assert_eq!(client.receive()["data"]["response"]["content"][0]["data"], "slept");
    assert!(client.child.wait().expect("it ends").success());
}

#[test]
fn a_message_that_never_ends_is_refused_and_the_next_one_served() {
    let sandbox = Sandbox::new();
    let mut limited = config(&sandbox);
    limited["limits"] = json!({"requestBytes": "1 MiB"});
    let mut client = Lite::start(&sandbox, &limited, &["--tool", "Calculator"]);
    client.send("{\"version\":[1,0,0],\"id\":7,\"type\":\"call\",\"data\":\"");
    let block = "x".repeat(1 << 20);
    (0..64).for_each(|_| client.send(&block));
    client.send("\"}\n\n\n");
    client.send(GET);
    let answer = client.receive();
    assert_eq!(answer["id"], 7);
    assert!(failed(&answer).contains("larger than"), "{answer}");
    assert_eq!(client.receive(), info());
}

#[test]
fn namespaces_are_chosen_as_on_stdio() {
    let sandbox = Sandbox::new();
    let mut several = config(&sandbox);
    several["namespaces"] = json!([{"id": "work", "serverIds": ["s"]}, {"id": "other", "serverIds": []}]);
    let mut client = Lite::start(&sandbox, &several, &["--namespace", "work", "--tool", "Calculator"]);
    client.send(GET);
    assert_eq!(client.receive(), info());
    let mut client = Lite::start(&sandbox, &several, &["--namespace", "other", "--tool", "Calculator"]);
    client.send(GET);
    assert_eq!(failed(&client.receive()), "Tool 'Calculator' not found");
    let mut client = Lite::start(&sandbox, &several, &[]);
    client.send(GET);
    assert!(failed(&client.receive()).contains("--namespace"), "it says how to choose");
}

#[test]
fn a_server_that_does_not_start_is_named() {
    let sandbox = Sandbox::new();
    let broken = json!({"managerTools": false, "mcpServers": {"s": {"command": "/nonexistent/server"}}});
    let mut client = Lite::start(&sandbox, &broken, &[]);
    let answer = client.ask(1, "s__any", &["1"]);
    assert!(failed(&answer).contains("Server 's'"), "{answer}");
}

/// Every requirement of the seed that is a server's has a test that names it; S4-12 is the client's.
#[test]
fn every_requirement_has_a_test() {
    let here = [include_str!("litemcp.rs"), include_str!("litemcp/http.rs")].concat();
    for number in 1..=11 {
        let cited = [",", ":", ".", "\n"].iter().any(|end| here.contains(&format!("S4-{number}{end}")));
        assert!(cited, "S4-{number}");
    }
}
