//! S1-4, S1-5, S1-10 to S1-16, and both config shapes of section 2.2: which servers a process shows.

use std::time::Duration;

use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::studio::{STUDIO, fake_with, json_of, studio, text_of};

const SOON: Duration = Duration::from_secs(60);

/// The config of S1's time: ids, and namespaces as a list. Each server's pid file tells whether it ran.
fn by_ids(sandbox: &Sandbox, namespaces: Value) -> Value {
    let server = |id: &str, name: &str| {
        let mut entry = fake_with(&["echo", "delete"], json!({"pid": sandbox.path(&format!("{id}.pid"))}));
        let more = json!({"id": id, "name": name, "kind": "stdio", "enabled": true, "cwd": "", "env": {}});
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        entry
    };
    json!({
        "schemaVersion": 1,
        "servers": {"a1b2": server("a1b2", "Filesystem"), "c3d4": server("c3d4", "Git")},
        "namespaces": namespaces,
        "proxies": [], "toolPermissions": [], "lastModified": "2026-01-26T00:00:00Z",
    })
}

fn two_namespaces() -> Value {
    json!([
        {"id": "w1rk", "name": "work", "description": "", "serverIds": ["a1b2"], "denyByDefault": false},
        {"id": "h0me", "name": "home", "description": "", "serverIds": ["a1b2", "c3d4"], "denyByDefault": false},
    ])
}

fn with(sandbox: &Sandbox, config: &Value, more: &[&str]) -> Client {
    let mut client = sandbox.serve(config, &[&STUDIO, more].concat());
    assert_eq!(client.initialize("2025-06-18", json!({}))["error"], Value::Null);
    client
}

/// Returns the listed tools without the manager's.
fn tools(client: &mut Client) -> Vec<String> {
    client.tool_names().into_iter().filter(|name| !name.starts_with("mcp-studio.")).collect()
}

// S1-5, S1-11; a unique name is as good as an id (decision 1)
#[test]
fn the_flag_selects_by_id_or_name() {
    for (flag, expected) in [
        ("w1rk", &["a1b2.echo", "a1b2.delete"][..]),
        ("work", &["a1b2.echo", "a1b2.delete"]),
        ("home", &["a1b2.echo", "a1b2.delete", "c3d4.echo", "c3d4.delete"]),
    ] {
        let sandbox = Sandbox::new();
        let mut config = by_ids(&sandbox, two_namespaces());
        config["defaultNamespaceId"] = json!("h0me");
        let mut client = with(&sandbox, &config, &["--namespace", flag]);
        assert_eq!(tools(&mut client), expected, "{flag}");
    }
}

// S1-11, decision 5: the process stays up and says what exists
#[test]
fn an_unknown_flag_fails_initialize() {
    let sandbox = Sandbox::new();
    let config = by_ids(&sandbox, two_namespaces());
    let mut client = sandbox.serve(&config, &["--profile", "mcp-studio", "--namespace", "nope"]);
    for _ in 0..2 {
        let error = client.initialize("2025-06-18", json!({}))["error"].clone();
        assert_eq!(error["code"], -32004);
        assert_eq!(error["message"], "Namespace 'nope' not found; the config has: w1rk, h0me");
        assert_eq!(error["data"], json!({"namespaceId": "nope", "namespaces": ["w1rk", "h0me"]}));
        assert_eq!(client.ask("ping", Value::Null)["result"], json!({}), "the process stays up");
    }
    assert!(until(SOON, || client.stderr().contains("Namespace 'nope' not found")));
    client.close_stdin();
    assert!(client.wait_exit(SOON).success());
}

// S1-12
#[test]
fn the_default_namespace_is_taken_without_a_flag() {
    let sandbox = Sandbox::new();
    let mut config = by_ids(&sandbox, two_namespaces());
    config["defaultNamespaceId"] = json!("w1rk");
    let mut client = with(&sandbox, &config, &[]);
    assert_eq!(tools(&mut client), ["a1b2.echo", "a1b2.delete"]);

    config["defaultNamespaceId"] = json!("gone");
    let mut client = sandbox.serve(&config, &STUDIO);
    let error = client.initialize("2025-06-18", json!({}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["namespaceId"]), (&json!(-32004), &json!("gone")));
}

// S1-13
#[test]
fn the_only_namespace_is_taken() {
    let sandbox = Sandbox::new();
    let config = by_ids(&sandbox, json!([two_namespaces()[0]]));
    let mut client = with(&sandbox, &config, &[]);
    assert_eq!(tools(&mut client), ["a1b2.echo", "a1b2.delete"]);
}

// S1-14
#[test]
fn without_namespaces_all_servers_are_served() {
    for namespaces in [json!([]), Value::Null] {
        let sandbox = Sandbox::new();
        let config = by_ids(&sandbox, namespaces);
        let mut client = with(&sandbox, &config, &[]);
        assert_eq!(tools(&mut client), ["a1b2.echo", "a1b2.delete", "c3d4.echo", "c3d4.delete"]);
    }
}

// S1-15
#[test]
fn several_namespaces_and_no_choice_fail_initialize_with_a_way_out() {
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&by_ids(&sandbox, two_namespaces()), &STUDIO);
    let error = client.initialize("2025-06-18", json!({}))["error"].clone();
    assert_eq!(error["code"], -32600);
    let message = error["message"].as_str().expect("a message");
    assert!(["--namespace", "w1rk", "h0me"].iter().all(|word| message.contains(word)), "{message}");
    assert_eq!(error["data"], json!({"namespaces": ["w1rk", "h0me"]}));
    assert_eq!(client.ask("ping", Value::Null)["result"], json!({}), "the process stays up");
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32600);
    assert!(!sandbox.path("a1b2.pid").exists(), "nothing was started");
}

// S1-16, S0-12
#[test]
fn a_server_outside_the_namespace_does_not_exist() {
    let sandbox = Sandbox::new();
    let mut client = with(&sandbox, &by_ids(&sandbox, two_namespaces()), &["--namespace", "work", "--eager"]);
    assert_eq!(tools(&mut client), ["a1b2.echo", "a1b2.delete"]);
    let error = client.call("c3d4.echo", json!({}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32000), &json!("c3d4")));
    for tool in ["servers_start", "servers_restart", "server_logs"] {
        let error = client.call(&format!("mcp-studio.{tool}"), json!({"server_id": "c3d4"}))["error"].clone();
        assert_eq!(error["code"], -32000, "{tool}");
    }
    let rows = json_of(&client.call("mcp-studio.servers_list", json!({})));
    let ids: Vec<&Value> = rows.as_array().expect("a list").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!("a1b2")]);
    assert!(!sandbox.path("c3d4.pid").exists(), "it was never started");
}

// Section 2.2, the shape of S1's time: permissions by id
#[test]
fn tool_permissions_of_the_old_shape_hide_and_refuse() {
    let sandbox = Sandbox::new();
    let mut config = by_ids(&sandbox, two_namespaces());
    config["toolPermissions"] = json!([
        {"namespaceId": "w1rk", "serverId": "a1b2", "toolName": "delete", "enabled": false},
    ]);
    let mut client = with(&sandbox, &config, &["--namespace", "work"]);
    // Refused before its list is known as well as after.
    assert_eq!(client.call("a1b2.delete", json!({}))["error"]["code"], -32601);
    assert_eq!(tools(&mut client), ["a1b2.echo"]);
    let error = client.call("a1b2.delete", json!({}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32601), &json!("a1b2")));
    assert_eq!(text_of(&client.call("a1b2.echo", json!({"text": "x"}))), "x");
    drop(client);
    let mut client = with(&sandbox, &config, &["--namespace", "home"]);
    assert!(tools(&mut client).contains(&"a1b2.delete".to_owned()), "other namespaces keep it");
}

// Section 2.2
#[test]
fn deny_by_default_shows_only_what_is_allowed() {
    let sandbox = Sandbox::new();
    let mut config = by_ids(&sandbox, two_namespaces());
    config["namespaces"][1]["denyByDefault"] = json!(true);
    config["toolPermissions"] = json!([
        {"namespaceId": "h0me", "serverId": "c3d4", "toolName": "echo", "enabled": true},
    ]);
    let mut client = with(&sandbox, &config, &["--namespace", "home"]);
    assert_eq!(tools(&mut client), ["c3d4.echo"]);
    assert_eq!(client.call("a1b2.echo", json!({}))["error"]["code"], -32601);
}

// Section 2.2, today's shape: names are the keys
#[test]
fn the_new_shape_is_read_too() {
    let sandbox = Sandbox::new();
    let mut files = fake_with(&["read", "write", "delete"], json!({}));
    files["deniedTools"] = json!(["delete"]);
    files["autostart"] = json!(false);
    files["startup_timeout_sec"] = json!(10);
    files["tool_timeout_sec"] = json!(60);
    let config = json!({
        "schemaVersion": 2, "daemonMode": false, "defaultNamespace": "work",
        "servers": {"files": files, "git": fake_with(&["log", "push"], json!({}))},
        "namespaces": {
            "work": {"description": "daily", "serverIds": ["files", "git"], "serverDefaults": {"git": true}},
            "all": {"serverIds": ["files", "git"]},
        },
        "toolPermissions": [{"namespace": "work", "server": "git", "toolName": "log", "enabled": true}],
        "metrics": {"enabled": false, "retentionDays": 7},
    });
    let mut client = studio(&sandbox, &config);
    assert_eq!(tools(&mut client), ["files.read", "files.write", "git.log"]);
    assert_eq!(text_of(&client.call("git.log", json!({"text": "x"}))), "logged");
    assert_eq!(client.call("git.push", json!({}))["error"]["code"], -32601);
    drop(client);
    let mut client = with(&sandbox, &config, &["--namespace", "all"]);
    assert_eq!(tools(&mut client), ["files.read", "files.write", "git.log", "git.push"]);
}

// Section 2.2: disabled server -> -32003
#[test]
fn a_disabled_server_is_known_but_not_running() {
    let sandbox = Sandbox::new();
    let mut config = by_ids(&sandbox, json!([]));
    config["servers"]["c3d4"]["enabled"] = json!(false);
    let mut client = studio(&sandbox, &config);
    assert_eq!(tools(&mut client), ["a1b2.echo", "a1b2.delete"]);
    let error = client.call("c3d4.echo", json!({}))["error"].clone();
    assert_eq!(error["code"], -32003);
    assert_eq!(error["data"]["serverId"], "c3d4");
    assert!(error["data"]["reason"].as_str().is_some_and(|reason| reason.contains("disabled")));
    assert!(!sandbox.path("c3d4.pid").exists());
}

// S1-10: entries as every client writes them
#[test]
fn pasted_entries_keep_their_meaning() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("project")).expect("a folder");
    let mut entry = fake(json!({"tools": [{"name": "cwd"}, {"name": "env"}, {"name": "echo"}]}));
    entry["cwd"] = json!(sandbox.path("project"));
    entry["env"] = json!({"GREETING": "hello", "FROM_HOME": "${HOME}/x"});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    let cwd = client.call("alpha.cwd", json!({}));
    assert!(text_of(&cwd).ends_with("/project"), "{cwd}");
    assert_eq!(text_of(&client.call("alpha.env", json!({"name": "GREETING"}))), "hello");
    let home = sandbox.home().to_string_lossy().into_owned();
    assert_eq!(text_of(&client.call("alpha.env", json!({"name": "FROM_HOME"}))), format!("{home}/x"));
    assert_eq!(text_of(&client.call("alpha.env", json!({"name": "HOME"}))), home, "the rest is inherited");
}

// S1-4
#[test]
fn a_tilde_in_the_config_path_is_expanded() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"alpha": fake_with(&["echo"], json!({}))}});
    sandbox.write("deep/mcp.json", &config.to_string());
    let mut command = sandbox.manifold();
    command.args(["serve", "--profile", "mcp-studio", "--config", "~/deep/mcp.json"]);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(tools(&mut client), ["alpha.echo"]);
}

// Section 2.2's test matrix: an empty config has the manager's tools only
#[test]
fn an_empty_config_lists_the_manager_only() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &json!({"schemaVersion": 1, "servers": {}, "namespaces": []}));
    let names = client.tool_names();
    assert_eq!(names.len(), 7);
    assert!(names.iter().all(|name| name.starts_with("mcp-studio.")), "{names:?}");
}
