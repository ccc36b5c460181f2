//! `manifold daemon start | stop | status | restart`.

use std::process::Output;
use std::thread;
use std::time::Duration;

use manifold_testkit::{Client, alive, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::forms::Schemas;
use crate::home::{Home, guards_of, signal};
use crate::{SOON, fake_with, figure, text_of};

fn home() -> Home {
    Home::new(json!({"fx": fake_with(&["pid", "sleep", "echo"], json!({}))}))
}

fn pid_of(client: &mut Client) -> u32 {
    text_of(&client.call("fx__pid", json!({}))).parse().expect("a process")
}

/// Checks that an order was carried out, and returns what it said.
fn done(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn status_tells_by_its_exit_code_whether_a_daemon_runs() {
    let home = home();
    let output = home.order(&["status", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let said: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(said["running"], json!(false));
    assert_eq!(home.order(&["status"]).status.code(), Some(3));
    assert!(home.sandbox.processes().is_empty(), "who only looks starts nothing");

    let mut window = home.open();
    let server = pid_of(&mut window);
    let status = home.status().expect("it runs");
    assert_eq!(status["running"], json!(true));
    assert_eq!(status["config"], json!(home.config));
    assert_eq!(status["clients"], json!(1));
    assert_eq!(status["stays"], json!(false), "it ends with its clients");
    assert!(status["version"].is_string() && alive(status["pid"].as_u64().unwrap_or(0) as u32));
    for (name, ending) in [("socket", "mcp.sock"), ("control", "ctl.sock")] {
        assert_eq!(status[name], json!(home.run_file(ending)), "{name}");
    }
    assert_eq!(status["servers"][0]["id"], json!("fx"));
    assert_eq!(status["servers"][0]["state"], json!("ready"));
    let text = done(home.order(&["status"]));
    assert!(text.contains("fx") && text.contains(&home.config.to_string_lossy()[..]), "{text}");
    assert!(alive(server));
}

#[test]
fn start_is_for_a_daemon_that_stays_without_clients() {
    let home = home();
    done(home.order(&["start"]));
    let daemon = home.daemon();
    assert!(done(home.order(&["start"])).contains("already"));
    home.open().leave();
    assert_eq!(home.status().expect("it runs")["stays"], json!(true));
    assert_eq!(home.daemon(), daemon);
    done(home.order(&["stop"]));
    assert!(home.sandbox.processes().is_empty() && home.status().is_none());
    assert!(done(home.order(&["stop"])).contains("no daemon"));
}

#[test]
fn stop_returns_when_all_is_gone_and_the_next_request_starts_anew() {
    let home = home();
    let mut windows = [home.open(), home.open()];
    let server = pid_of(&mut windows[0]);
    let daemon = home.daemon();
    done(home.order(&["stop"]));
    // At once: whoever ordered it relies on it.
    assert!(!alive(daemon) && !alive(server) && guards_of(daemon).is_empty());
    assert!(home.status().is_none());
    windows[0].notify("notifications/roots/list_changed", json!({}));
    thread::sleep(Duration::from_millis(500));
    assert!(home.daemons().is_empty(), "nothing but a request starts it again");
    assert_eq!(windows.each_ref().map(|window| alive(window.pid())), [true; 2]);
    let again = pid_of(&mut windows[1]);
    assert_ne!(again, server);
    assert_eq!(pid_of(&mut windows[0]), again);
    assert_eq!(home.daemons().len(), 1);
}

// decision 17
#[test]
fn calls_in_flight_are_answered_before_a_daemon_stops() {
    let home = home();
    let mut window = home.open();
    pid_of(&mut window);
    let id = window.request("tools/call", json!({"name": "fx__sleep", "arguments": {"ms": 1000}}));
    assert_eq!(window.ask("ping", Value::Null)["result"], json!({}));
    done(home.order(&["stop"]));
    assert_eq!(text_of(&window.wait_for(id, SOON)), "slept");
}

#[test]
fn stop_returns_though_windows_ask_for_another_at_once() {
    let home = home();
    let mut windows: Vec<Client> = (0..3).map(|_| home.open()).collect();
    for _ in 0..figure(3, 30) {
        // The server runs: a call that waits for its start is answered with an error, and may be made again.
        pid_of(&mut windows[0]);
        let daemon = home.daemon();
        thread::scope(|scope| {
            let stopping = scope.spawn(|| done(home.order(&["stop"])));
            while alive(daemon) {
                for window in &mut windows {
                    assert_eq!(text_of(&window.call("fx__echo", json!({"text": "on"}))), "on");
                }
            }
            for window in &mut windows {
                pid_of(window);
            }
            // The windows keep the new one busy for as long as the order takes.
            assert!(
                until(SOON, || stopping.is_finished()),
                "the order waits for another daemon than it stopped"
            );
        });
    }
}

#[test]
fn restart_is_another_daemon_with_other_servers_and_the_same_windows() {
    let home = home();
    let mut windows: Vec<Client> = (0..5).map(|_| home.open()).collect();
    for _ in 0..figure(3, 30) {
        let (daemon, server) = (home.daemon(), pid_of(&mut windows[0]));
        done(home.order(&["restart"]));
        assert!(!alive(daemon) && !alive(server));
        let again = home.daemon();
        assert_ne!(again, daemon);
        let servers: Vec<u32> = windows.iter_mut().map(pid_of).collect();
        assert!(servers.iter().all(|pid| *pid == servers[0] && *pid != server), "{servers:?}");
        assert!(until(SOON, || home.status().is_some_and(|status| status["clients"] == json!(5))));
        assert_eq!(home.daemons(), [again]);
    }
}

#[test]
fn what_does_not_run_is_neither_restarted_nor_upgraded() {
    let home = home();
    for order in ["restart", "upgrade"] {
        let output = home.order(&[order]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{order}: {said}");
        assert!(said.contains("`manifold daemon start`"), "{said}");
    }
    assert!(home.sandbox.processes().is_empty(), "nothing was started");
}

#[test]
fn orders_tell_programs_what_they_changed() {
    let home = home();
    let schemas = Schemas::read();
    let said = |order: &str| -> Value {
        let text = done(home.order(&[order, "--json"]));
        schemas.check("cli-daemon-order", &text, order);
        serde_json::from_str(&text).expect("JSON")
    };
    let started = said("start");
    assert_eq!(started, json!({"pid": home.daemon(), "changed": true}));
    assert_eq!(said("start"), json!({"pid": home.daemon(), "changed": false}));
    let restarted = said("restart");
    assert_eq!(restarted, json!({"pid": home.daemon(), "changed": true}));
    assert_ne!(restarted, started);
    assert_eq!(said("upgrade"), restarted);
    assert_eq!(said("stop"), json!({"changed": true}));
    assert_eq!(said("stop"), json!({"changed": false}));
}

#[test]
fn a_daemon_in_the_foreground_is_the_daemon() {
    let home = home();
    let mut command = home.sandbox.daemon();
    command.args(["daemon", "run", "--config"]).arg(&home.config);
    let run = Client::spawn(command);
    assert!(until(SOON, || home.status().is_some()));
    assert_eq!(home.daemon(), run.pid());
    let mut window = home.open();
    pid_of(&mut window);
    let second = home.order(&["run"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another daemon"));
    done(home.order(&["stop"]));
    assert!(!alive(run.pid()));
}

/// A restart is no order that it stays, nor one that it ends with its clients.
#[test]
fn a_daemon_that_is_restarted_stays_or_ends_with_its_clients_as_before() {
    for stays in [false, true] {
        let home = home();
        if stays {
            done(home.order(&["start"]));
        }
        let mut windows: Vec<Client> = (0..3).map(|_| home.open()).collect();
        for _ in 0..3 {
            pid_of(&mut windows[0]);
            done(home.order(&["restart"]));
            assert_eq!(home.status().expect("it runs")["stays"], json!(stays));
        }
        windows.into_iter().for_each(Client::leave);
        if stays {
            done(home.order(&["stop"]));
        }
        home.wait_gone();
    }
}

#[test]
fn a_daemon_that_does_not_answer_is_named_with_what_to_do() {
    let home = home();
    let window = home.open();
    let daemon = home.daemon();
    signal(daemon, Signal::SIGSTOP);
    let output = home.order(&["stop"]);
    signal(daemon, Signal::SIGCONT);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("kill -9 {daemon}")), "{said}");
    // Nothing was ordered of it: it goes on where it was.
    assert_eq!(home.daemon(), daemon);
    window.leave();
}
