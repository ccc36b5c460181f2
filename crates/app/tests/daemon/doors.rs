//! Other ways to be served by the daemon: LiteMCP, and HTTP where the config wants it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use manifold_testkit::http::HttpClient;
use manifold_testkit::{Sandbox, alive, until};
use serde_json::{Value, json};

use crate::home::{Home, kill_hard};
use crate::{ALONE, LEGACY, SOON, fake_with, text_of};

/// Makes one call as a LiteMCP client does. Returns what was answered, and what was said on stderr.
fn litemcp(home: &Home) -> (Value, String) {
    let mut command = home.sandbox.daemon();
    command.args(["litemcp", "--tool", "fx__pid", "--config"]).arg(&home.config);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let data = json!({"version": [1, 0, 0], "tool": "fx__pid", "arguments": []});
    let call = json!({"version": [1, 0, 0], "id": 2, "type": "call", "data": data});
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(format!("{call}\n\n\n").as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = serde_json::from_str(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}"));
    (answer, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn litemcp_clients_share_the_servers_of_the_others() {
    let home = Home::new(json!({"fx": fake_with(&["pid"], json!({}))}));
    let mut window = home.open();
    let pid = text_of(&window.call("fx__pid", json!({}))).to_owned();
    for _ in 0..2 {
        let (answer, stderr) = litemcp(&home);
        assert_eq!(answer["type"], json!("result"), "{answer}");
        assert!(answer.to_string().contains(&pid), "{answer}");
        assert!(!stderr.contains(ALONE), "{stderr}");
    }
    assert_eq!(home.daemons().len(), 1);
}

/// What is too long for a message is answered as it is without a daemon.
#[test]
fn a_litemcp_message_that_is_too_long_is_refused_by_its_id() {
    let servers = json!({"fx": fake_with(&["pid"], json!({}))});
    let home = Home::with(
        json!({"mcpServers": servers, "daemon": {"linger": 1000}, "limits": {"requestBytes": 2000}}),
    );
    let call = json!({"version": [1, 0, 0], "id": 7, "type": "call", "data": {"text": "x".repeat(5000)}});
    let said = |alone: &[&str]| {
        let mut command = home.sandbox.daemon();
        command.args(["litemcp", "--tool", "fx__pid"]).args(alone).arg("--config").arg(&home.config);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(format!("{call}\n\n\n").as_bytes()).expect("it reads");
        drop(input);
        String::from_utf8(child.wait_with_output().expect("it ends").stdout).expect("it is text")
    };
    let expected = said(&["--alone"]);
    assert!(expected.contains("\"id\":7"), "{expected}");
    assert_eq!(said(&[]), expected);
}

#[test]
fn http_clients_of_the_daemon_share_its_servers_and_it_stays_for_them() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one").port();
    let config = |names: &[&str]| {
        let mut servers = json!({});
        for name in names {
            servers[*name] = fake_with(&["pid"], json!({}));
            servers[*name]["shared"] = json!(true);
        }
        json!({"mcpServers": servers, "server": {"port": free}, "daemon": {"linger": 1000, "http": true}})
    };
    let home = Home::with(config(&["a"]));
    let mut window = home.open();
    let http = HttpClient::open(free, "/mcp", LEGACY, json!({}));
    let by_http = |tool: &str| http.call(7, tool, json!({}), None).answer().text();
    let pid = text_of(&window.call("a__pid", json!({}))).to_owned();
    assert!(by_http("a__pid").contains(&pid), "{}", by_http("a__pid"));
    // A new config reaches both, and they share what is new in it.
    std::fs::write(&home.config, config(&["a", "b"]).to_string()).expect("it can be written");
    assert!(until(SOON, || by_http("b__pid").contains("content")), "{}", by_http("b__pid"));
    let new = text_of(&window.call("b__pid", json!({}))).to_owned();
    assert!(by_http("b__pid").contains(&new) && by_http("a__pid").contains(&pid), "{}", by_http("b__pid"));
    let daemon = home.daemon();
    window.leave();
    // There is no last client where others may come at any time.
    assert_eq!(home.status().expect("it runs")["stays"], json!(true));
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
    assert!(!alive(daemon));
}

/// Returns a port that nobody has, and a config whose daemon serves HTTP there or does not.
fn with_http() -> (u16, impl Fn(bool) -> Value) {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one").port();
    let config = move |http: bool| {
        let servers = json!({"fx": fake_with(&["pid"], json!({}))});
        json!({"mcpServers": servers, "server": {"port": port}, "daemon": {"linger": 1000, "http": http}})
    };
    (port, config)
}

#[test]
fn http_is_served_from_when_the_config_says_so_until_it_does_not() {
    let (port, config) = with_http();
    let home = Home::with(config(false));
    let mut window = home.open();
    let (daemon, pid) = (home.daemon(), text_of(&window.call("fx__pid", json!({}))).to_owned());
    assert_eq!(home.status().expect("it runs")["http"], Value::Null);
    let is_served = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    for _ in 0..2 {
        std::fs::write(&home.config, config(true).to_string()).expect("it can be written");
        assert!(until(SOON, is_served), "{}", home.log());
        let http = HttpClient::open(port, "/mcp", LEGACY, json!({}));
        assert!(http.call(7, "fx__pid", json!({}), None).answer().text().contains("content"));
        let status = home.status().expect("it runs");
        assert_eq!(status["http"], json!({"address": format!("127.0.0.1:{port}")}));
        assert_eq!(status["stays"], json!(true));
        std::fs::write(&home.config, config(false).to_string()).expect("it can be written");
        assert!(until(SOON, || !is_served()), "{}", home.log());
        assert_eq!(text_of(&window.call("fx__pid", json!({}))), pid);
    }
    assert_eq!(home.daemon(), daemon);
    // It ends with its last client again.
    assert!(until(SOON, || home.status().is_some_and(|status| status["stays"] == json!(false))));
    window.leave();
    home.wait_gone();
}

#[test]
fn a_port_that_is_taken_is_told_where_it_is_looked_for() {
    let (port, config) = with_http();
    let taken = TcpListener::bind(("127.0.0.1", port)).expect("it was free");
    let home = Home::with(config(true));
    let window = home.open();
    let tells = |said: &str| said.contains(&port.to_string()) && said.contains("server.port");
    assert!(until(SOON, || tells(&window.stderr())), "{}", window.stderr());
    let status = home.status().expect("it runs");
    assert!(tells(status["http"]["error"].as_str().unwrap_or_default()), "{status}");
    assert_eq!(status["stays"], json!(false), "nobody comes by a door that is shut");
    let plain = String::from_utf8_lossy(&home.order(&["status"]).stdout).into_owned();
    assert!(tells(&plain), "{plain}");
    // It is tried again with the next change of the config.
    drop(taken);
    let mut new = config(true);
    new["mcpServers"]["other"] = fake_with(&["pid"], json!({}));
    std::fs::write(&home.config, new.to_string()).expect("it can be written");
    let is_open = || home.status().is_some_and(|status| status["http"]["address"].is_string());
    assert!(until(SOON, is_open), "{}", home.log());
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
}

// F41
#[test]
fn an_upgrade_refuses_no_connection() {
    let (port, config) = with_http();
    let home = Home::with(config(true));
    assert_eq!(home.order(&["start"]).status.code(), Some(0));
    let stop = &AtomicBool::new(false);
    let connected = thread::scope(|scope| {
        let connecting = scope.spawn(move || {
            let mut connected = 0;
            while !stop.load(Ordering::Relaxed) {
                TcpStream::connect(("127.0.0.1", port)).expect("it listens");
                connected += 1;
            }
            connected
        });
        let upgrades: Vec<_> = (0..3).map(|_| home.order(&["upgrade"])).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(upgrades.iter().all(|upgrade| upgrade.status.success()), "{upgrades:?}");
        connecting.join().expect("every connection is taken")
    });
    assert!(connected > 0);
    assert_eq!(home.order(&["stop"]).status.code(), Some(0));
}

/// A call over HTTP goes by the connection it came by, which ends with the program: it is waited for, for `drainTimeout`.
#[test]
fn an_upgrade_waits_for_calls_over_http() {
    for (drain, sleep, expected) in [(60_000, 4000, "slept"), (200, 600_000, "\"mayHaveRun\":true")] {
        let sandbox = Sandbox::new();
        let (port, config) = with_http();
        let mut config = config(true);
        config["drainTimeout"] = json!(drain);
        config["mcpServers"]["fx"] = fake_with(&["sleep"], json!({"log": sandbox.path("fx.log")}));
        let home = Home::within(sandbox, config);
        assert_eq!(home.order(&["start"]).status.code(), Some(0));
        let http = HttpClient::open(port, "/mcp", LEGACY, json!({}));
        let mut call = http.call(7, "fx__sleep", json!({"ms": sleep}), None);
        assert!(until(SOON, || !home.sandbox.received("fx.log", "tools/call").is_empty()));
        let upgraded = home.order(&["upgrade"]);
        assert!(upgraded.status.success(), "{upgraded:?}");
        let answer = call.answer().text();
        assert!(answer.contains(expected), "{answer}");
        // Its session is another's by then, and the door is where it was.
        HttpClient::open(port, "/mcp", LEGACY, json!({}));
        assert_eq!(home.order(&["stop"]).status.code(), Some(0));
    }
}

/// A daemon that a client was born by is nobody's child, has no terminal and no descriptor of the client's.
#[test]
fn a_daemon_keeps_nothing_of_the_client_that_started_it() {
    let home = Home::new(json!({"fx": fake_with(&["pid", "env"], json!({}))}));
    let mut command = home.shim();
    command.env("SECRET_OF_THE_FIRST", "x").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut first = command.stderr(Stdio::piped()).spawn().expect("it starts");
    assert!(until(SOON, || home.status().is_some()));
    let daemon = home.daemon();
    // Whoever waits for the end of its output is not kept waiting by the daemon.
    drop(first.stdin.take());
    let mut said = String::new();
    first.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it ends");
    first.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it ends");
    first.wait().expect("it ends");
    assert!(alive(daemon));
    let mut window = home.open();
    let answer = window.call("fx__env", json!({"name": "SECRET_OF_THE_FIRST"}));
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
    let cwd = std::fs::read_link(format!("/proc/{daemon}/cwd")).expect("it runs");
    assert_eq!(cwd.to_string_lossy(), "/");
    kill_hard(daemon);
}
