//! Clients that can be sent to an address are asked to sign in there, once, and their calls wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use manifold_testkit::http::{BOTH, Conn, Gateway, calling, end_quietly};
use manifold_testkit::visit;
use serde_json::{Value, json};

use super::{PATIENCE, serve, sign_in, text_of, world};

const CALLS: usize = 64;

/// Signs in at an address in the background, as somebody does who was shown it.
fn follow(url: &str) {
    let url = url.to_owned();
    std::thread::spawn(move || {
        let back = visit(&url).unwrap().location.unwrap();
        visit(&back).unwrap();
    });
}

// T16
#[test]
fn a_client_is_asked_once_and_all_its_calls_are_answered() {
    let (sandbox, server) = world();
    // Its tools are known, and whoever was signed in is not any more.
    sign_in(&sandbox, &[]);
    drop(serve(&sandbox, &server, json!({})).tool_names());
    server.forget_sign_ins();
    let mut client = serve(&sandbox, &server, json!({"elicitation": {"url": {}}}));
    let asked = Arc::<AtomicUsize>::default();
    let questions = Arc::<Mutex<Vec<Value>>>::default();
    let (count, seen) = (Arc::clone(&asked), Arc::clone(&questions));
    client.answer(move |method, params| {
        assert_eq!(method, "elicitation/create");
        count.fetch_add(1, Ordering::Relaxed);
        seen.lock().unwrap().push(params.clone());
        follow(params["url"].as_str().unwrap());
        Ok(json!({"action": "accept"}))
    });
    let ids: Vec<u64> = (0..CALLS)
        .map(|_| client.request("tools/call", json!({"name": "far__whoami", "arguments": {}})))
        .collect();
    for id in ids {
        assert_eq!(text_of(&client.wait_for(id, PATIENCE)), "somebody");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let question = questions.lock().unwrap()[0].clone();
    assert_eq!(question["mode"], "url");
    assert!(question["message"].as_str().unwrap().contains("127.0.0.1"), "{question}");
    let told = client.wait_for_notification("notifications/elicitation/complete", PATIENCE);
    assert_eq!(told["params"]["elicitationId"], question["elicitationId"]);
}

#[test]
fn who_declines_or_cannot_be_asked_hears_what_to_do() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    drop(serve(&sandbox, &server, json!({})).tool_names());
    server.forget_sign_ins();
    let registered = server.count("authorize");
    let mut client = serve(&sandbox, &server, json!({"elicitation": {"url": {}}}));
    client.answer(|_, _| Ok(json!({"action": "decline"})));
    let answer = client.call("far__whoami", json!({}));
    assert_eq!(answer["error"]["data"]["command"], "manifold login far", "{answer}");
    // One that knows forms alone is not asked.
    let mut client = serve(&sandbox, &server, json!({"elicitation": {}}));
    client.answer(|method, _| panic!("asked {method}"));
    let answer = client.call("far__whoami", json!({}));
    assert_eq!(answer["error"]["data"]["command"], "manifold login far", "{answer}");
    assert_eq!(server.count("authorize"), registered);
}

// E26: the same in the revision without sessions, where the call comes back with the answer.
#[test]
fn a_client_that_comes_back_is_asked_too() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    drop(serve(&sandbox, &server, json!({})).tool_names());
    server.forget_sign_ins();
    let mut client = sandbox.serve(&super::config(&server), &[]);
    client.speak_modern(json!({"elicitation": {"url": {}}}));
    client.answer(|_, params| {
        assert!(params.get("elicitationId").is_none());
        follow(params["url"].as_str().unwrap());
        Ok(json!({"action": "accept"}))
    });
    assert_eq!(text_of(&client.call("far__whoami", json!({}))), "somebody");
}

/// Asks for a tool over HTTP with `more` headers, as clients with sessions do and as those without; returns what each is
/// told first: it is asked to sign in, or told how.
fn told_over_http(gateway: &Gateway, more: &[(&str, &str)]) -> [Value; 2] {
    let can = json!({"elicitation": {"url": {}}});
    let arguments = json!({"name": "far__whoami", "arguments": {}});
    let params = crate::modern_http::signed(arguments.clone(), &can);
    let mut headers = vec![
        ("Accept", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "far__whoami"),
    ];
    headers.extend_from_slice(more);
    let modern = gateway.ask("POST", "/mcp", &headers, &calling(7, "tools/call", params)).json();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": {"name": "x", "version": "1"}});
    let mut headers = vec![("Accept", BOTH)];
    headers.extend_from_slice(more);
    let opened = gateway.ask("POST", "/mcp", &headers, &calling(1, "initialize", hello));
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    headers.push(("Mcp-Session-Id", &session));
    let mut connection = Conn::open(gateway.port);
    connection.send("POST", "/mcp", &headers, &calling(2, "tools/call", arguments));
    let response = connection.response();
    let legacy = match response.header("content-type") {
        Some("text/event-stream") => response.events().message(),
        _ => {
            let mut response = response;
            let mut body = Vec::new();
            while let Some(bytes) = response.bytes() {
                body.extend(bytes);
            }
            serde_json::from_slice(&body).unwrap()
        }
    };
    [modern, legacy]
}

// T16: an address is given to nobody who may sit elsewhere.
#[test]
fn who_may_be_elsewhere_is_given_no_address() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    drop(serve(&sandbox, &server, json!({})).tool_names());
    server.forget_sign_ins();
    let restricted = json!({"ci": {"hash": sha256("restricted"), "tools": ["*"]}});
    let check = |server_part: Value, more: &[(&str, &str)], is_asked: bool| {
        let mut config = super::config(&server);
        config["server"] = server_part;
        let gateway = Gateway::start(&sandbox, &config, &[]);
        let [modern, legacy] = told_over_http(&gateway, more);
        match is_asked {
            true => {
                assert_eq!(modern["result"]["resultType"], "input_required", "{modern}");
                assert_eq!(legacy["method"], "elicitation/create", "{legacy}");
            }
            false => {
                for answer in [&modern, &legacy] {
                    assert_eq!(answer["error"]["data"]["command"], "manifold login far", "{answer}");
                    assert!(!answer.to_string().contains("/authorize"), "{answer}");
                }
            }
        }
        end_quietly(gateway.client);
    };
    check(json!({}), &[], true);
    for header in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"] {
        check(json!({}), &[(header, "192.0.2.1")], false);
    }
    check(json!({"publicUrl": "https://tools.example"}), &[], false);
    check(json!({"tokens": restricted}), &[("Authorization", "Bearer restricted")], false);
}

fn sha256(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
