#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::io::Read as _;
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use super::*;

/// Answers one request with these bytes, however they are cut, and ends the connection.
fn gateway(parts: Vec<String>) -> (Client, JoinHandle<String>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let served = thread::spawn(move || {
        let request = read_request(&theirs);
        for part in parts {
            if (&theirs).write_all(part.as_bytes()).is_err() {
                break;
            }
        }
        request
    });
    (Client::new(ours, Duration::from_secs(5)).unwrap(), served)
}

fn read_request(mut socket: &UnixStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            if body.len() == length.parse::<usize>().unwrap() {
                return text;
            }
        }
        let mut some = [0; 1024];
        let count = socket.read(&mut some).unwrap();
        read.extend_from_slice(&some[..count]);
    }
}

fn answered(with: &str) -> Result<Value, ClientError> {
    let (client, served) = gateway(vec![with.to_owned()]);
    let answer = client.get("/v1/about");
    assert!(served.join().unwrap().starts_with("GET /v1/about HTTP/1.1\r\n"));
    answer
}

/// Reads a stream that comes in these chunks.
fn streamed(chunks: &[&str]) -> Vec<Result<SseEvent, ClientError>> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    let (client, served) = gateway([head.to_owned()].into_iter().chain(chunks).collect());
    let events = client.events(Method::Get, "/v1/events", None::<&()>).unwrap().collect();
    served.join().unwrap();
    events
}

fn event(id: Option<&str>, event: &str, data: &str) -> SseEvent {
    SseEvent { id: id.map(str::to_owned), event: event.to_owned(), data: data.to_owned() }
}

#[test]
fn answers_are_read_and_refusals_are_the_daemons_own_words() {
    assert_eq!(answered("HTTP/1.1 200 OK\r\n\r\n{\"pid\":7}").unwrap()["pid"], 7);
    let refused = answered(
        "HTTP/1.1 409 Conflict\r\n\r\n{\"error\":{\"code\":\"stale\",\"message\":\"it cannot\",\"hint\":\"wait\"}}",
    );
    let Err(ClientError::Refused { status: 409, error }) = refused else { panic!("{refused:?}") };
    assert_eq!((error.code, error.to_string()), (ErrorCode::Stale, "it cannot; wait".to_owned()));
    let bare = answered("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").unwrap_err();
    assert_eq!(bare.to_string(), "the gateway refused it with status 502");
    assert!(matches!(answered("hello\r\n"), Err(ClientError::NoDaemon)));
}

#[test]
fn a_body_ends_where_its_head_says() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"pid\":7}HTTP/1.1 never read",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"pid\":7}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"pi\r\n5;x=y\r\nd\":7}\r\n0\r\nTrailer: 1\r\n\r\nmore",
        "HTTP/1.1 200 OK\r\n\r\n{\"pid\":7}",
    ] {
        assert_eq!(answered(answer).unwrap(), json!({"pid": 7}), "{answer}");
    }
}

#[test]
fn an_answer_that_is_cut_off_is_none() {
    for answer in [
        "",
        "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"pid\":7}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"pid\":7}\r\n",
    ] {
        assert!(matches!(answered(answer), Err(ClientError::Unreachable(_))), "{answer}");
    }
    for answer in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
    ] {
        assert!(matches!(answered(answer), Err(ClientError::NoDaemon)), "{answer}");
    }
}

#[test]
fn a_head_without_end_is_not_kept() {
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(200_000));
    assert!(matches!(answered(&endless), Err(ClientError::NoDaemon)));
    let many = format!("HTTP/1.1 200 OK\r\n{}", "X: 1\r\n".repeat(50_000));
    assert!(matches!(answered(&many), Err(ClientError::NoDaemon)));
}

#[test]
fn a_request_says_who_asks_and_for_which_revision() {
    let (client, served) = gateway(vec!["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned()]);
    let body = json!({"text": "{}"});
    let answer =
        client.face("cli").if_match("9c2f").send_raw(Method::Put, "/v1/config", Some(&body)).unwrap();
    assert_eq!(answer, b"{}");
    assert_eq!(
        served.join().unwrap(),
        "PUT /v1/config HTTP/1.1\r\nHost: manifold\r\nConnection: close\r\nAccept: application/json\r\n\
         Content-Length: 13\r\nManifold-Face: cli\r\nContent-Type: application/json\r\nIf-Match: 9c2f\r\n\r\n\
         {\"text\":\"{}\"}"
    );
}

#[test]
fn nothing_is_smuggled_into_a_head() {
    for (path, revision) in [("/v1/a b", "1"), ("/v1/a\r\nX: 1", "1"), ("/v1/about", "1\r\nX: 1")] {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let client = Client::new(ours, Duration::from_secs(5)).unwrap().if_match(revision);
        assert!(matches!(client.get::<Value>(path), Err(ClientError::Unwritable(_))), "{path}");
    }
    assert_eq!(segment("main/git ü"), "main%2Fgit%20%C3%BC");
    assert_eq!(query(&[("a", Some("x&y")), ("b", None), ("c", Some("1"))]), "?a=x%26y&c=1");
    assert_eq!(query(&[("b", None)]), "");
}

#[test]
fn events_come_one_by_one_however_they_are_cut() {
    let text = "retry: 1000\n\n: still here\n\nid: fe-1\nevent: server\ndata: {\"a\":\ndata: 1}\n\nevent: reset\r\ndata:\r\n\r\ndata: x\n\n";
    let expected =
        [event(Some("fe-1"), "server", "{\"a\":\n1}"), event(None, "reset", ""), event(None, "message", "x")];
    let whole: Vec<_> = streamed(&[text, ""]).into_iter().map(Result::unwrap).collect();
    assert_eq!(whole, expected);
    let each: Vec<String> = text.chars().map(String::from).collect();
    let mut each: Vec<&str> = each.iter().map(String::as_str).collect();
    each.push("");
    let cut: Vec<_> = streamed(&each).into_iter().map(Result::unwrap).collect();
    assert_eq!(cut, expected);
}

#[test]
fn a_stream_that_is_cut_off_says_so_once() {
    let events = streamed(&["data: 1\n\n", "data: 2\n"]);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(matches!(&events[0], Ok(one) if one.data == "1"));
    assert!(matches!(&events[1], Err(ClientError::Unreachable(_))));
}

#[test]
fn a_stream_that_is_refused_is_an_error_and_json_is_no_stream() {
    let refused =
        "HTTP/1.1 404 Not Found\r\n\r\n{\"error\":{\"code\":\"unknown-server\",\"message\":\"none\"}}";
    let (client, served) = gateway(vec![refused.to_owned()]);
    let error = client.events(Method::Get, "/v1/servers/x/logs?follow=1", None::<&()>).unwrap_err();
    assert!(matches!(error, ClientError::Refused { status: 404, .. }));
    assert!(served.join().unwrap().contains("\r\nAccept: text/event-stream\r\n"));
    let (client, _served) =
        gateway(vec!["HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}".to_owned()]);
    let error = client.events(Method::Get, "/v1/events", None::<&()>).unwrap_err();
    assert!(matches!(error, ClientError::NoDaemon));
}

#[test]
fn a_stream_is_ended_from_another_thread() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let served = thread::spawn(move || {
        read_request(&theirs);
        (&theirs).write_all(head.as_bytes()).unwrap();
        // Until the other side is gone.
        (&theirs).read_to_end(&mut Vec::new()).unwrap();
    });
    let client = Client::new(ours, Duration::from_secs(5)).unwrap();
    let mut events = client.events(Method::Get, "/v1/events", None::<&()>).unwrap();
    let stopper = events.stopper();
    let stopping = thread::spawn(move || stopper.shutdown());
    assert!(matches!(events.next(), Some(Err(ClientError::Unreachable(_)))));
    assert!(events.next().is_none());
    stopping.join().unwrap();
    served.join().unwrap();
}
