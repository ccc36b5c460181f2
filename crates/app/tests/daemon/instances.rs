//! Which windows share a process of a server: those for which it would be started alike.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, alive, figures, until};
use serde_json::{Value, json};

use crate::home::{Home, kill_hard};
use crate::{SOON, fake_with, text_of};

fn home(more: Value) -> Home {
    let mut server = fake_with(&["pid", "env", "cwd"], json!({}));
    for (name, value) in more.as_object().into_iter().flatten() {
        server[name] = value.clone();
    }
    Home::new(json!({"fx": server}))
}

fn folder(home: &Home, name: &str) -> PathBuf {
    let folder = home.sandbox.path(name);
    fs::create_dir_all(&folder).expect("it can be made");
    folder
}

fn pid_of(client: &mut Client) -> u32 {
    text_of(&client.call("fx__pid", json!({}))).parse().expect("a process")
}

fn variable(client: &mut Client, name: &str) -> String {
    text_of(&client.call("fx__env", json!({"name": name}))).to_owned()
}

/// Returns the instances of the server, as `daemon status` shows them.
fn instances(home: &Home) -> Vec<Value> {
    let status = home.status().expect("it runs");
    status["servers"][0]["instances"].as_array().expect("a list").clone()
}

// A13, decision 30
#[test]
fn windows_with_different_variables_have_different_processes() {
    let home = home(json!({"env": {"TOKEN": "${TOKEN}"}}));
    let at = folder(&home, "project");
    let mut first = home.open_as(&[("TOKEN", "one")], &at);
    let mut second = home.open_as(&[("TOKEN", "two")], &at);
    let mut third = home.open_as(&[("TOKEN", "one"), ("WINDOWID", "3")], &at);
    let pids = [pid_of(&mut first), pid_of(&mut second), pid_of(&mut third)];
    assert_ne!(pids[0], pids[1]);
    assert_eq!(pids[0], pids[2]);
    for (client, token) in [(&mut first, "one"), (&mut second, "two"), (&mut third, "one")] {
        assert_eq!(variable(client, "TOKEN"), token);
    }
    let instances = instances(&home);
    assert_eq!(instances.len(), 2, "{instances:?}");
    for instance in &instances {
        let clients = if instance["pid"] == json!(pids[0]) { 2 } else { 1 };
        assert_eq!(instance["clients"], json!(clients), "{instance}");
        assert!(instance["key"].is_string(), "{instance}");
    }
    let differs: Vec<&Value> = instances.iter().map(|instance| &instance["differs"]).collect();
    assert!(differs.contains(&&json!(["TOKEN"])), "{differs:?}");
    assert!(!home.status().expect("it runs").to_string().contains("two"), "values are nobody's business");
}

// A13
#[test]
fn windows_with_another_path_or_folder_have_different_processes() {
    let home = home(json!({}));
    let (here, there) = (folder(&home, "here"), folder(&home, "there"));
    let path = std::env::var("PATH").unwrap_or_default();
    let longer = format!("{path}:/nowhere");
    let mut windows = [
        home.open_as(&[("PATH", &path)], &here),
        home.open_as(&[("PATH", &longer)], &here),
        home.open_as(&[("PATH", &path)], &there),
        home.open_as(&[("PATH", &path)], &here),
    ];
    let pids = windows.each_mut().map(pid_of);
    assert_eq!(pids[0], pids[3]);
    assert!(pids[0] != pids[1] && pids[0] != pids[2] && pids[1] != pids[2], "{pids:?}");
    for (window, expected) in windows.iter_mut().zip([&here, &here, &there, &here]) {
        assert_eq!(text_of(&window.call("fx__cwd", json!({}))), expected.to_string_lossy());
    }
    assert_eq!(variable(&mut windows[1], "PATH"), longer);
    let differs: Vec<Value> = instances(&home).into_iter().map(|one| one["differs"].clone()).collect();
    assert!(differs.iter().all(|names| *names == json!(["PATH", "cwd"])), "{differs:?}");
}

#[test]
fn an_open_window_has_the_variables_that_a_new_config_names() {
    let home = home(json!({}));
    let mut window = home.open_as(&[("NEWVAR", "val-77")], &folder(&home, "project"));
    pid_of(&mut window);
    let mut config: Value =
        serde_json::from_slice(&fs::read(&home.config).expect("it is there")).expect("JSON");
    config["mcpServers"]["new"] = fake_with(&["env"], json!({}));
    config["mcpServers"]["new"]["env"] = json!({"TOKEN": "${NEWVAR}"});
    fs::write(&home.config, config.to_string()).expect("it can be written");
    let mut told = || window.call("new__env", json!({"name": "TOKEN"})).to_string();
    assert!(until(SOON, || told().contains("val-77")), "{}", told());
}

/// The daemon that comes then has no config to know by what a window brings.
#[test]
fn a_window_keeps_its_path_over_a_crash_in_the_midst_of_an_edit() {
    let home = home(json!({}));
    let path = format!("{}:/nowhere", std::env::var("PATH").unwrap_or_default());
    let mut window = home.open_as(&[("PATH", &path)], &folder(&home, "project"));
    assert_eq!(variable(&mut window, "PATH"), path);
    let good = fs::read(&home.config).expect("it is there");
    fs::write(&home.config, "{ broken").expect("it can be written");
    kill_hard(home.daemon());
    let refused = window.call("fx__pid", json!({}));
    assert!(refused["error"].is_object(), "{refused}");
    fs::write(&home.config, good).expect("it can be written");
    let is_back = || window.call("fx__pid", json!({}))["result"].is_object();
    assert!(until(SOON, is_back), "{}", home.log());
    assert_eq!(variable(&mut window, "PATH"), path);
}

// A13
#[test]
fn a_shared_server_is_one_process_wherever_windows_are() {
    let home = home(json!({"shared": true}));
    let mut windows = [
        home.open_as(&[], &folder(&home, "here")),
        home.open_as(&[("WINDOWID", "7")], &folder(&home, "there")),
    ];
    let pids = windows.each_mut().map(pid_of);
    assert_eq!(pids[0], pids[1]);
    assert_eq!(instances(&home).len(), 1);
}

/// Checks that a process ends with the last window it is for.
fn goes_with(window: Client, pid: u32) {
    let left = Instant::now();
    window.leave();
    assert!(until(SOON, || !alive(pid)), "it goes with its last window");
    figures::took("A14: a server that is not for all is gone", left.elapsed(), Duration::from_secs(2));
}

/// Decision 12: what a window's environment holds besides is its own.
#[test]
fn a_server_with_the_whole_environment_is_one_process_for_each_window() {
    let home = home(json!({"inheritEnv": true}));
    let at = folder(&home, "project");
    let mut windows = ["1", "1", "2"].map(|id| home.open_as(&[("WINDOWID", id)], &at));
    let pids = windows.each_mut().map(pid_of);
    assert!(pids[0] != pids[1] && pids[1] != pids[2] && pids[0] != pids[2], "{pids:?}");
    assert_eq!(windows.each_mut().map(|window| variable(window, "WINDOWID")), ["1", "1", "2"]);
    assert_eq!(instances(&home).len(), 3);
}

// A14, decision 29
#[test]
fn a_server_that_is_not_shared_is_one_process_for_each_window() {
    let home = home(json!({"shared": false}));
    let mut stays = home.open();
    let mut leaves = home.open();
    let pids = [pid_of(&mut stays), pid_of(&mut leaves)];
    assert_ne!(pids[0], pids[1]);
    goes_with(leaves, pids[1]);
    assert_eq!(pid_of(&mut stays), pids[0]);
}

// A14
#[test]
fn a_server_of_a_project_is_one_process_for_each_root() {
    let home = home(json!({"shared": "project"}));
    for project in ["one", "two"] {
        folder(&home, &format!("{project}/.git"));
    }
    let mut one = home.open_as(&[], &folder(&home, "one"));
    let mut below = home.open_as(&[], &folder(&home, "one/src/deep"));
    let mut two = home.open_as(&[], &folder(&home, "two"));
    let pids = [pid_of(&mut one), pid_of(&mut below), pid_of(&mut two)];
    assert_eq!(pids[0], pids[1]);
    assert_ne!(pids[0], pids[2]);
    goes_with(two, pids[2]);
    one.leave();
    assert_eq!(pid_of(&mut below), pids[0]);
}
