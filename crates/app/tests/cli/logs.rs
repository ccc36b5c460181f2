//! `logs`: what servers write beside the protocol.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use manifold_testkit::Sandbox;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fake::Gateway;
use crate::{files, git, value};

fn line(time: &str, text: &str) -> Value {
    json!({"time": time, "line": text})
}

#[test]
fn lines_are_shown_without_what_a_terminal_would_obey() {
    let lines = json!([
        line("2026-11-17T10:00:00Z", "plain"),
        line("2026-11-17T10:00:01Z", "\u{1b}]0;title\u{7}\u{9b}2J")
    ]);
    let gateway = Gateway::new().says("GET /v1/servers/git/logs?lines=100", &lines);
    assert_eq!(gateway.shown("logs git"), "plain\n\\u{1b}]0;title\\u{7}\\u{9b}2J\n");
    assert_eq!(gateway.shown("logs git -t").lines().next(), Some("2026-11-17T10:00:00Z  plain"));
    let shown = gateway.shown("logs git --json");
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    let read: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(json!(read), lines, "one object a line");
}

#[test]
fn as_many_lines_as_asked_for_and_no_older_ones() {
    let old = line("2001-01-01T00:00:00Z", "old");
    let new = line("2999-01-01T00:00:00Z", "new");
    let gateway = Gateway::new().says("GET /v1/servers/git/logs?lines=2", &json!([old, old, new]));
    assert_eq!(gateway.shown("logs git -n 2"), "old\nnew\n");
    assert_eq!(gateway.run("logs git --since soon").code, Some(2));
}

#[test]
fn lines_of_all_servers_come_in_the_order_of_their_times() {
    let gateway = Gateway::new()
        .says("GET /v1/servers", &json!([value(&git()), value(&files())]))
        .says(
            "GET /v1/servers/git/logs?lines=100",
            &json!([line("2026-11-17T10:00:00Z", "a"), line("2026-11-17T10:00:02Z", "c")]),
        )
        .says("GET /v1/servers/files/logs?lines=100", &json!([line("2026-11-17T10:00:01Z", "b")]));
    assert_eq!(gateway.shown("logs"), "git: a\nfiles: b\ngit: c\n");
}

#[test]
fn a_server_that_is_not_there_ends_with_7() {
    let refused =
        |gateway: Gateway, line| gateway.refuses(line, 404, "unknown-server", "there is no server 'gti'");
    let gateway = refused(Gateway::new(), "GET /v1/servers/gti/logs?lines=100");
    let gateway = refused(gateway, "GET /v1/servers/gti/logs?lines=100&follow=1");
    assert_eq!(gateway.fails("logs gti", 7, "there is no server 'gti'"), "unknown-server");
    assert_eq!(gateway.fails("logs gti -f", 7, "there is no server 'gti'"), "unknown-server");
}

#[test]
fn following_goes_on_until_ctrl_c() {
    let events = [("log", line("2026-11-17T10:00:00Z", "one")), ("log", line("2026-11-17T10:00:01Z", "two"))];
    let gateway = Gateway::new().streams("GET /v1/servers/git/logs?lines=100&follow=1", &events, true);
    let mut child = gateway.command("logs git -f").stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "one");
    assert_eq!(lines.next().expect("a line").expect("text"), "two");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
    kill(pid, Signal::SIGINT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn following_all_servers_shows_no_line_twice() {
    let event = |time: &str, text: &str| json!({"seq": 1, "kind": "log", "line": {"time": time, "server": "git", "line": text}});
    let events = [
        ("log", event("2026-11-17T10:00:00Z", "kept")),
        ("reset", json!({"seq": 2, "kind": "reset"})),
        ("log", event("2026-11-17T10:00:01Z", "new")),
    ];
    let gateway = Gateway::new()
        .streams("GET /v1/events?topics=log", &events, false)
        .says("GET /v1/servers", &json!([value(&git())]))
        .says("GET /v1/servers/git/logs?lines=100", &json!([line("2026-11-17T10:00:00Z", "kept")]));
    let ran = gateway.run("logs -f");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), "git: kept\ngit: new\n"), "{ran:?}");
    assert!(ran.stderr.contains("lines are missing here"), "{ran:?}");
}

#[test]
fn nothing_to_follow_ends_with_3() {
    let ran = crate::fake::alone(&Sandbox::new(), "logs time -f");
    assert_eq!(ran.code, Some(3));
}

#[test]
fn lines_that_were_not_read_in_time_are_told_of() {
    let events = [
        ("log", line("2026-11-17T10:00:00Z", "first")),
        ("missed", json!({"lines": 7})),
        ("log", line("2026-11-17T10:00:09Z", "last")),
    ];
    let path = "GET /v1/servers/git/logs?lines=100&follow=1";
    let ran = Gateway::new().streams(path, &events, false).run("logs git -f");
    assert_eq!(ran.stdout, "first\nlast\n", "{ran:?}");
    assert!(ran.stderr.contains("lines are missing here"), "{ran:?}");
}
