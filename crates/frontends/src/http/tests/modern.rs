//! When an answer without a session is plain and when it is a stream.

use manifold_protocol::Raw;

use super::*;

const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: s-hold";
const HOLD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}"#;

impl TestSite {
    /// Calls the tool that waits. The call is held once this returns.
    async fn hold(&self, accept: &str) -> (DuplexStream, Exchange) {
        let mut stream = self.connect();
        let length = HOLD.len();
        let request = format!(
            "{HEAD}\r\naccept: {accept}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{HOLD}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        while self.fake.held_count() == 0 {
            tokio::task::yield_now().await;
        }
        (stream, self.fake.held().remove(0).1)
    }
}

async fn rest(mut stream: DuplexStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

const BOTH: &str = "application/json, text/event-stream";

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_soon_is_plain() {
    let (stream, exchange) = test_site().hold(BOTH).await;
    exchange.finish(Ok(Raw::from_static("{}")));
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(header(&answer, "content-type").unwrap(), "application/json; charset=utf-8");
}

#[tokio::test(start_paused = true)]
async fn one_that_takes_longer_is_a_stream_that_shows_life() {
    let (mut stream, exchange) = test_site().hold(BOTH).await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    exchange.finish(Ok(Raw::from_static("{}")));
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(header(&answer, "content-type").unwrap(), "text/event-stream");
    assert_eq!(header(&answer, "x-accel-buffering").unwrap(), "no");
    assert_eq!(answer.matches(":\n\n").count(), 3, "{answer}");
    assert!(answer.contains("event: message\ndata: {\"jsonrpc\""), "{answer}");
    assert!(!answer.contains("id: "), "nobody can come back: {answer}");
}

#[tokio::test(start_paused = true)]
async fn who_cannot_read_streams_waits_for_the_answer() {
    let (stream, exchange) = test_site().hold("application/json").await;
    exchange.asker().progress(Raw::from_static(r#"{"progress":1}"#));
    tokio::time::sleep(Duration::from_secs(31)).await;
    exchange.finish(Ok(Raw::from_static("{}")));
    assert!(rest(stream).await.contains("application/json"));
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_the_stream_it_was_asked_in() {
    let (stream, exchange) = test_site().hold(BOTH).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (question, _answer) = Exchange::answered();
    exchange.asker().ask(Call::new(Method::ListRoots, None), question);
    let answer = rest(stream).await;
    assert!(answer.contains(r#""resultType":"input_required""#), "{answer}");
    assert!(!exchange.is_cancelled(), "the call goes on");
}

#[tokio::test(start_paused = true)]
async fn hanging_up_cancels() {
    for accept in [BOTH, "application/json"] {
        let (stream, exchange) = test_site().hold(accept).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(stream);
        while !exchange.is_cancelled() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

// A client with a session that takes no streams and has none open cannot be asked.
#[tokio::test(start_paused = true)]
async fn a_session_without_a_stream_is_not_asked() {
    let admission = test_site();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    let (answered, _) = admission.exchange(head, hello).await;
    let id = header(&answered, "mcp-session-id").unwrap();
    let mut stream = admission.connect();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
    let length = call.len();
    let request = format!(
        "{head}\r\naccept: application/json\r\nmcp-session-id: {id}\r\ncontent-length: {length}\r\n\r\n{call}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    while admission.fake.held_count() == 0 {
        tokio::task::yield_now().await;
    }
    let (call, exchange) = admission.fake.held().remove(0);
    let caller = call.caller.unwrap();
    assert_eq!(
        (caller.capabilities.as_str(), caller.info.is_some()),
        ("{}", true),
        "nor are servers told so"
    );
    let (question, answer) = Exchange::answered();
    exchange.asker().ask(Call::new(Method::CreateMessage, None), question);
    let answer = format!("{:?}", answer.await.unwrap());
    assert!(answer.contains("without a stream to be asked on"), "{answer}");
}
