//! H2: members that a server without regard to case (Go's `encoding/json`) would take for the ones we decide by. They
//! are refused at every door, in both eras, before anything is sent; what lies deeper passes as it came.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{BOTH, Conn, Gateway};
use manifold_testkit::{Client, Sandbox, fake};
use serde_json::{Value, json};

use crate::studio::text_of;

const MARKS: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// Requests that say two things at once, and the code each is refused with. `META` is replaced by a `_meta` of the era.
const DOUBLES: [(&str, i64); 14] = [
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","NAME":"secret"}"#, -32602),
    (r#""id":1,"method":"tools/call","params":{META,"Name":"secret","name":"ok"}"#, -32602),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","\u004eame":"secret"}"#, -32602),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","argument\u017f":{"text":"x"}}"#, -32602),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","arguments":{},"taſk":{}}"#, -32602),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","n\u0061me":"secret"}"#, -32600),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","_Meta":{"progressToken":7}}"#, -32602),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok"},"Params":{"name":"secret"}"#, -32600),
    (r#""id":1,"method":"tools/list","METHOD":"tools/call","params":{META,"name":"ok"}"#, -32600),
    (r#""id":1,"ID":2,"method":"tools/call","params":{META,"name":"ok"}"#, -32600),
    (r#""id":1,"method":"resources/read","params":{META,"uri":"file:///a","URI":"file:///b"}"#, -32602),
    (r#""id":1,"method":"prompts/get","params":{META,"name":"p","nAme":"q"}"#, -32602),
    (
        r#""id":1,"method":"completion/complete","params":{META,"ref":{"type":"ref/prompt","name":"p","NAME":"q"},"argument":{"name":"a","value":""}}"#,
        -32602,
    ),
    (r#""id":1,"method":"tools/call","params":{META,"name":"ok","requeststate":"mf1.x"}"#, -32602),
];

fn server(sandbox: &Sandbox) -> Value {
    let mut server = fake(json!({"name": "g", "log": sandbox.path("g.log"), "runs": sandbox.path("g.runs"),
        "tools": [{"name": "ok"}, {"name": "secret"}],
        "prompts": [{"name": "p"}, {"name": "q"}],
        "resources": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b", "name": "b"}]}));
    server["deniedTools"] = json!(["secret"]);
    server
}

fn config(sandbox: &Sandbox) -> Value {
    json!({"separator": "", "managerTools": false, "namespaces": {"default": {"serverIds": ["g"]}},
        "mcpServers": {"g": server(sandbox)}})
}

fn legacy(double: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{}}}"#, double.replace("META", r#""_meta":{}"#))
}

fn modern(double: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{}}}"#, double.replace("META", &format!(r#""_meta":{{{MARKS}}}"#)))
}

/// Returns what reached the server beside its lists.
fn reached(sandbox: &Sandbox) -> Vec<Value> {
    let own = ["tools/call", "prompts/get", "resources/read", "completion/complete"];
    own.iter().flat_map(|method| sandbox.received("g.log", method)).collect()
}

fn expect_refusal(answer: &Value, code: i64, sent: &str) {
    assert_eq!(answer["error"]["code"], json!(code), "{sent}: {answer}");
    let certain = if sent.contains(r#""ID":2"#) { Value::Null } else { json!(1) };
    assert_eq!(answer.get("id").cloned().unwrap_or(Value::Null), certain, "{sent}: {answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.starts_with("Invalid ")), "{answer}");
}

/// The payload is not ours to judge: doubles in it pass byte for byte.
fn payloads_pass(client: &mut Client, meta: &str) {
    let arguments = r#"{"name":"ok","NAME":"secret","n\u0061me":1,"name":2}"#;
    client.send_text(&format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"_meta":{{{meta}}},"name":"ok","arguments":{arguments}}}}}"#
    ));
    assert_eq!(text_of(&client.wait_for(77, PATIENCE)), arguments);
}

#[test]
fn on_a_pipe_in_both_eras() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&config(&sandbox), &[]);
    client.initialize("2025-11-25", json!({}));
    assert_eq!(client.tool_names(), ["ok"]);
    for (double, code) in DOUBLES {
        for sent in [legacy(double), modern(double)] {
            client.send_text(&sent);
            let answer = client.recv(PATIENCE);
            expect_refusal(&answer, code, &sent);
            assert_eq!(reached(&sandbox), Vec::<Value>::new(), "{sent}");
        }
    }
    payloads_pass(&mut client, "");
    payloads_pass(&mut client, MARKS);
}

#[test]
fn at_every_door_of_http() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let session = gateway.session("/mcp/default", "2025-11-25", json!({}));
    let old = gateway.session("/mcp/default", "2025-03-26", json!({}));
    let mut stream = Conn::open(gateway.port);
    stream.send("GET", "/sse/default", &[("Accept", "text/event-stream")], "");
    let mut events = stream.response().events();
    let messages = events.next().expect("an event").data;
    for (double, code) in DOUBLES {
        let sent = legacy(double);
        expect_refusal(&session.post(BOTH, &sent).json(), code, &sent);
        expect_refusal(&gateway.ask("POST", "/api/default/mcp", &[], &sent).json(), code, &sent);
        expect_refusal(&gateway.ask("POST", &messages, &[], &sent).json(), code, &sent);
        for batch in [
            old.post(BOTH, &format!("[{sent}]")),
            gateway.ask("POST", "/api/default/mcp", &[], &format!("[{sent}]")),
        ] {
            expect_refusal(&batch.json()[0], code, &sent);
        }
        let sent = modern(double);
        let method = json_method(double);
        let headers = [("Accept", BOTH), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        let answer = gateway.ask("POST", "/mcp/default", &headers, &sent);
        assert_eq!(answer.status, 400, "{sent}");
        expect_refusal(&answer.json(), code, &sent);
    }
    for call in [
        r#"{"version":[1,0,0],"tool":"ok","TOOL":"secret","arguments":["x"]}"#,
        r#"{"version":[1,0,0],"tool":"ok","t\u006fol":"secret","arguments":["x"]}"#,
        r#"{"version":[1,0,0],"tool":"ok","arguments":["x"],"Arguments":["y"]}"#,
    ] {
        assert_eq!(gateway.ask("POST", "/litemcp/default", &[], call).status, 400, "{call}");
    }
    assert_eq!(reached(&sandbox), Vec::<Value>::new());
    assert!(!sandbox.path("g.runs").exists(), "no tool ran");
    // The same without their doubles are served.
    let fine = legacy(r#""id":1,"method":"tools/call","params":{META,"name":"ok","arguments":{"text":"x"}}"#);
    assert_eq!(text_of(&session.post(BOTH, &fine).json()), "x");
    assert_eq!(text_of(&gateway.ask("POST", "/api/default/mcp", &[], &fine).json()), "x");
    assert_eq!(reached(&sandbox).len(), 2);
}

fn json_method(double: &str) -> &str {
    double.split(r#""method":""#).nth(1).and_then(|rest| rest.split('"').next()).expect("a method")
}

/// A server's own doubles: its answer is refused for its call alone, and a tool that a client could know by another name
/// is left out.
#[test]
fn of_a_server() {
    let sandbox = Sandbox::new();
    let tools =
        json!([{"name": "weird"}, {"name": "echo"}, {"name": "shown", "Name": "other"}, {"name": "last"}]);
    let config = json!({"separator": "", "managerTools": false, "mcpServers": {"g": fake(json!({"name": "g", "tools": tools}))}});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    assert_eq!(client.tool_names(), ["weird", "echo", "last"]);
    for raw in [
        r#"{"content":[],"resultType":"complete","ResultType":"task"}"#,
        r#"{"content":[],"task":{"taskId":"a"},"Ta\u017fk":{"taskId":"b"}}"#,
        r#"{"content":[],"resultType":"complete","result\u0054ype":"complete"}"#,
        r#"{"content":[],"_META":{}}"#,
    ] {
        let answer = client.call("weird", json!({"raw": raw}));
        assert_eq!(answer["error"]["code"], -32603, "{raw}: {answer}");
        assert_eq!(answer["error"]["data"]["serverId"], "g", "{answer}");
        assert_eq!(text_of(&client.call("echo", json!({"text": "x"}))), "x");
    }
    let deep = r#"{"content":[{"type":"text","text":"x","TEXT":"y"}],"Content":[],"structuredContent":{"a":1,"A":2}}"#;
    let id = client.request("tools/call", json!({"name": "weird", "arguments": {"raw": deep}}));
    assert!(client.wait_for_text(id, PATIENCE).contains(deep));
}
