use h2::client::{Builder, SendRequest};
use hyper::StatusCode;
use manifold_config::ClientLimits;
use manifold_engine::Exchange;
use manifold_protocol::Raw;
use tokio::time::{advance, sleep, timeout};

use super::*;
use crate::http::Admission;
use crate::http::tests::{TestSite, site_limited, site_with};

const API: &str = "/api/default/mcp";
const HOLD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// Longer than a peer may leave an answer unread.
const LATE: Duration = Duration::from_secs(61);

/// A connection whose streams the client lets hold so much unread each, and all of them together as much as they like.
struct Client {
    send: SendRequest<Bytes>,
    site: TestSite,
}

type Answer = Response<RecvStream>;

impl Client {
    async fn connect(site: TestSite, window: u32) -> Self {
        let mut builder = Builder::new();
        builder.initial_window_size(window).initial_connection_window_size(64 << 20);
        let (send, connection) = builder.handshake(site.connect()).await.unwrap();
        site.spawn(async move { drop(connection.await) });
        Self { send, site }
    }

    /// Sends a request; the future is its answer.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> impl Future<Output = Result<Answer, h2::Error>> + use<> {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request = request.header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.send = self.send.clone().ready().await.unwrap();
        let (answer, mut stream) =
            self.send.send_request(request.body(()).unwrap(), body.is_empty()).unwrap();
        if !body.is_empty() {
            stream.send_data(Bytes::copy_from_slice(body.as_bytes()), true).unwrap();
        }
        answer
    }

    /// Makes a call that waits at its server, and returns that end of it.
    async fn hold(&mut self) -> (impl Future<Output = Result<Answer, h2::Error>> + use<>, Exchange) {
        let answer = self.ask(Method::POST, API, &[], HOLD).await;
        while self.site.fake.held_count() == 0 {
            tokio::task::yield_now().await;
        }
        (answer, self.site.fake.held().remove(0).1)
    }
}

fn large(bytes: usize) -> Raw {
    Raw::string(&"x".repeat(bytes))
}

async fn read(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut all = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        let _ = body.flow_control().release_capacity(data.len());
        all.extend_from_slice(&data);
    }
    Ok(all)
}

#[tokio::test(start_paused = true)]
async fn answers_are_whole_and_say_how_long_they_are() {
    let mut client = Client::connect(site_limited(ClientLimits::default()), 65_535).await;
    let mut ping = client.ask(Method::POST, API, &[], PING).await.await.unwrap();
    let headers = ping.headers().clone();
    let body = read(ping.body_mut()).await.unwrap();
    assert_eq!(body, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(headers["content-length"], body.len().to_string());
    assert!(headers.contains_key("date"));
    let mut head = client.ask(Method::HEAD, "/health", &[], "").await.await.unwrap();
    assert!(head.headers().contains_key("content-length") && read(head.body_mut()).await.unwrap().is_empty());
    // HTTP/2 has no such headers.
    let refused = client.ask(Method::POST, API, &[("content-type", "text/plain")], "x").await.await.unwrap();
    assert!(!refused.headers().contains_key("connection"), "{:?}", refused.headers());
    let (answer, exchange) = client.hold().await;
    exchange.finish(Ok(large(1 << 20)));
    let mut answer = answer.await.unwrap();
    assert!(read(answer.body_mut()).await.unwrap().len() > 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn a_request_taken_back_takes_its_call_back() {
    let mut client = Client::connect(site_limited(ClientLimits::default()), 65_535).await;
    let (answer, exchange) = client.hold().await;
    drop(answer);
    while !exchange.is_cancelled() {
        tokio::task::yield_now().await;
    }
}

// M6
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes_ends_its_stream_and_no_other() {
    const ALL: usize = 8 << 20;
    let mut client =
        Client::connect(site_with(Admission::default(), ClientLimits::default(), ALL), 65_535).await;
    let (unread, exchange) = client.hold().await;
    let budget = client.site.shared.site.budget.clone();
    exchange.finish(Ok(large(1 << 20)));
    let mut unread = unread.await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    assert!(!budget.admits(ALL), "it counts");
    let (slow, waiting) = client.hold().await;
    sleep(Duration::from_secs(55)).await;
    assert!(!budget.admits(ALL));
    sleep(LATE - Duration::from_secs(55)).await;
    let ended = read(unread.body_mut()).await.unwrap_err();
    assert_eq!(ended.reason(), Some(h2::Reason::CANCEL));
    assert!(budget.admits(ALL), "nothing is held for it any more");
    // The connection goes on, and so does a call that takes its time.
    assert_eq!(client.ask(Method::POST, API, &[], PING).await.await.unwrap().status(), StatusCode::OK);
    waiting.finish(Ok(Raw::from_static("{}")));
    assert_eq!(slow.await.unwrap().status(), StatusCode::OK);
}

// M6: nor a stream of events
#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_takes_ends() {
    let mut client = Client::connect(site_limited(ClientLimits::default()), 0).await;
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "s-hold")];
    let headers = [&headers[..], &[("accept", "text/event-stream")]].concat();
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let call = HOLD.replace(r#""name""#, &format!(r#""_meta":{meta},"name""#));
    let answer = client.ask(Method::POST, "/mcp", &headers, &call).await;
    let mut answer = answer.await.unwrap();
    let (_, exchange) = client.site.fake.held().remove(0);
    assert!(timeout(Duration::from_secs(50), answer.body_mut().data()).await.is_err());
    sleep(Duration::from_secs(11)).await;
    assert!(answer.body_mut().data().await.unwrap().is_err());
    assert!(exchange.is_cancelled());
}

// M6: "100 answers of 1 MB held: all others 503 for 99 s"
#[tokio::test(start_paused = true)]
async fn what_one_client_does_not_take_leaves_room_for_others() {
    const MIB: usize = 1 << 20;
    let site = site_with(Admission::default(), ClientLimits::default(), 16 * MIB);
    let budget = site.shared.site.budget.clone();
    let mut client = Client::connect(site, 0).await;
    let mut held = Vec::new();
    for _ in 0..90 {
        held.push(client.hold().await);
    }
    let mut statuses = Vec::new();
    for (answer, exchange) in held {
        exchange.finish(Ok(large(MIB)));
        let answer = answer.await.unwrap();
        assert!(budget.admits(7 * MIB), "others always have room");
        statuses.push(answer);
    }
    let served = statuses.iter().filter(|answer| answer.status() == StatusCode::OK).count();
    assert!((4..=8).contains(&served), "a quarter at least, half at the most: {served}");
    let refused = statuses.iter().find(|answer| answer.status() != StatusCode::OK).unwrap();
    assert_eq!(
        (refused.status(), &refused.headers()["retry-after"]),
        (StatusCode::SERVICE_UNAVAILABLE, &"1".parse().unwrap())
    );
    // More than its share is not kept for a client that takes nothing of it.
    advance(Duration::from_secs(1)).await;
    sleep(Duration::from_secs(1)).await;
    assert!(budget.admits(12 * MIB), "no more than its share");
}

// M8: a connection listens on few streams, and has few calls in flight
#[tokio::test(start_paused = true)]
async fn a_connection_without_a_session_has_its_limits() {
    let limits = ClientLimits { streams: 2, calls: 3, ..ClientLimits::default() };
    let mut client = Client::connect(site_limited(limits), 65_535).await;
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{meta}}}}}"#
    );
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let mut open = Vec::new();
    for expected in [200, 200, 429] {
        let answer = client.ask(Method::POST, "/mcp", &headers, &listen).await.await.unwrap();
        assert_eq!(answer.status().as_u16(), expected);
        assert_eq!(answer.headers().contains_key("retry-after"), expected == 429);
        open.push(answer);
    }
    assert_eq!(client.ask(Method::GET, "/sse", &[], "").await.await.unwrap().status().as_u16(), 429);
    let mut calls = Vec::new();
    for _ in 0..3 {
        calls.push(client.hold().await);
    }
    let fourth = client.ask(Method::POST, API, &[], HOLD).await.await.unwrap();
    assert_eq!(fourth.status(), StatusCode::TOO_MANY_REQUESTS);
    let (answer, exchange) = calls.remove(0);
    exchange.finish(Ok(Raw::from_static("{}")));
    assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
    let _fourth = client.hold().await;
    // Another connection is another client.
    let mut other = Client::connect(client.site, 65_535).await;
    assert_eq!(other.ask(Method::POST, API, &[], PING).await.await.unwrap().status(), StatusCode::OK);
}
