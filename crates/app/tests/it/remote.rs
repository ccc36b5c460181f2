//! S3-9, S3-10, decisions 16, 25, 29 and the transports of MCP: servers at an address, through both
//! transports and both styles of answer.
#![expect(clippy::disallowed_types, reason = "real sockets run in real time")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, HttpFake, Sandbox, Style, Trouble, figures, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, studio, studio_with, text_of};

pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const TOOLS: [&str; 8] = ["echo", "sleep", "progress", "ask", "log", "big", "addtool", "rpcerror"];

/// How a server is reached and how it answers.
#[derive(Clone, Copy, Debug)]
enum Way {
    Json,
    Events,
    OldSse,
}

const WAYS: [Way; 3] = [Way::Json, Way::Events, Way::OldSse];

fn server(way: Way) -> (HttpFake, Value) {
    let style = if matches!(way, Way::Json) { Style::Json } else { Style::Events };
    let server = HttpFake::start(style, &TOOLS);
    let entry = match way {
        Way::Json | Way::Events => json!({"type": "http", "url": server.url()}),
        Way::OldSse => json!({"type": "sse", "url": server.sse_url()}),
    };
    (server, entry)
}

/// One remote server that answers in JSON, with more keys in its entry, beside a local one.
pub(crate) fn beside_a_local_one(url: &str, more: Value) -> Value {
    let mut entry = json!({"type": "http", "url": url});
    for (key, value) in more.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    json!({"mcpServers": {"far": entry, "near": fake_with(&["echo"], json!({}))}})
}

/// Starts the gateway with these variables and shakes hands.
pub(crate) fn with_env(sandbox: &Sandbox, config: &Value, more: &[&str], env: &[(&str, &str)]) -> Client {
    let path = sandbox.write_config(config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(path).args(more).envs(env.iter().copied());
    let mut client = Client::spawn(command);
    assert_eq!(client.initialize("2025-06-18", json!({}))["error"], Value::Null);
    client
}

// S3-9, S3-5, S3-8
#[test]
fn tools_are_listed_and_called_every_way() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (_server, entry) = server(way);
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
        let names = client.tool_names();
        for tool in TOOLS {
            assert!(names.contains(&format!("far.{tool}")), "{way:?}: {names:?}");
        }
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "hi"}))), "hi", "{way:?}");
        // A large answer comes in many pieces.
        assert_eq!(text_of(&client.call("far.big", json!({"bytes": 3 << 20}))).len(), 3 << 20, "{way:?}");
        let error = json!({"code": -32055, "message": "as wished", "data": {"why": ["because"]}});
        assert_eq!(client.call("far.rpcerror", error.clone())["error"], error, "{way:?}: decision 15");
    }
}

// S3-9: what a session needs is sent with every request
#[test]
fn every_request_bears_session_version_and_what_it_accepts() {
    let sandbox = Sandbox::new();
    let (server, entry) = server(Way::Events);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
    client.call("far.echo", json!({}));
    assert!(until(SOON, || server.record().iter().any(|request| request.method == "GET")));
    let mut record = server.record();
    assert_eq!(record.remove(0).body["method"], "server/discover", "asked once, for the era");
    assert_eq!(record[0].body["method"], "initialize");
    assert_eq!(record[0].header("mcp-session-id"), None);
    assert_eq!(record[1].body["method"], "notifications/initialized", "nothing overtakes it");
    for request in &record {
        let accept = request.header("accept").unwrap_or_default();
        assert!(accept.contains("text/event-stream"), "{request:?}");
        if request.method == "POST" {
            assert!(accept.contains("application/json"), "{request:?}");
            assert_eq!(request.header("content-type"), Some("application/json"));
        }
    }
    let version = record[0].body["params"]["protocolVersion"].as_str();
    for request in &record[1..] {
        assert!(request.header("mcp-session-id").is_some_and(|id| id.starts_with("session-")), "{request:?}");
        assert_eq!(request.header("mcp-protocol-version"), version);
    }
    // The session is ended when we go.
    client.close_stdin();
    assert!(client.wait_exit(SOON).success());
    assert!(server.record().iter().any(|request| request.method == "DELETE"), "the server is told");
}

// A server needs neither sessions nor a stream of its own.
#[test]
fn a_server_without_sessions_or_stream_works() {
    let sandbox = Sandbox::new();
    let (server, entry) = server(Way::Json);
    server.without_sessions();
    server.without_listening();
    let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
    for n in 0..20 {
        assert_eq!(text_of(&client.call("far.echo", json!({"text": format!("{n}")}))), format!("{n}"));
    }
    let gets = server.record().iter().filter(|request| request.method == "GET").count();
    assert_eq!(gets, 1, "405 is an answer, not a reason to try again (trap 15)");
}

#[test]
fn progress_comes_with_the_client_s_token_every_way() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (_server, entry) = server(way);
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
        let params = json!({"name": "far.progress", "arguments": {"steps": 4, "ms": 30}, "_meta": {"progressToken": "töken"}});
        assert_eq!(text_of(&client.ask("tools/call", params)), "4 steps", "{way:?}");
        let told = client.notifications();
        let steps: Vec<_> = told.iter().map(|one| one["params"]["progress"].clone()).collect();
        assert!(told.iter().all(|one| one["params"]["progressToken"] == "töken"), "{way:?}: {told:?}");
        // In JSON style progress has a stream of its own, and what comes after the answer is nobody's.
        let expected = if matches!(way, Way::Json) { steps.len().max(3) } else { 4 };
        assert_eq!(steps, (1..=expected).map(|n| json!(n)).collect::<Vec<_>>(), "{way:?}");
    }
}

// S1-44, decision 25
#[test]
fn cancelling_reaches_the_server_under_its_own_id_every_way() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (server, entry) = server(way);
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
        let id = client.request("tools/call", json!({"name": "far.sleep", "arguments": {"ms": 30_000}}));
        assert!(until(SOON, || server.received("tools/call").len() == 1));
        client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
        assert!(until(SOON, || server.received("notifications/cancelled").len() == 1), "{way:?}");
        let cancelled = &server.received("notifications/cancelled")[0].body["params"];
        assert_eq!(cancelled["requestId"], server.received("tools/call")[0].body["id"], "{way:?}");
        assert_eq!(cancelled["reason"], "enough");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "after"}))), "after");
        assert!(client.try_recv(Duration::from_millis(100)).is_none(), "no answer to what was cancelled");
    }
}

// Decision 29
#[test]
fn questions_reach_the_client_and_answers_the_server_every_way() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (server, entry) = server(way);
        let capabilities = json!({"sampling": {}, "elicitation": {}, "roots": {}});
        let mut client = studio_with(&sandbox, &json!({"mcpServers": {"far": entry}}), capabilities.clone());
        client.answer(|method, params| match method {
            "sampling/createMessage" => Ok(json!({"heard": params["say"]})),
            "roots/list" => Ok(json!({"roots": []})),
            _ => Err(json!({"code": -32000, "message": "no"})),
        });
        let ask = json!({"method": "sampling/createMessage", "params": {"say": "ünï"}});
        assert_eq!(text_of(&client.call("far.ask", ask)), r#"{"heard":"ünï"}"#, "{way:?}");
        assert_eq!(text_of(&client.call("far.ask", json!({"method": "roots/list"}))), r#"{"roots":[]}"#);
        let refused = client.call("far.ask", json!({"method": "elicitation/create", "params": {}}));
        assert_eq!(text_of(&refused), r#"{"code":-32000,"message":"no"}"#, "{way:?}");
        let said = &server.received("initialize")[0].body["params"]["capabilities"];
        assert_eq!(*said, capabilities, "{way:?}: the server is told what this client can do");
    }
}

#[test]
fn log_messages_and_changed_lists_come_through_every_way() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (server, entry) = server(way);
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
        client.tool_names();
        assert_eq!(client.ask("logging/setLevel", json!({"level": "debug"}))["result"], json!({}));
        assert!(until(SOON, || server.received("logging/setLevel").len() == 1), "{way:?}");
        client.call("far.log", json!({"data": {"x": 1}}));
        let told = client.wait_for_notification("notifications/message", SOON);
        assert_eq!(told["params"]["data"], json!({"x": 1}), "{way:?}");
        // And what belongs to no call at all.
        assert!(until(SOON, || server.streams() == 1));
        server.tell("notifications/message", json!({"level": "error", "data": "unasked"}));
        let told = client.wait_for_notification("notifications/message", SOON);
        assert_eq!(told["params"]["data"], "unasked", "{way:?}");
        client.call("far.addtool", json!({"name": "fresh"}));
        client.wait_for_notification("notifications/tools/list_changed", SOON);
        assert!(client.tool_names().contains(&"far.fresh".to_owned()), "{way:?}");
        assert_eq!(text_of(&client.call("far.fresh", json!({"text": "new"}))), "new");
    }
}

// S3-9: a stream for what belongs to no request is taken up again when it ends
#[test]
fn the_listening_stream_is_opened_again_after_its_end() {
    let sandbox = Sandbox::new();
    let (server, mut entry) = server(Way::Json);
    entry["reconnectInterval"] = json!(100);
    let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
    client.tool_names();
    assert!(until(SOON, || server.streams() == 1));
    let gets = |server: &HttpFake| server.record().iter().filter(|request| request.method == "GET").count();
    let before = gets(&server);
    server.end_streams();
    assert!(until(SOON, || server.streams() == 1 && gets(&server) == before + 1));
    server.tell("notifications/message", json!({"level": "error", "data": "back"}));
    assert_eq!(client.wait_for_notification("notifications/message", SOON)["params"]["data"], "back");
}

// The transport is found out where the config does not say it
#[test]
fn the_transport_is_found_out() {
    for old in [false, true] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Events, &TOOLS);
        let url = if old { server.sse_url() } else { server.url() };
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": {"url": url}}}));
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "hi"}))), "hi");
        let record = server.record();
        assert_eq!(record[0].method, "POST", "the newer one is tried first");
        assert_eq!(record.iter().any(|request| request.target.starts_with("/messages?")), old);
    }
    // Every sign of an older server is understood, and 401, 403 and 500 are none.
    for (status, falls_back) in
        [(400, true), (404, true), (405, true), (401, false), (403, false), (500, false)]
    {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Events, &TOOLS);
        server.trouble("POST", 1, Trouble::status(status));
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": {"url": server.sse_url()}}}));
        let answer = client.call("far.echo", json!({"text": "hi"}));
        assert_eq!(answer["error"].is_null(), falls_back, "{status}: {answer}");
        let asked = server.record().iter().any(|request| request.method == "GET");
        assert_eq!(asked, falls_back, "{status}");
    }
}

// S3-9, T11: the configured headers, and no others, with every request to this server
#[test]
fn headers_are_sent_with_variables_put_in() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (server, mut entry) = server(way);
        entry["headers"] = json!({"Authorization": "Bearer ${Z_AI_API_KEY}", "X-Plain": "as it is"});
        let config = json!({"mcpServers": {"far": entry}});
        let mut client = with_env(&sandbox, &config, &[], &[("Z_AI_API_KEY", "s3cret")]);
        assert_eq!(text_of(&client.call("far__echo", json!({"text": "hi"}))), "hi");
        for request in server.record() {
            assert_eq!(request.header("authorization"), Some("Bearer s3cret"), "{way:?}: {request:?}");
            assert_eq!(request.header("x-plain"), Some("as it is"));
        }
        assert!(!client.stderr().contains("s3cret"), "a key is not for the log (T24)");
        let shown = client.call("manifold__servers_list", json!({}));
        assert!(!text_of(&shown).contains("s3cret"));
    }
}

const ALL_IN_ONE: [&str; 2] = ["--profile", "mcp-all-in-one"];

fn keyed(url: &str) -> Value {
    beside_a_local_one(url, json!({"headers": {"Authorization": "Bearer ${Z_AI_API_KEY}"}}))
}

fn refused_key(service: &str) -> Value {
    json!({
        "code": -32603,
        "message": "Authentication failed: Invalid or missing Z_AI_API_KEY",
        "data": {"service": service},
    })
}

// S3-10, S3-18, decision 16
#[test]
fn a_refused_key_is_told_by_the_name_of_its_variable() {
    for way in [Way::Json, Way::OldSse] {
        for status in [401, 403] {
            let sandbox = Sandbox::new();
            let (server, entry) = server(way);
            server.trouble_for_good("*", Trouble::status(status));
            let mut config = keyed(&server.url());
            config["mcpServers"]["far"]["type"] = entry["type"].clone();
            config["mcpServers"]["far"]["url"] = entry["url"].clone();
            let mut client = with_env(&sandbox, &config, &ALL_IN_ONE, &[("Z_AI_API_KEY", "wrong")]);
            assert_eq!(client.call("far__echo", json!({}))["error"], refused_key("far"), "{way:?} {status}");
            assert_eq!(text_of(&client.call("near__echo", json!({"text": "fine"}))), "fine");
            assert_eq!(client.tool_names(), ["near__echo"]);
            assert!(!client.stderr().contains("wrong"), "{}", client.stderr());
        }
    }
}

// S3-10, decision 16: a key may be refused later, too
#[test]
fn a_key_refused_in_a_call_is_told_the_same_way() {
    for way in [Way::Json, Way::Events, Way::OldSse] {
        for status in [401, 403] {
            let sandbox = Sandbox::new();
            let (server, entry) = server(way);
            let mut config = keyed(&server.url());
            config["mcpServers"]["far"]["type"] = entry["type"].clone();
            config["mcpServers"]["far"]["url"] = entry["url"].clone();
            let mut client = with_env(&sandbox, &config, &ALL_IN_ONE, &[("Z_AI_API_KEY", "old")]);
            assert_eq!(text_of(&client.call("far__echo", json!({"text": "once"}))), "once");
            server.trouble("tools/call", 1, Trouble::status(status));
            assert_eq!(client.call("far__echo", json!({}))["error"], refused_key("far"), "{way:?} {status}");
            assert_eq!(text_of(&client.call("far__echo", json!({"text": "again"}))), "again");
        }
    }
}

// S3-10, decision 16: and one that is not set
#[test]
fn a_missing_variable_fails_its_server_alone_and_asks_nobody() {
    let sandbox = Sandbox::new();
    let (server, _) = server(Way::Json);
    let mut client = with_env(&sandbox, &keyed(&server.url()), &ALL_IN_ONE, &[]);
    assert_eq!(client.call("far__echo", json!({}))["error"], refused_key("far"));
    assert_eq!(text_of(&client.call("near__echo", json!({"text": "fine"}))), "fine");
    assert_eq!(server.record().len(), 0, "nothing was sent without the key");
}

// T11: what a client of ours shows us is for us alone
#[test]
fn the_client_s_own_credentials_go_nowhere() {
    let sandbox = Sandbox::new();
    let (server, entry) = server(Way::Json);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = sandbox.write_config(&json!({"mcpServers": {"far": entry}}));
    let mut command = sandbox.manifold();
    command.args(["http", "--port", &port.to_string(), "--config"]).arg(path);
    let _gateway = Client::spawn(command);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"far__echo","arguments":{"text":"hi"}}}"#;
    let request = format!(
        "POST /api/default/mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Authorization: Bearer clients-own\r\nCookie: clients=own\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = None;
    assert!(until(SOON, || {
        stream = TcpStream::connect(("127.0.0.1", port)).ok();
        stream.is_some()
    }));
    let mut stream = stream.unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(r#""text":"hi""#), "{answer}");
    for request in server.record() {
        let shown = format!("{request:?}");
        assert!(!shown.contains("clients"), "{shown}");
        assert_eq!((request.header("authorization"), request.header("cookie")), (None, None));
    }
}

// The system's proxy is used, and told the whole address; NO_PROXY is heeded.
#[test]
fn the_proxy_of_the_environment_is_used() {
    let sandbox = Sandbox::new();
    let (proxy, _) = server(Way::Json);
    let config =
        json!({"mcpServers": {"far": {"type": "http", "url": "http://mcp.example.invalid:8123/mcp"}}});
    let address = format!("http://user:pass@127.0.0.1:{}", proxy.port());
    let mut client = with_env(&sandbox, &config, &[], &[("HTTP_PROXY", &address)]);
    assert_eq!(text_of(&client.call("far__echo", json!({"text": "hi"}))), "hi");
    for request in proxy.record() {
        assert_eq!(request.target, "http://mcp.example.invalid:8123/mcp");
        assert_eq!(request.header("host"), Some("mcp.example.invalid:8123"));
        assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjpwYXNz"));
    }
}

#[test]
fn no_proxy_is_heeded() {
    let sandbox = Sandbox::new();
    let (server, entry) = server(Way::Json);
    let (proxy, _) = self::server(Way::Json);
    let config = json!({"mcpServers": {"far": entry}});
    let address = format!("http://127.0.0.1:{}", proxy.port());
    let env = [("HTTP_PROXY", address.as_str()), ("NO_PROXY", "localhost,127.0.0.1")];
    let mut client = with_env(&sandbox, &config, &[], &env);
    assert_eq!(text_of(&client.call("far__echo", json!({"text": "hi"}))), "hi");
    assert_eq!(proxy.record().len(), 0);
    assert!(server.record().iter().all(|request| request.target == "/mcp"));
}

// S1-45: calls to one server run side by side, on connections that are used again
#[test]
fn calls_run_side_by_side_on_connections_used_again() {
    for way in WAYS {
        let sandbox = Sandbox::new();
        let (server, entry) = server(way);
        let mut client = studio(&sandbox, &json!({"mcpServers": {"far": entry}}));
        client.tool_names();
        let began = Instant::now();
        let calls: Vec<u64> = (0..20)
            .map(|_| client.request("tools/call", json!({"name": "far.sleep", "arguments": {"ms": 500}})))
            .collect();
        for id in calls {
            assert_eq!(text_of(&client.wait_for(id, SOON)), "slept", "{way:?}");
        }
        figures::took("S1-45: twenty calls of half a second", began.elapsed(), Duration::from_secs(3));
        for n in 0..50 {
            assert_eq!(text_of(&client.call("far.echo", json!({"text": format!("{n}")}))), format!("{n}"));
        }
        let mut used: Vec<u64> = server.record().iter().map(|request| request.connection).collect();
        used.sort_unstable();
        used.dedup();
        assert!(used.len() <= 30, "{way:?}: {} connections for 70 calls", used.len());
    }
}
