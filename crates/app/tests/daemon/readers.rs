//! Readers of events and logs: what those hear that were away, and what those cost that never read.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;

use manifold_admin_client::{EventStream, SseEvent};
use manifold_testkit::{Client, Usage};
use serde_json::{Value, json};

use crate::home::Home;
use crate::operator::Desk;
use crate::{SOON, fake_with, figure, text_of};

const READERS: usize = 100;

fn home() -> Home {
    let server = || fake_with(&["echo", "complain"], json!({}));
    Home::new(json!({"fx": server(), "other": server()}))
}

/// Reads to the event that tells of an order to this server, and returns all on the way.
fn until_order(events: &mut EventStream, target: &str) -> Vec<SseEvent> {
    let mut told = Vec::new();
    loop {
        let event = events.next().expect("the stream goes on").expect("an event");
        let data: Value = serde_json::from_str(&event.data).expect("it is JSON");
        told.push(event);
        if data["line"]["target"] == target {
            return told;
        }
    }
}

/// Returns the number of the last event about each thing. Who was away hears of a thing how it is now, and that alone;
/// of what is no thing that changes, an order say, each time.
fn last_of_each(told: &[SseEvent]) -> BTreeMap<String, u64> {
    let last = |event: &SseEvent| {
        let data: Value = serde_json::from_str(&event.data).expect("it is JSON");
        let seq = data["seq"].as_u64().expect("it has a number");
        let subject = match event.event.as_str() {
            "server" => format!("server {}", data["server"]["id"]),
            "catalog" => format!("catalog {}", data["namespace"]),
            kind => format!("{kind} {seq}"),
        };
        (subject, seq)
    };
    told.iter().map(last).collect()
}

// B3
#[test]
fn a_reader_that_was_away_misses_nothing() {
    let home = home();
    let _window = home.open();
    let desk = Desk::of(&home);
    let (mut stays, _) = desk.follow("/v1/events");
    let (leaves, _) = desk.follow("/v1/events");
    desk.order("/v1/servers/fx/start").expect("it starts");
    let before = until_order(&mut stays, "fx");
    let place = before.last().and_then(|event| event.id.clone()).expect("a place");
    drop(leaves);
    for order in ["stop", "start", "restart", "stop"] {
        desk.order(&format!("/v1/servers/fx/{order}")).expect("it is done");
    }
    desk.order("/v1/servers/other/start").expect("it starts");
    let meanwhile = until_order(&mut stays, "other");
    let (mut back, first) = desk.follow(&format!("/v1/events?after={place}"));
    assert_eq!((first.event.as_str(), first.id.as_deref()), ("cursor", Some(place.as_str())));
    let mut heard = Vec::new();
    // What has happened since may be told in place of what happened before.
    let is_told = |heard: &[SseEvent]| {
        let heard = last_of_each(heard);
        last_of_each(&meanwhile).iter().all(|(subject, seq)| heard.get(subject).is_some_and(|at| at >= seq))
    };
    while !is_told(&heard) {
        heard.push(back.next().expect("the stream goes on").expect("an event"));
    }
    assert_eq!(heard.iter().filter(|event| event.event == "audit").count(), 5, "{heard:?}");
    assert!(heard.iter().all(|event| event.event != "reset"), "{heard:?}");
}

// B3
#[test]
fn a_reader_of_an_earlier_daemon_is_told_once_to_read_anew() {
    let home = home();
    let mut window = home.open();
    let (events, first) = Desk::of(&home).follow("/v1/events");
    let place = first.id.expect("a place");
    assert_eq!(home.order(&["restart"]).status.code(), Some(0));
    // The last that is heard is why the stream ends; the connection ends with the daemon.
    let last: Vec<SseEvent> = events.map_while(Result::ok).collect();
    assert!(last.iter().any(|event| event.data.contains(r#""change":"restarting""#)), "{last:?}");
    assert!(last.iter().all(|event| event.event != "reset"), "{last:?}");
    assert_eq!(text_of(&window.call("fx__echo", json!({"text": "on"}))), "on");
    let desk = Desk::of(&home);
    let (mut back, first) = desk.follow(&format!("/v1/events?after={place}"));
    assert_eq!(first.event, "reset", "before anything else");
    desk.order("/v1/servers/other/start").expect("it starts");
    let heard = until_order(&mut back, "other");
    assert_eq!(heard.iter().filter(|event| event.event == "reset").count(), 0, "{heard:?}");
}

/// Makes calls, some of which have the server write a line, with so many in flight; returns when all are answered.
pub(crate) fn make_calls(window: &mut Client, calls: usize) {
    const IN_FLIGHT: usize = 32;
    let line = "x".repeat(1000);
    let mut ids = Vec::with_capacity(IN_FLIGHT);
    for round in 0..calls.div_ceil(IN_FLIGHT) {
        for call in 0..IN_FLIGHT {
            let tool = if call % 4 == 0 { "fx__complain" } else { "fx__echo" };
            let arguments = json!({"text": format!("{round}-{call} {line}")});
            ids.push((
                tool,
                window.request("tools/call", json!({"name": tool, "arguments": arguments})),
                arguments,
            ));
        }
        for (tool, id, arguments) in ids.drain(..) {
            let answer = window.wait_for(id, SOON);
            let expected = if tool == "fx__echo" { arguments["text"].as_str() } else { Some("complained") };
            assert_eq!(Some(text_of(&answer)), expected);
        }
    }
}

/// Has half of the readers follow the events, all there are, and half the lines of the server; none reads a byte.
pub(crate) fn stalled(desk: &Desk) -> Vec<UnixStream> {
    let stall = |at: usize| match at % 2 {
        0 => desk.stall("/v1/events?topics=server,catalog,client,config,audit,daemon,call,log"),
        _ => desk.stall("/v1/servers/fx/logs?follow=1"),
    };
    (0..READERS).map(stall).collect()
}

// B4; how fast calls are meanwhile is a figure, in `speed`
#[test]
fn a_hundred_readers_that_never_read_cost_no_call_and_little_memory() {
    let calls = figure(3_200, 64_000);
    let home = home();
    let mut window = home.open();
    let daemon = home.daemon();
    // What is kept whoever reads is there after this.
    make_calls(&mut window, calls / 4);
    let memory = Usage::watch(daemon);
    let desk = Desk::of(&home);
    let readers = stalled(&desk);
    make_calls(&mut window, calls);
    let grown_kib = memory.most();
    println!("{READERS} stalled readers, {calls} calls: {grown_kib} KiB more at the most");
    assert!(grown_kib <= 30 << 10, "{grown_kib} KiB more");
    assert_eq!(home.status().map(|status| status["clients"].clone()), Some(json!(1)));
    drop(readers);
    assert_eq!(home.daemon(), daemon);
}
