//! Requests with another hidden in them (H1, M5): in a body that nobody read, or in a line that others end elsewhere.

use super::requests::{answers, exchange};
use super::*;

const HOST: &str = "Host: localhost\r\n";

/// Sends a request with a body, and behind it one that is the last. Returns an account of what is wrong with the
/// answers: the first closes the connection and says so, or the second belongs to the request behind the body.
fn judged(gateway: &Gateway, head: &str, framed: &str) -> Option<String> {
    let probe =
        format!("GET /probe HTTP/1.1\r\n{HOST}Authorization: {}\r\nConnection: close\r\n\r\n", bearer(TOKEN));
    let came = exchange(gateway.port, format!("{head}{framed}{probe}").as_bytes());
    let first = came.split("\r\n\r\n").next().unwrap_or_default();
    let is_last = first.contains("\r\nconnection: close");
    let second = came.match_indices("HTTP/1.1 ").nth(1).map(|(at, _)| &came[at..]);
    let is_well = match second {
        None => is_last,
        Some(second) => !is_last && second.starts_with("HTTP/1.1 404"),
    };
    let is_well = is_well && answers(&came) == 1 + usize::from(!is_last) && !came.contains("NOT CLOSED");
    (!is_well).then(|| format!("{head:?}: {came}"))
}

const TOKEN: &str = "a-token-of-twenty-seven-chars";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

// H1: whatever is answered before its body is read closes its connection, or the body is read after all
#[test]
fn h1_no_body_is_taken_for_the_next_request() {
    let sandbox = Sandbox::new();
    let config = with_server(&sandbox, json!({"token": TOKEN}));
    let gateway = Gateway::start(&sandbox, &config, &["--eager"]);
    let call = trace();
    let hidden = format!(
        "POST /api/default/mcp HTTP/1.1\r\n{HOST}Authorization: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{call}",
        bearer(TOKEN),
        call.len()
    );
    let by_length = format!("Content-Length: {}\r\n\r\n{hidden}", hidden.len());
    let by_chunks = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len());
    let framings = [("1.1", &by_length), ("1.1", &by_chunks), ("1.0", &by_length)];
    let (allowed, wanted) =
        (format!("Authorization: {}\r\n", bearer(TOKEN)), "Content-Type: application/json\r\n");
    let ways = ["", allowed.as_str(), wanted, "Host: evil.example\r\n", "Origin: https://evil.example\r\n"];
    let methods = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"];
    let paths = ["/any", "/health", "/mcp", "/api/default/mcp", "/messages?sessionId=1", "/litemcp/default"];
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for method in methods {
        for path in paths {
            for (version, framed) in framings {
                for way in ways {
                    let old = if version == "1.0" { "Connection: keep-alive\r\n" } else { "" };
                    let head = format!("{method} {path} HTTP/{version}\r\n{HOST}{old}{way}");
                    wrong.extend(judged(&gateway, &head, framed));
                    tried += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}: {:#?}", wrong.len(), &wrong[..wrong.len().min(3)]);
    // Where HTTP/1.0 says no length, a body ends with the connection.
    for method in ["OPTIONS", "POST", "PUT", "DELETE"] {
        let head = format!("{method} /any HTTP/1.0\r\n{HOST}Connection: keep-alive\r\n{allowed}\r\n");
        let came = exchange(gateway.port, format!("{head}{hidden}").as_bytes());
        assert_eq!((answers(&came), came.contains("NOT CLOSED")), (1, false), "{head:?}: {came}");
    }
    assert_eq!(calls(&sandbox), 0, "no hidden request was served");
    end_quietly(gateway.client);
    println!("H1: {tried} requests with another in their body, none of those served");
}

// M5: a line ends with CR LF, and a bare LF, a bare CR or a NUL in one is 400 and the end
#[test]
fn m5_no_line_is_taken_for_two() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--eager"]);
    let call = trace();
    let post = format!("POST /api/default/mcp HTTP/1.1\r\n{HOST}Content-Type: application/json\r\n");
    let hidden = format!("{post}Content-Length: {}\r\n\r\n{call}", call.len());
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n");
    let size = format!("{:x}", call.len());
    let mut cases = vec![
        format!("{chunked}2;\nxx\r\n4c\r\n0\r\n\r\n{hidden}"),
        format!("GET /health HTTP/1.1\n{HOST}\r\n{hidden}"),
        format!("GET /health HTTP/1.1\r\nHost: localhost\n\r\n{hidden}"),
        format!("GET /health HTTP/1.1\r\nHost: localhost\n\n{hidden}"),
        format!("\nGET /health HTTP/1.1\r\n{HOST}\r\n{hidden}"),
    ];
    for bad in ["\n", "\r", "\0", "\na", "\ra", "a\0", "a\n", "a\r\r"] {
        cases.push(format!("GET /health HTTP/1.1\r\n{HOST}X-A: {bad}b\r\n\r\n{hidden}"));
        cases.push(format!("{chunked}{size}{bad}\r\n{call}\r\n0\r\n\r\n{hidden}"));
        cases.push(format!("{chunked}{size};{bad}b\r\n{call}\r\n0\r\n\r\n{hidden}"));
        cases.push(format!("{chunked}{size}\r\n{call}{bad}\r\n0\r\n\r\n{hidden}"));
        cases.push(format!("{chunked}{size}\r\n{call}\r\n0{bad}\r\n\r\n{hidden}"));
        cases.push(format!("{chunked}{size}\r\n{call}\r\n0\r\nX-A: {bad}b\r\n\r\n{hidden}"));
        cases.push(format!("{chunked}{size}\r\n{call}\r\n0\r\n{bad}\r\n\r\n{hidden}"));
    }
    for case in &cases {
        let came = exchange(gateway.port, case.as_bytes());
        assert!(came.starts_with("HTTP/1.1 400"), "{case:?}: {came}");
        assert!(came.contains("\r\nconnection: close"), "{case:?}: {came}");
        assert_eq!((answers(&came), came.contains("NOT CLOSED")), (1, false), "{case:?}: {came}");
    }
    assert_eq!(calls(&sandbox), 0, "no hidden request was served");
    end_quietly(gateway.client);
    println!("M5: {} requests with a line that is two to others, all refused", cases.len());
}
