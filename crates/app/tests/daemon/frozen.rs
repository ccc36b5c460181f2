//! A daemon that is there and does nothing: every wait for it has an end.

use manifold_testkit::{Client, Sandbox, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::home::{Home, opened, signal};
use crate::{SOON, fake_with, text_of};

const LOG: &str = "fx.log";

fn home() -> Home {
    let sandbox = Sandbox::new();
    let servers = json!({"fx": fake_with(&["sleep", "echo"], json!({"log": sandbox.path(LOG)}))});
    Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": 1000}}))
}

/// Opens a window that soon asks whether its daemon lives, and looks for another for so long.
fn impatient(home: &Home, silence_ms: u32, patience_ms: u32) -> Client {
    let mut command = home.shim();
    command.env("MANIFOLD_DAEMON_SILENCE_MS", silence_ms.to_string());
    command.env("MANIFOLD_DAEMON_PATIENCE_MS", patience_ms.to_string());
    opened(Client::spawn(command))
}

fn sleep_on(window: &mut Client, ms: u32) -> u64 {
    window.request("tools/call", json!({"name": "fx__sleep", "arguments": {"ms": ms}}))
}

fn calls(home: &Home) -> usize {
    home.sandbox.received(LOG, "tools/call").len()
}

#[test]
fn a_frozen_daemon_is_named_and_whoever_waits_for_it_is_told() {
    let home = home();
    let first = home.open();
    let mut window = impatient(&home, 1500, 5000);
    let daemon = home.daemon();
    let id = sleep_on(&mut window, 600_000);
    assert!(until(SOON, || calls(&home) == 1));
    signal(daemon, Signal::SIGSTOP);
    let answer = window.wait_for(id, SOON);
    assert_eq!(answer["error"]["data"]["mayHaveRun"], json!(true), "{answer}");
    assert!(until(SOON, || window.stderr().contains(&format!("`kill -9 {daemon}`"))), "{}", window.stderr());
    // One that it was never sent has not run.
    let answer = window.call("fx__echo", json!({"text": "lost"}));
    assert_eq!(answer["error"]["data"]["mayHaveRun"], json!(false), "{answer}");
    assert_eq!(window.stderr().lines().count(), 1, "once is enough: {}", window.stderr());
    signal(daemon, Signal::SIGCONT);
    assert_eq!(text_of(&window.call("fx__echo", json!({"text": "on"}))), "on");
    assert_eq!((home.daemon(), calls(&home)), (daemon, 2));
    first.leave();
    window.leave();
}

#[test]
fn a_daemon_that_waits_for_a_slow_tool_is_waited_for() {
    let home = home();
    let first = home.open();
    let mut window = impatient(&home, 1000, 60_000);
    let id = sleep_on(&mut window, 3500);
    assert_eq!(text_of(&window.wait_for(id, SOON)), "slept");
    assert_eq!((window.stderr(), calls(&home)), (String::new(), 1));
    first.leave();
    window.leave();
}

#[test]
fn a_client_is_heard_while_another_daemon_is_looked_for() {
    let home = home();
    let first = home.open();
    let mut window = impatient(&home, 500, 3_600_000);
    let daemon = home.daemon();
    signal(daemon, Signal::SIGSTOP);
    // It is asked again, so it waits for a daemon that answers.
    let id = window.request("tools/list", Value::Null);
    assert!(until(SOON, || window.stderr().contains("kill -9")), "{}", window.stderr());
    window.notify("notifications/cancelled", json!({"requestId": id}));
    window.close_stdin();
    assert!(window.wait_exit(SOON).success());
    signal(daemon, Signal::SIGCONT);
    first.leave();
    home.wait_gone();
}
