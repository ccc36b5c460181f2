//! Requests made to do harm: smuggled, endless, deep, slow, or with names that are something else (T27 to T33).

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// Sends bytes and returns all that comes back until the other end closes.
pub(super) fn exchange(port: u16, bytes: &[u8]) -> String {
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
pub(super) fn answers(text: &str) -> usize {
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

// T31: a request with both a length and chunks is refused, whichever comes first, and nothing is found behind it.
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
                assert!(answer.starts_with("HTTP/1.1 400"), "{lengths}: {answer}");
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
