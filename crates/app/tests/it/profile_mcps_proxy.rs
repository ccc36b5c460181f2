//! The profile `mcps-proxy` (S0): its modes and its schemas. The program runs under that name, with that program's
//! config path.

mod start;
mod stdio;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use manifold_testkit::client::PATIENCE;
pub(crate) use manifold_testkit::http::{end_quietly, port_of};
use manifold_testkit::{Client, Sandbox, bin, fake, until};
use serde_json::{Value, json};

use crate::cli::{PING, Ran, logged_at_start, named, run, run_with};

const CONFIG: &str = ".mcps-proxy/config.json";
const VERSION: &str = "2025-06-18";

/// Returns `mcps-proxy` with these arguments, after writing its config.
fn mcps_proxy(sandbox: &Sandbox, config: &Value, args: &[&str]) -> Command {
    sandbox.write(CONFIG, &config.to_string());
    let mut command = sandbox.command(named(sandbox, "mcps-proxy"));
    command.args(args);
    command
}

/// Returns a client of `mcps-proxy --stdio` that has shaken hands.
fn client(sandbox: &Sandbox, config: &Value, args: &[&str]) -> Client {
    let mut client = Client::spawn(mcps_proxy(sandbox, config, args));
    client.initialize(VERSION, json!({}));
    client
}

/// Returns a server whose name shows in what it says, and whose starts show in a file of that name.
fn server(sandbox: &Sandbox, name: &str) -> Value {
    let uri = format!("file:///{name}");
    fake(json!({
        "name": name,
        "pid": sandbox.path(name),
        "log": sandbox.path(&format!("{name}.log")),
        "tools": [{"name": "echo", "description": "Says it back"}, {"name": "pid"}],
        "resources": [{"uri": uri, "name": name, "mimeType": "text/plain"}],
        "prompts": [{"name": format!("{name}-prompt"), "arguments": [{"name": "x", "required": true}]}],
    }))
}

/// Three schemas; `fs` is in each of them, and the last one is disabled.
fn schemas(sandbox: &Sandbox) -> Value {
    json!({
        "server": {"port": 0},
        "schemas": {
            "default": {"enabled": true, "mcpServers": {
                "fs": server(sandbox, "default-fs"), "web-search": server(sandbox, "default-web")}},
            "workspace": {"mcpServers": {"fs": server(sandbox, "workspace-fs")}},
            "off": {"enabled": false, "mcpServers": {"fs": server(sandbox, "off-fs")}},
        },
    })
}

fn started(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.path(name).exists()
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Sends one HTTP/1.1 request and returns the status and the JSON of the answer.
pub(crate) fn http(port: u16, method: &str, path: &str, body: &str) -> (u16, Value) {
    let exchange = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let head = "Content-Type: application/json\r\nConnection: close";
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let answer = exchange().unwrap_or_else(|error| panic!("{method} {path}: {error}"));
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { panic!("no HTTP answer: {answer}") };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {answer}"));
    (status.unwrap_or_else(|| panic!("no status: {head}")), body)
}

pub(crate) fn post(port: u16, schema: &str, method: &str, params: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (status, body) = http(port, "POST", &format!("/api/{schema}/mcp"), &message.to_string());
    assert_eq!(status, 200, "{body}");
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(1)), "{body}");
    body
}

// S0-1
#[test]
fn no_arguments_or_http_means_http() {
    let cases = [
        ("mcps-proxy", &[][..]),
        ("mcps-proxy", &["--http"]),
        ("manifold", &[]),
        ("manifold", &["--http"]),
        ("manifold", &["http"]),
        ("manifold", &["serve", "--http"]),
    ];
    for (program, args) in cases {
        let sandbox = Sandbox::new();
        sandbox.write(CONFIG, &schemas(&sandbox).to_string());
        sandbox.write_config(&schemas(&sandbox));
        let mut command = sandbox.command(named(&sandbox, program));
        command.args(args);
        let client = Client::spawn(command);
        let port = port_of(&client);
        let (status, health) = http(port, "GET", "/health", "");
        assert_eq!((status, &health["status"]), (200, &json!("ok")), "{program} {args:?}: {health}");
        assert!(health["uptime"].is_number() && health["timestamp"].is_string(), "{health}");
        assert_eq!(post(port, "default", "ping", json!({}))["result"], json!({}), "{program} {args:?}");
        end_quietly(client);
    }
}

// S0-2
#[test]
fn http_mode_initialises_every_enabled_schema() {
    let sandbox = Sandbox::new();
    let client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &[]));
    let port = port_of(&client);
    // Nobody has asked for anything yet.
    for name in ["default-fs", "default-web", "workspace-fs"] {
        assert!(until(PATIENCE, || started(&sandbox, name)), "{name} was not started: {}", client.stderr());
    }
    for schema in ["default", "workspace"] {
        post(port, schema, "tools/list", json!({}));
    }
    end_quietly(client);
    assert!(!started(&sandbox, "off-fs"), "a disabled schema has no processes");
}

// S0-3, in as far as every method of S2 has its answer at the one endpoint
#[test]
fn http_mode_serves_every_kind_of_request() {
    let sandbox = Sandbox::new();
    let client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &[]));
    let port = port_of(&client);
    let tools = post(port, "workspace", "tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][0]["name"], "fs-echo", "{tools}"); // S2-7
    assert_eq!(tools["result"]["tools"][0]["description"], "Says it back", "{tools}"); // S2-7
    let called =
        post(port, "workspace", "tools/call", json!({"name": "fs-echo", "arguments": {"text": "hi"}}));
    assert_eq!(text(&called), "hi"); // S2-8
    let resources = post(port, "workspace", "resources/list", json!({}));
    assert_eq!(resources["result"]["resources"][0]["uri"], "file:///workspace-fs"); // S2-9
    let read = post(port, "workspace", "resources/read", json!({"uri": "file:///workspace-fs"}));
    assert_eq!(read["result"]["contents"][0]["text"], "contents of file:///workspace-fs from workspace-fs"); // S2-10
    let prompts = post(port, "workspace", "prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "workspace-fs-prompt"); // S2-11
    let prompt = post(
        port,
        "workspace",
        "prompts/get",
        json!({"name": "workspace-fs-prompt", "arguments": {"x": "1"}}),
    );
    assert_eq!(prompt["result"]["messages"][0]["role"], "user"); // S2-12
    end_quietly(client);
}

// S0-11, S2-15
#[test]
fn the_path_selects_the_schema() {
    let sandbox = Sandbox::new();
    let client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &["--http"]));
    let port = port_of(&client);
    let names = |schema| {
        let listed = post(port, schema, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).iter();
        tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("default"), ["fs-echo", "fs-pid", "web-search-echo", "web-search-pid"]);
    assert_eq!(names("workspace"), ["fs-echo", "fs-pid"]);
    for schema in ["off", "nowhere"] {
        let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"}).to_string();
        let (status, body) = http(port, "POST", &format!("/api/{schema}/mcp"), &message);
        let error = json!({"code": 404, "message": format!("Schema '{schema}' not found or disabled")});
        assert_eq!((status, body), (404, json!({"jsonrpc": "2.0", "id": "a", "error": error})));
    }
    end_quietly(client);
}

// S0-10
#[test]
fn each_schema_has_connections_of_its_own() {
    let sandbox = Sandbox::new();
    let client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &[]));
    let port = port_of(&client);
    let pid = |schema| {
        let called = post(port, schema, "tools/call", json!({"name": "fs-pid"}));
        text(&called).parse::<u32>().unwrap_or_else(|_| panic!("{called}"))
    };
    assert_ne!(pid("default"), pid("workspace"));
    assert_eq!(pid("default"), pid("default"));
    end_quietly(client);
}

// S0-2: a schema that is asked while its servers start says nothing wrong, least of all that it has no tools
#[test]
fn requests_during_the_start_get_whole_answers() {
    let sandbox = Sandbox::new();
    let client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &[]));
    let port = port_of(&client);
    thread::scope(|scope| {
        for schema in ["default", "workspace"] {
            scope.spawn(move || {
                for _ in 0..30 {
                    let called = post(port, schema, "tools/call", json!({"name": "fs-pid"}));
                    assert!(called["result"].is_object(), "{called}");
                }
            });
            scope.spawn(move || {
                for _ in 0..30 {
                    let listed = post(port, schema, "tools/list", json!({}));
                    let count = listed["result"]["tools"].as_array().map(Vec::len);
                    assert_eq!(count, Some(if schema == "default" { 4 } else { 2 }), "{listed}");
                }
            });
        }
    });
    end_quietly(client);
}
