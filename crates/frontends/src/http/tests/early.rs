//! Answers that are given before their request's body was read (H1).

use super::*;

/// A body that is a request, and the one that follows it.
const HIDDEN: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
const PROBE: &str = "GET /probe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Sends a request with the hidden one as its body and the probe behind it. The answer is the last and says so, or the
/// next is the probe's.
async fn check_hidden(head: &str, framing: &str) {
    let came = talk(&test_site(), &[&format!("{head}{framing}{PROBE}")]).await;
    let first = came.split("\r\n\r\n").next().unwrap();
    let statuses: Vec<&str> = came.match_indices("HTTP/1.1 ").map(|(at, _)| &came[at + 9..at + 12]).collect();
    if first.contains("\r\nconnection: close") {
        assert_eq!(statuses.len(), 1, "{head}{framing}: {came}");
    } else {
        assert_eq!(statuses[1..], ["404"], "{head}{framing}: {came}");
    }
}

// H1: on every way out, whatever the verb, the place and the framing
#[tokio::test(start_paused = true)]
async fn a_body_that_was_not_read_is_no_request() {
    let length = HIDDEN.len();
    let by_length = format!("content-length: {length}\r\n\r\n{HIDDEN}");
    let waiting = format!("expect: 100-continue\r\n{by_length}");
    let by_chunks = format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n{HIDDEN}\r\n0\r\n\r\n");
    let too_long = format!("content-length: 600\r\n\r\n{}", HIDDEN.repeat(20));
    let too_many = format!("transfer-encoding: chunked\r\n\r\n258\r\n{}", HIDDEN.repeat(20));
    let broken = format!("transfer-encoding: chunked\r\n\r\nxyz\r\n{HIDDEN}");
    let framings = [&by_length, &waiting, &by_chunks, &too_long, &too_many, &broken];
    for method in ["OPTIONS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"] {
        for path in
            ["/any", "/health", "/api/status", "/mcp", "/api/default/mcp", "/messages", "/litemcp/default"]
        {
            for way in
                ["", "content-type: application/json\r\n", "origin: http://evil.example\r\n", "host: x\r\n"]
            {
                for framing in framings {
                    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{way}");
                    check_hidden(&head, framing).await;
                }
                let old =
                    format!("{method} {path} HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n{way}");
                check_hidden(&old, &by_length).await;
            }
        }
    }
}

// H1: one over a body that may end with the connection is the last, too
#[tokio::test(start_paused = true)]
async fn the_old_version_without_a_length_has_one_answer() {
    for method in ["OPTIONS", "POST", "PUT", "DELETE", "FOO"] {
        let head = format!("{method} /any HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n");
        let came = talk(&test_site(), &[&format!("{head}{HIDDEN}")]).await;
        assert_eq!(came.matches("HTTP/1.1 ").count(), 1, "{came}");
        assert!(came.contains("\r\nconnection: close\r\n"), "{came}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_no_body_may_be_followed() {
    let preflight = "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let came = talk(&test_site(), &[&format!("{preflight}{PROBE}")]).await;
    assert!(came.starts_with("HTTP/1.1 204 ") && came.contains("HTTP/1.1 404 "), "{came}");
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Headers as HPACK writes those it does not know.
fn headers(method: &str, path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in
        [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path)]
    {
        block.extend_from_slice(&[0, name.len() as u8]);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

// H1: over HTTP/2 the stream alone is reset, without an error, and the others go on
#[tokio::test]
async fn an_early_answer_over_http_2_resets_its_stream_alone() {
    let mut stream = test_site().connect();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    stream.write_all(&frame(HEADERS, END_HEADERS, 1, &headers("OPTIONS", "/any"))).await.unwrap();
    let (mut answered, mut asked_again) = (Vec::new(), false);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await.unwrap();
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if number > 0 {
            answered.push((number, head[3], head[4] & END_STREAM));
        }
        if head[3] == RST_STREAM {
            assert_eq!(payload, [0; 4], "NO_ERROR");
        }
        if number == 1 && !asked_again {
            asked_again = true;
            let next = frame(HEADERS, END_HEADERS | END_STREAM, 3, &headers("GET", "/health"));
            stream.write_all(&next).await.unwrap();
        }
        if number == 3 && head[4] & END_STREAM != 0 {
            break;
        }
    }
    assert_eq!(answered[..2], [(1, HEADERS, END_STREAM), (1, RST_STREAM, 0)]);
    assert!(answered[2..].iter().all(|(number, ..)| *number == 3), "{answered:?}");
}
