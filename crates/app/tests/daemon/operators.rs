//! Operators beside windows: they are no clients, they keep a daemon from ending while they ask something of it, and what
//! they ask goes to the process that a window in their place would have.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use manifold_testkit::{Sandbox, alive, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::home::{Home, signal};
use crate::operator::{Desk, ran, run};
use crate::{SOON, fake_with, text_of};

/// Longer than the daemon of these homes stays without anybody.
const AFTER_LINGER: Duration = Duration::from_millis(2500);

fn home() -> Home {
    let sandbox = Sandbox::new();
    let runs = sandbox.path("runs");
    let quick = fake_with(&["pid", "sleep", "echo"], json!({"runs": runs}));
    let slow = fake_with(&["pid", "echo"], json!({"delayMs": {"initialize": 3000}}));
    let config = json!({"mcpServers": {"fx": quick, "slow": slow}, "daemon": {"linger": 1000}});
    Home::within(sandbox, config)
}

/// Begins a verb and goes on.
fn begun(home: &Home, words: &[&str]) -> Child {
    let mut command = home.sandbox.daemon();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Waits for a verb that must succeed, and returns what it wrote.
fn succeeded(child: Child) -> String {
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until the quick server has run a tool so often.
fn wait_for_runs(home: &Home, runs: usize) {
    let count = || std::fs::read_to_string(home.sandbox.path("runs")).unwrap_or_default().lines().count();
    assert!(until(SOON, || count() == runs), "{} runs", count());
}

#[test]
fn operators_are_no_clients() {
    let home = home();
    let window = home.open();
    let desk = Desk::of(&home);
    let (_events, _) = desk.follow("/v1/events");
    let call = begun(&home, &["call", "fx__sleep", "ms:=3000"]);
    wait_for_runs(&home, 1);
    assert_eq!(home.status().map(|status| status["clients"].clone()), Some(json!(1)));
    let clients = desk.get("/v1/clients");
    assert_eq!(clients.as_array().map(Vec::len), Some(1), "{clients}");
    assert_eq!(desk.get("/v1/snapshot")["clients"].as_array().map(Vec::len), Some(1));
    assert_eq!(run(&home.sandbox, &["clients", "-q"]).stdout.lines().count(), 1);
    assert_eq!(succeeded(call), "slept\n");
    drop(window);
}

#[test]
fn a_call_of_an_operator_holds_the_daemon_and_nothing_stays_after_it() {
    let home = home();
    let window = home.open();
    let daemon = home.daemon();
    let call = begun(&home, &["call", "fx__sleep", "ms:=3000"]);
    wait_for_runs(&home, 1);
    window.leave();
    assert_eq!(succeeded(call), "slept\n");
    assert_eq!(home.started(), 1, "one daemon served all of it");
    home.wait_gone();
    assert!(!alive(daemon));
}

/// What takes long here is not the call but the start of the server before it.
#[test]
fn whoever_waits_for_a_server_to_start_holds_the_daemon() {
    for words in [&["call", "slow__echo", "text=on"][..], &["start", "slow"], &["tools", "--server", "slow"]]
    {
        let home = home();
        let window = home.open();
        let asking = begun(&home, words);
        let is_starting = || Desk::of(&home).get("/v1/servers/slow")["state"] == "starting";
        assert!(until(SOON, is_starting), "{words:?}");
        window.leave();
        succeeded(asking);
        assert_eq!(home.started(), 1, "{words:?}");
        home.wait_gone();
    }
}

#[test]
fn readers_hold_the_daemon() {
    for path in ["/v1/events", "/v1/servers/fx/logs?follow=1"] {
        let home = home();
        let window = home.open();
        let daemon = home.daemon();
        let reader = Desk::of(&home).stall(path);
        window.leave();
        thread::sleep(AFTER_LINGER);
        assert_eq!(home.daemons(), [daemon], "{path}");
        drop(reader);
        home.wait_gone();
    }
}

/// Who only looks now and then does not keep it.
#[test]
fn looking_does_not_hold_the_daemon() {
    let home = home();
    let window = home.open();
    let daemon = home.daemon();
    window.leave();
    let gone = until(SOON, || {
        run(&home.sandbox, &["list", "--json"]);
        !alive(daemon)
    });
    assert!(gone);
    home.wait_gone();
}

/// Returns the process that answers `pid` of a verb in this folder with this token.
fn pid_for(home: &Home, folder: &Path, token: &str) -> u32 {
    let mut command: Command = home.sandbox.daemon();
    command.args(["call", "fx__pid", "--config"]).arg(&home.config).env("TOKEN", token).current_dir(folder);
    let ran = ran(command);
    ran.stdout.trim().parse().unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_call_reaches_the_process_that_a_window_in_its_place_has() {
    let mut server = fake_with(&["pid"], json!({}));
    server["env"] = json!({"TOKEN": "${TOKEN}"});
    let home = Home::new(json!({"fx": server}));
    let folders = ["here", "there"].map(|name| home.sandbox.path(name));
    folders.iter().for_each(|folder| std::fs::create_dir_all(folder).expect("it can be made"));
    let [here, there] = folders;
    let mut window = home.open_as(&[("TOKEN", "one")], &here);
    let of_window: u32 = text_of(&window.call("fx__pid", json!({}))).parse().expect("a process");
    assert_eq!(pid_for(&home, &here, "one"), of_window);
    let others = [pid_for(&home, &here, "two"), pid_for(&home, &there, "one")];
    assert!(!others.contains(&of_window) && others[0] != others[1], "{others:?}, not {of_window}");
    let instances = || Desk::of(&home).get("/v1/servers/fx")["instances"].as_array().map(Vec::len);
    assert_eq!(instances(), Some(3));
    // What ran for operators alone goes when the daemon would have gone for want of clients; the window's own stays.
    assert!(until(SOON, || others.iter().all(|pid| !alive(*pid))), "{others:?}");
    assert_eq!(text_of(&window.call("fx__pid", Value::Null)), of_window.to_string());
}

/// Returns the last line of the audit, once there is one.
fn audited(home: &Home) -> Option<Value> {
    let path = home.sandbox.path(".local/state/manifold/audit/audit.jsonl");
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().last().and_then(|line| serde_json::from_str(line).ok())
}

/// Also the orders after which nobody is left to tell.
#[test]
fn the_audit_says_that_it_was_the_command_line() {
    let home = home();
    let _window = home.open();
    for words in [&["stop", "fx"][..], &["daemon", "reload"], &["daemon", "restart"], &["daemon", "stop"]] {
        let ran = run(&home.sandbox, words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        let expected = json!({"verb": if words[0] == "daemon" { words.join(" ") } else { words[0].to_owned() }, "face": "cli"});
        let told = || {
            let line = audited(&home)?;
            Some(json!({"verb": line["verb"], "face": line["actor"]["face"]}))
        };
        assert!(until(SOON, || told().as_ref() == Some(&expected)), "{words:?}: {:?}", told());
    }
}

/// Whatever ends the daemon, what operators have asked is answered first.
#[test]
fn a_call_of_an_operator_is_let_come_to_its_end() {
    for words in [&["stop"][..], &["restart"], &["upgrade"], &["TERM"]] {
        let home = home();
        let _window = home.open();
        let daemon = home.daemon();
        let call = begun(&home, &["call", "fx__sleep", "ms:=1500"]);
        wait_for_runs(&home, 1);
        match words {
            ["TERM"] => signal(daemon, Signal::SIGTERM),
            words => assert_eq!(home.order(words).status.code(), Some(0), "{words:?}"),
        }
        assert_eq!(succeeded(call), "slept\n", "{words:?}");
    }
}

/// What takes longer than `drainTimeout` may have run: whoever called is told so.
#[test]
fn a_call_that_takes_too_long_for_the_end_is_told_that_it_may_have_run() {
    for order in ["stop", "upgrade"] {
        let home = Home::with(json!({
            "mcpServers": {"fx": fake_with(&["sleep"], json!({"pid": "pid"}))},
            "drainTimeout": 200,
        }));
        let _window = home.open();
        let call = begun(&home, &["call", "fx__sleep", "ms:=60000"]);
        let is_called = || Desk::of(&home).get("/v1/servers/fx")["calls"]["inFlight"] == json!(1);
        assert!(until(SOON, is_called), "{}", Desk::of(&home).get("/v1/servers/fx"));
        assert_eq!(home.order(&[order]).status.code(), Some(0), "{order}");
        let output = call.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{order}: {said}");
        assert!(said.contains("may have run"), "{order}: {said}");
    }
}

#[test]
fn a_client_that_is_disconnected_is_gone_for_good() {
    let home = home();
    let mut window = home.open();
    assert_eq!(text_of(&window.call("fx__echo", json!({"text": "on"}))), "on");
    let shim = window.pid();
    let ids = run(&home.sandbox, &["clients", "-q"]).stdout;
    assert_eq!(run(&home.sandbox, &["clients", "disconnect", ids.trim()]).code, Some(0));
    assert!(until(SOON, || !alive(shim)), "its connection ends with its session");
}

#[test]
fn a_config_that_cannot_be_used_is_said_by_every_verb() {
    let home = home();
    let good = std::fs::read_to_string(&home.config).expect("a config");
    std::fs::write(&home.config, "{ \"mcpServers\": [").expect("it can be written");
    assert_eq!(home.order(&["start"]).status.code(), Some(0));
    for words in [
        &["list"][..],
        &["get", "fx"],
        &["ns"],
        &["disable", "fx"],
        &["start", "fx"],
        &["tools"],
        &["call", "fx__echo", "text=a"],
    ] {
        let ran = run(&home.sandbox, words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains("cannot be used"), "{words:?}: {ran:?}");
    }
    assert!(Desk::of(&home).get("/v1/about")["unread"].is_string());
    assert!(Desk::of(&home).get("/v1/snapshot")["config"]["unread"].is_string());
    assert!(home.status().expect("it runs")["unread"].is_string());
    let status = run(&home.sandbox, &["status", "--json"]);
    let report: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!((status.code, report["running"]["kind"].as_str()), (Some(1), Some("daemon")), "{status:?}");

    std::fs::write(&home.config, good).expect("it can be written");
    assert!(until(SOON, || run(&home.sandbox, &["list"]).code == Some(0)));
    // Once it has been read, what is wrong with it is said beside the answer.
    std::fs::write(&home.config, "{").expect("it can be written");
    let is_refused = || Desk::of(&home).get("/v1/about")["refused"].is_string();
    assert!(until(SOON, is_refused));
    let ran = run(&home.sandbox, &["list", "-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "fx\nslow\n"), "{ran:?}");
    assert!(ran.stderr.contains("earlier config"), "{ran:?}");
    for broken in [true, false] {
        if !broken {
            std::fs::remove_file(&home.config).expect("it is there");
        }
        let status = run(&home.sandbox, &["status", "--json"]);
        let report: Value = serde_json::from_str(&status.stdout).expect("JSON");
        assert_eq!(
            (status.code, report["servers"].as_array().map(Vec::len)),
            (Some(1), Some(2)),
            "{status:?}"
        );
        assert!(report["problems"].as_array().is_some_and(|found| !found.is_empty()), "{report}");
    }
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
    std::fs::write(&home.config, "{").expect("it can be written");
    assert_eq!(run(&home.sandbox, &["status"]).code, Some(2), "nothing runs");
}

/// Who waits for a server, or follows its lines, goes on with the daemon that comes next.
#[test]
fn wait_and_logs_go_on_over_restart_and_upgrade() {
    let sandbox = Sandbox::new();
    let quick = fake_with(&["complain"], json!({}));
    let home = Home::within(sandbox, json!({"mcpServers": {"fx": quick}}));
    assert_eq!(home.order(&["start"]).status.code(), Some(0));
    let mut logs = begun(&home, &["logs", "fx", "-f"]);
    let mut lines = BufReader::new(logs.stdout.take().expect("a pipe")).lines();
    let wait = begun(&home, &["wait", "fx", "--timeout", "60000"]);
    for (round, order) in ["upgrade", "restart", "upgrade"].into_iter().enumerate() {
        let said = format!("line {round}");
        // Each line is written by the daemon that is there, when the reader is.
        assert_eq!(home.order(&[order]).status.code(), Some(0), "{order}");
        let ran = run(&home.sandbox, &["call", "fx__complain", &format!("text={said}")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line = lines.next().expect("it goes on").expect("text");
        assert!(line.contains(&said), "{line}");
    }
    assert_eq!(succeeded(wait), "fx is ready\n");
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
    assert_eq!(logs.wait().expect("it ends").code(), Some(3));
}

#[test]
fn a_server_started_by_order_is_told_that_operators_can_be_asked() {
    let sandbox = Sandbox::new();
    let heard = sandbox.path("heard");
    let fx = fake_with(&["echo"], json!({}));
    let (program, knobs) =
        (fx["command"].as_str().expect("a program"), fx["args"][0].as_str().expect("knobs"));
    let line = format!("tee -a '{}' | '{program}' '{knobs}'", heard.display());
    let server = json!({"command": "/bin/sh", "args": ["-c", line]});
    let home = Home::within(sandbox, json!({"mcpServers": {"fx": server}, "daemon": {"linger": 1000}}));
    assert_eq!(home.order(&["start"]).status.code(), Some(0));
    for order in ["start", "restart"] {
        let ran = run(&home.sandbox, &[order, "fx"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let told = std::fs::read_to_string(&heard).expect("it was told something");
        let hello = told.lines().rfind(|line| line.contains("\"initialize\"")).expect("it was greeted");
        assert!(hello.contains("\"elicitation\""), "{order}: {hello}");
    }
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
}
