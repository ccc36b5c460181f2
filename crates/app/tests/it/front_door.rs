//! Who may come in (T1 to T5, T26 to T33, decisions 24 and 31). Whoever may not is told so before a tool runs, and the
//! fake server's log is the witness.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::{Ran, run};
use crate::http_lifecycle::{Answer, Conn, Gateway, calling, http_command};
use crate::s0::end_quietly;

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

// T4, decision 24: an address others can reach needs a token
#[test]
fn t4_an_open_address_without_a_token_does_not_start() {
    let sandbox = Sandbox::new();
    for host in ["0.0.0.0", "::", "192.0.2.1", "example.com"] {
        let configured = with_server(&sandbox, json!({"host": host}));
        for (config, more) in
            [(one(&sandbox), vec!["--host", host, "--eager"]), (configured, vec!["--eager"])]
        {
            let ran = run(http_command(&sandbox, &config, &more));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
            for word in ["token", "--token-file", "MANIFOLD_TOKEN", "server.token"] {
                assert!(ran.stderr.contains(word), "no {word} in {}", ran.stderr);
            }
            assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
            assert!(!sandbox.path("s.pid").exists(), "nothing is spawned");
        }
    }
    // A token that is not there is none: empty, or a variable nobody set.
    for token in ["", "${NO_SUCH_TOKEN}"] {
        let config = with_server(&sandbox, json!({"host": "0.0.0.0", "token": token}));
        let ran = run(http_command(&sandbox, &config, &["--eager"]));
        assert_eq!(ran.code, Some(2), "{token:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("token"), "{}", ran.stderr);
    }
    sandbox.write("empty", "\n \n");
    let (empty, missing) = (sandbox.path("empty"), sandbox.path("missing"));
    for file in [empty, missing] {
        let ran = run(http_command(
            &sandbox,
            &one(&sandbox),
            &["--host", "0.0.0.0", "--token-file", file.to_str().unwrap()],
        ));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(file.to_str().unwrap()), "{}", ran.stderr);
    }
    let mut command = http_command(&sandbox, &one(&sandbox), &["--host", "0.0.0.0"]);
    command.env("MANIFOLD_TOKEN", "");
    assert_eq!(run(command).code, Some(2));
    let ran = run(http_command(&sandbox, &one(&sandbox), &["--host", "0.0.0.0", "--token", ""]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!sandbox.path("s.pid").exists(), "nothing is spawned");
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

fn spawn(command: Command) -> Gateway {
    let client = Client::spawn(command);
    let port = port_of_any(&client);
    Gateway { client, port }
}

const TOKEN: &str = "correct-horse-battery";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Checks that this token, and no other, opens every route but `/health`.
fn check_token(gateway: &Gateway, token: &str) {
    let right = bearer(token);
    check_served(gateway, &[("Authorization", &right)]);
    assert_eq!(gateway.ask("GET", "/health", &[], "").status, 200);
    let answer = gateway.ask("POST", "/api/default/mcp", &[], &trace());
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
}

/// Returns an answer without what changes by the second.
fn timeless(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
    (answer.status, headers, answer.text())
}

// T4, decision 24: every wrong token is answered alike, on every route but `/health`
#[test]
fn t4_a_wrong_token_is_401_whatever_is_wrong_with_it() {
    let sandbox = Sandbox::new();
    let config = with_server(&sandbox, json!({"host": "0.0.0.0", "token": TOKEN}));
    let gateway = spawn(http_command(&sandbox, &config, &["--eager", "--log-level", "debug"]));
    let wrong = [
        bearer("x"),
        bearer(&TOKEN[..TOKEN.len() - 1]),
        bearer(&format!("{TOKEN}x")),
        bearer(&TOKEN.to_uppercase()),
        bearer(&"x".repeat(TOKEN.len())),
        bearer(&"x".repeat(9000)),
        "Bearer".to_owned(),
        TOKEN.to_owned(),
        format!("Basic {TOKEN}"),
        format!("Token {TOKEN}"),
        format!("Bearer{TOKEN}"),
    ];
    for (method, path) in
        ROUTES.into_iter().filter(|(method, path)| *path != "/health" && *method != "OPTIONS")
    {
        let body = if method == "POST" { trace() } else { String::new() };
        let none = gateway.ask(method, path, &[], &body);
        assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer")), "{method} {path}");
        for wrong in &wrong {
            let answer = gateway.ask(method, path, &[("Authorization", wrong)], &body);
            assert_eq!(timeless(&answer), timeless(&none), "{method} {path}: {wrong}");
        }
    }
    // A token in the address ends up in logs and histories.
    for query in [format!("token={TOKEN}"), format!("access_token={TOKEN}")] {
        assert_eq!(gateway.ask("GET", &format!("/api/status?{query}"), &[], "").status, 401);
    }
    assert_eq!(calls(&sandbox), 0, "no tool ran");
    check_token(&gateway, TOKEN);
    check_served(&gateway, &[("Authorization", &format!("bearer {TOKEN}"))]);
    // An address that is open answers to any name; the token guards it.
    check_served(&gateway, &[("Authorization", &bearer(TOKEN)), ("Host", "gateway.example:3095")]);
    check_refused_everywhere(
        &gateway,
        &[("Authorization", &bearer(TOKEN)), ("Origin", "https://evil.example")],
        403,
    );
    assert!(!gateway.client.stderr().contains(TOKEN), "the token is in the log");
    end_quietly(gateway.client);
}

// Decision 24: the ways to give a token, and which comes first
#[test]
fn t4_every_way_to_give_a_token() {
    let sandbox = Sandbox::new();
    sandbox.write("token", "from-the-file\n");
    let file = sandbox.path("token");
    let file = file.to_str().unwrap();
    let plain = one(&sandbox);
    let configured = with_server(&sandbox, json!({"token": "from-the-config"}));
    let cases = [
        (&configured, None, vec![], "from-the-config"),
        (&configured, Some("from-the-variable"), vec![], "from-the-variable"),
        (&configured, Some("from-the-variable"), vec!["--token", "from-the-flag"], "from-the-flag"),
        (&configured, Some("from-the-variable"), vec!["--token-file", file], "from-the-file"),
        (&plain, Some("from-the-variable"), vec!["--host", "0.0.0.0"], "from-the-variable"),
        (&plain, None, vec!["--host", "0.0.0.0", "--token-file", file], "from-the-file"),
        (&plain, None, vec!["--host", "0.0.0.0", "--token", "from-the-flag"], "from-the-flag"),
    ];
    for (config, variable, more, token) in cases {
        let mut command = http_command(&sandbox, config, &more);
        command.envs(variable.map(|token| ("MANIFOLD_TOKEN", token)));
        let gateway = spawn(command);
        check_token(&gateway, token);
        for other in ["from-the-config", "from-the-variable", "from-the-flag", "from-the-file"] {
            let status = gateway.ask("GET", "/api/status", &[("Authorization", &bearer(other))], "").status;
            assert_eq!(status, if other == token { 200 } else { 401 }, "{other} where {token} counts");
        }
        let stderr = gateway.client.stderr();
        assert_eq!(stderr.contains("--token can be seen"), more.contains(&"--token"), "{stderr}");
        assert!(!stderr.contains(token), "{stderr}");
        // Decision 30: it is not for the servers.
        let env =
            calling(1, "tools/call", json!({"name": "s__env", "arguments": {"name": "MANIFOLD_TOKEN"}}));
        let answer = gateway.ask("POST", "/api/default/mcp", &[("Authorization", &bearer(token))], &env);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "unset");
        end_quietly(gateway.client);
    }
}

// Decision 24: names of ours, configured or given, on loopback and on an open address
#[test]
fn t1_allowed_hosts_are_served_and_no_others() {
    let sandbox = Sandbox::new();
    let config = with_server(&sandbox, json!({"allowedHosts": ["gw.example", "exact.example:8443"]}));
    let gateway = Gateway::start(&sandbox, &config, &["--allowed-host", "other.example"]);
    for host in
        ["gw.example", "GW.example:80", "exact.example:8443", "other.example", "localhost", "127.0.0.1"]
    {
        check_served(&gateway, &[("Host", host)]);
    }
    let before = calls(&sandbox);
    for host in
        ["evil.example", "x.gw.example", "gw.example.evil.example", "exact.example", "exact.example:80"]
    {
        check_refused_everywhere(&gateway, &[("Host", host)], 403);
    }
    // A name of ours is no origin of ours.
    check_refused_everywhere(&gateway, &[("Host", "gw.example"), ("Origin", "https://evil.example")], 403);
    assert_eq!(calls(&sandbox), before);
    end_quietly(gateway.client);

    let config =
        with_server(&sandbox, json!({"host": "0.0.0.0", "token": TOKEN, "allowedHosts": ["gw.example"]}));
    let gateway = spawn(http_command(&sandbox, &config, &[]));
    let right = bearer(TOKEN);
    check_served(&gateway, &[("Host", "gw.example"), ("Authorization", &right)]);
    check_refused_everywhere(&gateway, &[("Host", "evil.example"), ("Authorization", &right)], 403);
    end_quietly(gateway.client);
}

const YOURS: &str = "https://yourdomain.com";

/// Returns all CORS headers of an answer.
fn cors_of(answer: &Answer) -> Vec<(&str, &str)> {
    let all = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, _)| name.starts_with("access-control-")).collect()
}

fn preflight(gateway: &Gateway, origin: &str) -> Answer {
    let headers = [
        ("Origin", origin),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type,mcp-session-id"),
    ];
    gateway.ask("OPTIONS", "/mcp", &headers, "")
}

// S2-17, decision 31: off unless configured
#[test]
fn cors_is_off_unless_configured() {
    let sandbox = Sandbox::new();
    for server in [json!({}), json!({"cors": {"enabled": false, "origins": ["*", YOURS]}})] {
        let gateway = Gateway::start(&sandbox, &with_server(&sandbox, server), &[]);
        let asked = preflight(&gateway, "http://localhost:5173");
        assert_eq!((asked.status, cors_of(&asked)), (204, vec![]));
        let answer =
            gateway.ask("POST", "/api/default/mcp", &[("Origin", "http://localhost:5173")], &trace());
        assert_eq!((answer.status, cors_of(&answer)), (200, vec![]));
        let asked = preflight(&gateway, YOURS);
        assert_eq!((asked.status, cors_of(&asked)), (403, vec![]));
        check_refused_everywhere(&gateway, &[("Origin", YOURS)], 403);
        end_quietly(gateway.client);
    }
}

// S2-17: named origins may read, others may not even ask
#[test]
fn cors_for_named_origins() {
    let sandbox = Sandbox::new();
    let cors = json!({"enabled": true, "origins": [YOURS, "https://slash.example/"], "methods": ["GET", "POST"], "allowedHeaders": ["Content-Type", "X-Own"], "credentials": true});
    let gateway = Gateway::start(&sandbox, &with_server(&sandbox, json!({"cors": cors})), &[]);
    for origin in [YOURS, "https://slash.example"] {
        let asked = preflight(&gateway, origin);
        assert_eq!((asked.status, asked.header("vary")), (204, Some("Origin")));
        assert_eq!(asked.header("access-control-allow-origin"), Some(origin));
        assert_eq!(asked.header("access-control-allow-methods"), Some("GET, POST"));
        assert_eq!(asked.header("access-control-allow-headers"), Some("Content-Type, X-Own"));
        assert_eq!(asked.header("access-control-allow-credentials"), Some("true"));
        let answer = gateway.ask("POST", "/api/default/mcp", &[("Origin", origin)], &trace());
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(origin)));
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        assert!(exposed.contains("Mcp-Session-Id"), "{exposed}");
        // An error can be read as well.
        let answer = gateway.ask("POST", "/api/nowhere/mcp", &[("Origin", origin)], &trace());
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (404, Some(origin)));
    }
    let before = calls(&sandbox);
    for origin in [
        "https://evil.example",
        "http://yourdomain.com",
        "https://yourdomain.com:444",
        "https://x.yourdomain.com",
        "https://yourdomain.com.evil.example",
        "null",
    ] {
        let asked = preflight(&gateway, origin);
        assert_eq!((asked.status, cors_of(&asked)), (403, vec![]), "{origin}");
        check_refused_everywhere(&gateway, &[("Origin", origin)], 403);
    }
    assert_eq!(calls(&sandbox), before, "no tool ran");
    end_quietly(gateway.client);
}

// Decision 31: `*` is every page of this machine, or with a token every page there is
#[test]
fn cors_for_any_origin() {
    let sandbox = Sandbox::new();
    let any = with_server(&sandbox, json!({"cors": {"enabled": true, "origins": ["*"]}}));
    for (config, more) in [(&any, vec![]), (&one(&sandbox), vec!["--cors"])] {
        let gateway = Gateway::start(&sandbox, config, &more);
        let answer =
            gateway.ask("POST", "/api/default/mcp", &[("Origin", "http://localhost:5173")], &trace());
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"), "{more:?}");
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(
            preflight(&gateway, "http://localhost:5173").header("access-control-allow-origin"),
            Some("http://localhost:5173")
        );
        for origin in ["https://evil.example", "null"] {
            check_refused_everywhere(&gateway, &[("Origin", origin)], 403);
        }
        let warned = gateway.client.stderr();
        assert!(warned.contains("WARN") && warned.contains('*'), "{warned}");
        end_quietly(gateway.client);
    }
    let mut config = any.clone();
    config["server"]["token"] = json!(TOKEN);
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let right = bearer(TOKEN);
    let answer = gateway.ask(
        "POST",
        "/api/default/mcp",
        &[("Origin", "https://any.example"), ("Authorization", &right)],
        &trace(),
    );
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, Some("https://any.example"))
    );
    // A preflight cannot carry the token.
    assert_eq!(preflight(&gateway, "https://any.example").status, 204);
    let answer = gateway.ask("POST", "/api/default/mcp", &[("Origin", "https://any.example")], &trace());
    assert_eq!(answer.status, 401);
    check_refused_everywhere(&gateway, &[("Origin", "null"), ("Authorization", &right)], 403);
    end_quietly(gateway.client);
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--cors-origin", YOURS]);
    assert_eq!(preflight(&gateway, YOURS).header("access-control-allow-origin"), Some(YOURS));
    check_refused_everywhere(&gateway, &[("Origin", "https://evil.example")], 403);
    end_quietly(gateway.client);
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

/// A remote server that remembers the heads of what it is sent.
fn remote() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            thread::spawn(move || serve_remote(stream, &kept));
        }
    });
    (url, heads)
}

fn serve_remote(mut stream: TcpStream, heads: &Mutex<Vec<String>>) {
    let mut read = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
            match stream.read(&mut chunk) {
                Ok(count @ 1..) => read.extend_from_slice(&chunk[..count]),
                _ => return,
            }
            continue;
        };
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            })
            .unwrap_or(0);
        while read.len() < end + 4 + length {
            match stream.read(&mut chunk) {
                Ok(count @ 1..) => read.extend_from_slice(&chunk[..count]),
                _ => return,
            }
        }
        let message: Value = serde_json::from_slice(&read[end + 4..end + 4 + length]).unwrap_or_default();
        read.drain(..end + 4 + length);
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "remote", "version": "1"}})
            }
            Some("tools/list") => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
            Some("tools/call") => json!({"content": [{"type": "text", "text": "hello"}]}),
            _ => json!({}),
        };
        let is_get = head.starts_with("GET");
        heads.lock().unwrap().push(head);
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let answer = match (is_get, message["id"].is_null()) {
            (true, _) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
            (_, true) => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            _ => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

// Issue 3: what a client tells us to come in is for us alone
#[test]
fn the_client_s_token_never_goes_upstream() {
    let sandbox = Sandbox::new();
    let (url, heads) = remote();
    let server = json!({"type": "http", "url": url, "headers": {"X-Own": "configured"}});
    let config = json!({"mcpServers": {"r": server}, "server": {"token": TOKEN}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let right = bearer(TOKEN);
    let headers = [
        ("Authorization", right.as_str()),
        ("Cookie", "session=client-cookie"),
        ("X-Api-Key", "client-key"),
        ("X-Forwarded-For", "10.9.8.7"),
        ("Proxy-Authorization", "Basic client-proxy"),
    ];
    let call = calling(1, "tools/call", json!({"name": "r__hello", "arguments": {}}));
    let answer = gateway.ask("POST", "/api/default/mcp", &headers, &call);
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello", "{}", answer.text());
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = gateway.ask("POST", "/mcp", &headers, &calling(1, "initialize", hello));
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let mut with_id = headers.to_vec();
    with_id.push(("Mcp-Session-Id", &id));
    assert_eq!(gateway.ask("POST", "/mcp", &with_id, &call).json()["result"]["content"][0]["text"], "hello");
    end_quietly(gateway.client);
    let heads = heads.lock().unwrap();
    assert!(heads.len() >= 4, "{heads:?}");
    for head in heads.iter() {
        assert!(head.to_ascii_lowercase().contains("x-own: configured"), "{head}");
        for secret in [TOKEN, "uthorization", "client-cookie", "client-key", "10.9.8.7", id.as_str()] {
            assert!(!head.contains(secret), "{secret} in {head}");
        }
    }
}

struct Tls {
    cert: PathBuf,
    key: PathBuf,
}

/// Makes a certificate for this machine.
fn certificate(sandbox: &Sandbox, name: &str) -> Tls {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    Tls {
        cert: sandbox.write(&format!("{name}.cert.pem"), &made.cert.pem()),
        key: sandbox.write(&format!("{name}.key.pem"), &made.signing_key.serialize_pem()),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn tls_is_served_to_those_who_trust_the_certificate() {
    let sandbox = Sandbox::new();
    let tls = certificate(&sandbox, "own");
    let configured = with_server(&sandbox, json!({"tls": {"cert": tls.cert, "key": tls.key}}));
    let flags = vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&tls.key)];
    for (config, more) in [(one(&sandbox), flags), (configured, vec![])] {
        let gateway = spawn(http_command(&sandbox, &config, &more));
        let curl = |args: &[&str]| {
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "20", "--cacert", text(&tls.cert)]).args(args);
            run(command)
        };
        let url = format!("https://localhost:{}/api/default/mcp", gateway.port);
        for (version, flag) in [("1.1", "--http1.1"), ("2", "--http2")] {
            let Ran { stdout, stderr, .. } = curl(&[
                flag,
                "-w",
                " %{http_version}",
                "-H",
                "content-type: application/json",
                "-d",
                &trace(),
                &url,
            ]);
            assert!(
                stdout.contains(r#""text":"in""#) && stdout.ends_with(&format!(" {version}")),
                "{stdout} {stderr}"
            );
        }
        let status = curl(&[&format!("https://127.0.0.1:{}/api/status", gateway.port)]).stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        assert_eq!(status["server"]["url"], format!("https://localhost:{}", gateway.port));
        // The door is the same behind TLS.
        let refused = curl(&["-o", "/dev/null", "-w", "%{http_code}", "-H", "host: evil.example", &url]);
        assert_eq!(refused.stdout, "403");
        // Nobody is served in the clear, and one who does not trust us does not speak with us.
        let plain = run({
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "20", &format!("http://localhost:{}/health", gateway.port)]);
            command
        });
        assert_ne!(plain.code, Some(0), "{}", plain.stdout);
        let stranger = run({
            let mut command = sandbox.command("curl");
            command.args(["-sS", "--max-time", "20", &format!("https://localhost:{}/health", gateway.port)]);
            command
        });
        assert_eq!(stranger.code, Some(60), "{}", stranger.stderr);
        end_quietly(gateway.client);
    }
}

#[test]
fn tls_that_cannot_work_says_why_and_starts_nothing() {
    let sandbox = Sandbox::new();
    let (tls, other) = (certificate(&sandbox, "own"), certificate(&sandbox, "other"));
    let (missing, junk) = (sandbox.path("missing.pem"), sandbox.write("junk.pem", "junk"));
    let cases = [
        (vec!["--tls-cert", text(&missing), "--tls-key", text(&tls.key)], "missing.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&missing)], "missing.pem"),
        (vec!["--tls-cert", text(&junk), "--tls-key", text(&tls.key)], "junk.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&junk)], "junk.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&tls.cert)], "own.cert.pem"),
        (vec!["--tls-cert", text(&tls.cert), "--tls-key", text(&other.key)], "key"),
        (vec!["--tls-cert", text(&tls.cert)], "--tls-key"),
        (vec!["--tls-key", text(&tls.key)], "--tls-cert"),
    ];
    for (mut more, word) in cases {
        more.push("--eager");
        let ran = run(http_command(&sandbox, &one(&sandbox), &more));
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{more:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("PRIVATE KEY"), "{}", ran.stderr);
    }
    let config = with_server(&sandbox, json!({"tls": {"cert": tls.cert}}));
    let ran = run(http_command(&sandbox, &config, &["--eager"]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("server.tls"), "{}", ran.stderr);
    assert!(!sandbox.path("s.pid").exists(), "nothing is spawned");
}

/// Sends bytes and returns all that comes back until the other end closes.
fn exchange(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // One that is refused half way may be cut off while we write.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => {
                answer.extend_from_slice(format!("\nNOT CLOSED: {error}").as_bytes());
                break;
            }
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Counts the answers in what came back.
fn answers(text: &str) -> usize {
    text.split("HTTP/1.")
        .skip(1)
        .filter(|rest| rest[1..].starts_with(' '))
        .filter(|rest| rest.contains("\r\ndate: "))
        .count()
}

// T31: nothing is hidden in a request for someone else to find
#[test]
fn t31_smuggled_requests_are_400_and_the_end() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let body = trace();
    let hidden = format!(
        "POST /api/default/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let head = "POST /api/default/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let old = "POST /api/default/mcp HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n";
    let size = format!("{:x}", body.len());
    let cases = [
        ("two lengths", format!("{head}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{hidden}")),
        ("a list of lengths", format!("{head}Content-Length: 4, 5\r\n\r\n{hidden}")),
        ("a length with a sign", format!("{head}Content-Length: +4\r\n\r\n{hidden}")),
        ("a length that is none", format!("{head}Content-Length: 0x4\r\n\r\n{hidden}")),
        (
            "a length past all bounds",
            format!("{head}Content-Length: 99999999999999999999999\r\n\r\n{hidden}"),
        ),
        ("an encoding we do not know", format!("{head}Transfer-Encoding: gzip\r\n\r\n{hidden}")),
        (
            "chunked, but not last",
            format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        ("an encoding in disguise", format!("{head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}")),
        ("a folded header", format!("{head}X-Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n{hidden}")),
        ("a folded encoding", format!("{head}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n{hidden}")),
        ("a space before the colon", format!("{head}Content-Length : 0\r\n\r\n{hidden}")),
        (
            "a bad chunk size",
            format!("{head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{body}\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a chunk size past all bounds",
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{body}\r\n0\r\n\r\n{hidden}"
            ),
        ),
        (
            "a chunk longer than said",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{body}\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a chunk with a bare newline",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n{size}\n{body}\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "HTTP/1.0 with chunks",
            format!("{old}Transfer-Encoding: chunked\r\n\r\n{size}\r\n{body}\r\n0\r\n\r\n{hidden}"),
        ),
        ("HTTP/1.0 with a body of no length", format!("{old}\r\n{hidden}")),
        ("a NUL in a header", format!("{head}X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n{hidden}")),
        (
            "a bare CR in a header",
            format!("{head}X-Cr: a\rContent-Length: 4\r\nContent-Length: 0\r\n\r\n{hidden}"),
        ),
    ];
    let mut passed = Vec::new();
    for (what, bytes) in &cases {
        let answer = exchange(gateway.port, bytes.as_bytes());
        if !answer.starts_with("HTTP/1.1 400") && !answer.starts_with("HTTP/1.0 400")
            || answers(&answer) != 1
            || answer.contains("NOT CLOSED")
        {
            passed.push(format!("{what}: {answer}"));
        }
    }
    assert_eq!(calls(&sandbox), 0, "no hidden request was served: {passed:#?}");
    assert!(passed.is_empty(), "{passed:#?}");
    // A proper chunked body and a proper HTTP/1.0 one are served.
    let chunked =
        format!("{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n{body}\r\n0\r\n\r\n");
    assert!(exchange(gateway.port, chunked.as_bytes()).starts_with("HTTP/1.1 200"));
    let plain = format!(
        "POST /api/default/mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(exchange(gateway.port, plain.as_bytes()).contains(" 200 "));
    end_quietly(gateway.client);
}

// T31: a request with both a length and chunks is the last of its connection, whichever comes first, so that nothing is
// found behind it. (hyper takes the length away before the door could refuse it.)
#[test]
fn t31_a_length_beside_chunks_ends_the_connection() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let body = trace();
    let ping = calling(1, "ping", json!({}));
    let post = "POST /api/default/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
    let hidden = format!("{post}Content-Length: {}\r\n\r\n{body}", body.len());
    let chunked = format!("{:x}\r\n{ping}\r\n0\r\n\r\n", ping.len());
    for head in [post, get] {
        for lengths in [
            "Content-Length: 6\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 6",
        ] {
            for sent in ["0\r\n\r\n", &chunked] {
                let answer =
                    exchange(gateway.port, format!("{head}{lengths}\r\n\r\n{sent}{hidden}").as_bytes());
                assert_eq!(answers(&answer), 1, "{lengths}: {answer}");
                assert!(!answer.contains("NOT CLOSED"), "{lengths}: {answer}");
            }
        }
    }
    assert_eq!(calls(&sandbox), 0, "no hidden request was served");
    end_quietly(gateway.client);
}

// T28: a head without end, and junk
#[test]
fn t28_heads_have_a_limit() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let long = "x".repeat(1 << 20);
    let many: String = (0..5000).map(|n| format!("X-{n}: y\r\n")).collect();
    let cases = [
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: {long}\r\n\r\n"),
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("{long}\r\n\r\n"),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}\r\n\r\n".to_owned(),
        "GET /health\r\n\r\n".to_owned(),
        "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n".to_owned(),
    ];
    for case in cases {
        let answer = exchange(gateway.port, case.as_bytes());
        let shown = &case[..case.len().min(60)];
        let refused = ["HTTP/1.1 400", "HTTP/1.1 431", "HTTP/1.1 414", "HTTP/1.1 505"]
            .iter()
            .any(|start| answer.starts_with(start));
        // The kernel may lose the answer where we had more to say.
        assert!(refused || answer.is_empty(), "{shown:?}: {answer}");
    }
    check_served(&gateway, &[]);
    end_quietly(gateway.client);
}

// T28, decision 33: too large is said before the body is read
#[test]
fn t28_a_body_too_large_is_413_before_it_comes() {
    let sandbox = Sandbox::new();
    let mut config = one(&sandbox);
    config["limits"] = json!({"requestBytes": 4096});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let session = gateway.session("/mcp", "2025-06-18", json!({}));
    for path in ["/api/default/mcp", "/mcp"] {
        for length in ["4097", "16777217", "999999999999"] {
            for expect in [None, Some(("Expect", "100-continue"))] {
                let mut connection = Conn::open(gateway.port);
                let mut headers = vec![("Content-Length", length), ("Mcp-Session-Id", session.id.as_str())];
                headers.extend(expect);
                // Not a byte of the body is sent.
                connection.send("POST", path, &headers, "");
                let answer = connection.answer();
                assert_eq!(
                    (answer.status, &answer.json()["error"]["code"]),
                    (413, &json!(-32600)),
                    "{path} {length}"
                );
                assert!(connection.is_closed());
            }
        }
        // One that does not say how long it is, is cut when it has become too long.
        let mut connection = Conn::open(gateway.port);
        connection.send(
            "POST",
            path,
            &[("Content-Length", ""), ("Transfer-Encoding", "chunked"), ("Mcp-Session-Id", &session.id)],
            "",
        );
        for _ in 0..5 {
            let _ = connection.try_write(format!("400\r\n{}\r\n", " ".repeat(1024)).as_bytes());
        }
        assert_eq!(connection.answer().status, 413, "{path}");
    }
    // Exactly as long as allowed is not too long; and who waits to be asked is asked.
    let body = trace();
    let body = format!("{body}{}", " ".repeat(4096 - body.len()));
    assert_eq!(gateway.ask("POST", "/api/default/mcp", &[], &body).status, 200);
    let mut connection = Conn::open(gateway.port);
    connection.send(
        "POST",
        "/api/default/mcp",
        &[("Content-Length", "4096"), ("Expect", "100-continue")],
        "",
    );
    assert_eq!(connection.response().status, 100);
    connection.write(body.as_bytes());
    assert_eq!(connection.answer().status, 200);
    end_quietly(gateway.client);
}

// T28: depth and width
#[test]
fn t28_json_bombs_do_no_harm() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let deep = 200_000;
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}{}}}"#,
        "[".repeat(deep),
        "]".repeat(deep)
    );
    let open =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}"#, r#"{"a":"#.repeat(deep));
    let wide = format!("[{}]", vec![r#"{"jsonrpc":"2.0","method":"x"}"#; 50_000].join(","));
    for body in [nested, open, wide, "[".repeat(deep), "\u{feff}{}".to_owned()] {
        for path in ["/api/default/mcp", "/mcp"] {
            let answer = gateway.ask("POST", path, &[], &body);
            assert!(
                [200, 202, 400].contains(&answer.status),
                "{path}: {} {}",
                answer.status,
                &body[..body.len().min(60)]
            );
        }
    }
    check_served(&gateway, &[]);
    end_quietly(gateway.client);
}

// T30: sockets that say nothing, half a head or half a body keep nobody else from being served (their end, after 25 s,
// is tested with a paused clock in frontends/src/http/tests.rs)
#[test]
fn t30_slow_sockets_do_not_stand_in_the_way() {
    crate::http_load::allow_many_files();
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let half = "POST /api/default/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{";
    let slow: Vec<Conn> = (0..600)
        .map(|n| {
            let mut connection = Conn::open(gateway.port);
            connection.write(["", "POST /api/default/mcp HT", half][n % 3].as_bytes());
            connection
        })
        .collect();
    for _ in 0..20 {
        check_served(&gateway, &[]);
    }
    drop(slow);
    end_quietly(gateway.client);
}

// T33: a name is never a path
#[test]
fn t33_names_are_not_paths() {
    let sandbox = Sandbox::new();
    sandbox.write("secret", "secret content");
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for path in [
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/api/../secret",
        "/mcp/..%2fsecret",
        "/sse/..%2fsecret",
        "//secret",
        "/.config/manifold/config.json",
        "/static/../secret",
        "/mcp/%00",
        "/mcp/%ff%fe",
    ] {
        let answer = gateway.ask("GET", path, &[("Accept", "text/event-stream")], "");
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains("secret content"), "{path}");
    }
    assert_eq!(gateway.ask("POST", "/api/..%2f..%2fsecret/mcp", &[], &trace()).status, 404);
    // An escaped path is not another spelling of a route.
    assert_eq!(gateway.ask("POST", "/api%2Fdefault%2Fmcp", &[], &trace()).status, 404);
    end_quietly(gateway.client);
}

// T27: what a stranger sends does not move the operator's cursor
#[test]
fn t27_logs_hold_no_control_characters() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--log-level", "debug"]);
    let method = "\u{1b}[2J\u{202e}evil\u{7}\u{9b}31m";
    gateway.ask("POST", "/api/default/mcp", &[], &calling(1, method, json!({})));
    gateway.ask("GET", "/%1b%5b2J", &[], "");
    let session = gateway.session("/mcp", "2025-06-18", json!({}));
    session.post("application/json", &calling(1, method, json!({})));
    for name in [method.to_owned(), format!("s__{method}")] {
        gateway.ask("POST", "/api/default/mcp", &[], &calling(1, "tools/call", json!({"name": name})));
    }
    assert!(
        until(PATIENCE, || gateway.client.stderr().matches("status=").count() >= 7),
        "{}",
        gateway.client.stderr()
    );
    let stderr = gateway.client.stderr();
    let odd: Vec<char> =
        stderr.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert!(odd.is_empty(), "{odd:?} in {stderr:?}");
    end_quietly(gateway.client);
}
