//! What one user opened another does not find, and no token goes further than the door.

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::end_quietly;
use manifold_testkit::{HttpFake, Sandbox, Style, until};
use serde_json::{Value, json};

use super::oauth::World;
use super::*;
use crate::http_lifecycle::{BOTH, Conn};
use crate::modern_http::signed;

fn initialize() -> String {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    calling(1, "initialize", hello)
}

/// Posts a message of the revision without sessions.
fn modern(gateway: &Gateway, token: &str, method: &str, params: &Value) -> Value {
    let credential = bearer(token);
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![
        ("Authorization", credential.as_str()),
        ("Accept", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    if !name.is_empty() {
        headers.push(("Mcp-Name", &name));
    }
    gateway.ask("POST", "/mcp", &headers, &calling(7, method, params.clone())).json()
}

// Row 26 of the door: sessions, streams and parked states are their principal's.
#[test]
fn another_user_finds_no_session_stream_or_state() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({}))), &[]);
    let ann = world.token(json!({}));
    let others = [
        world.token(json!({"sub": "bob"})),
        world.token(json!({"client_id": "another"})),
        world.token(json!({"sub": "ann of x", "client_id": "editor"})),
    ];
    let with = |token: &str| bearer(token);
    let open = with(&ann);
    let opened = gateway.ask("POST", "/mcp", &[("Authorization", &open), ("Accept", BOTH)], &initialize());
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let list = calling(2, "tools/list", json!({}));
    for other in &others {
        let credential = with(other);
        let headers =
            [("Authorization", credential.as_str()), ("Accept", BOTH), ("Mcp-Session-Id", &session)];
        for (method, body) in [("POST", list.as_str()), ("GET", ""), ("DELETE", "")] {
            let answer = gateway.ask(method, "/mcp", &headers, body);
            assert_eq!(answer.status, 404, "{method}: {}", answer.text());
        }
    }
    // A newer token of the same user does.
    let newer = with(&world.token(json!({"jti": "2"})));
    let headers = [("Authorization", newer.as_str()), ("Accept", BOTH), ("Mcp-Session-Id", &session)];
    assert_eq!(gateway.ask("POST", "/mcp", &headers, &list).status, 200);
    // The old transport.
    let mut stream = Conn::open(gateway.port);
    stream.send("GET", "/sse", &[("Authorization", &open), ("Accept", "text/event-stream")], "");
    let mut said = String::new();
    {
        let mut response = stream.response();
        while !said.contains("sessionId=") || !said.ends_with("\n\n") {
            said += &String::from_utf8(response.bytes().unwrap()).unwrap();
        }
    }
    let path = said.split("data: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    for other in &others {
        assert_eq!(gateway.ask("POST", &path, &[("Authorization", &with(other))], &initialize()).status, 404);
    }
    assert_eq!(gateway.ask("POST", &path, &[("Authorization", &open)], &initialize()).status, 202);
    // A call that waits for an answer.
    let params = signed(
        json!({"name": "a__ask", "arguments": {"method": "elicitation/create", "params": {"message": "really?", "requestedSchema": {"type": "object", "properties": {}}}}}),
        &json!({"elicitation": {}}),
    );
    let asked = modern(&gateway, &ann, "tools/call", &params);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut retry = params.clone();
    retry["requestState"] = asked["result"]["requestState"].clone();
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    retry["inputResponses"] = json!({key: {"action": "accept", "content": {}}});
    for other in &others {
        let answer = modern(&gateway, other, "tools/call", &retry);
        assert!(answer["error"].is_object(), "a state of somebody else: {answer}");
    }
    let answer = modern(&gateway, &world.token(json!({"jti": "3"})), "tools/call", &retry);
    assert!(answer["result"].is_object(), "with the next token of the same user: {answer}");
    end_quietly(gateway.client);
}

// A listener is told of no resource that it could not read.
#[test]
fn who_may_not_read_a_resource_is_not_told_of_its_changes() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let scopes = json!({"read": {"tools": ["*"]}, "all": {}});
    let mut config = two(&sandbox, world.auth(json!({"scopes": scopes})));
    let knobs = json!({"name": "c", "resources": [{"uri": "file:///a", "name": "a"}],
        "capabilities": {"tools": {}, "resources": {"subscribe": true}}, "log": sandbox.path("c.log")});
    config["servers"]["c"] = fake(knobs);
    config["namespaces"]["both"]["serverIds"] = json!(["a", "c"]);
    config["server"]["tokens"] = json!({"ci": {"hash": tokens::sha256("a token for tools"), "tools": ["*"]}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]});
    let listen = |token: &str| {
        let (credential, params) =
            (bearer(token), signed(json!({"notifications": filter.clone()}), &json!({})));
        let headers = [
            ("Authorization", credential.as_str()),
            ("Accept", BOTH),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "subscriptions/listen"),
        ];
        let mut connection = Conn::open(gateway.port);
        connection.send("POST", "/mcp", &headers, &calling(7, "subscriptions/listen", params));
        connection
    };
    // Which resources it is promised.
    let promised = |token: &str| {
        let mut connection = listen(token);
        let response = connection.response();
        assert_eq!(response.status, 200);
        response.events().message()["params"]["notifications"]["resourceSubscriptions"].clone()
    };
    assert_eq!(promised(&world.token(json!({"scope": "all"}))), json!(["file:///a"]));
    assert_eq!(promised("a token for tools"), Value::Null, "as if nobody had it");
    let read = |token: &str| api(&gateway, "both", token, "resources/read", json!({"uri": "file:///a"}));
    assert!(read("a token for tools").json()["error"].is_object());
    let reader = world.token(json!({}));
    let mut refused = listen(&reader);
    let refused = refused.response();
    assert_eq!((refused.status, read(&reader).status), (403, 403));
    assert!(refused.header("www-authenticate").unwrap().contains("scope=\"all\""));
    assert_eq!(sandbox.received("c.log", "resources/subscribe").len(), 1, "for the one who may");
    end_quietly(gateway.client);
}

// Row 27: what a client shows at the door stays there.
#[test]
fn no_token_reaches_a_server_or_a_log() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let remote = HttpFake::start(Style::Json, &["echo"]);
    let mut config = two(&sandbox, world.auth(json!({})));
    config["servers"]["r"] = json!({"url": remote.url()});
    config["namespaces"]["both"]["serverIds"] = json!(["a", "r"]);
    let gateway = Gateway::start(&sandbox, &config, &["--log-level", "debug"]);
    let token = world.token(json!({}));
    let credential = bearer(&token);
    let headers = [
        ("Authorization", credential.as_str()),
        ("Cookie", "sid=cookie-canary"),
        ("DPoP", "dpop-canary"),
        ("X-Forwarded-Access-Token", "forwarded-canary"),
        ("Proxy-Authorization", "Basic proxy-canary"),
    ];
    for tool in ["a__echo", "r__echo"] {
        let call =
            calling(1, "tools/call", json!({"name": tool, "arguments": {"text": "in"}, "_meta": {"x": 1}}));
        let answer = gateway.ask("POST", "/api/both/mcp", &headers, &call);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "in", "{tool}: {}", answer.text());
    }
    assert!(until(PATIENCE, || !remote.received("tools/call").is_empty()));
    let told = format!("{:?}{}", remote.record(), std::fs::read_to_string(sandbox.path("a.log")).unwrap());
    let logged = gateway.client.stderr();
    let signature = token.rsplit('.').next().unwrap();
    for canary in [signature, "cookie-canary", "dpop-canary", "forwarded-canary", "proxy-canary"] {
        assert!(!told.contains(canary), "{canary} in {told}");
        assert!(!logged.contains(canary), "{canary} in {logged}");
    }
    end_quietly(gateway.client);
}
