//! `watch`: what goes between clients and servers.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use manifold_testkit::Sandbox;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fake::{Gateway, check_schema};

fn request() -> Value {
    json!({
        "n": 1, "t": 1_500_000_000_u64, "hop": "server", "dir": "out", "kind": "request", "server": "git",
        "method": "tools/call", "tool": "log\u{1b}[2J", "id": 65536, "call": 17, "bytes": 96,
    })
}

#[test]
fn a_frame_is_a_line_without_what_a_terminal_would_obey() {
    let events = [
        ("cursor", json!({"at": "fe-0"})),
        ("frame", request()),
        ("gap", json!({"gap": 12})),
        ("news", json!({"n": 2})),
    ];
    let gateway = Gateway::new().streams("GET /v1/traffic", &events, false);
    let ran = gateway.run("watch");
    assert_eq!(ran.code, Some(3), "it ended: {ran:?}");
    assert_eq!(
        ran.stdout,
        "   1.500000  #17    server ->  git          request      tools/call log\\u{1b}[2J  96 B\n"
    );
    assert!(ran.stderr.contains("12 frames are missing here"), "{ran:?}");
    let shown = gateway.run("watch --json").stdout;
    let read: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(read, [request(), json!({"gap": 12})]);
    shown.lines().for_each(|line| check_schema("traffic", line));
}

#[test]
fn the_filter_and_the_bodies_are_asked_for() {
    let path = "GET /v1/traffic?filter=server%3Agit%20tool%3Alog&bodies=1";
    let gateway = Gateway::new().streams(path, &[("frame", request())], true);
    let mut child = gateway
        .command("watch server:git tool:log --bodies")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.next().expect("a line").expect("text").contains("tools/call"));
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGINT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn a_filter_that_cannot_be_read_ends_with_2_and_nothing_to_watch_with_3() {
    let ran = crate::fake::alone(&Sandbox::new(), "watch server:git colour:red");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("column 12"), "{ran:?}");
    assert_eq!(crate::fake::alone(&Sandbox::new(), "watch").code, Some(3));
}
