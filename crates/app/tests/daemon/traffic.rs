//! Traffic: both hops of every way in and every way out, linked by one number; no secret in any frame; nobody waits for
//! who watches.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use manifold_admin_client::{EventStream, query};
use manifold_testkit::http::HttpClient;
use manifold_testkit::http_client::{BOTH, HttpCaller, Incoming, request};
use manifold_testkit::{Client, Era, HttpFake, Sandbox, Style, fake};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, client};

use crate::home::Home;
use crate::operator::{Desk, run};
use crate::{LEGACY, fake_with, planted, text_of};

/// Reads frames until some of all that came so far are as wanted; returns all.
fn frames_until(events: &mut EventStream, all: &mut Vec<Value>, is_enough: impl Fn(&[Value]) -> bool) {
    while !is_enough(all) {
        let event = events.next().expect("the stream goes on").expect("an event");
        if event.event == "frame" {
            all.push(serde_json::from_str(&event.data).expect("a frame is JSON"));
        }
    }
}

fn is(frame: &Value, hop: &str, dir: &str, kind: &str) -> bool {
    frame["hop"] == hop && frame["dir"] == dir && frame["kind"] == kind
}

/// Returns the numbers of calls whose request on a hop says this.
fn calls_saying(frames: &[Value], hop: &str, dir: &str, text: &str) -> Vec<u64> {
    let said = |frame: &&Value| is(frame, hop, dir, "request") && frame["body"].to_string().contains(text);
    frames.iter().filter(said).filter_map(|frame| frame["call"].as_u64()).collect()
}

/// Returns whether the call that says this was seen whole: asked and answered on both hops, under one number.
fn is_linked(frames: &[Value], text: &str) -> bool {
    let ends = |hop: &str, dir: &str, call: u64| {
        frames.iter().any(|frame| {
            is(frame, hop, dir, "response")
                && frame["call"] == call
                && frame["status"] == "ok"
                && frame["took"].as_u64().is_some_and(|took| took > 0)
        })
    };
    calls_saying(frames, "client", "in", text).into_iter().any(|call| {
        calls_saying(frames, "server", "out", text).contains(&call)
            && ends("server", "in", call)
            && ends("client", "out", call)
    })
}

/// An old SSE client after its handshake.
fn old_sse(port: u16) -> (Incoming, String) {
    let mut stream = request(port, "GET", "/sse", &[("Accept", "text/event-stream")], "");
    let path = stream.said().expect("it begins").data;
    let params =
        json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}});
    post(port, &path, &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    stream.message().expect("the handshake is answered");
    post(port, &path, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    (stream, path)
}

fn post(port: u16, path: &str, message: &Value) -> Incoming {
    let headers = [("Accept", BOTH), ("Content-Type", "application/json")];
    request(port, "POST", path, &headers, &message.to_string())
}

// E3: one number through both hops, whichever way in and whichever way out
#[test]
fn every_way_in_and_out_shows_both_hops_under_one_number() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one").port();
    let local = |era: &str| fake(json!({"era": era, "tools": [{"name": "echo"}]}));
    let remote = |era| HttpFake::start_as(era, Style::Events, &["echo"]);
    let (far, far_new, sse) = (remote(Era::Legacy), remote(Era::Modern), remote(Era::Legacy));
    let servers = json!({
        "old": local("legacy"), "new": local("modern"), "far": {"url": far.url()}, "farnew": {"url": far_new.url()},
        "sse": {"type": "sse", "url": sse.sse_url()},
    });
    let config =
        json!({"mcpServers": servers, "server": {"port": port}, "daemon": {"linger": 1000, "http": true}});
    let home = Home::with(config);
    let mut legacy = home.open();
    let mut modern = home.window();
    modern.speak_modern(json!({}));
    let http = HttpClient::open(port, "/mcp", LEGACY, json!({}));
    let caller = HttpCaller::new(port, "/mcp", json!({}));
    let (mut old_stream, old_path) = old_sse(port);
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the gateway listens");
    let address = format!("ws://127.0.0.1:{port}/litemcp/default");
    let (mut socket, _) = client(address, stream).expect("a WebSocket");

    let desk = Desk::of(&home);
    let (mut events, _) = desk.follow("/v1/traffic?bodies=1");
    let mut all = Vec::new();
    for (at, server) in ["old", "new", "far", "farnew", "sse"].into_iter().enumerate() {
        let tool = format!("{server}__echo");
        let text = |way: &str| format!("mark-{way}-{server}");
        let call = |way: &str| json!({"name": tool, "arguments": {"text": text(way)}});
        assert_eq!(text_of(&legacy.call(&tool, json!({"text": text("shim")}))), text("shim"));
        assert_eq!(text_of(&modern.call(&tool, json!({"text": text("newshim")}))), text("newshim"));
        let answer = http.call(7, &tool, json!({"text": text("http")}), None).answer().text();
        assert!(answer.contains(&text("http")), "{answer}");
        assert_eq!(text_of(&caller.ask("tools/call", call("newhttp"))), text("newhttp"));
        let request =
            |way: &str| json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call(way)});
        post(port, &old_path, &request("oldsse"));
        assert_eq!(text_of(&old_stream.message().expect("an answer")), text("oldsse"));
        assert_eq!(text_of(&post(port, "/api/default/mcp", &request("api")).json()), text("api"));
        let arguments = json!([tool, {"text": text("lite")}]);
        let lite = json!({"version": [1, 0, 0], "tool": "manifold", "arguments": arguments});
        assert!(post(port, "/litemcp/default", &lite).json().to_string().contains(&text("lite")));
        let arguments = json!([tool, {"text": text("socket")}]);
        let data = json!({"version": [1, 0, 0], "tool": "manifold", "arguments": arguments});
        let message = json!({"version": [1, 0, 0], "id": 1000 + at, "type": "call", "data": data});
        socket.send(Message::text(message.to_string())).expect("the gateway reads");
        let answer = socket.read().expect("an answer").to_string();
        assert!(answer.contains(&text("socket")), "{answer}");
        for way in ["shim", "newshim", "http", "newhttp", "oldsse", "api", "lite", "socket"] {
            frames_until(&mut events, &mut all, |frames| is_linked(frames, &text(way)));
        }
    }
    let nameless = all.iter().filter(|frame| frame["hop"] == "client" && frame["body"]["tool"] == "manifold");
    assert!(nameless.clone().count() == 5 && nameless.clone().all(|frame| frame["id"].is_null()));
    let of_server = all.iter().find(|frame| frame["server"] == "old").expect("a frame of it");
    assert_eq!(of_server["generation"], 1, "{of_server}");
    let of_client = |frame: &&Value| frame["client"]["name"].is_string() && frame["client"]["id"].is_u64();
    assert!(all.iter().any(|frame| of_client(&frame) && frame["hop"] == "client"), "who it is");
    legacy.leave();
    modern.leave();
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
}

/// Questions, progress, lines beside the protocol, a call taken back and one that dies with its server.
#[test]
fn what_is_not_a_call_is_shown_too() {
    let sandbox = Sandbox::new();
    let fx =
        fake_with(&["ask", "complain", "sleep", "crash", "progress"], json!({"log": sandbox.path("log")}));
    let home = Home::within(sandbox, json!({"mcpServers": {"fx": fx}, "daemon": {"linger": 1000}}));
    let mut window = Client::spawn(home.shim());
    window.initialize(LEGACY, json!({"elicitation": {}}));
    window.answer(|_, _| Ok(json!({"action": "accept", "content": {"name": "Ada"}})));
    let (mut events, _) = Desk::of(&home).follow("/v1/traffic?bodies=1");
    let mut all = Vec::new();
    let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    window.call("fx__ask", json!({"method": "elicitation/create", "params": params}));
    let asked = |frame: &&Value| frame["method"] == "elicitation/create" && frame["kind"] == "request";
    let linked = |frames: &[Value]| {
        let of = |hop: &str| frames.iter().find(|frame| asked(frame) && frame["hop"] == hop);
        let (Some(server), Some(client)) = (of("server"), of("client")) else { return false };
        assert_eq!((&server["dir"], &client["dir"]), (&json!("in"), &json!("out")));
        assert_eq!(server["call"], client["call"], "one number through both hops");
        let parent = calls_saying(frames, "client", "in", "fx__ask");
        assert_eq!(client["parent"].as_u64(), parent.first().copied());
        let ends = |hop: &str, dir: &str| {
            frames.iter().any(|one| is(one, hop, dir, "response") && one["call"] == client["call"])
        };
        ends("client", "in") && ends("server", "out")
    };
    frames_until(&mut events, &mut all, linked);

    let token = json!({"name": "fx__progress", "arguments": {"steps": 1}, "_meta": {"progressToken": 5}});
    window.ask("tools/call", token);
    let told = |hop: &str, frames: &[Value]| {
        frames.iter().any(|one| one["method"] == "notifications/progress" && one["hop"] == hop)
    };
    frames_until(&mut events, &mut all, |all| told("server", all) && told("client", all));

    window.call("fx__complain", json!({"text": "a line beside"}));
    let line = |all: &[Value]| {
        all.iter().any(|one| one["kind"] == "stderr" && one["text"] == "fake-server: a line beside")
    };
    frames_until(&mut events, &mut all, line);

    let id = window.request("tools/call", json!({"name": "fx__sleep", "arguments": {"ms": 100_000}}));
    frames_until(&mut events, &mut all, |all| !calls_saying(all, "server", "out", "sleep").is_empty());
    window.notify("notifications/cancelled", json!({"requestId": id}));
    let call = calls_saying(&all, "server", "out", "sleep")[0];
    let cancelled = |hop: &str, all: &[Value]| {
        all.iter().any(|one| one["hop"] == hop && one["call"] == call && one["status"] == "cancelled")
    };
    frames_until(&mut events, &mut all, |all| cancelled("client", all) && cancelled("server", all));

    window.call("fx__crash", json!({}));
    let died = |all: &[Value]| all.iter().any(|one| one["kind"] == "life" && one["code"] == 7);
    frames_until(&mut events, &mut all, died);
    let failed = |one: &Value| is(one, "client", "out", "error") && one["status"] == "error";
    frames_until(&mut events, &mut all, |all| all.iter().any(failed));
    window.leave();
}

/// Also where a client asks without a session.
#[test]
fn a_call_whose_time_is_up_is_shown_so() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one").port();
    let mut server = fake_with(&["sleep"], json!({}));
    server["timeout"] = json!(1000);
    let daemon = json!({"linger": 1000, "http": true});
    let config = json!({"mcpServers": {"fx": server}, "server": {"port": port}, "daemon": daemon});
    let home = Home::with(config);
    let window = home.open();
    let (mut events, _) = Desk::of(&home).follow("/v1/traffic");
    let arguments = json!({"ms": 600_000});
    let call = json!({"name": "fx__sleep", "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call});
    post(port, "/api/default/mcp", &request);
    let lite = json!({"version": [1, 0, 0], "tool": "manifold", "arguments": ["fx__sleep", arguments]});
    post(port, "/litemcp/default", &lite);
    let late = |frame: &&Value| frame["hop"] == "client" && frame["status"] == "timeout";
    let mut all = Vec::new();
    frames_until(&mut events, &mut all, |frames| frames.iter().filter(late).count() == 2);
    window.leave();
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
}

/// What is called by hand is shown as any client's.
#[test]
fn what_an_operator_calls_is_shown_on_both_hops() {
    let home = Home::with(json!({"mcpServers": {"fx": fake_with(&["echo"], json!({}))}}));
    let window = home.open();
    let (mut events, _) = Desk::of(&home).follow("/v1/traffic?bodies=1");
    let ran = run(&home.sandbox, &["call", "fx__echo", "text=by hand"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut all = Vec::new();
    frames_until(&mut events, &mut all, |frames| is_linked(frames, "by hand"));
    let is_named = |frame: &Value| frame["hop"] == "client" && frame["client"]["name"] == "manifold";
    assert!(all.iter().any(is_named), "{all:?}");
    window.leave();
}

/// A retry of a call that asks is a part of it.
#[test]
fn a_client_that_comes_back_is_shown_as_part_of_its_call() {
    let home = Home::new(json!({"fx": fake_with(&["ask"], json!({}))}));
    let mut window = home.window();
    window.speak_modern(json!({"elicitation": {}}));
    window.answer(|_, _| Ok(json!({"action": "accept", "content": {}})));
    window.ask("tools/list", json!({}));
    let (mut events, _) = Desk::of(&home).follow("/v1/traffic?bodies=1");
    let mut all = Vec::new();
    let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    window.call("fx__ask", json!({"method": "elicitation/create", "params": params}));
    let is_part = |frames: &[Value]| {
        let calls = calls_saying(frames, "client", "in", "fx__ask");
        let first = calls.first().copied().unwrap_or_default();
        let retry = |frame: &&Value| is(frame, "client", "in", "request") && frame["parent"] == first;
        let ended = |call: &Value| {
            frames.iter().any(|one| is(one, "client", "out", "response") && one["call"] == *call)
        };
        frames.iter().find(retry).is_some_and(|retry| ended(&retry["call"]))
    };
    frames_until(&mut events, &mut all, is_part);
    let states = |frame: &Value| frame["body"].to_string().matches("requestState").count();
    assert!(all.iter().map(states).sum::<usize>() >= 2, "the state is part of it");
    let hidden =
        |frame: &Value| frame["body"]["params"]["requestState"].as_str().is_none_or(|state| state == "***");
    assert!(all.iter().all(hidden), "and never shown");
    window.leave();
}

// E4: by value, in whatever form, and by name
#[test]
fn no_frame_has_a_secret_in_it() {
    let remote = HttpFake::start(Style::Json, &["echo"]);
    let home = planted::home(&remote);
    let mut window = home.open();
    let (mut events, _) = Desk::of(&home).follow("/v1/traffic?bodies=1");
    planted::pass(&mut window);
    let mut all = Vec::new();
    frames_until(&mut events, &mut all, |frames| is_linked(frames, planted::LAST));
    planted::are_not_in("a frame", &serde_json::to_string(&all).expect("it is JSON"));
    assert!(all.iter().any(|frame| frame["redacted"] == true));
    window.leave();
}

// E2, F39: who never reads delays nobody, and hears later how much it missed
#[test]
fn a_watcher_that_does_not_read_delays_nobody() {
    let home = Home::new(json!({"fx": fake_with(&["echo"], json!({}))}));
    let mut window = home.open();
    let desk = Desk::of(&home);
    let _stalled = desk.stall("/v1/traffic?bodies=1");
    let text = "x".repeat(32 << 10);
    for _ in 0..500 {
        assert_eq!(text_of(&window.call("fx__echo", json!({"text": text}))).len(), text.len());
    }
    window.leave();
}

#[test]
fn a_filter_is_read_before_anything_begins() {
    let home = Home::new(json!({"fx": fake_with(&["echo"], json!({}))}));
    let ran = run(&home.sandbox, &["watch", "server:fx colour:red"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("column 11"), "{ran:?}");
    assert_eq!(run(&home.sandbox, &["watch"]).code, Some(3), "nothing runs");
    let window = home.open();
    let path = format!("/v1/traffic{}", query(&[("filter", Some("colour:red"))]));
    let refused = Desk::of(&home).client().get::<Value>(&path).expect_err("it is refused").to_string();
    assert!(refused.contains("column 1"), "{refused}");
    window.leave();
}

/// Who watches goes on with the daemon that comes next.
#[test]
fn watching_goes_on_over_an_upgrade() {
    let home = Home::with(json!({"mcpServers": {"fx": fake_with(&["echo"], json!({}))}}));
    assert_eq!(home.order(&["start"]).status.code(), Some(0));
    let mut window = home.open();
    let mut command = home.sandbox.daemon();
    command.args(["watch", "--json", "--bodies", "hop:server", "kind:request"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = command.spawn().expect("the program starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    let mut seen = |window: &mut Client, mark: &str| {
        // It may not watch yet when the call is made, so it is made until it does.
        let done = &std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let calling = scope.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    window.call("fx__echo", json!({"text": mark}));
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            });
            let found = lines.by_ref().map_while(Result::ok).any(|line| line.contains(mark));
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            calling.join().expect("the calls are answered");
            assert!(found, "{mark}");
        });
    };
    seen(&mut window, "before it");
    assert_eq!(home.order(&["upgrade"]).status.code(), Some(0));
    seen(&mut window, "after it");
    kill(Pid::from_raw(i32::try_from(watch.id()).expect("a pid")), Signal::SIGINT).expect("it runs");
    assert_eq!(watch.wait().expect("it ends").code(), Some(130));
    window.leave();
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
}
