//! Who may come in (T1 to T5, T27, T28, T30, T31, T33, decisions 24 and 31). Whoever may not is told so before a tool runs, and the
//! fake server's log is the witness.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod cors;
mod requests;
mod smuggling;
mod tls;
mod tokens;

use std::process::Command;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::http_lifecycle::{Conn, Gateway, calling};
use manifold_testkit::http::end_quietly;

/// One server `s` whose log and starts are witnesses.
fn one(sandbox: &Sandbox) -> Value {
    let tools = json!([{"name": "echo"}, {"name": "env"}]);
    json!({"mcpServers": {"s": fake(json!({"name": "s", "tools": tools, "log": sandbox.path("s.log"), "pid": sandbox.path("s.pid")}))}})
}

/// Returns the config with this `server` section.
fn with_server(sandbox: &Sandbox, server: Value) -> Value {
    let mut config = one(sandbox);
    config["server"] = server;
    config
}

/// A call that leaves a trace if it ever gets through.
fn trace() -> String {
    calling(1, "tools/call", json!({"name": "s__echo", "arguments": {"text": "in"}}))
}

const ROUTES: [(&str, &str); 11] = [
    ("GET", "/health"),
    ("GET", "/api/status"),
    ("POST", "/api/default/mcp"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("POST", "/mcp/default"),
    ("DELETE", "/mcp"),
    ("GET", "/sse"),
    ("POST", "/messages?sessionId=1"),
    ("GET", "/nowhere"),
    ("OPTIONS", "/api/default/mcp"),
];

/// Sends a call with these headers to every route and checks that each refuses it.
#[track_caller]
fn check_refused_everywhere(gateway: &Gateway, headers: &[(&str, &str)], expected: u16) {
    for (method, path) in ROUTES {
        let body = if method == "POST" { trace() } else { String::new() };
        let mut connection = Conn::open(gateway.port);
        connection.send(method, path, headers, &body);
        let answer = connection.answer();
        assert_eq!(answer.status, expected, "{method} {path} with {headers:?}: {}", answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {path} with {headers:?}");
        assert!(connection.is_closed(), "what follows a refused request is not read: {method} {path}");
    }
}

#[track_caller]
fn check_served(gateway: &Gateway, headers: &[(&str, &str)]) {
    let answer = gateway.ask("POST", "/api/default/mcp", headers, &trace());
    assert_eq!(answer.status, 200, "{headers:?}: {}", answer.text());
    assert_eq!(answer.json()["result"]["content"][0]["text"], "in", "{headers:?}");
    assert_eq!(gateway.ask("GET", "/health", headers, "").status, 200, "{headers:?}");
    assert_eq!(gateway.ask("GET", "/api/status", headers, "").status, 200, "{headers:?}");
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = gateway.ask("POST", "/mcp", headers, &calling(1, "initialize", hello));
    assert_eq!(answer.status, 200, "{headers:?}: {}", answer.text());
}

fn calls(sandbox: &Sandbox) -> usize {
    sandbox.received("s.log", "tools/call").len()
}

// T1: a page that points a name of its own at this machine
#[test]
fn t1_foreign_hosts_are_refused_on_every_route() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let port = gateway.port;
    let with_port = format!("evil.example:{port}");
    let hostile = [
        "evil.example",
        with_port.as_str(),
        "localhost.evil.example",
        "localhost.evil.example:80",
        "127.0.0.1.evil.example",
        "127.0.0.1.nip.io",
        "127.0.0.1@evil.example",
        "localhost:80@evil.example",
        "localhost:evil.example",
        "localhost, evil.example",
        "localhost evil.example",
        "evil.example localhost",
        "[::1].evil.example",
        "[::1]evil.example:80",
        "[::1",
        "[::ffff:8.8.8.8]",
        "::1.evil.example",
        "0.0.0.0",
        "0.0.0.0:3095",
        "[::]",
        "10.0.0.1",
        "192.168.1.1:3095",
        "169.254.169.254",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.1",
        "localhost\\evil",
        "loca\u{131}host",
        "local",
    ];
    for host in hostile {
        check_refused_everywhere(&gateway, &[("Host", host)], 403);
    }
    assert_eq!(calls(&sandbox), 0, "no tool ran");
    end_quietly(gateway.client);
}

// T1: no Host, two Hosts, and a target that says something else than Host does
#[test]
fn t1_hosts_that_contradict_each_other_are_refused() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let body = trace();
    let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let heads = [
        "POST /api/default/mcp HTTP/1.1\r\n",
        "POST /api/default/mcp HTTP/1.1\r\nHost:\r\n",
        "POST /api/default/mcp HTTP/1.0\r\n",
        "POST /api/default/mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n",
        "POST /api/default/mcp HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n",
        "POST http://evil.example/api/default/mcp HTTP/1.1\r\nHost: localhost\r\n",
        "POST http://localhost/api/default/mcp HTTP/1.1\r\nHost: evil.example\r\n",
        "POST http://localhost@evil.example/api/default/mcp HTTP/1.1\r\nHost: localhost\r\n",
        "POST /api/default/mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
    ];
    for head in heads {
        let mut connection = Conn::open(gateway.port);
        connection.write(format!("{head}{rest}").as_bytes());
        let answer = connection.answer();
        assert!([400, 403].contains(&answer.status), "{head:?}: {} {}", answer.status, answer.text());
    }
    assert_eq!(calls(&sandbox), 0, "no tool ran");
    // As a proxy is asked, and both agree.
    let mut connection = Conn::open(gateway.port);
    connection.write(
        format!("POST http://localhost:3095/api/default/mcp HTTP/1.1\r\nHost: localhost:3095\r\n{rest}")
            .as_bytes(),
    );
    assert_eq!(connection.answer().status, 200);
    end_quietly(gateway.client);
}

// T1: pages of other sites
#[test]
fn t1_foreign_origins_are_refused_on_every_route() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let hostile = [
        "https://evil.example",
        "http://evil.example:3095",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://localhost@evil.example",
        "http://localhost:80@evil.example",
        "http://localhost:evil.example",
        "http://[::1].evil.example",
        "http://localhost, https://evil.example",
        "http://10.0.0.1",
        "http://0.0.0.0:3095",
        "http://[::ffff:10.0.0.1]",
        "null",
        "file://",
        "file:///localhost",
        "chrome-extension://abcdef",
        "evil.example",
        "localhost",
        "//localhost",
        "https://",
        "http://loc\u{e4}lhost",
        "*",
    ];
    for origin in hostile {
        check_refused_everywhere(&gateway, &[("Origin", origin)], 403);
    }
    assert_eq!(calls(&sandbox), 0, "no tool ran");
    end_quietly(gateway.client);
}

// T2: what a page may send without asking first
#[test]
fn t2_only_json_is_read() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let hostile = [
        "",
        "text/plain",
        "text/plain;charset=UTF-8",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json-patch+json",
        "application/json, text/plain",
        "text/json",
        "application",
        "json",
        "*/*",
    ];
    for kind in hostile {
        for path in
            ["/api/default/mcp", "/mcp", "/mcp/default", "/messages?sessionId=1", "/health", "/nowhere"]
        {
            let mut connection = Conn::open(gateway.port);
            connection.send("POST", path, &[("Content-Type", kind)], &trace());
            assert_eq!(connection.answer().status, 415, "{kind:?} at {path}");
            assert!(connection.is_closed());
        }
    }
    // A form or an image of another site needs no JSON and sends no Origin.
    for site in [
        &[("Sec-Fetch-Site", "cross-site")][..],
        &[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")],
    ] {
        check_refused_everywhere(&gateway, site, 403);
    }
    assert_eq!(calls(&sandbox), 0, "no tool ran");
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON ;charset=UTF-8",
        "application/json;",
    ] {
        check_served(&gateway, &[("Content-Type", kind)]);
    }
    end_quietly(gateway.client);
}

// T1, T2: everyone on this machine is served
#[test]
fn t1_and_t2_the_legitimate_are_served() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let port = gateway.port;
    let hosts = [
        "localhost".to_owned(),
        "LocalHost".to_owned(),
        format!("localhost:{port}"),
        "localhost:80".to_owned(),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{port}"),
        "127.0.0.2".to_owned(),
        "[::1]".to_owned(),
        format!("[::1]:{port}"),
    ];
    for host in &hosts {
        check_served(&gateway, &[("Host", host)]);
    }
    let origins = [
        "http://localhost",
        "http://localhost:5173",
        "https://localhost:8443",
        "http://127.0.0.1:6274",
        "http://[::1]:3000",
    ];
    for origin in origins {
        check_served(&gateway, &[("Origin", origin)]);
    }
    for site in ["same-origin", "same-site", "none"] {
        check_served(&gateway, &[("Sec-Fetch-Site", site)]);
    }
    // A page of this machine under its other name is another site to a browser.
    check_served(&gateway, &[("Origin", "http://localhost:5173"), ("Sec-Fetch-Site", "cross-site")]);
    end_quietly(gateway.client);
}

// T3: no route takes a command, and no manager tool starts what is not configured
#[test]
fn t3_nothing_runs_what_a_request_names() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let touched = sandbox.path("touched");
    let server = json!({"command": "touch", "args": [touched], "env": {}, "id": "x", "name": "x", "server_id": "x", "serverId": "x"});
    for path in [
        "/api/servers",
        "/api/mcp/servers",
        "/api/test",
        "/api/connect",
        "/admin",
        "/servers",
        "/api/default/servers",
        "/mcp-rest/test/connection",
        "/stdio?command=touch",
        "/sse?command=touch&args=x",
    ] {
        let answer = gateway.ask("POST", path, &[], &server.to_string());
        assert!([404, 405].contains(&answer.status), "{path}: {}", answer.status);
    }
    for tool in ["servers_start", "servers_restart", "servers_list", "servers_add", "add_server"] {
        for name in [format!("manifold__{tool}"), tool.to_owned()] {
            gateway.ask(
                "POST",
                "/api/default/mcp",
                &[],
                &calling(1, "tools/call", json!({"name": name, "arguments": server})),
            );
        }
    }
    let listed = gateway.ask("POST", "/api/default/mcp", &[], &calling(1, "tools/list", json!({}))).text();
    assert!(!listed.contains("manifold__"), "{listed}");
    assert!(!touched.exists());
    end_quietly(gateway.client);
}

/// Waits for the port in the log, whatever the address and scheme.
fn port_of_any(client: &Client) -> u16 {
    let mut port = None;
    until(PATIENCE, || {
        let stderr = client.stderr();
        let line = stderr.split_once("listening on ").and_then(|(_, rest)| rest.split_once('\n'));
        port = line.and_then(|(line, _)| line.trim().rsplit_once(':')?.1.parse().ok());
        port.is_some()
    });
    port.unwrap_or_else(|| panic!("it does not listen: {}", client.stderr()))
}

pub(crate) fn spawn(command: Command) -> Gateway {
    let client = Client::spawn(command);
    let port = port_of_any(&client);
    Gateway { client, port }
}

const TOKEN: &str = "correct-horse-battery";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

// T5: ids nobody can guess, good for one endpoint
#[test]
fn t5_session_ids_are_long_random_and_bound() {
    let sandbox = Sandbox::new();
    let config = json!({"servers": {"s": fake(json!({"log": sandbox.path("s.log")}))},
        "namespaces": {"work": {"serverIds": ["s"]}, "home": {"serverIds": ["s"]}}, "defaultNamespaceId": "work"});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let open = |path: &str| gateway.session(path, "2025-06-18", json!({})).id;
    let mut ids: Vec<String> = (0..64).map(|_| open("/mcp")).collect();
    for id in &ids {
        assert!(
            id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "128 bits in hex or more: {id}"
        );
    }
    // Every place takes nearly every value: no counter, no clock.
    for place in 0..ids[0].len() {
        let mut seen: Vec<u8> = ids.iter().map(|id| id.as_bytes()[place]).collect();
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() >= 6, "place {place} has {} values", seen.len());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 64);
    let at = |path: &str, id: &str| {
        let post = gateway
            .ask(
                "POST",
                path,
                &[("Mcp-Session-Id", id)],
                &calling(1, "tools/call", json!({"name": "s__echo"})),
            )
            .status;
        let mut stream = Conn::open(gateway.port);
        stream.send("GET", path, &[("Mcp-Session-Id", id), ("Accept", "text/event-stream")], "");
        (post, stream.response().status)
    };
    let (plain, work, home) = (open("/mcp"), open("/mcp/work"), open("/mcp/home"));
    for (id, own) in [(&plain, "/mcp"), (&work, "/mcp/work"), (&home, "/mcp/home")] {
        for path in ["/mcp", "/mcp/work", "/mcp/home"] {
            assert_eq!(at(path, id), if path == own { (200, 200) } else { (404, 404) }, "{own} at {path}");
            if path != own {
                assert_eq!(gateway.ask("DELETE", path, &[("Mcp-Session-Id", id)], "").status, 404);
            }
        }
        // Nor is it one of the old transport's.
        let message = format!("/messages?sessionId={id}");
        assert_eq!(gateway.ask("POST", &message, &[], &calling(1, "ping", json!({}))).status, 404, "{own}");
    }
    let mut stream = Conn::open(gateway.port);
    stream.send("GET", "/sse/work", &[("Accept", "text/event-stream")], "");
    let mut events = stream.response().events();
    let endpoint = events.next().unwrap().data;
    let id = endpoint.rsplit('=').next().unwrap();
    assert_eq!(at("/mcp/work", id), (404, 404));
    let wrong = "0".repeat(id.len());
    for guess in
        [id.to_uppercase().as_str(), &id[..id.len() - 1], &format!("{id}0"), "1", wrong.as_str(), "../x", "'"]
    {
        if guess != id {
            assert_eq!(at("/mcp/work", guess), (404, 404), "{guess}");
            assert_eq!(
                gateway
                    .ask("POST", &format!("/messages?sessionId={guess}"), &[], &calling(1, "ping", json!({})))
                    .status,
                404
            );
        }
    }
    // No route lists them.
    for path in ["/", "/health", "/api/status", "/nowhere", "/sessions", "/api/sessions"] {
        let text = gateway.ask("GET", path, &[], "").text();
        assert!(!text.contains(&plain) && !text.contains(id), "{path}: {text}");
    }
    end_quietly(gateway.client);
}
