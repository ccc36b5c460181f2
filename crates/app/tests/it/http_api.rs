//! The plain HTTP API of mcps-proxy (S2), one requirement after the other. Its sample clients and `curl` lines are in
//! `interop/seed`, unchanged.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod errors;
mod logs;
mod sample_clients;
mod status;

use std::path::{Path, PathBuf};
use std::time::Duration;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::{named, run};
use crate::http_lifecycle::{Conn, Gateway, calling};
use crate::profile_mcps_proxy::{end_quietly, http, port_of, post};

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

// S2-17: the seed's own CORS section, with its preflight (more of it in front_door/cors.rs)
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
