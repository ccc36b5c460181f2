//! No config file: the built-in `time` server, and nothing written (decisions 2 and 36).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake};
use serde_json::{Value, json};

use crate::cli::{PING, logged_at_start, run, run_with};
use crate::profile_mcps_proxy::{end_quietly, port_of, post};

fn client(sandbox: &Sandbox, args: &[&str]) -> Client {
    let mut command = sandbox.manifold();
    command.arg("serve").args(args);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    client
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns every path below a folder.
fn tree(folder: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        paths.insert(entry.path());
        paths.extend(tree(&entry.path()));
    }
    paths
}

// Decision 2
#[test]
fn without_a_config_there_is_the_time() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &[]);
    let names = client.tool_names();
    assert_eq!(names[..2], ["time__get_current_time", "time__convert_time"]);
    assert!(names[2..].iter().all(|name| name.starts_with("manifold__")), "{names:?}");
    // Decision 36: as S3 writes it
    let answer = client.call("time__get_current_time", json!({"timezone": "Asia/Shanghai"}));
    let now = text(&answer);
    let shape: String = now.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000+00:00", "{now}");
    assert!(now.ends_with("+08:00"), "{now}");
    let facts = &answer["result"]["structuredContent"];
    assert_eq!(*facts, json!({"timezone": "Asia/Shanghai", "datetime": now, "is_dst": false}));
    let converted = client.call(
        "time__convert_time",
        json!({"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kathmandu"}),
    );
    let target = converted["result"]["structuredContent"]["target"]["datetime"].as_str().unwrap();
    assert!(target.ends_with("T08:45:00.000+05:45"), "{converted}");
}

#[test]
fn a_wrong_timezone_is_the_tools_own_error() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &[]);
    let answer = client.call("time__get_current_time", json!({"timezone": "Mars/Olympus"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("Mars/Olympus"), "{answer}");
    assert!(client.call("time__get_current_time", json!({}))["result"]["content"].is_array());
}

// Decision 2: in every profile, and each says where its own file would be
#[test]
fn every_profile_says_where_a_config_would_go() {
    let profiles = [
        ("manifold", ".config/manifold/config.json", "time__get_current_time"),
        ("mcps-proxy", ".mcps-proxy/config.json", "time-get_current_time"),
        ("mcp-studio", ".config/mcp-studio/config.json", "time.get_current_time"),
        ("mcp-all-in-one", ".mcp-all-in-one/mcp.json", "time__get_current_time"),
    ];
    for (profile, path, tool) in profiles {
        let sandbox = Sandbox::new();
        let mut client = client(&sandbox, &["--profile", profile]);
        assert_eq!(client.tool_names()[0], tool, "{profile}");
        let path = sandbox.path(path).display().to_string();
        let log = logged_at_start(&client);
        assert!(log.contains(&path), "{profile}: no {path} in {log}");
    }
}

// Decision 2: nothing written
#[test]
fn nothing_is_written_to_the_home() {
    for profile in ["manifold", "mcp-studio", "mcp-all-in-one", "mcps-proxy"] {
        let sandbox = Sandbox::new();
        let mut before = tree(sandbox.home());
        let mut client = client(&sandbox, &["--profile", profile]);
        client.tool_names();
        client.call("time__get_current_time", json!({}));
        client.close_stdin();
        assert!(client.wait_exit(PATIENCE).success());
        if profile == "mcps-proxy" {
            // Its log is its own (section 3); a config is not made up.
            let log = [".mcps-proxy", ".mcps-proxy/logs", ".mcps-proxy/logs/mcps-proxy.log"];
            before.extend(log.map(|path| sandbox.path(path)));
        }
        assert_eq!(tree(sandbox.home()), before, "{profile}");
        for args in [&["status"][..], &["config", "check"]] {
            let mut command = sandbox.manifold();
            command.args(["--profile", profile]).args(args);
            assert_eq!(run(command).code, Some(0));
        }
        assert_eq!(tree(sandbox.home()), before, "{profile}");
    }
}

// It is part of the gateway: no process but ours
#[test]
fn the_time_needs_no_process() {
    let sandbox = Sandbox::new();
    let mut client = client(&sandbox, &["--eager"]);
    client.tool_names();
    client.call("time__get_current_time", json!({}));
    assert_eq!(sandbox.processes(), [client.pid()]);
}

// Decision 3: over HTTP it is the namespace `default`
#[test]
fn a_bare_start_serves_the_time_over_http() {
    let sandbox = Sandbox::new();
    let mut before = tree(sandbox.home());
    // Where its control socket was, in the folder for files that last until the next start.
    before.insert(sandbox.path(".run/manifold"));
    let mut command = sandbox.manifold();
    command.args(["--port", "0"]);
    let client = Client::spawn(command);
    let port = port_of(&client);
    let tools = post(port, "default", "tools/list", json!({}));
    // No manager tools over HTTP (section 3).
    assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(2), "{tools}");
    let call = json!({"name": "time__get_current_time", "arguments": {"timezone": "Asia/Shanghai"}});
    let answer = post(port, "default", "tools/call", call);
    assert!(text(&answer).ends_with("+08:00"), "{answer}");
    end_quietly(client);
    assert_eq!(tree(sandbox.home()), before);
}

// Without a home there is no default path, which is no reason to fail
#[test]
fn without_a_home_it_serves_all_the_same() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.manifold();
    command.arg("serve").env_remove("XDG_CONFIG_HOME").env("HOME", "");
    let ran = run_with(command, PING);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("no config file"), "{}", ran.stderr);
}

#[test]
fn the_built_in_time_can_be_configured_beside_others() {
    let sandbox = Sandbox::new();
    let config = json!({"managerTools": false, "mcpServers": {
        "clock": {"builtin": "time", "name": "The Clock"}, "other": fake(json!({}))}});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-06-18", json!({}));
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools[0]["name"], "clock__get_current_time");
    assert_eq!(tools[0]["description"], "[The Clock] Get the current time in a specified timezone");
    assert_eq!(
        (&tools[1]["name"], &tools[2]["name"]),
        (&json!("clock__convert_time"), &json!("other__echo"))
    );
    assert!(text(&client.call("clock__get_current_time", json!({"timezone": "UTC"}))).ends_with("+00:00"));
    assert_eq!(text(&client.call("other__echo", json!({"text": "hi"}))), "hi");
    let log = logged_at_start(&client);
    assert!(!log.contains("no config file"), "{log}");
}

#[test]
fn a_builtin_that_does_not_exist_is_named() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"clock": {"builtin": "tiem"}, "time": {"builtin": "time"}}});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(client.tool_names()[0], "time__get_current_time");
    let error = &client.call("clock__get_current_time", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32001), &json!("clock")), "{error}");
    let log = logged_at_start(&client);
    assert!(log.contains("there is no builtin `tiem`"), "{log}");
}
