//! What each window is shown: namespaces, and a config that changes under all of them.

use std::fs;

use manifold_testkit::{Client, Sandbox, until};
use serde_json::{Value, json};

use crate::home::Home;
use crate::{ALONE, LEGACY, SOON, fake_with, text_of};

fn with_namespaces() -> Home {
    Home::with(json!({
        "mcpServers": {"a": fake_with(&["pid"], json!({})), "b": fake_with(&["pid"], json!({}))},
        "namespaces": {"work": {"serverIds": ["a"]}, "home": {"serverIds": ["a", "b"]}},
        "daemon": {"linger": 1000},
    }))
}

fn window_of(home: &Home, namespace: &str) -> Client {
    let mut command = home.shim();
    command.args(["--namespace", namespace]);
    Client::spawn(command)
}

#[test]
fn each_window_has_its_namespace_and_shares_the_processes() {
    let home = with_namespaces();
    let mut pids = Vec::new();
    for (namespace, tools) in [("work", &["a__pid"][..]), ("home", &["a__pid", "b__pid"])] {
        let mut client = window_of(&home, namespace);
        client.initialize(LEGACY, json!({}));
        let listed: Vec<String> =
            client.tool_names().into_iter().filter(|name| name.ends_with("__pid")).collect();
        assert_eq!(listed, tools, "{namespace}");
        pids.push(text_of(&client.call("a__pid", json!({}))).to_owned());
    }
    assert_eq!(pids[0], pids[1]);
    assert_eq!(home.daemons().len(), 1);
}

// decision 5
#[test]
fn an_unknown_namespace_is_answered_by_the_daemon_and_names_those_there_are() {
    let home = with_namespaces();
    let mut client = window_of(&home, "nowhere");
    let answer = client.initialize(LEGACY, json!({}));
    let mut alone = home.shim();
    alone.args(["--alone", "--namespace", "nowhere"]);
    let expected = Client::spawn(alone).initialize(LEGACY, json!({}));
    assert_eq!(answer, expected);
    assert_eq!(answer["error"]["code"], json!(-32004), "{answer}");
    assert!(answer.to_string().contains("work"), "{answer}");
    assert!(!client.stderr().contains(ALONE), "{}", client.stderr());
    assert_eq!(client.ask("ping", Value::Null)["id"].as_u64(), Some(2), "it stays");
    assert_eq!(home.daemons().len(), 1);
}

/// What a server says of one window's business is not another's.
#[test]
fn windows_do_not_hear_what_concerns_another() {
    let more = json!({"resources": [{"uri": "note://1", "name": "note"}]});
    let home = Home::new(json!({"fx": fake_with(&["update", "log", "echo"], more)}));
    let mut subscribed = home.open();
    let mut other = home.open();
    other.call("fx__echo", json!({"text": "here"}));
    assert_eq!(subscribed.ask("resources/subscribe", json!({"uri": "note://1"}))["result"], json!({}));
    subscribed.call("fx__update", json!({"uri": "note://1"}));
    subscribed.call("fx__log", json!({"level": "error", "data": "mine"}));
    subscribed.wait_for_notification("notifications/resources/updated", SOON);
    subscribed.wait_for_notification("notifications/message", SOON);
    other.call("fx__echo", json!({"text": "still here"}));
    assert_eq!(other.notifications(), Vec::<Value>::new());
}

/// Lists wait for servers that start, for as long as somebody is there to see them: who leaves speaks for himself.
#[test]
fn a_window_that_leaves_takes_nothing_from_others() {
    let home = Home::new(json!({"a": fake_with(&["pid"], json!({})), "b": fake_with(&["pid"], json!({}))}));
    home.open().leave();
    let mut client = home.open();
    let listed = client.tool_names();
    assert!(["a__pid", "b__pid"].iter().all(|name| listed.iter().any(|one| one == name)), "{listed:?}");
}

#[test]
fn a_changed_config_reaches_every_window() {
    let sandbox = Sandbox::new();
    let servers = |more: &[&str]| {
        let mut servers = json!({"a": fake_with(&["pid"], json!({}))});
        for name in more {
            servers[*name] = fake_with(&["pid"], json!({}));
        }
        json!({"mcpServers": servers, "daemon": {"linger": 1000}})
    };
    let home = Home::within(sandbox, servers(&[]));
    let mut windows = [home.open(), home.open(), home.open()];
    let pids: Vec<String> =
        windows.iter_mut().map(|window| text_of(&window.call("a__pid", json!({}))).to_owned()).collect();
    for window in &mut windows {
        assert!(!window.tool_names().contains(&"b__pid".to_owned()));
    }
    fs::write(&home.config, servers(&["b"]).to_string()).expect("it can be written");
    for (window, pid) in windows.iter_mut().zip(&pids) {
        window.wait_for_notification("notifications/tools/list_changed", SOON);
        assert!(window.tool_names().contains(&"b__pid".to_owned()));
        assert_eq!(text_of(&window.call("a__pid", json!({}))), pid, "an untouched server keeps running");
    }
    let b: Vec<String> =
        windows.iter_mut().map(|window| text_of(&window.call("b__pid", json!({}))).to_owned()).collect();
    assert!(b.iter().all(|pid| *pid == b[0]), "{b:?}");
    // And away again; a window that comes now never hears of it.
    fs::write(&home.config, servers(&[]).to_string()).expect("it can be written");
    for window in &mut windows {
        window.wait_for_notification("notifications/tools/list_changed", SOON);
        assert!(!window.tool_names().contains(&"b__pid".to_owned()));
    }
    assert!(!home.open().tool_names().contains(&"b__pid".to_owned()));
}

#[test]
fn a_config_that_breaks_changes_nothing_and_one_that_is_broken_is_said() {
    let home = Home::new(json!({"a": fake_with(&["pid"], json!({}))}));
    let good = fs::read_to_string(&home.config).expect("it is there");
    let mut old = home.open();
    let pid = text_of(&old.call("a__pid", json!({}))).to_owned();
    fs::write(&home.config, "{ broken").expect("it can be written");
    let mut new = home.open();
    assert_eq!(text_of(&new.call("a__pid", json!({}))), pid);
    fs::write(&home.config, good).expect("it can be written");
    assert_eq!(text_of(&old.call("a__pid", json!({}))), pid);
}

#[test]
fn what_is_wrong_with_a_server_is_told_where_its_windows_log() {
    let sandbox = Sandbox::new();
    let missing = json!({"command": "/nowhere/at/all", "args": []});
    let failing = fake_with(&[], json!({"failStarts": 99, "stateFile": sandbox.path("starts")}));
    let config = json!({
        "mcpServers": {"missing": missing, "failing": failing, "good": fake_with(&["pid"], json!({}))},
        "namespaces": {
            "all": {"serverIds": ["missing", "failing", "good"]},
            "some": {"serverIds": ["good"]},
        },
        "daemon": {"linger": 1000},
    });
    let home = Home::within(sandbox, config);
    let open = |namespace: &str| {
        let mut client = window_of(&home, namespace);
        client.initialize(LEGACY, json!({}));
        client
    };
    let (mut concerned, mut other) = (open("all"), open("some"));
    concerned.tool_names();
    other.tool_names();
    for server in ["missing", "failing"] {
        assert!(until(SOON, || concerned.stderr().contains(server)), "{server}: {}", concerned.stderr());
        assert!(!other.stderr().contains(server), "{}", other.stderr());
    }
    assert!(until(SOON, || concerned.stderr().contains("inheritEnv")), "{}", concerned.stderr());
}

#[test]
fn a_start_that_a_window_began_is_finished_though_it_leaves() {
    let sandbox = Sandbox::new();
    let more = json!({"pid": sandbox.path("fx.pid"), "delayMs": {"initialize": 1000}, "log": sandbox.path("fx.log")});
    let servers = json!({"fx": fake_with(&["pid"], more)});
    let home = Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": 60_000}}));
    let mut first = home.open();
    first.request("tools/call", json!({"name": "fx__pid", "arguments": {}}));
    assert!(until(SOON, || !home.sandbox.received("fx.log", "initialize").is_empty()));
    drop(first);
    let mut second = home.open();
    text_of(&second.call("fx__pid", json!({})));
    let started = fs::read_to_string(home.sandbox.path("fx.pid")).expect("it was started");
    assert_eq!(started.lines().count(), 1, "{started}");
}
