use axum::body::Body;
use axum::http::Request;
use expect_test::{Expect, expect};
use manifold_config::Profile;
use tower::ServiceExt as _;

use super::*;
use crate::fake::{self, Fake};

struct Door {
    router: Router,
    fake: Arc<Fake>,
}

fn door() -> Door {
    let world = fake::world(Profile::McpsProxy);
    let namespaces = HashMap::from([("default".to_owned(), world.gateway)]);
    let site = Site { namespaces, codes: CodeSet::Own, limit_bytes: 500, started: Instant::now() };
    Door { router: router(Arc::new(site)), fake: world.fake }
}

impl Door {
    async fn send(&self, request: Request<Body>) -> (u16, String, String) {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, kind.unwrap_or_default(), String::from_utf8(body.to_vec()).unwrap())
    }

    async fn post(&self, path: &str, body: &str) -> (u16, String, String) {
        let request = Request::post(path)
            .header("host", "localhost:3095")
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()));
        self.send(request.unwrap()).await
    }

    async fn get(&self, path: &str) -> (u16, String, String) {
        self.send(Request::get(path).header("host", "127.0.0.1:3095").body(Body::empty()).unwrap()).await
    }
}

async fn check(path: &str, body: &str, expected: Expect) {
    let (status, _, body) = door().post(path, body).await;
    expected.assert_eq(&format!("{status} {body}"));
}

const API: &str = "/api/default/mcp";

// S2-2
#[tokio::test(start_paused = true)]
async fn health_has_its_three_members() {
    let door = door();
    tokio::time::advance(std::time::Duration::from_millis(1500)).await;
    let (status, kind, body) = door.get("/health").await;
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
    let door = door();
    let hold = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
    let answers = async {
        while door.fake.held_count() < 2 {
            tokio::task::yield_now().await;
        }
        for (at, (_, exchange)) in door.fake.held().into_iter().enumerate().rev() {
            exchange.finish(Ok(manifold_protocol::Raw::number(at as u64)));
        }
    };
    let (first, second, ()) = tokio::join!(door.post(API, hold), door.post(API, hold), answers);
    assert_eq!(first.2, r#"{"jsonrpc":"2.0","id":1,"result":0}"#);
    assert_eq!(second.2, r#"{"jsonrpc":"2.0","id":1,"result":1}"#);
}

#[tokio::test]
async fn a_client_that_hangs_up_takes_its_call_back() {
    let door = door();
    let hold = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s-hold"}}"#;
    let mut asking = tokio::task::JoinSet::new();
    let router = door.router.clone();
    let request = Request::post(API).header("host", "localhost").header("content-type", "application/json");
    let request = request.body(Body::from(hold)).unwrap();
    asking.spawn(async move { router.oneshot(request).await.map(|response| response.status()) });
    while door.fake.held_count() < 1 {
        tokio::task::yield_now().await;
    }
    let (_, exchange) = door.fake.held().remove(0);
    asking.shutdown().await;
    assert!(exchange.is_cancelled());
}

#[tokio::test]
async fn other_paths_and_methods_are_told_what_there_is() {
    let door = door();
    let (status, _, body) = door.get("/nowhere").await;
    assert_eq!(status, 404);
    assert!(body.contains("availableEndpoints"), "{body}");
    assert_eq!(door.get(API).await.0, 405);
}

// T1, T2: the guard stands before every route.
#[tokio::test]
async fn strangers_are_refused_before_their_body_is_read() {
    let door = door();
    for path in ["/health", API, "/nowhere"] {
        let request = Request::get(path).header("host", "evil.example").body(Body::empty()).unwrap();
        assert_eq!(door.send(request).await.0, 403, "{path}");
    }
    let request = Request::post(API).header("host", "localhost").header("content-type", "text/plain");
    assert_eq!(door.send(request.body(Body::from("x".repeat(9000))).unwrap()).await.0, 415);
}
