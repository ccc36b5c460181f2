//! Seed S0: mcps-proxy, its modes and its stdio. The program runs under that name, with that program's config path.

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

// S0-4, S0-12
#[test]
fn stdio_serves_the_default_schema_alone() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    assert_eq!(client.tool_names(), ["fs-echo", "fs-pid", "web-search-echo", "web-search-pid"]);
    assert_eq!(text(&client.call("fs-echo", json!({"text": "hi"}))), "hi");
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    assert!(started(&sandbox, "default-fs") && started(&sandbox, "default-web"));
    assert!(!started(&sandbox, "workspace-fs") && !started(&sandbox, "off-fs"));
}

// S0-5, trap (b)
#[test]
fn stdio_serves_the_schema_that_is_named_alone() {
    for args in [&["--stdio", "--schema=workspace"][..], &["--stdio", "--schema", "workspace"]] {
        let sandbox = Sandbox::new();
        let mut client = client(&sandbox, &schemas(&sandbox), args);
        assert_eq!(client.tool_names(), ["fs-echo", "fs-pid"], "{args:?}");
        client.close_stdin();
        assert!(client.wait_exit(PATIENCE).success());
        assert!(started(&sandbox, "workspace-fs"));
        assert!(!started(&sandbox, "default-fs") && !started(&sandbox, "default-web"), "{args:?}");
    }
}

// S0-12: what another schema owns is out of reach, even by name and even when all is started early
#[test]
fn stdio_never_touches_another_schema() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio", "--schema=workspace", "--eager"]);
    assert!(until(PATIENCE, || started(&sandbox, "workspace-fs")));
    assert_eq!(client.call("web-search-echo", json!({}))["error"]["code"], -32000);
    assert_eq!(client.ask("resources/read", json!({"uri": "file:///default-web"}))["error"]["code"], -32002);
    assert!(client.ask("prompts/get", json!({"name": "default-web-prompt"}))["error"]["code"].is_i64());
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    for other in ["default-fs", "default-web", "off-fs"] {
        assert!(!started(&sandbox, other), "{other} was started");
    }
}

// S0-6, trap (e)
#[test]
fn every_id_comes_back_as_it_was() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let ids = ["0", "\"\"", "\"abc\"", "\"0\"", "-7", "9007199254740993", "\"\\u00e9\\n\"", "\"日本\""];
    for id in ids {
        let value: Value = serde_json::from_str(id).unwrap();
        for method in ["ping", "tools/list", "no/such"] {
            client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#));
            let answer = client.wait_for_text(value.clone(), PATIENCE);
            let begins = answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#));
            assert!(begins, "{method} with id {id} was answered by {answer}");
        }
        let call = json!({"name": "fs-echo", "arguments": {"text": id}});
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{call}}}"#));
        let answer = client.wait_for_text(value, PATIENCE);
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#)), "{answer}");
    }
}

// S0-6, trap (e)
#[test]
fn notifications_get_no_reply() {
    let sandbox = Sandbox::new();
    let mut client = Client::spawn(mcps_proxy(&sandbox, &schemas(&sandbox), &["--stdio"]));
    client.notify("notifications/anything", json!({}));
    client.initialize(VERSION, json!({}));
    client.send_text(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.notify("notifications/cancelled", json!({"requestId": 77}));
    client.notify("notifications/cancelled", json!({}));
    client.notify("notifications/no-such", json!({"a": [1]}));
    // Without an id even a request's method is a notification.
    client.send_text(r#"{"jsonrpc":"2.0","method":"ping"}"#);
    client.send_text(r#"{"jsonrpc":"2.0","method":"no/such"}"#);
    client.send_text(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    let next = client.recv(PATIENCE);
    assert_eq!(next, json!({"jsonrpc": "2.0", "id": "last", "result": {}}));
}

// S0-6
#[test]
fn errors_are_error_objects() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let cases = [
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, json!(7), -32601),
        (r#"{"jsonrpc":"2.0","id":8,"method":5}"#, json!(8), -32600),
        (r#"{"jsonrpc":"2.0","id":9}"#, json!(9), -32600),
        (r#"{"jsonrpc":"1.0","id":10,"method":"ping"}"#, json!(10), -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":11,"method":"tools/call"}"#, json!(11), -32602),
        (r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":5}}"#, json!(12), -32602),
        (r#"{"jsonrpc":"2.0","id":13,"method":"resources/read","params":{}}"#, json!(13), -32602),
        (r#"{"jsonrpc":"2.0","id":14,"method":"prompts/get","params":{}}"#, json!(14), -32602),
        ("5", Value::Null, -32600),
        ("{]", Value::Null, -32700),
        ("no JSON", Value::Null, -32700),
    ];
    for (message, id, code) in cases {
        client.send_text(message);
        let answer = client.recv(PATIENCE);
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{message}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
        assert!(answer["error"]["message"].is_string() && answer.get("result").is_none(), "{answer}");
    }
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}), "the session goes on");
}

// S0-7
#[test]
fn a_tool_is_called_at_its_owner() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let called = client.call("web-search-echo", json!({"text": "found", "n": 1.50}));
    assert_eq!(called["result"]["content"], json!([{"type": "text", "text": "found"}]));
    let received = sandbox.received("default-web.log", "tools/call");
    assert_eq!(received.len(), 1);
    assert_eq!(received[0]["params"], json!({"name": "echo", "arguments": {"text": "found", "n": 1.50}}));
    assert_eq!(sandbox.received("default-fs.log", "tools/call").len(), 0);
}

// S0-8
#[test]
fn a_resource_is_read_from_its_owner() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    for name in ["default-web", "default-fs"] {
        let uri = format!("file:///{name}");
        let read = client.ask("resources/read", json!({"uri": uri}));
        let text = format!("contents of {uri} from {name}");
        let contents = json!([{"uri": uri, "mimeType": "text/plain", "text": text}]);
        assert_eq!(read["result"]["contents"], contents, "{read}");
        let log = format!("{name}.log");
        assert_eq!(sandbox.received(&log, "resources/read").len(), 1, "{name}");
    }
}

// S0-9
#[test]
fn a_prompt_is_fetched_from_its_owner() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    for name in ["default-web", "default-fs"] {
        let prompt = format!("{name}-prompt");
        let got = client.ask("prompts/get", json!({"name": prompt, "arguments": {"x": "1"}}));
        let text = format!(r#"prompt {prompt} of {name} with {{"x":"1"}}"#);
        assert_eq!(got["result"]["messages"][0]["content"]["text"], text, "{got}");
        let log = format!("{name}.log");
        assert_eq!(sandbox.received(&log, "prompts/get").len(), 1, "{name}");
    }
}

fn refused(config: impl FnOnce(&Sandbox) -> Value, args: &[&str]) -> Ran {
    let sandbox = Sandbox::new();
    let config = config(&sandbox);
    let ran = run_with(mcps_proxy(&sandbox, &config, args), PING);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    for name in ["default-fs", "workspace-fs", "off-fs"] {
        assert!(!started(&sandbox, name), "{name} was started");
    }
    ran
}

// S0-13; section 2.1: start-up errors give a hint and a usage example
#[test]
fn a_schema_that_does_not_exist_stops_the_start() {
    let ran = refused(schemas, &["--stdio", "--schema=nowhere"]);
    for part in ["'nowhere'", "does not exist", "default", "workspace", "--schema"] {
        assert!(ran.stderr.contains(part), "no {part} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("off"), "a disabled one cannot be chosen: {}", ran.stderr);
}

// S0-13: also where nobody named it
#[test]
fn a_file_without_the_default_schema_stops_the_start() {
    let without = |sandbox: &Sandbox| {
        let mut config = schemas(sandbox);
        config["schemas"].as_object_mut().map(|schemas| schemas.remove("default"));
        config
    };
    let ran = refused(without, &["--stdio"]);
    assert!(ran.stderr.contains("'default'") && ran.stderr.contains("workspace"), "{}", ran.stderr);
}

// S0-14
#[test]
fn a_disabled_schema_stops_the_start_and_is_said_to_be_disabled() {
    for args in [&["--stdio", "--schema=off"][..], &["--stdio", "--schema", "off"]] {
        let ran = refused(schemas, args);
        assert!(ran.stderr.contains("'off' is disabled"), "{}", ran.stderr);
    }
}

// S0-15
#[test]
fn stdio_and_http_exclude_each_other() {
    let sandbox = Sandbox::new();
    for program in [bin("manifold"), named(&sandbox, "mcps-proxy")] {
        let orders = [
            &["--stdio", "--http"][..],
            &["--http", "--stdio"],
            &["--http", "--schema=x", "--stdio"],
            &["serve", "--stdio", "--http"],
            &["serve", "--http", "--stdio"],
        ];
        for args in orders {
            let mut command = sandbox.command(&program);
            command.args(args);
            let ran = run(command);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
            assert!(ran.stderr.contains("--stdio and --http cannot be used together"), "{}", ran.stderr);
        }
    }
}

fn with_cli(cli: Value, knobs: Value) -> Value {
    json!({"server": {"port": 0}, "cli": cli,
           "schemas": {"default": {"mcpServers": {"fs": fake(knobs)}}}})
}

// S0-16
#[test]
fn every_key_of_cli_stdio_is_optional() {
    let sections = [
        json!({}),
        json!({"stdio": {}}),
        json!({"stdio": {"encoding": "utf8"}}),
        json!({"stdio": {"delimiter": "\n"}}),
        json!({"stdio": {"timeout": 30000}}),
        json!({"stdio": {"encoding": "utf8", "delimiter": "\n", "timeout": 30000}}),
    ];
    for cli in sections {
        let sandbox = Sandbox::new();
        let mut client = client(&sandbox, &with_cli(cli.clone(), json!({})), &["--stdio"]);
        assert_eq!(text(&client.call("fs-echo", json!({"text": "hi"}))), "hi", "{cli}");
        let log = logged_at_start(&client);
        assert!(!log.contains("WARN"), "{cli}: {log}");
    }
}

// S0-16, decision 25: the timeout of the section is the one that counts on stdio
#[test]
fn the_timeout_of_cli_stdio_is_used() {
    let sandbox = Sandbox::new();
    let config = with_cli(json!({"stdio": {"timeout": 1000}}), json!({"hangOn": "tools/call"}));
    let mut client = client(&sandbox, &config, &["--stdio"]);
    let error = &client.call("fs-echo", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(1000)), "{error}");
}

// Decision 25: a server's own timeout comes before that of the section, and that before `callTimeout`
#[test]
fn a_servers_own_timeout_comes_first() {
    let sandbox = Sandbox::new();
    let knobs = json!({"hangOn": "tools/call"});
    let mut config = with_cli(json!({"stdio": {"timeout": 60_000}}), knobs);
    config["callTimeout"] = json!(1000);
    config["schemas"]["default"]["mcpServers"]["fs"]["timeout"] = json!(1100);
    let mut client = client(&sandbox, &config, &["--stdio"]);
    let error = &client.call("fs-echo", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(1100)), "{error}");
}

// S0-17, trap (f)
#[test]
fn an_invalid_cli_stdio_is_replaced_by_defaults_with_a_warning() {
    let sections = [
        (json!("loud"), "cli"),
        (json!([]), "cli"),
        (json!({"stdio": 5}), "cli.stdio"),
        (json!({"stdio": {"encoding": "latin1"}}), "cli.stdio.encoding"),
        (json!({"stdio": {"encoding": 8}}), "cli.stdio.encoding"),
        (json!({"stdio": {"delimiter": "|"}}), "cli.stdio.delimiter"),
        (json!({"stdio": {"delimiter": null, "timeout": "soon"}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeout": -5}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeout": 20}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeout": 300_001}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeuot": 5}}), "did you mean `timeout`?"),
    ];
    for (cli, place) in sections {
        let sandbox = Sandbox::new();
        let config = with_cli(cli.clone(), json!({"tools": [{"name": "sleep"}]}));
        let mut client = client(&sandbox, &config, &["--stdio"]);
        // Longer than the 20 ms above: the default is in force.
        assert_eq!(text(&client.call("fs-sleep", json!({"ms": 60}))), "slept", "{cli}");
        let log = logged_at_start(&client);
        let warned = log.lines().any(|line| line.contains("WARN") && line.contains(place));
        assert!(warned, "no warning about {place} for {cli}: {log}");
    }
}

// Trap (c); section 2.1: start-up info shows mode and schema
#[test]
fn nothing_but_frames_is_on_stdout() {
    let sandbox = Sandbox::new();
    let config = schemas(&sandbox);
    let args = ["--stdio", "--schema=workspace", "--log-level", "debug", "--eager"];
    let silent = run(mcps_proxy(&sandbox, &config, &args));
    assert_eq!((silent.code, silent.stdout.as_str()), (Some(0), ""));
    let said = silent.stderr.lines().any(|line| line.contains("stdio") && line.contains("workspace"));
    assert!(said, "{}", silent.stderr);
}

// Trap (d): no input is too early
#[test]
fn input_that_was_there_before_the_start_is_answered() {
    let sandbox = Sandbox::new();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "fs-echo", "arguments": {"text": "early"}}});
    let input = format!(
        "{hello}\n{}\n{call}\n{}",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#
    );
    // The last line has no end, and the input ends with it: all is answered before the process leaves.
    let ran = run_with(mcps_proxy(&sandbox, &schemas(&sandbox), &["--stdio"]), &input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut answers: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.retain(|answer| answer.get("id").is_some());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 3, "{}", ran.stdout);
    assert_eq!(answers[0]["result"]["protocolVersion"], VERSION);
    assert_eq!(text(&answers[1]), "early");
    assert_eq!(answers[2]["result"]["tools"].as_array().map(Vec::len), Some(4));
}

// Trap (d): a line may come in pieces
#[test]
fn lines_split_across_reads_are_put_together() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let second = r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"fs-echo","arguments":{"text":"日本é"}}}"#;
    // Cut in a key, in a number, in the middle of a character, and right before the line's end.
    let inside = second.find('日').unwrap() + 1;
    for at in [1, 4, 20, 30, inside, inside + 1, second.len() - 1, second.len()] {
        // The answer to the first line shows that its read, and so the first piece, is over.
        client.send_raw(&[PING.as_bytes(), &second.as_bytes()[..at]].concat());
        client.wait_for(1, PATIENCE);
        client.send_raw(&[&second.as_bytes()[at..], b"\n"].concat());
        assert_eq!(text(&client.wait_for("b", PATIENCE)), "日本é", "cut at {at}");
    }
    for byte in format!("{second}\r\n").bytes() {
        client.send_raw(&[byte]);
    }
    assert_eq!(text(&client.wait_for("b", PATIENCE)), "日本é");
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    assert_eq!(client.try_recv(Duration::ZERO), None, "each was answered once");
}

// Trap (h)
#[test]
fn servers_get_a_whole_handshake() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    client.call("fs-echo", json!({}));
    assert_eq!(sandbox.received("default-fs.log", "initialize").len(), 1);
    assert_eq!(sandbox.received("default-fs.log", "notifications/initialized").len(), 1);
}

// Trap (k)
#[test]
fn an_unknown_tool_is_an_error_and_no_result() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &schemas(&sandbox), &["--stdio"]);
    let unknown = client.call("nonexistent_tool", json!({}));
    assert_eq!(unknown["error"], json!({"code": -32601, "message": "Tool 'nonexistent_tool' not found"}));
    let of_known = client.call("web-search-nothing", json!({}));
    assert_eq!(of_known["error"]["code"], -32601, "{of_known}");
    assert_eq!(of_known["error"]["data"]["serverId"], "web-search", "{of_known}");
}
