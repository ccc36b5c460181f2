//! S4 from the client's end, and decision 28: the sample LiteMCP server of `examples/` behind the gateway, over every
//! transport, and one that does everything wrong.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use manifold_testkit::{Client, Sandbox, until};
use serde_json::{Value, json};

use crate::cli::run;
use crate::front_door::spawn;
use crate::http_lifecycle::{Gateway, http_command};
use crate::s1_protocol::{fake_with, text_of};

const SOON: Duration = Duration::from_secs(10);
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

/// Python that answers like the calculator, unless the first argument of a call tells it otherwise.
const NAUGHTY: &str = r#"
import json, os, signal, sys
sys.path.insert(0, os.environ["EXAMPLES"])
import calculator, wire

def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

with open(os.environ["STARTS"], "a") as starts:
    starts.write(f"{os.getpid()}\n")
print("naughty is up", file=sys.stderr, flush=True)
for text in wire.read_messages(sys.stdin.buffer):
    message = json.loads(text)
    identity, kind = message["id"], message["type"]
    if kind == "get":
        data, answer = calculator.TOOL, "info"
    else:
        order = message["data"]["arguments"][0]
        if order == "hang":
            continue
        if order == "die":
            print("the dog ate my homework", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "garbage":
            write(b"npm WARN deprecated\n\n\n{\"half\":\n\n\n}{\n\n\n[1,2\n\n\nnull\n\n\n\xff\xfe\n\n\n")
        if order == "strangers":
            for other in (0, identity + 1, -identity, 1 << 40, str(identity)):
                write(wire.encode({**message, "id": other, "type": "result", "data": calculator.call(message["data"])}))
        if order == "half":
            write(wire.encode({"version": [1, 0, 0], "id": identity, "type": "result", "data": {"no": "response"}}))
            continue
        if order == "pretty":
            result = {**message, "type": "result", "data": calculator.call({"tool": "Calculator", "arguments": ["1", "1"]})}
            write(json.dumps(result, indent=4).replace("\n", "\r\n").encode() + b"\r\n\r\n\r\n")
            continue
        if order == "large":
            item = {"type": "text", "data": "x" * (3 << 20)}
            data = {"version": [1, 0, 0], "params": {}, "response": {"content": [item], "error": False}}
            write(wire.encode({"version": [1, 0, 0], "id": identity, "type": "result", "data": data}))
            continue
        data, answer = calculator.call({"tool": "Calculator", "arguments": ["20", "22"]}), "result"
    write(wire.encode({"version": [1, 0, 0], "id": identity, "type": answer, "data": data}))
"#;

/// A gateway with a server that does as it is told, and a good one.
fn naughty(sandbox: &Sandbox, more: Value) -> Client {
    let script = sandbox.write("naughty.py", NAUGHTY);
    let env = json!({"EXAMPLES": examples().join("litemcp"), "STARTS": sandbox.path("starts")});
    let mut entry = json!({"type": "litemcp", "command": "python3", "args": ["-B", script], "env": env});
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    let servers = json!({"bad": entry, "good": fake_with(&["echo"], json!({}))});
    let config = json!({"mcpServers": servers, "managerTools": false, "limits": {"messageBytes": 1 << 20}});
    open_with(sandbox, &config, &[])
}

fn starts(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.path("starts")).unwrap_or_default().lines().count()
}

/// Tells the bad server to do this; the good one does not notice.
fn order(client: &mut Client, order: &str) -> Value {
    let answer = add(client, "bad__Calculator", json!(order), json!("x"));
    assert_eq!(text_of(&client.call("good__echo", json!({"text": order}))), order);
    answer
}

#[track_caller]
fn error_of(answer: &Value, code: i64, server: &str) -> String {
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(code), &json!(server)), "{answer}");
    error["message"].as_str().unwrap().to_owned()
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

// S4-6, F1: its log tells why it went, and it is back for the next call.
#[test]
fn a_server_that_dies_is_started_again() {
    let sandbox = Sandbox::new();
    let mut client = naughty(&sandbox, json!({}));
    assert_eq!(text_of(&order(&mut client, "work")), "42");
    let message = error_of(&order(&mut client, "die"), -32603, "bad");
    assert!(message.contains("the dog ate my homework"), "{message}");
    assert_eq!(text_of(&order(&mut client, "work")), "42");
    assert_eq!(starts(&sandbox), 2);
}

// F2
#[test]
fn a_call_that_hangs_ends_at_its_deadline_and_others_go_on() {
    let sandbox = Sandbox::new();
    let mut client = naughty(&sandbox, json!({"timeout": 1000, "maxConcurrency": 1}));
    let message = error_of(&order(&mut client, "hang"), -32002, "bad");
    assert!(message.contains("1000"), "{message}");
    // Its place is free, and a call that is taken back frees it as well.
    let params = json!({"name": "bad__Calculator", "arguments": {"a": "hang", "b": "x"}});
    let id = client.request("tools/call", params);
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(text_of(&order(&mut client, "work")), "42");
    assert_eq!(starts(&sandbox), 1);
}

// S4-2, S4-10, F5, decision 33
#[test]
fn what_is_no_answer_hurts_only_the_server_that_says_it() {
    let sandbox = Sandbox::new();
    let mut client = naughty(&sandbox, json!({}));
    assert_eq!(text_of(&order(&mut client, "garbage")), "42");
    assert_eq!(text_of(&order(&mut client, "strangers")), "42");
    assert_eq!(text_of(&order(&mut client, "pretty")), "2", "over many lines, with \\r\\n");
    error_of(&order(&mut client, "half"), -32603, "bad");
    let too_large = order(&mut client, "large");
    assert!(error_of(&too_large, -32603, "bad").contains("1048576"), "{too_large}");
    assert_eq!(text_of(&order(&mut client, "work")), "42");
    assert_eq!(starts(&sandbox), 1, "all in one life");
    logged(&client, "ignored from the server");
}

// Decision 33: over HTTP and WebSocket as well; a WebSocket cannot go on after it, and is opened anew.
#[test]
fn an_answer_over_the_limit_fails_its_call() {
    for mode in ["--http", "--ws"] {
        let server = Calculator::start(mode, 0, &[]);
        let sandbox = Sandbox::new();
        let servers = json!({"calc": server.entry()});
        let limits = json!({"messageBytes": 1 << 20});
        let config = json!({"mcpServers": servers, "managerTools": false, "limits": limits});
        let mut client = open_with(&sandbox, &config, &[]);
        assert_eq!(text_of(&add(&mut client, "calc__Calculator", json!("2"), json!("3"))), "5");
        // What it cannot read it repeats.
        let answer = add(&mut client, "calc__Calculator", json!("x".repeat(1 << 20)), json!("3"));
        error_of(&answer, -32603, "calc");
        assert_eq!(text_of(&add(&mut client, "calc__Calculator", json!("2"), json!("3"))), "5", "{mode}");
    }
}

// F11: lazily started, and known to the next run before it starts.
#[test]
fn its_tool_is_remembered_and_its_process_rests() {
    let sandbox = Sandbox::new();
    let mut client = naughty(&sandbox, json!({"idleTimeout": 200}));
    assert_eq!(starts(&sandbox), 0, "nobody asked yet");
    lists(&mut client, &["bad__Calculator", "good__echo"]);
    assert_eq!(starts(&sandbox), 1);
    logged(&client, "it rests until it is needed");
    assert_eq!(text_of(&order(&mut client, "work")), "42");
    assert_eq!(starts(&sandbox), 2);
    drop(client);
    let mut client = naughty(&sandbox, json!({"idleTimeout": 200}));
    assert!(client.tool_names().contains(&"bad__Calculator".to_owned()));
    assert_eq!(starts(&sandbox), 2, "known without a start");
}

#[test]
fn a_server_that_speaks_no_litemcp_says_so() {
    let sandbox = Sandbox::new();
    let mut silent =
        json!({"type": "litemcp", "command": "sh", "args": ["-c", "echo ready >&2; exec sleep 60"]});
    silent["startTimeout"] = json!(500);
    let ended = json!({"type": "litemcp", "command": "sh", "args": ["-c", "echo no licence >&2; exit 3"]});
    let web = json!({"type": "litemcp", "url": format!("http://127.0.0.1:{}/", free_port()), "retries": 0});
    let (http, ws) = (Calculator::start("--http", 0, &[]), Calculator::start("--ws", 0, &[]));
    let no_ws = json!({"type": "litemcp", "url": http.url.replace("http://", "ws://")});
    let no_http = json!({"type": "litemcp", "url": ws.url.replace("ws://", "http://")});
    let servers = json!({"silent": silent, "ended": ended, "web": web, "no-ws": no_ws, "no-http": no_http});
    let mut client = open(&sandbox, servers);
    for (server, parts) in [
        ("no-ws", ["it answered HTTP 200", "Calculator"]),
        ("no-http", ["it answered HTTP 426", "this is a WebSocket"]),
        ("silent", ["did not tell of its tool within", "ready"]),
        ("ended", ["exit code 3", "no licence"]),
        ("web", ["no connection", "refused"]),
    ] {
        let answer = add(&mut client, &format!("{server}__Calculator"), json!("1"), json!("1"));
        assert_ne!(answer["error"], Value::Null, "{server}");
        for part in parts {
            logged(&client, part);
        }
    }
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

// F14
#[test]
fn a_server_at_an_address_is_found_again() {
    for mode in ["--http", "--ws"] {
        let port = free_port();
        let server = Calculator::start(mode, port, &[]);
        let sandbox = Sandbox::new();
        let mut entry = server.entry();
        entry["retries"] = json!(0);
        let mut client = open(&sandbox, json!({"calc": entry, "good": fake_with(&["echo"], json!({}))}));
        assert_eq!(text_of(&add(&mut client, "calc__Calculator", json!("2"), json!("3"))), "5");
        drop(server);
        let gone = add(&mut client, "calc__Calculator", json!("2"), json!("3"));
        assert_eq!(gone["error"]["data"]["serverId"], "calc", "{mode}: {gone}");
        assert_eq!(text_of(&client.call("good__echo", json!({"text": "fine"}))), "fine");
        let _server = Calculator::start(mode, port, &[]);
        let again = until(SOON, || {
            let answer = add(&mut client, "calc__Calculator", json!("2"), json!("3"));
            answer["result"]["content"][0]["text"] == "5"
        });
        assert!(again, "{mode}: {}", client.stderr());
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

/// Uses the sample client as a module: the tool, a call by its bare name and one that fails, as they came.
const ASK: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import client
with client.connect(json.loads(sys.argv[2])) as server:
    calls = [server.call(*arguments, tool="Calculator") for arguments in (("2", "3"), ("two", "3"))]
    print(json.dumps([server.tool(), *calls]))
"#;

fn ask(sandbox: &Sandbox, server: &Value) -> [Value; 3] {
    let mut command = sandbox.command("python3");
    command.args(["-B", "-c", ASK]).arg(examples().join("litemcp")).arg(server.to_string());
    let ran = run(command);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

// S4-8, S4-9, S4-11, decisions 27 and 28
#[test]
fn a_litemcp_client_calls_a_litemcp_server_through_the_gateway_unchanged() {
    let sandbox = Sandbox::new();
    let config = sandbox.write_config(&json!({"mcpServers": {"calc": calculator()}, "managerTools": false}));
    let direct = ask(&sandbox, &json!(["python3", "-B", examples().join("litemcp/calculator.py")]));
    let manifold = manifold_testkit::bin("manifold");
    let through = json!([manifold, "litemcp", "--tool", "calc__Calculator", "--config", config]);
    let [mut tool, called, failed] = ask(&sandbox, &through);
    assert_eq!(tool["name"], "calc__Calculator");
    tool["name"] = direct[0]["name"].clone();
    assert_eq!([tool, called, failed], direct);
    assert_eq!(direct[1]["response"]["content"][0], json!({"type": "number", "data": "5"}));
    assert_eq!(direct[2]["response"]["error"], true);
}

// The same over HTTP and over a WebSocket, where the client speaks with the gateway at an address.
#[test]
fn a_litemcp_client_at_an_address_gets_the_same_answers() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"calc": calculator()}, "managerTools": false});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let direct = ask(&sandbox, &json!(["python3", "-B", examples().join("litemcp/calculator.py")]));
    let [_, called, failed] = direct;
    let at =
        |scheme: &str, path: &str| json!(format!("{scheme}://127.0.0.1:{}/litemcp/{path}", gateway.port));
    for url in [at("http", "default/calc__Calculator"), at("ws", "default")] {
        let [tool, through, through_failed] = ask(&sandbox, &url);
        assert!(tool["name"].is_string(), "{tool}");
        assert_eq!((&through, &through_failed), (&called, &failed), "{url}");
    }
}

// Decision 24 meets decision 28: one gateway is a LiteMCP server to another, behind TLS and a token.
#[test]
fn a_gateway_reaches_another_over_tls() {
    let sandbox = Sandbox::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let cert = sandbox.write("cert.pem", &made.cert.pem());
    let key = sandbox.write("key.pem", &made.signing_key.serialize_pem());
    let mut config = json!({"mcpServers": {"calc": calculator()}, "managerTools": false});
    config["server"] = json!({"token": TOKEN, "tls": {"cert": cert, "key": key}});
    let gateway = spawn(http_command(&sandbox, &config, &[]));
    let entry = |scheme: &str, path: &str| {
        let url = format!("{scheme}://localhost:{}/litemcp/default{path}", gateway.port);
        json!({"type": "litemcp", "url": url, "bearer_token_env_var": "CALC_TOKEN"})
    };
    let servers = json!({"one": entry("https", "/calc__Calculator"), "all": entry("wss", "")});
    let near = json!({"mcpServers": servers, "managerTools": false});
    let certificate = cert.to_str().unwrap();
    let here = Sandbox::new();
    let mut client = open_with(&here, &near, &[("CALC_TOKEN", TOKEN), ("SSL_CERT_FILE", certificate)]);
    assert!(until(SOON, || client.tool_names().len() == 2), "{}", client.stderr());
    assert_eq!(text_of(&add(&mut client, "one__calc__Calculator", json!("2"), json!("3"))), "5");
    let names = client.tool_names();
    let all = names.iter().find(|name| name.starts_with("all__")).unwrap();
    let arguments = json!({"tool": "calc__Calculator", "arguments": {"a": "2", "b": "3"}});
    let called = client.call(all, arguments);
    assert_eq!(text_of(&called), "5");
    assert_eq!(called["result"]["content"][0]["_meta"]["litemcp/type"], "number");
    assert!(!client.stderr().contains(TOKEN));
}
