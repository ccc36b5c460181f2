//! Clients that are served without a daemon: as they wish, or because none can be had.

use std::os::unix::fs::symlink;
use std::process::Command;

use manifold_testkit::{Client, bin, until};
use serde_json::{Value, json};

use crate::home::{Home, copy_program};
use crate::{ALONE, LEGACY, SOON, fake_with, text_of};

fn home() -> Home {
    Home::new(servers())
}

fn servers() -> Value {
    json!({"fx": fake_with(&["pid", "env"], json!({}))})
}

/// Starts a client and makes a call. Returns the client, and what it said on stderr in lines that name the daemon.
fn served(command: Command) -> (Client, Vec<String>) {
    let mut client = Client::spawn(command);
    let answer = client.initialize(LEGACY, json!({}));
    assert!(answer["result"].is_object(), "{answer}\n{}", client.stderr());
    text_of(&client.call("fx__pid", json!({})));
    let lines = client.stderr().lines().filter(|line| line.contains("daemon")).map(str::to_owned).collect();
    (client, lines)
}

/// Checks that a client is served without a daemon and says nothing of it.
fn check_alone(home: &Home, command: Command, what: &str) {
    let (client, lines) = served(command);
    assert_eq!(lines, Vec::<String>::new(), "{what}");
    assert!(home.daemons().is_empty(), "{what}");
    client.leave();
    assert!(home.sandbox.processes().is_empty(), "{what}: all ends with the client");
}

/// Checks that a client is served though it got no daemon, and says so in one line.
fn check_fallback(home: &Home, command: Command, what: &str) {
    let (client, lines) = served(command);
    assert!(matches!(&lines[..], [line] if line.contains(ALONE)), "{what}: {lines:?}");
    assert!(home.daemons().is_empty(), "{what}");
    client.leave();
    home.wait_gone();
}

#[test]
fn a_flag_a_variable_or_the_config_switches_the_daemon_off() {
    let home = home();
    let mut flag = home.shim();
    flag.arg("--alone");
    check_alone(&home, flag, "--alone");
    let mut both = home.shim();
    both.arg("--alone").env("MANIFOLD_DAEMON", "on");
    check_alone(&home, both, "the flag goes before the variable");
    let mut off = home.shim();
    off.env("MANIFOLD_DAEMON", "off");
    check_alone(&home, off, "MANIFOLD_DAEMON=off");

    let home = Home::with(json!({"mcpServers": servers(), "daemon": false}));
    check_alone(&home, home.shim(), "\"daemon\": false");
    let mut on = home.shim();
    on.env("MANIFOLD_DAEMON", "on");
    let (client, lines) = served(on);
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(home.daemons().len(), 1, "the variable goes before the config");
    client.leave();
}

#[test]
fn the_seed_profiles_have_no_daemon_even_if_it_is_wished_for() {
    for profile in ["mcps-proxy", "mcp-studio", "mcp-all-in-one"] {
        let home = Home::with(match profile {
            "mcps-proxy" => json!({"schemas": {"default": {"mcpServers": servers()}}}),
            _ => json!({"mcpServers": servers()}),
        });
        let mut command = home.shim();
        command.args(["--profile", profile]).env("MANIFOLD_DAEMON", "on");
        let mut client = Client::spawn(command);
        let answer = client.initialize("2025-06-18", json!({}));
        assert!(answer["result"].is_object(), "{profile}: {answer}\n{}", client.stderr());
        client.tool_names();
        assert!(home.daemons().is_empty() && home.run_file("lock").is_none(), "{profile}");
        client.leave();
        assert!(home.sandbox.processes().is_empty(), "{profile}");
        assert_ne!(home.order(&["start", "--profile", profile]).status.code(), Some(0), "{profile}");
    }
}

#[test]
fn below_another_gateway_there_is_no_daemon() {
    for mark in ["MANIFOLD_TREE", "MANIFOLD_ABOVE"] {
        let home = home();
        let mut command = home.shim();
        command.env(mark, "1-1");
        check_alone(&home, command, mark);
    }
}

/// A gateway that is a server of another, by way of the daemon.
#[test]
fn a_gateway_behind_the_daemon_starts_none_of_its_own() {
    let inner = home();
    let program = bin("manifold").to_string_lossy().into_owned();
    let args = json!(["serve", "--stdio", "--config", inner.config]);
    let outer = Home::new(json!({"inner": {"command": program, "args": args}}));
    let mut client = outer.open();
    let answer = client.call("inner__fx__pid", json!({}));
    text_of(&answer);
    assert!(inner.run_file("lock").is_none() && inner.daemons().is_empty());
    assert_eq!(outer.daemons().len(), 1);
}

// A12
#[test]
fn where_the_folder_cannot_be_made_the_client_is_served_and_told() {
    let home = home();
    // Nobody can make anything there, not even root.
    let mut command = home.shim();
    command.env("XDG_RUNTIME_DIR", "/proc");
    check_fallback(&home, command, "a folder that cannot be written");
}

// A12
#[test]
fn where_our_program_is_gone_the_client_is_served_and_told() {
    let home = home();
    copy_program(&home.sandbox.path("copy"));
    let shim = home.shim();
    let mut command = home.sandbox.command("/bin/sh");
    command.env_remove("MANIFOLD_TREE").env_remove("MANIFOLD_DAEMON");
    command.args(["-c", "exec 9<copy; rm copy; exec /proc/self/fd/9 \"$@\"", "sh"]).args(shim.get_args());
    check_fallback(&home, command, "a program that is not there any more");
}

// A12
#[test]
fn where_descriptors_are_few_the_client_is_served_and_told() {
    let home = home();
    // The first limit with which a client can be served at all is too low for a daemon.
    for limit in 10..64 {
        let mut client = Client::spawn(home.shim_after(&format!("ulimit -n {limit}")));
        let info = json!({"name": "testkit", "version": "1.0.0"});
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        // One that cannot be served ends, and says why.
        let sent = client.try_send_raw(format!("{message}\n").as_bytes());
        let Some(answer) = sent.ok().and_then(|()| client.try_recv(SOON)) else { continue };
        assert!(answer["result"].is_object(), "{answer}");
        assert!(until(SOON, || client.stderr().contains(ALONE)), "{limit}: {}", client.stderr());
        let stderr = client.stderr();
        assert_eq!(stderr.lines().filter(|line| line.contains("daemon")).count(), 1, "{limit}: {stderr}");
        return;
    }
    panic!("no client was served");
}

// A15: a daemon born in a sandbox would serve others from inside
#[test]
fn a_sandboxed_client_starts_no_daemon_and_uses_one_that_is_there() {
    let home = home();
    let held = || {
        let shim = home.shim();
        let mut command = home.sandbox.command("setpriv");
        command.env_remove("MANIFOLD_TREE").env_remove("MANIFOLD_DAEMON");
        command.arg("--no-new-privs").arg(shim.get_program()).args(shim.get_args());
        command
    };
    if Command::new("setpriv").args(["--no-new-privs", "true"]).output().is_err() {
        return println!("skipped: there is no `setpriv` here");
    }
    check_fallback(&home, held(), "a client in a sandbox");
    let outside = home.open();
    let (client, lines) = served(held());
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(home.status().map(|status| status["clients"].clone()), Some(json!(2)));
    client.leave();
    outside.leave();
}

// A15
#[test]
fn a_folder_that_is_a_link_is_not_trusted() {
    let home = home();
    let elsewhere = home.sandbox.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("it can be made");
    symlink(&elsewhere, home.run_folder()).expect("it can be made");
    check_fallback(&home, home.shim(), "a link in the folder's place");
    assert_eq!(
        std::fs::read_dir(elsewhere).expect("it is there").count(),
        0,
        "nothing was written behind it"
    );
}

// A15
#[test]
fn a_folder_of_somebody_else_is_not_trusted() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: only root can give a folder away");
    }
    let home = home();
    std::fs::create_dir(home.run_folder()).expect("it can be made");
    std::os::unix::fs::chown(home.run_folder(), Some(65534), None).expect("root can");
    check_fallback(&home, home.shim(), "somebody else's folder");
}
