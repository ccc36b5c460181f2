//! Traffic: both hops of every way in and every way out, linked by one number; no secret in any frame; nobody waits for
//! who watches.

use manifold_admin_client::{EventStream, query};
use manifold_testkit::{HttpFake, Sandbox, Style};
use serde_json::{Value, json};

use crate::home::Home;
use crate::operator::{Desk, run};
use crate::{fake_with, text_of};

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
    const VARIABLE: &str = "canary/of+a variable";
    const HEADER: &str = "canary-of-a-header-77";
    let sandbox = Sandbox::new();
    let mut local = fake_with(&["env", "echo", "complain"], json!({}));
    local["env"] = json!({"KEY": VARIABLE});
    let remote = HttpFake::start(Style::Json, &["echo"]);
    let far = json!({"url": remote.url(), "headers": {"X-Key": HEADER}});
    let home = Home::within(sandbox, json!({"mcpServers": {"fx": local, "far": far}}));
    let mut window = home.open();
    let (mut events, _) = Desk::of(&home).follow("/v1/traffic?bodies=1");
    assert_eq!(text_of(&window.call("fx__env", json!({"name": "KEY"}))), VARIABLE);
    let coloured = format!("canary/\u{1b}[1mof+a\u{1b}[0m variable");
    let encoded = "Y2FuYXJ5L29mK2EgdmFyaWFibGU";
    for text in [VARIABLE, HEADER, encoded, &coloured, "canary%2Fof%2Ba%20variable"] {
        window.call("fx__echo", json!({"text": text}));
        window.call("fx__complain", json!({"text": text}));
        window.call("far__echo", json!({"text": text}));
    }
    let named =
        json!({"text": "x", "password": "canary-by-name", "headers": {"Authorization": "canary-by-name"}});
    window.call("fx__echo", named);
    window.call("fx__echo", json!({"text": "the last one"}));
    let mut all = Vec::new();
    frames_until(&mut events, &mut all, |frames| is_linked(frames, "the last one"));
    let text = serde_json::to_string(&all).expect("it is JSON");
    let plain = text.replace("\\u001b[1m", "").replace("\\u001b[0m", "");
    for secret in [VARIABLE, HEADER, encoded, "canary%2Fof%2Ba%20variable", "canary-by-name"] {
        assert!(!plain.contains(secret), "{secret} in {plain}");
    }
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
