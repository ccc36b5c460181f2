use std::collections::HashMap;
mod closing;
mod early;
mod limits;
mod modern;
mod principals;
mod sealed;
mod wrong_tokens;

use expect_test::{Expect, expect};
use manifold_config::{ClientLimits, Profile};
use manifold_engine::{Budget, Exchange};
use manifold_protocol::{Call, CodeSet, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::fake::{self, Fake};

pub(super) struct TestSite {
    pub(super) shared: Arc<Shared>,
    pub(super) fake: Arc<Fake>,
    tasks: Tasks,
}

fn test_site() -> TestSite {
    site_with(Admission::default(), ClientLimits::default(), 1 << 20)
}

/// Opens a site whose clients may have only so much open.
pub(super) fn site_limited(limits: ClientLimits) -> TestSite {
    site_with(Admission::default(), limits, 1 << 20)
}

fn site_and_world(admission: Admission, limits: ClientLimits, held_bytes: usize) -> (Site, fake::World) {
    let world = fake::world(Profile::McpsProxy);
    let site = Site {
        namespaces: Arc::new(Namespaces::new(Served {
            namespaces: HashMap::from([("default".to_owned(), Arc::clone(&world.gateway))]),
            config: world.gateway.config(),
            default: Some(Arc::clone(&world.gateway)),
            alone: HashMap::new(),
        })),
        codes: CodeSet::Own,
        profile: Profile::McpsProxy,
        admission: Arc::new(admission),
        limit_bytes: 500,
        budget: Budget::new(held_bytes),
        limits,
        port: 3095,
        url: "http://localhost:3095".to_owned(),
        started: Instant::now(),
        health: Arc::default(),
        page: None,
        callbacks: None,
        replica: None,
    };
    (site, world)
}

pub(super) fn site_with(admission: Admission, limits: ClientLimits, held_bytes: usize) -> TestSite {
    let (site, world) = site_and_world(admission, limits, held_bytes);
    site_of(site, world)
}

fn site_of(site: Site, world: fake::World) -> TestSite {
    let limits = site.limits;
    let (close, closing) = watch::channel(Closing::No);
    // Dropping it would close every stream.
    std::mem::forget(close);
    let sockets = Sockets::new(Duration::from_secs(5));
    let modern = ModernService::for_many(&world.tasks, limits.parked, site.replica.clone());
    let shared = Arc::new(Shared {
        site,
        sessions: Sessions::new(limits),
        modern,
        sockets,
        token_failures: TokenFailures::default(),
        closing,
    });
    TestSite { shared, fake: world.fake, tasks: world.tasks }
}

impl TestSite {
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Opens a connection.
    pub(super) fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let peer = Peer::new(std::net::Ipv4Addr::LOCALHOST.into(), &self.shared.site);
        self.tasks.spawn(connection::serve_on(theirs, peer, Arc::clone(&self.shared)));
        ours
    }

    /// Sends one request on a connection of its own. Returns status, content type and body.
    async fn send(&self, head: &str, body: &str) -> (u16, String, String) {
        let (head, body) = self.exchange(head, body).await;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, header(&head, "content-type").unwrap_or_default(), body)
    }

    /// Sends one request on a connection of its own. Returns head and body of the answer.
    async fn exchange(&self, head: &str, body: &str) -> (String, String) {
        let mut stream = self.connect();
        let length = body.len();
        let request = format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    async fn post(&self, path: &str, body: &str) -> (u16, String, String) {
        let head = format!("POST {path} HTTP/1.1\r\nhost: localhost:3095\r\ncontent-type: application/json");
        self.send(&head, body).await
    }

    async fn get(&self, path: &str) -> (u16, String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:3095"), "").await
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

async fn check(path: &str, body: &str, expected: Expect) {
    let (status, _, body) = test_site().post(path, body).await;
    expected.assert_eq(&format!("{status} {body}"));
}

const API: &str = "/api/default/mcp";

// S2-2
#[tokio::test(start_paused = true)]
async fn health_has_its_three_members() {
    let admission = test_site();
    tokio::time::advance(Duration::from_millis(1500)).await;
    let (status, kind, body) = admission.get("/health").await;
    assert_eq!((status, kind.as_str()), (200, "application/json; charset=utf-8"));
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 3);
    assert_eq!(body["status"], "ok");
    assert_eq!(body["uptime"], 1.5);
    let timestamp = body["timestamp"].as_str().unwrap();
    let shape: String = timestamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z");
}

// S2-6, S2-7, S2-8, S2-21, decision 19
#[tokio::test]
async fn calls_need_no_handshake() {
    check(
        API,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-echo","arguments":{"a":1.0}}}"#,
        expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"a":1.0}}"#]],
    )
    .await;
    check(API, r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#, expect![[r#"200 {"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"s-echo","inputSchema":{"type":"object"}},{"name":"s-hold","inputSchema":{"type":"object"}},{"name":"s-panic","inputSchema":{"type":"object"}}]}}"#]]).await;
    check(API, r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#, expect![[r#"200 {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}},"serverInfo":{"name":"mcps-proxy","version":"0.1.0"}}}"#]]).await;
    check(
        API,
        r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
        expect![[r#"200 {"jsonrpc":"2.0","id":3,"result":{}}"#]],
    )
    .await;
}

// S2-13, S2-14, decision 17, decision 21
#[tokio::test]
async fn errors_of_a_call_are_http_successes() {
    check(
        API,
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
        expect![[
            r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method 'no/such' not found"}}"#
        ]],
    )
    .await;
    check(
        API,
        r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#,
        expect![[
            r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method 'shutdown' not found"}}"#
        ]],
    )
    .await;
    check(API, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-none"}}"#, expect![[r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Tool 'none' not found on server 's'","data":{"serverId":"s","service":"s","toolName":"none"}}}"#]]).await;
}

// Decision 21
#[tokio::test]
async fn what_is_no_request_is_400() {
    check(API, "nonsense", expect![[r#"400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}"#]]).await;
    check(API, "", expect![[r#"400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}"#]]).await;
    check(API, r#"{"jsonrpc":"2.0","id":1"#, expect![[r#"400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}"#]]).await;
    check(API, r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, expect![[r#"400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: jsonrpc must be \"2.0\""}}"#]]).await;
    check(API, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, expect![[r#"400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: id must be a string or a number"}}"#]]).await;
    check(API, "[]", expect![[r#"400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the batch is empty"}}"#]]).await;
}

// S2-15
#[tokio::test]
async fn an_unknown_schema_is_404_with_the_id_echoed() {
    check("/api/nope/mcp", r#"{"jsonrpc":"2.0","id":"abc","method":"ping"}"#, expect![[r#"404 {"jsonrpc":"2.0","id":"abc","error":{"code":404,"message":"Schema 'nope' not found or disabled"}}"#]]).await;
    check("/api/nope/mcp", "nonsense", expect![[r#"404 {"jsonrpc":"2.0","id":null,"error":{"code":404,"message":"Schema 'nope' not found or disabled"}}"#]]).await;
    check("/api/a%20%22b/mcp", r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#, expect![[r#"404 {"jsonrpc":"2.0","id":0,"error":{"code":404,"message":"Schema 'a \"b' not found or disabled"}}"#]]).await;
}

#[tokio::test]
async fn notifications_are_accepted_without_a_body() {
    check(API, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, expect!["202 "]).await;
    check(API, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, expect!["202 "]).await;
    check(API, r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#, expect!["202 "]).await;
}

// Decision 33
#[tokio::test]
async fn a_body_too_large_is_413() {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "a".repeat(500));
    check(API, &body, expect![[r#"413 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the message is larger than 500 bytes (limits.requestBytes)","data":{"limitBytes":500}}}"#]]).await;
}

// Decision 20
#[tokio::test]
async fn a_batch_is_answered_in_one_array() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7,{"jsonrpc":"2.0","id":2,"method":"no/such"}]"#;
    check(API, batch, expect![[r#"200 [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message must be an object"}},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method 'no/such' not found"}}]"#]]).await;
}

// S2-22: every client starts at 1, and nobody gets another's answer.
#[tokio::test]
async fn equal_ids_of_two_clients_do_not_meet() {
    let admission = test_site();
    let hold = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
    let answers = async {
        while admission.fake.held_count() < 2 {
            tokio::task::yield_now().await;
        }
        for (at, (_, exchange)) in admission.fake.held().into_iter().enumerate().rev() {
            exchange.finish(Ok(manifold_protocol::Raw::number(at as u64)));
        }
    };
    let (first, second, ()) = tokio::join!(admission.post(API, hold), admission.post(API, hold), answers);
    assert_eq!(first.2, r#"{"jsonrpc":"2.0","id":1,"result":0}"#);
    assert_eq!(second.2, r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
}

// One POST, one answer: nobody can be asked in between, and servers are told so.
#[tokio::test]
async fn a_question_is_answered_from_the_config() {
    let admission = test_site();
    let hold = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
    let server = async {
        while admission.fake.held_count() < 1 {
            tokio::task::yield_now().await;
        }
        let (call, exchange) = admission.fake.held().remove(0);
        assert_eq!(call.caller.unwrap().capabilities.as_str(), "{}");
        let (question, answer) = Exchange::answered();
        exchange.asker().ask(Call::new(Method::ListRoots, None), question);
        exchange.finish(answer.await.unwrap());
    };
    let (answered, ()) = tokio::join!(admission.post(API, hold), server);
    assert_eq!(answered.2, r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///r"}]}}"#);
}

#[tokio::test]
async fn a_client_that_hangs_up_takes_its_call_back() {
    let admission = test_site();
    let hold = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
    let mut stream = admission.connect();
    let head = format!(
        "POST {API} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}",
        hold.len()
    );
    stream.write_all(format!("{head}\r\n\r\n{hold}").as_bytes()).await.unwrap();
    while admission.fake.held_count() < 1 {
        tokio::task::yield_now().await;
    }
    let (_, exchange) = admission.fake.held().remove(0);
    drop(stream);
    while !exchange.is_cancelled() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_told_what_there_is() {
    let admission = test_site();
    let (status, _, body) = admission.get("/nowhere").await;
    assert_eq!(status, 404);
    assert!(body.contains("availableEndpoints"), "{body}");
    assert_eq!(admission.get(API).await.0, 405);
}

// T1, T2: the guard stands before every route.
#[tokio::test]
async fn strangers_are_refused_before_their_body_is_read() {
    let admission = test_site();
    for path in ["/health", API, "/mcp", "/sse", "/nowhere"] {
        assert_eq!(
            admission.send(&format!("GET {path} HTTP/1.1\r\nhost: evil.example"), "").await.0,
            403,
            "{path}"
        );
    }
    let plain = format!("POST {API} HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain");
    assert_eq!(admission.send(&plain, &"x".repeat(9000)).await.0, 415);
}

// S2-3 to S2-5, decision 34
#[tokio::test(start_paused = true)]
async fn status_has_the_seed_s_shape() {
    let admission = test_site();
    tokio::time::advance(Duration::from_secs(3661)).await;
    let (status, _, body) = admission.get("/api/status").await;
    assert_eq!(status, 200);
    expect![[r#"{"server":{"status":"running","port":3095,"url":"http://localhost:3095","uptime":"01:01:01"},"schemas":{"default":{"status":"active","mcpServers":[{"id":"s","name":"s","status":"connected","type":"builtin","toolCount":3}],"totalTools":3,"connectedServers":1}},"summary":{"totalSchemas":1,"activeSchemas":1,"totalServers":1,"connectedServers":1,"failedServers":0,"totalTools":3}}"#]].assert_eq(&body);
}

// T30
#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_or_half_is_closed_in_time() {
    let head = format!(
        "POST {API} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n"
    );
    for said in ["", "POST /api", head.as_str()] {
        let start = Instant::now();
        let mut stream = test_site().connect();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(start.elapsed() <= Duration::from_secs(30), "{said:?}: {:?}", start.elapsed());
        assert!(start.elapsed() >= Duration::from_secs(10), "{said:?}: {:?}", start.elapsed());
    }
}

// T30
#[tokio::test(start_paused = true)]
async fn a_connection_rests_for_75_seconds_and_a_call_may_take_its_time() {
    let admission = test_site();
    let mut stream = admission.connect();
    let request = |body: &str| {
        format!(
            "POST {API} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let ping = request(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let mut buffer = vec![0; 4096];
    for _ in 0..3 {
        stream.write_all(ping.as_bytes()).await.unwrap();
        assert!(stream.read(&mut buffer).await.unwrap() > 0);
        tokio::time::sleep(Duration::from_secs(70)).await;
    }
    let hold = request(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s-hold"}}"#);
    stream.write_all(hold.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(200)).await;
    let (_, exchange) = admission.fake.held().remove(0);
    exchange.finish(Ok(manifold_protocol::Raw::number(7)));
    let count = stream.read(&mut buffer).await.unwrap();
    assert!(String::from_utf8_lossy(&buffer[..count]).ends_with(r#""result":7}"#));
    let start = Instant::now();
    assert_eq!(stream.read(&mut buffer).await.unwrap(), 0);
    let rested = start.elapsed();
    assert!(rested >= Duration::from_secs(74) && rested <= Duration::from_secs(76), "{rested:?}");
    // Half a head after a rest has the shorter time.
    let mut stream = admission.connect();
    stream.write_all(ping.as_bytes()).await.unwrap();
    assert!(stream.read(&mut buffer).await.unwrap() > 0);
    tokio::time::sleep(Duration::from_secs(20)).await;
    stream.write_all(b"POST /ap").await.unwrap();
    let start = Instant::now();
    assert_eq!(stream.read(&mut buffer).await.unwrap(), 0);
    assert!(start.elapsed() <= Duration::from_secs(30), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_does_not_wait_for_the_rest_of_the_next_request() {
    let admission = test_site();
    let mut stream = admission.connect();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let head = format!(
        "POST {API} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}",
        ping.len()
    );
    stream.write_all(format!("{head}\r\n\r\n{ping}POST /ap").as_bytes()).await.unwrap();
    let start = Instant::now();
    let mut buffer = vec![0; 4096];
    let count = stream.read(&mut buffer).await.unwrap();
    assert!(String::from_utf8_lossy(&buffer[..count]).ends_with(r#""result":{}}"#));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

// T1: what nobody judges must not get in.
#[tokio::test]
async fn a_second_host_or_a_foreign_target_is_refused() {
    let admission = test_site();
    let two = "GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil.example";
    assert_eq!(admission.send(two, "").await.0, 400);
    let absolute = "GET http://evil.example/health HTTP/1.1\r\nhost: localhost";
    assert_eq!(admission.send(absolute, "").await.0, 403);
}

// Decision 29: what one client can do is not what the shared servers are told.
#[tokio::test]
async fn a_client_s_handshake_tells_servers_nothing() {
    let admission = test_site();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let before = admission.fake.told_facts();
    assert_eq!(admission.post("/mcp", hello).await.0, 200);
    assert_eq!(admission.fake.told_facts(), before);
}

/// Sends bytes in pieces on one connection, and returns all that comes back until it ends.
async fn talk(site: &TestSite, pieces: &[&str]) -> String {
    let mut stream = site.connect();
    for piece in pieces {
        stream.write_all(piece.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

const POST: &str = "POST /api/default/mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

#[tokio::test]
async fn a_body_may_come_in_chunks_and_in_pieces() {
    let (begin, end) = PING.split_at(11);
    let chunked = format!(
        "{POST}connection: close\r\ntransfer-encoding: chunked\r\n\r\n{:x};note=1\r\n{begin}\r\n{:X}\r\n{end}\r\n0\r\nx: y\r\n\r\n",
        begin.len(),
        end.len()
    );
    let pieces: Vec<String> = chunked.chars().map(String::from).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    for pieces in [&[chunked.as_str()][..], &pieces] {
        let answer = talk(&test_site(), pieces).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(PONG), "{answer}");
    }
    for wrong in ["xyz\r\n", "5\r\nabcdefg\r\n", "fffffffffffffffffff\r\n"] {
        let answer =
            talk(&test_site(), &[&format!("{POST}transfer-encoding: chunked\r\n\r\n{wrong}0\r\n\r\n")]).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{wrong}: {answer}");
    }
    let answer = talk(&test_site(), &[&format!("{POST}transfer-encoding: chunked\r\n\r\n1f5\r\n")]).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn requests_may_follow_one_another_without_waiting() {
    let one = format!("{POST}content-length: {}\r\n\r\n{PING}", PING.len());
    let last = one.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    let answer = talk(&test_site(), &[&format!("{one}{one}{last}")]).await;
    assert_eq!(answer.matches(PONG).count(), 3, "{answer}");
    assert_eq!(answer.matches("connection: close").count(), 1, "{answer}");
}

#[tokio::test]
async fn a_body_is_asked_for_only_where_it_is_wanted() {
    let site = test_site();
    let ask = |length: usize| {
        format!("{POST}connection: close\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
    };
    let answer = talk(&site, &[&ask(501)]).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let mut stream = site.connect();
    stream.write_all(ask(PING.len()).as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(PING.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(PONG), "{answer}");
}

// T31
#[tokio::test]
async fn both_a_length_and_chunks_are_400() {
    let answer = talk(
        &test_site(),
        &[&format!("{POST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")],
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn the_old_version_is_closed_unless_it_asks() {
    let get = "GET /health HTTP/1.0\r\nhost: localhost\r\n";
    let answer = talk(&test_site(), &[&format!("{get}\r\n")]).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close"), "{answer}");
    let answer = talk(&test_site(), &[&format!("{get}connection: keep-alive\r\n\r\n{get}\r\n")]).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    let head =
        talk(&test_site(), &["HEAD /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"]).await;
    assert!(head.contains("content-length: ") && head.ends_with("\r\n\r\n"), "{head}");
}
