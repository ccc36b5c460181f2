//! What one client may have open, and what it is told past that (M8, M9).

use manifold_protocol::{Fault, Raw};

use super::*;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const JSON: &str = "host: localhost\r\ncontent-type: application/json";
const BOTH: &str = "application/json, text/event-stream";

fn calling(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"s-hold"}}}}"#)
}

impl TestSite {
    async fn hello(&self) -> (String, String) {
        self.exchange(&format!("POST /mcp HTTP/1.1\r\n{JSON}"), HELLO).await
    }

    /// Opens a session and returns its id.
    async fn open(&self) -> String {
        let (head, body) = self.hello().await;
        header(&head, "mcp-session-id").unwrap_or_else(|| panic!("{head} {body}"))
    }

    async fn ping(&self, session: &str) -> u16 {
        let head = format!("POST /mcp HTTP/1.1\r\n{JSON}\r\nmcp-session-id: {session}");
        self.send(&head, PING).await.0
    }

    /// Makes a call that waits at its server.
    async fn begin(&self, session: &str, id: u64, accept: &str) -> DuplexStream {
        let (mut stream, body) = (self.connect(), calling(id));
        let before = self.fake.held_count();
        let head = format!("POST /mcp HTTP/1.1\r\n{JSON}\r\naccept: {accept}\r\nmcp-session-id: {session}");
        let request = format!("{head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        while self.fake.held_count() == before {
            tokio::task::yield_now().await;
        }
        stream
    }
}

#[track_caller]
fn check_429((head, body): &(String, String), setting: &str) {
    assert!(head.starts_with("HTTP/1.1 429"), "{head} {body}");
    assert!(header(head, "retry-after").is_some(), "{head}");
    let error: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(error["error"]["code"], -32603, "{body}");
    assert_eq!(error["error"]["data"]["retryable"], true, "{body}");
    assert_eq!(error["error"]["data"]["setting"], setting, "{body}");
}

// M8, T29: whoever comes too late is told so, and nobody who is there is ended for it
#[tokio::test(start_paused = true)]
async fn past_the_sessions_there_may_be_one_that_rests_makes_room_or_nobody_does() {
    let site = site_limited(ClientLimits { sessions: 4, ..ClientLimits::default() });
    let (calls, listens, used, rests) =
        (site.open().await, site.open().await, site.open().await, site.open().await);
    assert_eq!(site.ping(&used).await, 200);
    let call = site.begin(&calls, 1, BOTH).await;
    let mut stream = site.connect();
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {listens}\r\n\r\n"
    );
    stream.write_all(get.as_bytes()).await.unwrap();
    assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);

    check_429(&site.hello().await, "limits.sessions");
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(site.ping(&used).await, 200);
    tokio::time::sleep(Duration::from_secs(15)).await;
    let newcomer = site.open().await;
    assert_eq!(site.ping(&rests).await, 404, "it lay unused for more than a minute");
    for kept in [&calls, &listens, &used, &newcomer] {
        assert_eq!(site.ping(kept).await, 200);
    }
    check_429(&site.hello().await, "limits.sessions");
    // Whoever leaves makes room as well.
    let delete = format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {newcomer}");
    assert_eq!(site.send(&delete, "").await.0, 204);
    site.open().await;
    assert!(!site.fake.held().remove(0).1.is_cancelled(), "the call goes on");
    drop((call, stream));
}

// M8
#[tokio::test(start_paused = true)]
async fn past_the_calls_a_session_may_have_in_flight_there_is_429() {
    let site = site_limited(ClientLimits { calls: 2, ..ClientLimits::default() });
    let (busy, other) = (site.open().await, site.open().await);
    let first = site.begin(&busy, 1, BOTH).await;
    let _second = site.begin(&busy, 2, "application/json").await;
    for accept in [BOTH, "application/json", "text/event-stream, application/json"] {
        let head = format!("POST /mcp HTTP/1.1\r\n{JSON}\r\naccept: {accept}\r\nmcp-session-id: {busy}");
        check_429(&site.exchange(&head, &calling(3)).await, "limits.callsPerClient");
    }
    let _theirs = site.begin(&other, 1, BOTH).await;
    assert_eq!(site.ping(&busy).await, 200, "what needs no server is answered");
    let (_, exchange) = site.fake.held().remove(0);
    exchange.finish(Ok(Raw::from_static("{}")));
    let mut answer = String::new();
    { first }.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(r#""result":{}"#), "{answer}");
    let _third = site.begin(&busy, 3, BOTH).await;
}

// M8: a connection without a session is a client, too
#[tokio::test]
async fn past_the_calls_a_connection_may_have_in_flight_there_is_429() {
    let site = site_limited(ClientLimits { calls: 2, ..ClientLimits::default() });
    let batch = |calls: u64| format!("[{}]", (0..calls).map(|_| PING).collect::<Vec<_>>().join(","));
    let head = format!("POST {API} HTTP/1.1\r\n{JSON}");
    // B8: to try again would be in vain.
    let (_, refused) = site.exchange(&head, &batch(3)).await;
    assert!(refused.contains("the batch is too large: it has 3 calls, and 2 at once"), "{refused}");
    assert!(!refused.contains("try again") && !refused.contains("retryable"), "{refused}");
    assert_eq!(site.exchange(&head, &batch(2)).await.1.matches(PONG).count(), 2);
}

// M8: one session listens on few streams at once, however many it could come back to
#[tokio::test(start_paused = true)]
async fn past_the_streams_a_session_may_listen_on_there_is_429() {
    let site = site_limited(ClientLimits { streams: 2, ..ClientLimits::default() });
    let session = site.open().await;
    let mut calls = Vec::new();
    for id in 1..=3 {
        calls.push(site.begin(&session, id, "text/event-stream").await);
    }
    let mut listening = Vec::new();
    for (stream, expected) in [(1, 200), (2, 200), (3, 429)] {
        let mut connection = site.connect();
        let get = format!(
            "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\nlast-event-id: {stream}-0\r\n\r\n"
        );
        connection.write_all(get.as_bytes()).await.unwrap();
        let mut buffer = vec![0; 1024];
        let count = connection.read(&mut buffer).await.unwrap();
        let answer = String::from_utf8_lossy(&buffer[..count]).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{answer}");
        assert_eq!(expected == 429, answer.contains("limits.streamsPerClient"), "{answer}");
        listening.push(connection);
    }
}

// M9: whoever meets a full queue is told so by the status, where there is one to tell it by
#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_is_429_on_plain_http() {
    let modern = format!(
        "POST /mcp HTTP/1.1\r\n{JSON}\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: s-hold"
    );
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let modern_call = calling(1).replace(r#""name""#, &format!(r#""_meta":{meta},"name""#));
    let site = test_site();
    let session = site.open().await;
    let litemcp = r#"{"version":[1,0,0],"tool":"s-hold","arguments":[]}"#.to_owned();
    for (head, body) in [
        (format!("POST {API} HTTP/1.1\r\n{JSON}"), calling(1)),
        (format!("POST /mcp HTTP/1.1\r\n{JSON}\r\naccept: {BOTH}\r\nmcp-session-id: {session}"), calling(1)),
        (modern, modern_call),
        (format!("POST /litemcp/default HTTP/1.1\r\n{JSON}"), litemcp),
    ] {
        let server = async {
            while site.fake.held_count() == 0 {
                tokio::task::yield_now().await;
            }
            let reason = "1024 calls of this client are waiting".to_owned();
            site.fake.held().remove(0).1.fail(Fault::Busy { server: "s".to_owned(), reason });
        };
        let ((head, answer), ()) = tokio::join!(site.exchange(&head, &body), server);
        assert!(head.starts_with("HTTP/1.1 429"), "{head}\n{answer}");
        assert_eq!(header(&head, "retry-after").as_deref(), Some("1"), "{head}");
        assert!(answer.contains("Server 's' is busy: 1024 calls of this client are waiting"), "{answer}");
        assert_eq!(answer.contains(r#""retryable":true"#), !body.contains("version\":["), "{answer}");
    }
}

impl TestSite {
    /// Opens a WebSocket and sends so much of a message of 490 bytes.
    async fn begin_message(&self, bytes: usize) -> DuplexStream {
        let mut stream = self.connect();
        let handshake = "GET /litemcp/default HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(handshake.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        stream
            .write_all(&[0x81, 0x80 | 126, 490_u16.to_be_bytes()[0], 490_u16.to_be_bytes()[1]])
            .await
            .unwrap();
        stream.write_all(&vec![b'x'; 4 + bytes]).await.unwrap();
        stream
    }
}

/// Waits for the frame that closes a WebSocket and returns its code.
async fn close_code(stream: &mut DuplexStream) -> u16 {
    assert_eq!(stream.read_u8().await.unwrap(), 0x88);
    assert!(stream.read_u8().await.unwrap() >= 2);
    stream.read_u16().await.unwrap()
}

// M7
#[tokio::test(start_paused = true)]
async fn a_frame_that_does_not_come_ends_its_websocket() {
    let site = test_site();
    for bytes in [0, 1, 489] {
        let mut stream = site.begin_message(bytes).await;
        let start = Instant::now();
        assert_eq!(close_code(&mut stream).await, 1008);
        let waited = start.elapsed();
        assert!(
            waited >= Duration::from_secs(25) && waited <= Duration::from_secs(26),
            "{bytes}: {waited:?}"
        );
    }
}

// M7: unfinished frames count, and whoever comes when there is no more room is told so
#[tokio::test(start_paused = true)]
async fn unfinished_frames_count_for_all() {
    let site = site_with(Admission::default(), ClientLimits::default(), 4_000);
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(site.begin_message(489).await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(
        site.shared.site.budget.admits(4_000 - 8 * 489)
            && !site.shared.site.budget.admits(4_000 - 8 * 489 + 1)
    );
    let mut last = site.begin_message(489).await;
    assert_eq!(close_code(&mut last).await, 1013);
    drop(open);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(site.shared.site.budget.admits(4_000), "what was held for them is free");
}
