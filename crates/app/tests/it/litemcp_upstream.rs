//! S4 from the client's end, and decision 28: the sample LiteMCP server of `examples/` behind the gateway, over every
//! transport, and one that does everything wrong.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod faults;
mod through;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use manifold_testkit::{Client, Sandbox, until};
use serde_json::{Value, json};

use crate::cli::run;
use crate::studio::text_of;

const SOON: Duration = Duration::from_secs(60);
const TOKEN: &str = "a-token-that-nobody-may-see";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

fn python(script: &Path) -> Command {
    let mut command = Command::new("python3");
    command.arg("-B").arg(script);
    command
}

/// The entry of the sample server on stdio.
fn calculator() -> Value {
    json!({"type": "litemcp", "command": "python3", "args": ["-B", examples().join("litemcp/calculator.py")]})
}

/// The sample server at an address.
struct Calculator {
    child: Child,
    url: String,
}

impl Calculator {
    fn start(mode: &str, port: u16, more: &[&str]) -> Self {
        let mut command = python(&examples().join("litemcp/calculator.py"));
        command.arg(mode).arg(port.to_string()).args(more).env_remove("LITEMCP_TOKEN");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let url = first.strip_prefix("listening on ").unwrap().to_owned();
        // Who logs must be read.
        thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    fn entry(&self) -> Value {
        json!({"type": "litemcp", "url": self.url})
    }
}

impl Drop for Calculator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn open(sandbox: &Sandbox, servers: Value) -> Client {
    open_with(sandbox, &json!({"mcpServers": servers, "managerTools": false}), &[])
}

fn open_with(sandbox: &Sandbox, config: &Value, env: &[(&str, &str)]) -> Client {
    let path = sandbox.write_config(config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(path).envs(env.iter().copied());
    let mut client = Client::spawn(command);
    assert_eq!(client.initialize("2025-11-25", json!({}))["error"], Value::Null);
    client
}

/// Waits until the gateway's log has this; nobody waits for the log.
#[track_caller]
fn logged(client: &Client, part: &str) {
    assert!(until(SOON, || client.stderr().contains(part)), "no {part} in {}", client.stderr());
}

/// Lists until these tools are there: a list does not wait long for a slow server (decision 18).
#[track_caller]
fn lists(client: &mut Client, names: &[&str]) {
    assert!(until(SOON, || client.tool_names() == names), "{:?} {}", client.tool_names(), client.stderr());
}

fn add(client: &mut Client, tool: &str, a: Value, b: Value) -> Value {
    client.call(tool, json!({"a": a, "b": b}))
}

// S4-1, S4-8, S4-9, S4-11, decision 28
#[test]
fn a_litemcp_tool_is_an_mcp_tool_over_every_transport() {
    let (http, ws) = (Calculator::start("--http", 0, &[]), Calculator::start("--ws", 0, &[]));
    for entry in [calculator(), http.entry(), ws.entry()] {
        let sandbox = Sandbox::new();
        let mut client = open(&sandbox, json!({"calc": entry}));
        lists(&mut client, &["calc__Calculator"]);
        let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
        let tool = &listed[0];
        let described = tool["description"].as_str().unwrap();
        assert!(
            described.contains("A simple calculator") && described.contains("Calculate the sum of 2 and 3")
        );
        assert_eq!(tool["inputSchema"]["required"], json!(["a", "b"]));
        assert_eq!(tool["inputSchema"]["properties"]["b"]["type"], "string");
        let described = tool["inputSchema"]["properties"]["b"]["description"].as_str().unwrap();
        assert!(
            ["The second number", "number", "3"].iter().all(|part| described.contains(part)),
            "{described}"
        );

        // Strings go as they are, anything else as its JSON.
        for (a, b, sum) in [(json!("2"), json!("3"), "5"), (json!(2.5), json!(-1), "1.5")] {
            let result = add(&mut client, "calc__Calculator", a, b)["result"].clone();
            assert_eq!(
                result,
                json!({"content": [{"type": "text", "text": sum, "_meta": {"litemcp/type": "number"}}], "isError": false})
            );
        }
        let failed = add(&mut client, "calc__Calculator", json!("two"), json!("3"))["result"].clone();
        assert_eq!(failed["isError"], true, "{failed}");
        assert!(failed["content"][0]["text"].as_str().unwrap().contains("two"));
        assert_eq!(client.call("calc__Calculator", json!({"a": "1"}))["error"]["code"], -32602);
        assert_eq!(client.ask("prompts/list", json!({}))["result"]["prompts"], json!([]));
        assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"], json!([]));
    }
}

// S4-10: many calls at once, each gets its own answer.
#[test]
fn calls_at_the_same_time_get_their_own_answers() {
    let (http, ws) = (Calculator::start("--http", 0, &[]), Calculator::start("--ws", 0, &[]));
    let sandbox = Sandbox::new();
    let servers = json!({"a": calculator(), "b": http.entry(), "c": ws.entry()});
    let mut client = open(&sandbox, servers);
    let names = ["a__Calculator", "b__Calculator", "c__Calculator"];
    lists(&mut client, &names);
    let mut calls = Vec::new();
    for n in 0..150 {
        let params = json!({"name": names[n % 3], "arguments": {"a": n.to_string(), "b": "1000"}});
        calls.push((client.request("tools/call", params), (n + 1000).to_string()));
    }
    for (id, sum) in calls {
        assert_eq!(text_of(&client.wait_for(id, SOON)), sum);
    }
}

// A client of 2026-07-28 sees the same.
#[test]
fn clients_without_sessions_call_a_litemcp_tool() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&json!({"mcpServers": {"calc": calculator()}, "managerTools": false}));
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(path);
    let mut client = Client::spawn(command);
    client.speak_modern(json!({}));
    lists(&mut client, &["calc__Calculator"]);
    assert_eq!(text_of(&add(&mut client, "calc__Calculator", json!("2"), json!("3"))), "5");
}

// Decision 16, T24: bearer tokens and static headers; nothing of them is ever shown.
#[test]
fn a_token_opens_the_door_and_is_never_shown() {
    for mode in ["--http", "--ws"] {
        let server = Calculator::start(mode, 0, &["--token", TOKEN]);
        let bearer = json!({"type": "litemcp", "url": server.url, "bearer_token_env_var": "CALC_TOKEN"});
        let mut header = server.entry();
        header["headers"] = json!({"Authentication": "Bearer ${CALC_TOKEN}"});
        for entry in [bearer, header] {
            let sandbox = Sandbox::new();
            let config =
                json!({"mcpServers": {"calc": entry}, "managerTools": false, "logging": {"level": "debug"}});
            let mut client = open_with(&sandbox, &config, &[("CALC_TOKEN", TOKEN)]);
            lists(&mut client, &["calc__Calculator"]);
            assert_eq!(text_of(&add(&mut client, "calc__Calculator", json!("2"), json!("3"))), "5");
            assert!(!client.stderr().contains(TOKEN), "{}", client.stderr());

            let sandbox = Sandbox::new();
            let mut client = open_with(&sandbox, &config, &[("CALC_TOKEN", "another-wrong-one")]);
            assert_eq!(client.tool_names(), [""; 0], "{mode}");
            logged(&client, "Authentication failed: Invalid or missing CALC_TOKEN");
            assert!(!client.stderr().contains("another-wrong-one"), "{}", client.stderr());
        }
    }
}

// S1-1
#[test]
fn status_tells_what_it_is() {
    let sandbox = Sandbox::new();
    let web = json!({"type": "litemcp", "url": "wss://tools.example/lite?key=hidden"});
    sandbox.write_config(&json!({"mcpServers": {"calc": calculator(), "web": web}}));
    let mut command = sandbox.manifold();
    command.args(["status", "--json"]);
    let ran = run(command);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rows = report["servers"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| &row["transport"]).collect::<Vec<_>>(), ["litemcp", "litemcp"]);
    assert_eq!(rows[1]["target"], "wss://tools.example");
}

// Every example config is loaded by a test.
#[test]
fn every_example_config_is_in_order() {
    let mut seen = 0;
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let sandbox = Sandbox::new();
            let mut command = sandbox.manifold();
            command.current_dir(examples().join("..")).args(["config", "check"]).arg(&path);
            let ran = run(command);
            assert_eq!(ran.code, Some(0), "{}: {ran:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
}

// S4-1, S4-2, S4-4, S4-7, S4-8, S4-9, S4-10: the sample server gives the seed's answers to the seed's messages.
#[test]
fn the_sample_server_answers_as_the_seed_says() {
    let get =
        "{\n    \"version\": [1, 0, 0],\n    \"id\": 1,\n    \"type\": \"get\",\n    \"data\": {}\n}\n\n\n";
    let call = "{\n    \"version\": [1, 0, 0],\n    \"id\": 2,\n    \"type\": \"call\",\n    \"data\": {\n        \"version\": [1, 0, 0],\n        \"tool\": \"Calculator\",\n        \"arguments\": [\n          \"2\",\n          \"3\"\n        ]\n    }\n}\n\n\n";
    let sandbox = Sandbox::new();
    // The second `get` has an id that was there before: no answer.
    let input = sandbox.write("input", &format!("{get}{get}{call}"));
    let mut command = python(&examples().join("litemcp/calculator.py"));
    let output = command.stdin(fs::File::open(input).unwrap()).output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        answers.split_terminator("\n\n\n").map(|text| serde_json::from_str(text).unwrap()).collect();
    let parameter = |name: &str, which: &str, example: &str| json!({"name": name, "type": "number", "description": format!("The {which} number"), "example": example});
    let tool = json!({"version": [1, 0, 0], "name": "Calculator", "description": "A simple calculator",
        "example": "Calculate the sum of 2 and 3",
        "parameters": [parameter("a", "first", "2"), parameter("b", "second", "3")]});
    let result = json!({"version": [1, 0, 0], "params": {"a": "2", "b": "3"},
        "response": {"content": [{"type": "number", "data": "5"}], "error": false}});
    assert_eq!(
        answers,
        [
            json!({"version": [1, 0, 0], "id": 1, "type": "info", "data": tool}),
            json!({"version": [1, 0, 0], "id": 2, "type": "result", "data": result}),
        ]
    );
}

// S4-12: the tool is told to a model by prompt, and then called on demand.
#[test]
fn the_sample_client_renders_a_tool_and_calls_it() {
    let client = |arguments: &[&str]| {
        let mut command = python(&examples().join("litemcp/client.py"));
        command.args(arguments).args(["--", "python3", "-B"]).arg(examples().join("litemcp/calculator.py"));
        run(command)
    };
    let shown = client(&[]).stdout;
    for part in [
        "Calculator",
        "A simple calculator",
        "1. `a` (number): The first number, for example `2`",
        r#"{"tool": "Calculator", "arguments": ["2", "3"]}"#,
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let called = client(&["--call", "2", "3"]);
    assert_eq!((called.code, called.stdout.as_str()), (Some(0), "5\n"));
    assert_eq!(client(&["--call", "2", "x"]).code, Some(1));
}
