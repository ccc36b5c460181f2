//! Seed S2: the HTTP API of mcps-proxy, one requirement after the other. The seed's own clients and `curl` lines are
//! in `interop/seed`, unchanged.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::{named, run};
use crate::http_lifecycle::{Conn, Gateway, calling};
use crate::s0::{end_quietly, http, port_of, post};

const CONFIG: &str = ".mcps-proxy/config.json";

/// Starts `mcps-proxy` as its users do, with this config at its usual place.
fn mcps_proxy(sandbox: &Sandbox, config: &Value) -> Gateway {
    sandbox.write(CONFIG, &config.to_string());
    let client = Client::spawn(sandbox.command(named(sandbox, "mcps-proxy")));
    let port = port_of(&client);
    Gateway { client, port }
}

/// One schema `default` with these servers, and no port of its own.
fn schema(servers: Value) -> Value {
    json!({"server": {"port": 0}, "schemas": {"default": {"mcpServers": servers}}})
}

/// The server of the seed's examples, as far as a fake can be it: the tool says back what it is asked.
fn filesystem(sandbox: &Sandbox) -> Value {
    let path = json!({"type": "object", "required": ["path"],
        "properties": {"path": {"type": "string", "description": "文件路径"}}});
    let mut server = fake(json!({
        "name": "filesystem",
        "pid": sandbox.path("filesystem.pid"),
        "log": sandbox.path("filesystem.log"),
        "tools": [{"name": "read_file", "description": "读取文件内容", "inputSchema": path}],
        "resources": [{"uri": "file://./README.md", "name": "README", "description": "项目说明文档", "mimeType": "text/markdown"}],
        "prompts": [{"name": "code-review", "description": "代码审查提示",
            "arguments": [{"name": "language", "description": "编程语言", "required": true}]}],
    }));
    server["name"] = json!("文件系统服务器");
    server
}

/// Waits until this many servers are connected, and returns the status that says so.
fn connected(port: u16, count: u64) -> Value {
    let mut status = Value::Null;
    let done = until(PATIENCE, || {
        status = http(port, "GET", "/api/status", "").1;
        status["summary"]["connectedServers"] == json!(count)
    });
    assert!(done, "{status:#}");
    status
}

/// Returns the text with every digit as `0`.
fn shape(text: &Value) -> String {
    let text = text.as_str().unwrap_or_else(|| panic!("no text: {text}"));
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap_or_else(|| panic!("no object: {object}")).keys().map(String::as_str).collect()
}

fn seed(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/seed").join(file)
}

// S2-1, S0-3
#[test]
fn s2_1_everything_is_json_in_utf_8() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let requests = [
        ("GET", "/health", ""),
        ("GET", "/api/status", ""),
        ("POST", "/api/default/mcp", list.as_str()),
        ("POST", "/api/nowhere/mcp", list.as_str()),
        ("POST", "/api/default/mcp", "no JSON"),
        ("GET", "/nowhere", ""),
    ];
    for (method, path, body) in requests {
        let answer = gateway.ask(method, path, &[], body);
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"), "{method} {path}");
        answer.json();
    }
    let listed = gateway.ask("POST", "/api/default/mcp", &[], &list);
    assert!(listed.text().contains("读取文件内容"), "{}", listed.text());
    end_quietly(gateway.client);
}

// S2-1: the port that is asked for where none is configured
#[test]
fn s2_1_the_port_is_3095_unless_told() {
    let sandbox = Sandbox::new();
    let config = json!({"schemas": {"default": {"mcpServers": {}}}});
    sandbox.write(CONFIG, &config.to_string());
    // Someone may have the port, and then we say which: either way it is 3095.
    let client = Client::spawn(sandbox.command(named(&sandbox, "mcps-proxy")));
    let said = until(PATIENCE, || client.stderr().contains("127.0.0.1:3095"));
    assert!(said, "{}", client.stderr());
}

// S2-2
#[test]
fn s2_2_health_has_status_timestamp_and_uptime() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({})));
    let (status, health) = http(gateway.port, "GET", "/health", "");
    assert_eq!(status, 200);
    assert_eq!(keys(&health), ["status", "timestamp", "uptime"]);
    assert_eq!(health["status"], "ok");
    assert_eq!(shape(&health["timestamp"]), "0000-00-00T00:00:00.000Z");
    let uptime = |health: &Value| health["uptime"].as_f64().unwrap_or_else(|| panic!("{health}"));
    assert!(uptime(&health) >= 0.0 && uptime(&health) < 60.0, "{health}");
    // Seconds, and they run.
    assert!(until(PATIENCE, || uptime(&http(gateway.port, "GET", "/health", "").1) > uptime(&health)));
    end_quietly(gateway.client);
}

// S2-3, S2-4, S2-5: the seed's own sample, member by member; trap (g)
#[test]
fn s2_3_to_5_status_is_the_seed_s_sample() {
    let sandbox = Sandbox::new();
    let tools: Vec<Value> = (0..8).map(|n| json!({"name": format!("tool_{n}")})).collect();
    let mut server = fake(json!({"name": "fs", "tools": tools}));
    server["name"] = json!("文件系统服务器");
    sandbox.write(CONFIG, &schema(json!({"filesystem": server})).to_string());
    let mut command = sandbox.command(named(&sandbox, "mcps-proxy"));
    command.env("PORT", "4444");
    let client = Client::spawn(command);
    let port = port_of(&client);
    // The list comes a moment after the handshake.
    assert!(until(PATIENCE, || connected(port, 1)["summary"]["totalTools"] == 8));
    let mut status = connected(port, 1);
    let uptime = status["server"]["uptime"].take();
    assert_eq!(shape(&uptime), "00:00:00");
    let expected = json!({
        "server": {"status": "running", "port": port, "url": format!("http://localhost:{port}"), "uptime": null},
        "schemas": {"default": {
            "status": "active",
            "mcpServers": [{"id": "filesystem", "name": "文件系统服务器", "status": "connected", "type": "stdio", "toolCount": 8}],
            "totalTools": 8,
            "connectedServers": 1,
        }},
        "summary": {"totalSchemas": 1, "activeSchemas": 1, "totalServers": 1, "connectedServers": 1, "failedServers": 0, "totalTools": 8},
    });
    assert_eq!(status, expected);
    end_quietly(client);
}

// S2-4, S2-5, decision 34: every state a server and a schema can be in
#[test]
fn s2_4_and_5_status_tells_the_states_apart() {
    let sandbox = Sandbox::new();
    let with = |mut server: Value, key: &str, value: Value| {
        server[key] = value;
        server
    };
    let config = json!({"server": {"port": 0}, "schemas": {
        "default": {"mcpServers": {
            "good": fake(json!({"tools": [{"name": "a"}, {"name": "b"}]})),
            "lazy": with(fake(json!({"pid": sandbox.path("lazy.pid")})), "lazy", json!(true)),
            "broken": {"command": sandbox.path("no-such-program")},
        }},
        "work": {"mcpServers": {"good": fake(json!({"tools": [{"name": "c"}]}))}},
        "empty": {"mcpServers": {}},
        "off": {"enabled": false, "mcpServers": {"never": fake(json!({"pid": sandbox.path("never.pid")}))}},
    }});
    let gateway = mcps_proxy(&sandbox, &config);
    let mut status = Value::Null;
    let settled = until(PATIENCE, || {
        status = http(gateway.port, "GET", "/api/status", "").1;
        let summary = &status["summary"];
        summary["connectedServers"] == 2 && summary["failedServers"] == 1 && summary["totalTools"] == 3
    });
    assert!(settled, "{status:#}");
    let server = |id: &str| {
        let servers = status["schemas"]["default"]["mcpServers"].as_array().cloned().unwrap_or_default();
        servers.into_iter().find(|server| server["id"] == id).unwrap_or_else(|| panic!("{status:#}"))
    };
    let good = json!({"id": "good", "name": "good", "status": "connected", "type": "stdio", "toolCount": 2});
    assert_eq!(server("good"), good);
    let lazy =
        json!({"id": "lazy", "name": "lazy", "status": "disconnected", "type": "stdio", "toolCount": 0});
    assert_eq!(server("lazy"), lazy);
    let broken = server("broken");
    assert_eq!((&broken["status"], &broken["toolCount"]), (&json!("error"), &json!(0)), "{broken}");
    assert!(broken["error"].as_str().is_some_and(|why| why.contains("no-such-program")), "{broken}");
    let off = json!({"status": "inactive", "mcpServers": [], "totalTools": 0, "connectedServers": 0});
    assert_eq!(status["schemas"]["off"], off);
    let empty = json!({"status": "active", "mcpServers": [], "totalTools": 0, "connectedServers": 0});
    assert_eq!(status["schemas"]["empty"], empty);
    let summary = json!({"totalSchemas": 4, "activeSchemas": 3, "totalServers": 4, "connectedServers": 2, "failedServers": 1, "totalTools": 3});
    assert_eq!(status["summary"], summary);
    assert!(!sandbox.path("lazy.pid").exists() && !sandbox.path("never.pid").exists());
    end_quietly(gateway.client);
}

// S2-4: remote servers are told apart by `type`
#[test]
fn s2_4_the_type_is_how_a_server_is_reached() {
    let sandbox = Sandbox::new();
    let remote = |kind: &str| json!({"type": kind, "url": "http://127.0.0.1:9/x", "lazy": true});
    let config = schema(json!({"h": remote("http"), "e": remote("sse"), "p": fake(json!({}))}));
    let gateway = mcps_proxy(&sandbox, &config);
    let (_, status) = http(gateway.port, "GET", "/api/status", "");
    let servers = status["schemas"]["default"]["mcpServers"].as_array().unwrap();
    let types: Vec<_> = servers
        .iter()
        .map(|server| (&server["id"], &server["type"]))
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let expected = [(Some("e"), Some("sse")), (Some("h"), Some("http")), (Some("p"), Some("stdio"))];
    assert_eq!(types, expected, "{status:#}");
    end_quietly(gateway.client);
}

// S2-5: polling costs the servers nothing
#[test]
fn s2_5_status_causes_no_upstream_traffic() {
    let sandbox = Sandbox::new();
    let mut idle = fake(json!({"pid": sandbox.path("idle.pid")}));
    idle["lazy"] = json!(true);
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox), "idle": idle})));
    connected(gateway.port, 1);
    // The lists a server is asked for after its handshake may still be on their way.
    post(gateway.port, "default", "resources/read", json!({"uri": "file://./README.md"}));
    post(
        gateway.port,
        "default",
        "prompts/get",
        json!({"name": "code-review", "arguments": {"language": "x"}}),
    );
    let pid = |sandbox: &Sandbox| sandbox.path("idle.pid").exists();
    // Reading and getting look in every server's list, the lazy one's too; from here on nobody asks for anything.
    let before = (sandbox.log("filesystem.log").len(), pid(&sandbox));
    for _ in 0..200 {
        assert_eq!(http(gateway.port, "GET", "/api/status", "").0, 200);
        assert_eq!(http(gateway.port, "GET", "/health", "").0, 200);
    }
    assert_eq!((sandbox.log("filesystem.log").len(), pid(&sandbox)), before);
    end_quietly(gateway.client);
}

// S2-6: one endpoint, all methods
#[test]
fn s2_6_one_endpoint_takes_every_method() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let template = json!({"ref": {"type": "ref/prompt", "name": "code-review"}, "argument": {"name": "language", "value": "ru"}});
    let methods = [
        (
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
            "serverInfo",
        ),
        ("tools/list", json!({}), "tools"),
        ("tools/call", json!({"name": "filesystem-read_file", "arguments": {"path": "x"}}), "content"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("resources/read", json!({"uri": "file://./README.md"}), "contents"),
        ("prompts/list", json!({}), "prompts"),
        ("prompts/get", json!({"name": "code-review", "arguments": {"language": "ts"}}), "messages"),
        ("completion/complete", template, "completion"),
    ];
    for (method, params, member) in methods {
        let answer = post(gateway.port, "default", method, params);
        assert!(!answer["result"][member].is_null(), "{method}: {answer}");
    }
    for method in ["ping", "logging/setLevel"] {
        let answer = post(gateway.port, "default", method, json!({"level": "error"}));
        assert_eq!(answer["result"], json!({}), "{method}: {answer}");
    }
    // Decision 17
    assert_eq!(post(gateway.port, "default", "shutdown", json!({}))["error"]["code"], -32601);
    end_quietly(gateway.client);
}

// S2-6: a notification is accepted, a batch answered in one array, both without a handshake (decisions 19 to 21)
#[test]
fn s2_6_notifications_and_batches() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let send = |body: &str| {
        let answer = gateway.ask("POST", "/api/default/mcp", &[], body);
        (answer.status, answer.text())
    };
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"filesystem-read_file","arguments":{"path":"x"}}}"#,
        r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
    ] {
        assert_eq!(send(body), (202, String::new()), "{body}");
    }
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"name": "filesystem-read_file", "arguments": {"path": "p"}}},
        7,
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
    ]);
    let (status, text) = send(&batch.to_string());
    let answers: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!((status, answers.len()), (200, 4), "{text}");
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(
        (&answers[1]["id"], answers[1]["result"]["content"].is_array()),
        (&json!("1"), true),
        "{text}"
    );
    assert_eq!((&answers[2]["id"], &answers[2]["error"]["code"]), (&Value::Null, &json!(-32600)), "{text}");
    assert_eq!((&answers[3]["id"], &answers[3]["error"]["code"]), (&json!(3), &json!(-32601)), "{text}");
    end_quietly(gateway.client);
}

/// Runs a `curl` line of the seed as it stands; only where port 3095 is comes from the sandbox's `.curlrc`.
fn curl(sandbox: &Sandbox, port: u16, line: &str) -> Value {
    let rc = format!("connect-to = \"localhost:3095:127.0.0.1:{port}\"\nsilent\nshow-error\nmax-time = 20\n");
    sandbox.write(".curlrc", &rc);
    let mut command = sandbox.command("bash");
    command.args(["-c", line]);
    let ran = run(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {}", ran.stdout))
}

// S2-7 to S2-12: the six `curl` lines of the seed, and the shapes it shows for their answers
#[test]
fn s2_7_to_12_the_curl_lines_of_the_seed() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let text = fs::read_to_string(seed("curl.sh")).unwrap();
    let lines: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(lines.len(), 6);
    let answers: Vec<Value> = lines.iter().map(|line| curl(&sandbox, gateway.port, line)).collect();
    let path = json!({"type": "string", "description": "文件路径"});
    let expected = [
        // S2-7
        json!({"tools": [{"name": "filesystem-read_file", "description": "读取文件内容",
            "inputSchema": {"type": "object", "properties": {"path": path}, "required": ["path"]}}]}),
        // S2-8: the arguments as `curl` sent them, spaces included
        json!({"content": [{"type": "text", "text": "{         \"path\": \"./package.json\"       }"}]}),
        // S2-9
        json!({"resources": [{"uri": "file://./README.md", "name": "README", "description": "项目说明文档", "mimeType": "text/markdown"}]}),
        // S2-10
        json!({"contents": [{"uri": "file://./README.md", "mimeType": "text/plain", "text": "contents of file://./README.md from filesystem"}]}),
        // S2-11
        json!({"prompts": [{"name": "code-review", "description": "代码审查提示",
            "arguments": [{"name": "language", "description": "编程语言", "required": true}]}]}),
        // S2-12
        json!({"messages": [{"role": "user", "content": {"type": "text",
            "text": r#"prompt code-review of filesystem with {"language":"typescript"}"#}}]}),
    ];
    for (at, (answer, result)) in answers.into_iter().zip(expected).enumerate() {
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": at + 1, "result": result}));
    }
    end_quietly(gateway.client);
}

// S2-8, S2-10, S2-12: what a server says passes untouched, members we know nothing of included
#[test]
fn s2_8_results_pass_untouched() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"s": fake(json!({"tools": [{"name": "weird"}]}))})));
    let raw = r#"{"content":[{"type":"text","text":"{\n  \"version\": 1.10\n}"}],"structuredContent":{"n":1.0,"big":12345678901234567890},"_meta":{"x":[]},"newer":null}"#;
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "s-weird", "arguments": {"raw": raw}}});
    let answer = gateway.ask("POST", "/api/default/mcp", &[], &body.to_string());
    assert_eq!(answer.text(), format!(r#"{{"jsonrpc":"2.0","id":2,"result":{raw}}}"#));
    end_quietly(gateway.client);
}

// S2-13: the seed's sample of an error
#[test]
fn s2_13_errors_are_objects_with_data() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    for arguments in [json!({}), json!({"other": 1})] {
        let answer = post(
            gateway.port,
            "default",
            "tools/call",
            json!({"name": "filesystem-read_file", "arguments": arguments}),
        );
        let error = &answer["error"];
        assert_eq!(error["code"], -32602, "{answer}");
        assert!(error["message"].as_str().unwrap().starts_with("Invalid params"), "{answer}");
        assert_eq!(error["data"]["field"], "path", "{answer}");
        assert!(error["data"]["issue"].is_string(), "{answer}");
    }
    assert!(
        sandbox.received("filesystem.log", "tools/call").is_empty(),
        "nothing is sent that is known to be wrong"
    );
    end_quietly(gateway.client);
}

// S2-14, decision 21, trap (i)
#[test]
fn s2_14_every_code_has_its_case() {
    let sandbox = Sandbox::new();
    let servers = json!({
        "filesystem": filesystem(&sandbox),
        "locked": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${NO_SUCH_KEY}"}},
    });
    let gateway = mcps_proxy(&sandbox, &schema(servers));
    let cases = [
        (400, -32700, "nonsense", Value::Null),
        (400, -32700, "", Value::Null),
        (400, -32700, r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, Value::Null),
        (400, -32600, "[]", Value::Null),
        (400, -32600, "1", Value::Null),
        (400, -32600, r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
        (400, -32600, r#"{"jsonrpc":"2.0","id":4}"#, json!(4)),
        (400, -32600, r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null),
        (400, -32600, r#"{"jsonrpc":"2.0","id":5,"method":7}"#, json!(5)),
        (200, -32601, r#"{"jsonrpc":"2.0","id":0,"method":"no/such"}"#, json!(0)),
        (
            200,
            -32601,
            r#"{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"filesystem-nothing"}}"#,
            json!(""),
        ),
        (200, -32602, r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}"#, json!(8)),
        (
            200,
            -32602,
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"filesystem-read_file"}}"#,
            json!(9),
        ),
        (200, -32602, r#"{"jsonrpc":"2.0","id":10,"method":"resources/read","params":{}}"#, json!(10)),
        (200, -32602, r#"{"jsonrpc":"2.0","id":11,"method":"prompts/get"}"#, json!(11)),
        (
            200,
            -32603,
            r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"locked-x"}}"#,
            json!(12),
        ),
    ];
    for (status, code, body, id) in cases {
        let (got, answer) = http(gateway.port, "POST", "/api/default/mcp", body);
        assert_eq!(
            (got, &answer["error"]["code"], &answer["id"]),
            (status, &json!(code), &id),
            "{body}: {answer}"
        );
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["message"].is_string() && answer.get("result").is_none(), "{body}: {answer}");
        assert!(answer.as_object().unwrap().contains_key("id"), "{body}: {answer}");
    }
    end_quietly(gateway.client);
}

// S2-15
#[test]
fn s2_15_unknown_and_disabled_schemas_are_404_with_the_id() {
    let sandbox = Sandbox::new();
    let config = json!({"server": {"port": 0}, "schemas": {
        "default": {"mcpServers": {}},
        "off": {"enabled": false, "mcpServers": {"s": fake(json!({"pid": sandbox.path("off.pid")}))}},
    }});
    let gateway = mcps_proxy(&sandbox, &config);
    let paths = [
        ("unknown", "unknown"),
        ("off", "off"),
        ("Default", "Default"),
        ("a%2Fb%22", "a/b\""),
        ("..%2f", "../"),
    ];
    for (path, name) in paths {
        for (id, method) in [(json!(1), "tools/list"), (json!("x"), "initialize"), (json!(0), "ping")] {
            let body = json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string();
            let (status, answer) = http(gateway.port, "POST", &format!("/api/{path}/mcp"), &body);
            let error = json!({"code": 404, "message": format!("Schema '{name}' not found or disabled")});
            assert_eq!((status, answer), (404, json!({"jsonrpc": "2.0", "id": id, "error": error})));
        }
        let (status, answer) = http(gateway.port, "POST", &format!("/api/{path}/mcp"), "nonsense");
        assert_eq!((status, &answer["id"], &answer["error"]["code"]), (404, &Value::Null, &json!(404)));
    }
    assert!(!sandbox.path("off.pid").exists());
    end_quietly(gateway.client);
}

// Section 2.1: a route that is not there says which are
#[test]
fn other_routes_list_those_there_are() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({})));
    for (method, path, expected) in [
        ("GET", "/nowhere", 404),
        ("POST", "/api/default", 404),
        ("GET", "/api/default/mcp/more", 404),
        ("GET", "/api/default/mcp", 405),
        ("POST", "/health", 405),
        ("PUT", "/api/status", 405),
    ] {
        let (status, body) = http(gateway.port, method, path, "");
        assert_eq!(status, expected, "{method} {path}: {body}");
        let endpoints = body["availableEndpoints"].as_array().unwrap_or_else(|| panic!("{body}"));
        for endpoint in ["GET /health", "GET /api/status", "POST /api/{schema}/mcp"] {
            assert!(endpoints.contains(&json!(endpoint)), "{body}");
        }
    }
    end_quietly(gateway.client);
}

// S2-16: the seed's three names; never split at the first dash
#[test]
fn s2_16_ids_with_dashes_work() {
    let sandbox = Sandbox::new();
    let server = |name: &str, tool: &str| {
        fake(json!({"name": name, "tools": [{"name": tool}], "log": sandbox.path(&format!("{name}.log"))}))
    };
    let servers = json!({
        "web": server("web", "search"),
        "filesystem": server("filesystem", "read_file"),
        "git": server("git", "commit"),
        "web-search": server("web-search", "webSearchPrime"),
        "web-search-pro": server("web-search-pro", "a-b-c"),
    });
    let gateway = mcps_proxy(&sandbox, &schema(servers));
    let listed = post(gateway.port, "default", "tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let expected = [
        "filesystem-read_file",
        "git-commit",
        "web-search",
        "web-search-webSearchPrime",
        "web-search-pro-a-b-c",
    ];
    assert_eq!(names, expected);
    let owners = [
        ("web-search", "web", "search"),
        ("filesystem-read_file", "filesystem", "read_file"),
        ("git-commit", "git", "commit"),
        ("web-search-webSearchPrime", "web-search", "webSearchPrime"),
        ("web-search-pro-a-b-c", "web-search-pro", "a-b-c"),
    ];
    for (exposed, owner, original) in owners {
        let answer = post(
            gateway.port,
            "default",
            "tools/call",
            json!({"name": exposed, "arguments": {"text": exposed}}),
        );
        assert_eq!(answer["result"]["content"][0]["text"], exposed, "{answer}");
        let calls = sandbox.received(&format!("{owner}.log"), "tools/call");
        assert_eq!(calls.iter().map(|call| call["params"]["name"].clone()).collect::<Vec<_>>(), [original]);
    }
    end_quietly(gateway.client);
}

// S2-17: the seed's own CORS section, with its preflight (more of it in front_door.rs)
#[test]
fn s2_17_cors_as_configured() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({"filesystem": filesystem(&sandbox)}));
    config["server"]["cors"] = json!({"enabled": true, "origins": ["https://yourdomain.com"], "methods": ["GET", "POST"], "credentials": false});
    let gateway = mcps_proxy(&sandbox, &config);
    let origin = ("Origin", "https://yourdomain.com");
    let asks = [
        origin,
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
    ];
    let preflight = gateway.ask("OPTIONS", "/api/default/mcp", &asks, "");
    assert_eq!((preflight.status, preflight.text().as_str()), (204, ""));
    assert_eq!(preflight.header("access-control-allow-origin"), Some(origin.1));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, POST"));
    let allowed = preflight.header("access-control-allow-headers").unwrap_or_default().to_ascii_lowercase();
    assert!(allowed.contains("content-type"), "{allowed}");
    assert_eq!(preflight.header("access-control-allow-credentials"), None);
    let answer = gateway.ask("POST", "/api/default/mcp", &[origin], &calling(1, "ping", json!({})));
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(origin.1)));
    assert_eq!(answer.header("vary"), Some("Origin"));
    end_quietly(gateway.client);
}

// S2-18: no token, and the ways a reverse proxy speaks: HTTP/1.0 with a length, its own headers, the name of the site
#[test]
fn s2_18_it_works_behind_a_reverse_proxy() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({"filesystem": filesystem(&sandbox)}));
    config["server"]["allowedHosts"] = json!(["mcp.example.com"]);
    let gateway = mcps_proxy(&sandbox, &config);
    let body = calling(1, "tools/call", json!({"name": "filesystem-read_file", "arguments": {"path": "p"}}));
    let local = format!("127.0.0.1:{}", gateway.port);
    for version in ["1.0", "1.1"] {
        for host in [local.as_str(), "mcp.example.com", "mcp.example.com:443"] {
            let head = format!(
                "POST /api/default/mcp HTTP/{version}\r\nHost: {host}\r\nX-Real-IP: 10.0.0.9\r\nX-Forwarded-For: 10.0.0.9\r\n\
                 X-Forwarded-Proto: https\r\nX-Forwarded-Host: mcp.example.com\r\nForwarded: for=10.0.0.9;proto=https\r\n\
                 Via: 1.1 proxy\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let mut connection = Conn::open(gateway.port);
            connection.write(head.as_bytes());
            let answer = connection.answer();
            assert_eq!(answer.status, 200, "HTTP/{version} {host}: {}", answer.text());
            assert_eq!(answer.json()["result"]["content"][0]["text"], r#"{"path":"p"}"#);
            assert!(connection.is_closed(), "HTTP/{version} {host}");
        }
    }
    end_quietly(gateway.client);
}

// S2-19: per server, and for all; the call is taken back from the server
#[test]
fn s2_19_the_timeout_can_be_set() {
    let sandbox = Sandbox::new();
    let tools = json!([{"name": "sleep"}]);
    let mut own = fake(json!({"tools": tools, "log": sandbox.path("own.log")}));
    own["timeout"] = json!(1000);
    let mut config = schema(json!({"own": own, "all": fake(json!({"tools": tools}))}));
    config["callTimeout"] = json!(1500);
    let gateway = mcps_proxy(&sandbox, &config);
    for (server, expected) in [("own", 1000), ("all", 1500)] {
        let answer = post(
            gateway.port,
            "default",
            "tools/call",
            json!({"name": format!("{server}-sleep"), "arguments": {"ms": 120_000}}),
        );
        let error = &answer["error"];
        assert_eq!(error["code"], -32002, "{answer}");
        assert_eq!(
            (&error["data"]["serverId"], &error["data"]["toolName"]),
            (&json!(server), &json!("sleep")),
            "{answer}"
        );
        assert_eq!(error["data"]["timeoutMs"], expected, "{answer}");
    }
    assert!(until(PATIENCE, || sandbox.received("own.log", "notifications/cancelled").len() == 1));
    end_quietly(gateway.client);
}

// S2-19: the default, in real time, so only where there is much of it
#[test]
fn s2_19_the_timeout_is_30_seconds_unless_told() {
    if std::env::var_os("MANIFOLD_LONG").is_none() {
        return println!("skipped: it takes 30 s; MANIFOLD_LONG is not set");
    }
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"s": fake(json!({"tools": [{"name": "sleep"}]}))})));
    let mut connection = Conn::open(gateway.port);
    connection.patience(Duration::from_secs(60));
    let call = json!({"name": "s-sleep", "arguments": {"ms": 120_000}});
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
    let error = connection.answer().json()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(30_000)), "{error}");
    end_quietly(gateway.client);
}

/// Returns the port from a log, wherever that is kept.
fn port_in(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("listening on http://127.0.0.1:")?;
    rest.split_once('\n')?.0.trim().parse().ok()
}

// S2-20: `logging.level`, and console output that is live
#[test]
fn s2_20_the_level_is_honoured() {
    for (level, lines) in [("error", 0), ("info", 1), ("debug", 2)] {
        let sandbox = Sandbox::new();
        let mut config = schema(json!({}));
        config["logging"] = json!({"level": level, "console": true});
        sandbox.write(CONFIG, &config.to_string());
        let port = free_port();
        let mut command = sandbox.command(named(&sandbox, "mcps-proxy"));
        command.args(["--port", &port.to_string()]);
        let client = Client::spawn(command);
        assert!(
            until(PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()),
            "{}",
            client.stderr()
        );
        assert_eq!(http(port, "GET", "/health", "").0, 200);
        post(port, "default", "tools/list", json!({}));
        // An access line for each request, with the method of what was asked (decision 23), while the program runs.
        let access = |stderr: &str| {
            stderr.contains("/health") && stderr.contains("/api/default/mcp") && stderr.contains("tools/list")
        };
        let seen = match lines {
            0 => client.stderr().is_empty(),
            1 => until(PATIENCE, || port_in(&client.stderr()) == Some(port)) && !access(&client.stderr()),
            _ => until(PATIENCE, || access(&client.stderr())),
        };
        assert!(seen, "{level}: {}", client.stderr());
        if lines == 2 {
            let stderr = client.stderr();
            let line = stderr.lines().find(|line| line.contains("/health")).unwrap_or_default();
            assert!(line.contains("GET") && line.contains("200"), "{line}");
        }
        end_quietly(client);
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

// S2-20: the file, at the seed's place, and nothing on the console
#[test]
fn s2_20_the_log_file_is_where_the_seed_says() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({}));
    config["logging"] = json!({"console": false});
    sandbox.write(CONFIG, &config.to_string());
    let client = Client::spawn(sandbox.command(named(&sandbox, "mcps-proxy")));
    let file = sandbox.path(".mcps-proxy/logs/mcps-proxy.log");
    let read = || fs::read_to_string(&file).unwrap_or_default();
    assert!(until(PATIENCE, || port_in(&read()).is_some()), "{}", client.stderr());
    let port = port_in(&read()).unwrap();
    post(port, "default", "ping", json!({}));
    assert_eq!(client.stderr(), "", "the console is off");
    end_quietly(client);
}

// S2-20: a console that is on and a file get the same lines
#[test]
fn s2_20_console_and_file_go_together() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({}));
    config["logging"] = json!({"console": true, "level": "debug", "file": "~/own/folder/proxy.log"});
    let gateway = mcps_proxy(&sandbox, &config);
    let port = gateway.port;
    post(port, "default", "ping", json!({}));
    end_quietly(gateway.client);
    let text = fs::read_to_string(sandbox.path("own/folder/proxy.log")).unwrap();
    assert_eq!(port_in(&text), Some(port), "{text}");
    assert!(text.contains("/api/default/mcp"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a file");
}

// S2-20, trap (j): rotation by size and count
#[test]
fn s2_20_the_log_file_is_rotated() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({}));
    config["logging"] = json!({"console": false, "level": "debug", "file": "~/logs/proxy.log", "maxSize": "4KB", "maxFiles": 3});
    sandbox.write(CONFIG, &config.to_string());
    let client = Client::spawn(sandbox.command(named(&sandbox, "mcps-proxy")));
    let folder = sandbox.path("logs");
    let read = || fs::read_to_string(folder.join("proxy.log")).unwrap_or_default();
    assert!(until(PATIENCE, || port_in(&read()).is_some()), "{}", client.stderr());
    let port = port_in(&read()).unwrap();
    let mut most = 0;
    for n in 0..400 {
        http(port, "GET", &format!("/marked-{n}"), "");
        most = most.max(fs::read_dir(&folder).unwrap().count());
    }
    end_quietly(client);
    let mut files: Vec<(String, u64)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    files.sort();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["proxy.log", "proxy.log.1", "proxy.log.2"], "{files:?}");
    assert_eq!(most, 3, "never more than maxFiles");
    for (name, size) in &files {
        // One line more than the limit at most.
        assert!(*size <= 4096 + 512, "{name}: {size}");
    }
    let all: String = names.iter().rev().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect();
    let numbers: Vec<u32> = all
        .lines()
        .filter_map(|line| {
            line.split_once("/marked-")?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        })
        .collect();
    assert_eq!(numbers.last(), Some(&399), "the newest line is there");
    let whole = numbers.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1);
    assert!(whole, "no line is lost between two files: {numbers:?}");
}

/// Whether a program can be run here.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

// S2-21: the JavaScript sample client, unchanged
#[test]
fn s2_21_the_seed_s_javascript_client() {
    assert!(has("node"), "this test needs node");
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let mut command = sandbox.command("node");
    command.arg("--require").arg(seed("port.cjs")).arg(seed("client.js"));
    command.env("SEED_PORT", gateway.port.to_string());
    let ran = run(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("可用工具:") && ran.stdout.contains("'filesystem-read_file'"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains(r#"文件内容: {"path":"./package.json"}"#), "{}", ran.stdout);
    end_quietly(gateway.client);
}

// S2-21: the Python sample client, unchanged
#[test]
fn s2_21_the_seed_s_python_client() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let mut real = sandbox.command("python3");
    real.args(["-c", "import requests"]);
    let stubs = [Some(seed("stub")), (run(real).code == Some(0)).then(PathBuf::new)];
    for stub in stubs.into_iter().flatten() {
        let mut command = sandbox.command("python3");
        command.arg(seed("client.py")).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONIOENCODING", "utf-8");
        command.env("PYTHONPATH", &stub);
        // A proxy is asked for the whole URL, port 3095 included, and here it is we who are asked.
        command.env("http_proxy", format!("http://127.0.0.1:{}", gateway.port));
        let ran = run(command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(
            ran.stdout.contains("可用工具:") && ran.stdout.contains("'filesystem-read_file'"),
            "{}",
            ran.stdout
        );
        assert!(
            ran.stdout.contains(r#"文件内容: {"path": "./package.json"}"#)
                || ran.stdout.contains(r#"文件内容: {"path":"./package.json"}"#),
            "{}",
            ran.stdout
        );
    }
    end_quietly(gateway.client);
}

// S2-21: nothing is needed but a POST: no handshake, no session, no `Accept`, and the answer is plain
#[test]
fn s2_21_a_plain_post_gets_a_plain_answer() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"s": fake(json!({"tools": [{"name": "progress"}]}))})));
    let call = calling(
        1,
        "tools/call",
        json!({"name": "s-progress", "arguments": {"steps": 3}, "_meta": {"progressToken": 1}}),
    );
    for accept in [None, Some("*/*"), Some("text/event-stream"), Some("text/html")] {
        let headers: Vec<_> = accept.map(|accept| ("Accept", accept)).into_iter().collect();
        let answer = gateway.ask("POST", "/api/default/mcp", &headers, &call);
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(answer.header("mcp-session-id"), None);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "3 steps");
    }
    end_quietly(gateway.client);
}

// S2-22: the servers see ids of ours, each once (at scale in http_load.rs)
#[test]
fn s2_22_clients_that_all_start_at_1_do_not_meet() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    std::thread::scope(|scope| {
        for client in 0..8 {
            let port = gateway.port;
            scope.spawn(move || {
                for n in 0..10 {
                    let path = format!("{client}/{n}");
                    let answer = post(
                        port,
                        "default",
                        "tools/call",
                        json!({"name": "filesystem-read_file", "arguments": {"path": path}}),
                    );
                    assert_eq!(answer["result"]["content"][0]["text"], json!({"path": path}).to_string());
                }
            });
        }
    });
    let calls = sandbox.received("filesystem.log", "tools/call");
    let mut ids: Vec<String> = calls.iter().map(|call| call["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((calls.len(), ids.len()), (80, 80));
    end_quietly(gateway.client);
}
