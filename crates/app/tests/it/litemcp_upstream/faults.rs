//! A LiteMCP server that does everything wrong, and one that comes and goes.

use super::*;
use crate::studio::fake_with;

/// Python that answers like the calculator, unless the first argument of a call tells it otherwise.
const NAUGHTY: &str = r#"
import json, os, signal, sys
sys.path.insert(0, os.environ["EXAMPLES"])
import calculator, litewire

def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

with open(os.environ["STARTS"], "a") as starts:
    starts.write(f"{os.getpid()}\n")
print("naughty is up", file=sys.stderr, flush=True)
for text in litewire.read_messages(sys.stdin.buffer):
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
                write(litewire.encode({**message, "id": other, "type": "result", "data": calculator.call(message["data"])}))
        if order == "half":
            write(litewire.encode({"version": [1, 0, 0], "id": identity, "type": "result", "data": {"no": "response"}}))
            continue
        if order == "pretty":
            result = {**message, "type": "result", "data": calculator.call({"tool": "Calculator", "arguments": ["1", "1"]})}
            write(json.dumps(result, indent=4).replace("\n", "\r\n").encode() + b"\r\n\r\n\r\n")
            continue
        if order == "large":
            item = {"type": "text", "data": "x" * (3 << 20)}
            data = {"version": [1, 0, 0], "params": {}, "response": {"content": [item], "error": False}}
            write(litewire.encode({"version": [1, 0, 0], "id": identity, "type": "result", "data": data}))
            continue
        data, answer = calculator.call({"tool": "Calculator", "arguments": ["20", "22"]}), "result"
    write(litewire.encode({"version": [1, 0, 0], "id": identity, "type": answer, "data": data}))
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
    logged(&client, "idle timeout, stopping");
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
