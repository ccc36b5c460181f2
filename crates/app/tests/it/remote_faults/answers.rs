//! Answers that lead elsewhere, are none, or have no end (T12, T28, F10).

use super::*;

// Decision 15: an error that is a JSON-RPC message passes unchanged, whatever the status
#[test]
fn a_json_rpc_error_in_an_http_error_is_the_server_s_own() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    server.trouble("tools/call", 1, Trouble::RpcError { code: -32099, message: "my own words" });
    let answer = client.call("far.echo", json!({}));
    assert_eq!(answer["error"], json!({"code": -32099, "message": "my own words"}));
}

// T12
#[test]
fn a_redirect_within_the_origin_is_followed() {
    for status in [307, 308] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Json, &TOOLS);
        let absolute = format!("http://127.0.0.1:{}/moved", server.port());
        let more = json!({"headers": {"Authorization": "Bearer k"}});
        let mut client = studio(&sandbox, &beside_a_local_one(&server.url(), more));
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
        for location in ["/moved", absolute.as_str()] {
            server.trouble("tools/call", 1, Trouble::redirect(status, location));
            assert_eq!(text_of(&client.call("far.echo", json!({"text": location}))), location, "{status}");
            assert_eq!(times(&server, location), (2, 1), "the method and the body go along");
        }
        let moved: Vec<_> =
            server.record().into_iter().filter(|request| request.target == "/moved").collect();
        assert!(moved.iter().all(|request| request.header("authorization") == Some("Bearer k")));
        assert_eq!(moved.len(), 2);
    }
}

// T12: credentials go to nobody else, and neither does the call
#[test]
fn a_redirect_to_another_origin_is_refused_and_nothing_sent_there() {
    for status in [301, 302, 303, 307, 308] {
        let sandbox = Sandbox::new();
        let thief = HttpFake::start(Style::Json, &TOOLS);
        let server = HttpFake::start(Style::Json, &TOOLS);
        let more = json!({"headers": {"Authorization": "Bearer ${KEY}", "X-Api-Key": "${KEY}"}});
        let config = beside_a_local_one(&server.url(), more);
        let mut client = with_env(&sandbox, &config, &["--profile", "mcp-studio"], &[("KEY", "s3cret")]);
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
        let host = format!("http://localhost:{}/mcp", server.port());
        let tricky = format!("//127.0.0.1:{}/mcp", thief.port());
        for location in [thief.url(), host, tricky] {
            server.trouble("tools/call", 1, Trouble::redirect(status, location.as_str()));
            let answer = client.call("far.echo", json!({"text": "led astray"}));
            let message = typed(&mut client, &answer, -32603);
            assert!(!message.contains("s3cret"), "{message}");
        }
        // From the first word on, too.
        server.forget_sessions();
        server.trouble_for_good("*", Trouble::redirect(status, thief.url()));
        assert!(!client.call("far.echo", json!({"text": "led astray"}))["error"].is_null());
        assert_eq!(thief.record().len(), 0, "{status}: {:?}", thief.record());
        assert!(server.ran().iter().all(|params| params["arguments"]["text"] != "led astray"));
    }
}

// T12: nor does a circle go on for ever
#[test]
fn a_circle_of_redirects_is_an_error() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    server.trouble_for_good("tools/call", Trouble::redirect(307, "/mcp"));
    let answer = client.call("far.echo", json!({"text": "round"}));
    typed(&mut client, &answer, -32603);
    assert!(times(&server, "round").0 <= 5);
}

// F10: what is no answer to this call is none
#[test]
fn an_answer_that_is_none_fails_its_call_at_once() {
    let troubles = [
        ("wrong id", Trouble::WrongId),
        ("202", Trouble::Accepted),
        (
            "a page",
            Trouble::Status { status: 200, headers: Vec::new(), body: "<html>Sign in</html>".to_owned() },
        ),
        ("nothing", Trouble::status(200)),
        (
            "half",
            Trouble::Status { status: 200, headers: Vec::new(), body: r#"{"jsonrpc":"2.0","#.to_owned() },
        ),
    ];
    for style in [Style::Json, Style::Events] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, style, json!({"timeout": 5000}));
        for (what, trouble) in &troubles {
            server.trouble("tools/call", 1, trouble.clone());
            let began = Instant::now();
            let answer = client.call("far.echo", json!({"text": what}));
            typed(&mut client, &answer, -32603);
            figures::took(
                &format!("F14: the error of an answer that is none ({what})"),
                began.elapsed(),
                Duration::from_secs(1),
            );
            assert_eq!(times(&server, what).0, 1, "{what}");
            assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next", "{what}");
        }
    }
    // A right answer under a type that says nothing is an answer.
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({}));
    for kind in ["text/plain", "", "application/json; charset=utf-8"] {
        server.trouble("tools/call", 1, Trouble::WrongType(kind));
        assert_eq!(text_of(&client.call("far.echo", json!({"text": kind}))), kind);
    }
}

// T28, decision 33: an answer over the limit is refused as it comes, with the same words as a local server's
#[test]
fn an_answer_over_the_limit_is_refused() {
    for (style, old) in [(Style::Json, false), (Style::Events, false), (Style::Events, true)] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(style, &TOOLS);
        let url = if old { server.sse_url() } else { server.url() };
        let timeout_ms = if old { 3000 } else { 60_000 };
        let mut config = beside_a_local_one(&url, json!({"timeout": timeout_ms}));
        config["mcpServers"]["far"]["type"] = json!(if old { "sse" } else { "http" });
        config["limits"] = json!({"messageBytes": 1 << 20});
        let mut client = studio(&sandbox, &config);
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
        let usage = Usage::watch(client.pid());
        let began = Instant::now();
        let answer = client.call("far.big", json!({"bytes": 16 << 20}));
        let took = began.elapsed();
        if old {
            // One stream brings everything: whose answer it was cannot be read, so the deadline tells (decision 33).
            assert!([-32603, -32002].map(Value::from).contains(&answer["error"]["code"]), "{answer}");
        } else {
            let message = typed(&mut client, &answer, -32603);
            assert!(message.contains("larger than 1048576 bytes (limits.messageBytes)"), "{message}");
            assert_eq!(answer["error"]["data"]["limitBytes"], 1 << 20);
            assert!(took < SOON, "as it comes, long before the deadline: {took:?}");
        }
        let grown = usage.most();
        assert!(grown <= (1 << 10) + (8 << 10), "{style:?}: {grown} KiB more for a cap of 1 MiB");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next", "{style:?}");
        eprintln!(
            "T28: a 16 MiB answer ({style:?}, old: {old}) refused after {took:?}, at most {grown} KiB more"
        );
    }
}

// T28: an event that never ends
#[test]
fn an_endless_event_costs_its_call_the_deadline_and_no_memory() {
    let sandbox = Sandbox::new();
    let server = HttpFake::start(Style::Events, &TOOLS);
    let mut config = beside_a_local_one(&server.url(), json!({"timeout": 1500}));
    config["limits"] = json!({"messageBytes": 1 << 20});
    let mut client = studio(&sandbox, &config);
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "first"}))), "first");
    let usage = Usage::watch(client.pid());
    server.trouble("tools/call", 1, Trouble::EndlessEvent { bytes: 64 << 20 });
    let began = Instant::now();
    let answer = client.call("far.echo", json!({"text": "endless"}));
    typed(&mut client, &answer, -32002);
    figures::took(
        "T28: an endless event, past a deadline of 1.5 s",
        began.elapsed(),
        Duration::from_millis(2500),
    );
    let grown = usage.most();
    assert!(grown <= (1 << 10) + (8 << 10), "{grown} KiB more for a cap of 1 MiB");
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
    eprintln!("T28: an endless event of 64 MiB, at most {grown} KiB more");
}

// L18, M5: what nobody asked for, what has no end and what two could read differently fails the call at once, though
// the connection stays open; the server is asked again on a new one.
#[test]
fn an_answer_nobody_asked_for_fails_its_call_and_names_the_server() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"timeout": 300_000}));
    let endless = "HTTP/1.1 102 X\r\n\r\n".repeat(40);
    let cases = [
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "101"),
        ("HTTP/1.1 101 X\r\n\r\n", "101"),
        (&endless, "1xx"),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", "no HTTP"),
        ("HTTP/1.1 200 OK\r\nX: a\rContent-Length: 2\r\n\r\n{}", "no HTTP"),
        ("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", "no HTTP"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;\nxx\r\n{}\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\na: b\n\r\n", "chunk"),
    ];
    for (text, expected) in cases {
        server.trouble("tools/call", 1, Trouble::Raw(text.to_owned()));
        let answer = client.call("far.echo", json!({"text": "none"}));
        let message = typed(&mut client, &answer, -32603);
        assert!(message.contains(expected), "{text:?}: {message}");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "after"}))), "after");
    }
    assert_eq!(times(&server, "none"), (cases.len(), 0), "none is sent twice");
}
