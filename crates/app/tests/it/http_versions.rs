//! Other ways to speak HTTP: the old SSE transport, pipelined requests, HTTP/2.

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Sandbox, until};
use serde_json::{Value, json};

use crate::cli::run;
use crate::http_lifecycle::{Conn, Gateway, NEW, calling, end_quietly, one};

// The old transport (2024-11-05), end to end: everything is said on one stream
#[test]
fn the_old_sse_transport() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for path in ["/sse", "/sse/default"] {
        let mut stream = Conn::open(gateway.port);
        stream.send("GET", path, &[("Accept", "text/event-stream")], "");
        let mut events = stream.response().events();
        let endpoint = events.next().unwrap();
        assert_eq!(endpoint.kind, "endpoint");
        assert!(endpoint.data.starts_with("/messages?sessionId="), "{endpoint:?}");
        let post = |message: Value| {
            let answer = gateway.ask("POST", &endpoint.data, &[], &message.to_string());
            assert_eq!((answer.status, answer.text().as_str()), (202, ""));
        };
        let info = json!({"name": "old", "version": "1"});
        post(
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2024-11-05", "capabilities": {"sampling": {}}, "clientInfo": info}}),
        );
        let hello = events.next().unwrap();
        assert_eq!(
            (hello.kind.as_str(), &hello.json()["result"]["protocolVersion"]),
            ("message", &json!("2024-11-05"))
        );
        post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        post(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        assert_eq!(events.message()["result"]["tools"][0]["name"], "s__echo");
        let call = |id: u64, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}});
        post(call(2, "s__progress", json!({"steps": 2, "ms": 1})));
        assert_eq!(events.message()["params"], json!({"progressToken": "p", "progress": 1, "total": 2}));
        assert_eq!(events.message()["params"]["progress"], 2);
        assert_eq!(events.message()["result"]["content"][0]["text"], "2 steps");
        post(call(3, "s__ask", json!({"method": "sampling/createMessage", "params": {"q": 1}})));
        let question = events.message();
        assert_eq!(
            (&question["method"], &question["params"]),
            (&json!("sampling/createMessage"), &json!({"q": 1}))
        );
        post(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"a": 2}}));
        assert_eq!(events.message()["result"]["content"][0]["text"], r#"{"a":2}"#);
        let bad = gateway.ask("POST", &endpoint.data, &[], "nonsense");
        assert_eq!((bad.status, &bad.json()["error"]["code"]), (400, &json!(-32700)));
        // The session is over with its stream.
        drop(events);
        drop(stream);
        let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}).to_string();
        assert!(until(PATIENCE, || gateway.ask("POST", &endpoint.data, &[], &ping).status == 404));
    }
    assert_eq!(gateway.ask("GET", "/sse/nowhere", &[], "").status, 404);
    assert_eq!(gateway.ask("POST", "/messages", &[], "{}").status, 404);
    end_quietly(gateway.client);
}

// Many requests on one connection, and several sent before the first is answered
#[test]
fn connections_are_kept_and_requests_may_be_pipelined() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let mut connection = Conn::open(gateway.port);
    for id in 1..50 {
        connection.send("POST", "/api/default/mcp", &[], &calling(id, "ping", json!({})));
        assert_eq!(connection.answer().json()["id"], id);
    }
    for id in 1..20 {
        let call = json!({"name": "s__echo", "arguments": {"text": id.to_string()}});
        connection.send("POST", "/api/default/mcp", &[], &calling(id, "tools/call", call));
    }
    for id in 1..20 {
        let answer = connection.answer().json();
        assert_eq!(
            (&answer["id"], &answer["result"]["content"][0]["text"]),
            (&json!(id), &json!(id.to_string()))
        );
    }
    end_quietly(gateway.client);
}

// HTTP/2 with prior knowledge: the plain API, a session, and a hostile name
#[test]
fn http_2_is_spoken() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let curl = |args: &[&str]| {
        let mut command = sandbox.command("curl");
        command.args([
            "-sS",
            "--max-time",
            "20",
            "--http2-prior-knowledge",
            "-w",
            "\n%{http_version} %{http_code}",
        ]);
        command.args(args);
        let ran = run(command);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
        let (body, line) = ran.stdout.rsplit_once('\n').unwrap();
        (body.to_owned(), line.to_owned())
    };
    if run({
        let mut version = sandbox.command("curl");
        version.arg("--version");
        version
    })
    .stdout
    .contains("HTTP2")
    {
        let api = format!("http://127.0.0.1:{}/api/default/mcp", gateway.port);
        let mcp = format!("http://127.0.0.1:{}/mcp", gateway.port);
        let json = "content-type: application/json";
        let call = calling(1, "tools/call", json!({"name": "s__echo", "arguments": {"text": "two"}}));
        let (body, line) = curl(&["-H", json, "-d", &call, &api]);
        assert_eq!(line, "2 200");
        assert!(body.contains(r#""text":"two""#), "{body}");
        let hello = calling(
            1,
            "initialize",
            json!({"protocolVersion": NEW, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        );
        let (body, line) = curl(&[
            "-i",
            "-H",
            json,
            "-H",
            "accept: application/json, text/event-stream",
            "-d",
            &hello,
            &mcp,
        ]);
        assert_eq!(line, "2 200");
        let id =
            body.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
        let sleep = calling(2, "tools/call", json!({"name": "s__sleep", "arguments": {"ms": 300}}));
        let (body, line) = curl(&[
            "-H",
            json,
            "-H",
            "accept: application/json, text/event-stream",
            "-H",
            &format!("mcp-session-id: {id}"),
            "-d",
            &sleep,
            &mcp,
        ]);
        assert_eq!(line, "2 200");
        assert!(body.contains("event: message") && body.contains("slept"), "{body}");
        let (_, line) = curl(&["-H", "host: evil.example", &api]);
        assert_eq!(line, "2 403");
        // Refused with its body unread, it may reach `curl` as a stream cut short; the tool does not run either way.
        let mut hostile = sandbox.command("curl");
        hostile.args(["-sS", "--max-time", "20", "--http2-prior-knowledge", "-H", json]);
        hostile.args(["-H", "host: evil.example", "-d", &call, &api]);
        let ran = run(hostile);
        assert!(!ran.stdout.contains("two"), "{}", ran.stdout);
        assert_eq!(sandbox.received("s.log", "tools/call").len(), 2);
    } else {
        println!("skipped: this curl has no HTTP/2");
    }
    end_quietly(gateway.client);
}
