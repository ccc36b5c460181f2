//! Many windows, one set of servers, and what lives how long.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use manifold_testkit::processes::{children, command_line, descendants, status_number};
use manifold_testkit::{Client, Sandbox, alive, figures, until};
use serde_json::{Value, json};

use crate::home::{Home, guards_of, kill_hard, opened, pids_in};
use crate::{SOON, fake_with, text_of};

const WINDOWS: usize = 20;
const SERVERS: usize = 10;
const LINGER: Duration = Duration::from_secs(1);

/// A home with servers `s0`, `s1` and so on, each of which writes down its process.
fn with_servers(count: usize) -> Home {
    let sandbox = Sandbox::new();
    let server = |n: usize| {
        let pid = sandbox.path(&format!("s{n}.pid"));
        (format!("s{n}"), fake_with(&["pid", "sleep"], json!({"pid": pid})))
    };
    let servers: serde_json::Map<String, Value> = (0..count).map(server).collect();
    Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": 1000}}))
}

fn pid_of(client: &mut Client, server: usize) -> u32 {
    let response = client.call(&format!("s{server}__pid"), json!({}));
    text_of(&response).parse().expect("a process")
}

// A1
#[test]
fn twenty_windows_of_ten_servers_are_ten_processes_a_daemon_and_a_guard() {
    let home = with_servers(SERVERS);
    let mut windows: Vec<Client> = (0..WINDOWS).map(|_| home.open()).collect();
    for server in 0..SERVERS {
        let pids: BTreeSet<u32> = windows.iter_mut().map(|window| pid_of(window, server)).collect();
        assert_eq!(pids.len(), 1, "all windows are served by one process of s{server}");
    }
    let daemon = home.daemon();
    assert_eq!(home.daemons(), [daemon]);
    assert_eq!(home.status().map(|status| status["clients"].clone()), Some(json!(WINDOWS)));
    assert_eq!(children(daemon).len(), 1, "one guard: {:?}", children(daemon));
    let is_server = |pid: &u32| command_line(*pid).first().is_some_and(|name| name.ends_with("fake-server"));
    assert_eq!(descendants(daemon).iter().filter(|pid| is_server(pid)).count(), SERVERS);
    for window in &windows {
        assert!(descendants(window.pid()).is_empty(), "a shim starts nothing that stays below it");
        assert_eq!(status_number(window.pid(), "Threads"), Some(1), "a shim has one thread");
    }
    windows.into_iter().for_each(Client::leave);
    home.wait_gone();
    assert!(guards_of(daemon).is_empty());
    for server in 0..SERVERS {
        let started = pids_in(&home.sandbox.path(&format!("s{server}.pid")));
        assert_eq!(started.len(), 1, "s{server} was started once");
        assert!(!alive(started[0]));
    }
}

// A18: clients that vanish count as gone, too
#[test]
fn when_the_last_window_is_killed_all_ends() {
    let home = with_servers(2);
    let mut windows = [home.open(), home.open()];
    for window in &mut windows {
        pid_of(window, 0);
        pid_of(window, 1);
    }
    let daemon = home.daemon();
    let left = Instant::now();
    drop(windows);
    home.wait_gone();
    figures::took("A18: all is gone, linger included", left.elapsed(), LINGER + Duration::from_secs(1));
    assert!(guards_of(daemon).is_empty());
}

#[test]
fn a_daemon_that_is_killed_takes_all_its_servers_along() {
    let home = with_servers(3);
    let mut window = home.open();
    let servers: Vec<u32> = (0..3).map(|server| pid_of(&mut window, server)).collect();
    let daemon = home.daemon();
    // It would start another daemon, which is not what is looked at.
    window.leave();
    kill_hard(daemon);
    assert!(until(SOON, || servers.iter().all(|pid| !alive(*pid))), "a server outlived its daemon");
    assert!(until(SOON, || guards_of(daemon).is_empty()), "the guard outlived its daemon");
    home.wait_gone();
}

#[test]
fn nobody_else_has_rights_to_the_sockets_whatever_the_umask() {
    let home = with_servers(1);
    let window = opened(Client::spawn(home.shim_after("umask 0")));
    let mode = |path: &std::path::Path| {
        let metadata = path.symlink_metadata().expect("it is there");
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!(mode(&home.run_folder()), 0o700);
    for ending in ["mcp.sock", "ctl.sock"] {
        let socket = home.run_file(ending).expect("the socket is there");
        assert_eq!(mode(&socket), 0o600, "{}", socket.display());
    }
    let state = home.sandbox.path(".local/state/manifold");
    for entry in std::fs::read_dir(state).expect("the folder of the log").flatten() {
        assert_eq!(mode(&entry.path()) & 0o077, 0, "{}", entry.path().display());
    }
    window.leave();
}
