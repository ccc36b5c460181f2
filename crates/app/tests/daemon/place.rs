//! The folder of the sockets: who may connect, and what if it is removed.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, alive, figures, until};
use serde_json::json;

use crate::home::{Home, guards_of, opened};
use crate::{LEGACY, SOON, fake_with, figure, text_of};

/// Where a test, run again as another user, finds the socket to try.
const SOCKET: &str = "MANIFOLD_TEST_SOCKET";

fn home() -> Home {
    Home::new(json!({"fx": fake_with(&["pid", "echo"], json!({}))}))
}

fn pid_of(client: &mut Client) -> u32 {
    text_of(&client.call("fx__pid", json!({}))).parse().expect("a process")
}

// A15
#[test]
fn another_user_is_refused_though_the_file_would_let_him_in() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: only root can be another user");
    }
    let home = home();
    let mut window = home.open();
    pid_of(&mut window);
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("root can");
    open(home.sandbox.home());
    open(&home.sandbox.path(".run"));
    open(&home.run_folder());
    // Where this test lies he may not be let in at all.
    let tester = home.sandbox.path("tester");
    fs::copy(std::env::current_exe().expect("a running test has a path"), &tester).expect("it is copied");
    for ending in ["mcp.sock", "ctl.sock"] {
        let socket = home.run_file(ending).expect("it is there");
        open(&socket);
        let mut command = Command::new(&tester);
        command.args(["--exact", "place::tries_the_socket_it_is_given", "--nocapture"]);
        command.env(SOCKET, &socket).uid(65534).gid(65534);
        let output = command.output().expect("the test runs again");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("refused"), "{ending}: {said}");
    }
    assert_eq!(home.status().map(|status| status["clients"].clone()), Some(json!(1)));
    pid_of(&mut window);
}

/// No test by itself: it is run by another as a user who must not be served.
#[test]
fn tries_the_socket_it_is_given() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let mut socket = UnixStream::connect(socket).expect("the file lets us in");
    let _ = socket.write_all(b"GET /v1/daemon HTTP/1.1\r\nHost: manifold\r\n\r\nMANIFOLD 1 {}\n");
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    println!("refused");
}

// A17
#[test]
fn the_folder_may_be_removed_under_the_daemon() {
    let home = home();
    let mut old = [home.open(), home.open()];
    let server = pid_of(&mut old[0]);
    let daemon = home.daemon();
    fs::remove_dir_all(home.run_folder()).expect("it can be removed");
    let removed = Instant::now();
    for window in &mut old {
        assert_eq!(pid_of(window), server, "who is attached is served on");
    }
    assert!(until(SOON, || home.run_file("mcp.sock").is_some()), "{}", home.log());
    figures::took("A17: the sockets are back", removed.elapsed(), Duration::from_secs(1));
    let mut new = home.open();
    assert_eq!(pid_of(&mut new), server, "who comes is served by the same");
    assert_eq!(home.daemons(), [daemon]);
    old.into_iter().chain([new]).for_each(Client::leave);
    home.wait_gone();
}

// A17: as at the last logout
#[test]
fn the_whole_runtime_folder_may_be_removed() {
    let home = home();
    let mut old = home.open();
    let server = pid_of(&mut old);
    let daemon = home.daemon();
    fs::remove_dir_all(home.sandbox.path(".run")).expect("it can be removed");
    assert_eq!(pid_of(&mut old), server, "who is attached is served on");
    let came = Instant::now();
    let mut new = home.open();
    pid_of(&mut new);
    figures::took("A17: a new window is served", came.elapsed(), Duration::from_secs(1));
    assert_eq!(pid_of(&mut old), server);
    old.leave();
    assert!(until(SOON, || !alive(daemon) || home.daemons() == [daemon]), "{}", home.log());
    pid_of(&mut new);
    new.leave();
    home.wait_gone();
    assert!(guards_of(daemon).is_empty());
}

/// A folder may go and come back at any moment of a start: whoever looked before and whoever looks after see different
/// places, and nobody is served without the daemon for that.
#[test]
fn the_runtime_folder_may_come_back_while_a_daemon_is_started() {
    let home = home();
    let runtime = home.sandbox.path(".run");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::remove_dir_all(&runtime);
                thread::yield_now();
                let _ = fs::create_dir_all(&runtime);
                let _ = fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700));
                thread::sleep(Duration::from_millis(2));
            }
        });
        let windows: Vec<_> = (0..figure(6, 60)).map(|_| home.window()).collect();
        let served: Vec<_> =
            windows.into_iter().map(|mut window| (window.initialize(LEGACY, json!({})), window)).collect();
        stop.store(true, Ordering::Relaxed);
        for (answer, mut window) in served {
            assert_eq!(answer["error"], json!(null), "{answer}");
            let said = window.stderr();
            assert!(!said.contains("another daemon runs"), "{said}");
            pid_of(&mut window);
            window.leave();
        }
    });
    home.wait_gone();
}

/// An upgrade finds the daemon's folder gone: its clients stay, and it is put back.
#[test]
fn an_upgrade_without_the_folder_keeps_everybody() {
    let home = home();
    let mut window = home.open();
    let (server, daemon) = (pid_of(&mut window), home.daemon());
    let epoch = || home.status().map(|status| status["epoch"].clone());
    let before = epoch();
    let control = UnixStream::connect(home.run_file("ctl.sock").expect("it is there")).expect("it listens");
    fs::remove_dir_all(home.run_folder()).expect("it can be removed");
    let order = "POST /v1/daemon/upgrade HTTP/1.1\r\nHost: manifold\r\nContent-Length: 0\r\n\r\n";
    (&control).write_all(order.as_bytes()).expect("it reads");
    let _ = (&control).read_to_end(&mut Vec::new());
    assert!(until(SOON, || epoch().is_some_and(|now| Some(now) != before)), "{}", home.log());
    assert_eq!((home.daemon(), pid_of(&mut window)), (daemon, server));
}

/// Who connects and says nothing is no client: one after the other could else keep it for ever.
#[test]
fn connections_that_say_nothing_do_not_keep_the_daemon() {
    let home = home();
    home.open().leave();
    let mut silent = Vec::new();
    let gone = until(SOON, || {
        let connected = home.run_file("mcp.sock").and_then(|socket| UnixStream::connect(socket).ok());
        silent.extend(connected);
        silent.drain(..silent.len().saturating_sub(100));
        home.sandbox.processes().is_empty()
    });
    assert!(gone, "connections that say nothing keep it");
}

/// What the umask takes away from others it must not take from us.
#[test]
fn a_umask_that_forbids_everything_is_no_hindrance() {
    let home = home();
    let mut window = opened(Client::spawn(home.shim_after("umask 0777")));
    pid_of(&mut window);
    assert_eq!(home.daemons().len(), 1);
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&home.run_folder()), 0o700);
    let files: Vec<_> = fs::read_dir(home.run_folder()).expect("it can be read").flatten().collect();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        assert_eq!(mode(&file.path()), 0o600, "{file:?}");
    }
}
