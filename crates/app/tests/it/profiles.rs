//! Profiles: each column of the table in section 3 as a stdio client sees it, and the ways to choose one.

use std::fs;
use std::process::Command;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::{PING, named, run, run_with, without_times};

const BUILD: &str = env!("CARGO_PKG_VERSION");
const MANAGER: [&str; 7] = [
    "servers_list",
    "servers_start",
    "servers_stop",
    "servers_restart",
    "server_logs",
    "config_reload",
    "namespaces_list",
];

/// What a client sees of a profile.
#[derive(Debug, PartialEq)]
struct Seen {
    server_info: Value,
    tools: Vec<String>,
    description: Value,
    prompts: Vec<String>,
    /// The error code of a call without a required argument; `None` where it went through.
    unchecked_call: Option<i64>,
    /// The error code of a call to a server whose program does not exist.
    failed_start: Option<i64>,
    /// The error code of a call to a server that is not configured.
    unknown_server: Option<i64>,
}

fn servers(sandbox: &Sandbox) -> Value {
    let echo = json!({"name": "echo", "description": "Says it back",
                      "inputSchema": {"type": "object", "required": ["text"]}});
    json!({
        "one": fake(json!({"pid": sandbox.path("one"), "tools": [echo],
                           "prompts": [{"name": "greet"}, {"name": "single"}]})),
        "two": fake(json!({"tools": [], "prompts": [{"name": "greet"}]})),
        "gone": {"command": "no-such-program"},
    })
}

fn config(sandbox: &Sandbox) -> Value {
    json!({"mcpServers": servers(sandbox)})
}

fn look(mut client: Client, separator: &str) -> Seen {
    let hello = client.initialize("2025-06-18", json!({}));
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let prompts = client.ask("prompts/list", json!({}))["result"]["prompts"].clone();
    let code = |response: Value| response["error"]["code"].as_i64();
    Seen {
        server_info: hello["result"]["serverInfo"].clone(),
        tools: names(&listed),
        description: listed[0]["description"].clone(),
        prompts: names(&prompts),
        unchecked_call: code(client.call(&format!("one{separator}echo"), json!({}))),
        failed_start: code(client.call(&format!("gone{separator}echo"), json!({"text": ""}))),
        unknown_server: code(client.call(&format!("nowhere{separator}echo"), json!({}))),
    }
}

fn names(list: &Value) -> Vec<String> {
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().map(|item| item["name"].as_str().unwrap_or_default().to_owned()).collect()
}

fn manager_tools(prefix: &str) -> Vec<String> {
    MANAGER.iter().map(|tool| format!("{prefix}{tool}")).collect()
}

fn expected(profile: &str) -> Seen {
    match profile {
        "manifold" => Seen {
            server_info: json!({"name": "manifold", "version": BUILD}),
            tools: [vec!["one__echo".to_owned()], manager_tools("manifold__")].concat(),
            description: json!("[one] Says it back"),
            prompts: ["one__greet", "one__single", "two__greet"].map(str::to_owned).to_vec(),
            unchecked_call: None,
            failed_start: Some(-32001),
            unknown_server: Some(-32000),
        },
        "mcps-proxy" => Seen {
            server_info: json!({"name": "mcps-proxy", "version": BUILD}),
            tools: vec!["one-echo".to_owned()],
            description: json!("Says it back"),
            prompts: ["greet", "single", "two-greet"].map(str::to_owned).to_vec(),
            unchecked_call: Some(-32602),
            failed_start: Some(-32001),
            unknown_server: Some(-32000),
        },
        "mcp-studio" => Seen {
            server_info: json!({"name": "mcp-studio", "version": BUILD}),
            tools: [vec!["one.echo".to_owned()], manager_tools("mcp-studio.")].concat(),
            description: json!("[one] Says it back"),
            prompts: ["one.greet", "one.single", "two.greet"].map(str::to_owned).to_vec(),
            unchecked_call: None,
            failed_start: Some(-32001),
            unknown_server: Some(-32000),
        },
        "mcp-all-in-one" => Seen {
            server_info: json!({"name": "mcp-all-in-one", "version": "1.0.0"}),
            tools: vec!["one__echo".to_owned()],
            description: json!("[one] Says it back"),
            prompts: ["one__greet", "one__single", "two__greet"].map(str::to_owned).to_vec(),
            unchecked_call: Some(-32602),
            failed_start: Some(-32603),
            unknown_server: Some(-32601),
        },
        _ => panic!("no profile {profile}"),
    }
}

fn separator(profile: &str) -> &'static str {
    match profile {
        "mcps-proxy" => "-",
        "mcp-studio" => ".",
        _ => "__",
    }
}

#[track_caller]
fn check_seen(profile: &str, command: Command) {
    let seen = look(Client::spawn(command), separator(profile));
    assert_eq!(seen, expected(profile));
}

const ALL: [&str; 4] = ["manifold", "mcps-proxy", "mcp-studio", "mcp-all-in-one"];

// Section 3, the whole table
#[test]
fn a_profile_by_flag() {
    for profile in ALL {
        let sandbox = Sandbox::new();
        let path = sandbox.write("any.json", &config(&sandbox).to_string());
        let mut command = sandbox.manifold();
        command.args(["serve", "--profile", profile, "--config"]).arg(path);
        check_seen(profile, command);
    }
}

#[test]
fn a_profile_by_environment() {
    for profile in ALL {
        let sandbox = Sandbox::new();
        let path = sandbox.write("any.json", &config(&sandbox).to_string());
        let mut command = sandbox.manifold();
        command.args(["serve", "--config"]).arg(path).env("MANIFOLD_PROFILE", profile);
        check_seen(profile, command);
    }
}

#[test]
fn a_profile_by_config() {
    for profile in ALL {
        let sandbox = Sandbox::new();
        let config = json!({"profile": profile, "mcpServers": servers(&sandbox)});
        let path = sandbox.write("any.json", &config.to_string());
        let mut command = sandbox.manifold();
        command.args(["serve", "--config"]).arg(path);
        check_seen(profile, command);
    }
}

#[test]
fn a_profile_by_the_programs_name() {
    for profile in ALL {
        let sandbox = Sandbox::new();
        let path = sandbox.write("any.json", &config(&sandbox).to_string());
        let mut command = sandbox.command(named(&sandbox, profile));
        command.args(["--stdio", "--config"]).arg(path);
        check_seen(profile, command);
    }
}

// A name that is no profile's is just a name.
#[test]
fn any_other_program_name_means_manifold() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("any.json", &config(&sandbox).to_string());
    let mut command = sandbox.command(named(&sandbox, "my-gateway"));
    command.args(["serve", "--config"]).arg(path);
    check_seen("manifold", command);
}

/// Returns the name the gateway gives itself.
fn name_told(command: Command) -> String {
    let mut client = Client::spawn(command);
    let hello = client.initialize("2025-06-18", json!({}));
    hello["result"]["serverInfo"]["name"].as_str().unwrap_or_default().to_owned()
}

// Section 3: flag, else environment, else config, else program name
#[test]
fn the_more_explicit_choice_wins() {
    let sandbox = Sandbox::new();
    let program = named(&sandbox, "mcps-proxy");
    let plain = sandbox.write("plain.json", r#"{"mcpServers": {}}"#);
    let studio = sandbox.write("studio.json", r#"{"mcpServers": {}, "profile": "mcp-studio"}"#);
    let command = |path| {
        let mut command = sandbox.command(&program);
        command.args(["serve", "--config"]).arg(path);
        command
    };
    assert_eq!(name_told(command(&plain)), "mcps-proxy");
    assert_eq!(name_told(command(&studio)), "mcp-studio");
    let mut by_environment = command(&studio);
    by_environment.env("MANIFOLD_PROFILE", "mcp-all-in-one");
    assert_eq!(name_told(by_environment), "mcp-all-in-one");
    let mut by_flag = command(&studio);
    by_flag.env("MANIFOLD_PROFILE", "mcp-all-in-one").args(["--profile", "manifold"]);
    assert_eq!(name_told(by_flag), "manifold");
}

// An empty variable is as good as none, as for every other variable of ours.
#[test]
fn an_empty_variable_chooses_nothing() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(named(&sandbox, "mcp-studio"));
    command.arg("serve").env("MANIFOLD_PROFILE", "");
    assert_eq!(name_told(command), "mcp-studio");
}

#[test]
fn a_profile_that_does_not_exist_is_refused_where_typed_and_where_written() {
    let sandbox = Sandbox::new();
    let mut by_flag = sandbox.manifold();
    by_flag.args(["serve", "--profile", "litemcp"]);
    let mut by_environment = sandbox.manifold();
    by_environment.arg("serve").env("MANIFOLD_PROFILE", "litemcp");
    for command in [by_flag, by_environment] {
        let ran = run(command);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        for profile in ALL {
            assert!(ran.stderr.contains(profile), "{}", ran.stderr);
        }
    }
    sandbox.write_config(&json!({"profile": "litemcp", "mcpServers": {}}));
    // B6: on stdio a client is served and told instead (`newcomer/unreadable.rs`).
    for args in [&["http", "--port", "0"][..], &["status"], &["litemcp"]] {
        let mut by_config = sandbox.manifold();
        by_config.args(args);
        let ran = run_with(by_config, PING);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains("mcp-all-in-one"), "{}", ran.stderr);
    }
}

// Section 3: every entry is also a config key
#[test]
fn every_default_can_be_set_by_its_key() {
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox);
    config["separator"] = json!("-");
    config["prefixDescriptions"] = json!(false);
    config["prefixPrompts"] = json!("onClash");
    config["managerTools"] = json!(false);
    config["validateArguments"] = json!("required");
    config["errorCodes"] = json!("standard");
    config["serverName"] = json!("mine");
    config["serverVersion"] = json!("9.9");
    let seen = look(sandbox.serve(&config, &[]), "-");
    let wanted = Seen {
        server_info: json!({"name": "mine", "version": "9.9"}),
        tools: vec!["one-echo".to_owned()],
        description: json!("Says it back"),
        prompts: ["greet", "single", "two-greet"].map(str::to_owned).to_vec(),
        unchecked_call: Some(-32602),
        failed_start: Some(-32603),
        unknown_server: Some(-32601),
    };
    assert_eq!(seen, wanted);
}

#[test]
fn the_keys_work_the_other_way_too() {
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox);
    config["profile"] = json!("mcp-all-in-one");
    config["separator"] = json!(".");
    config["managerTools"] = json!({"stdio": true});
    config["validateArguments"] = json!("off");
    config["errorCodes"] = json!("own");
    config["serverName"] = json!("mcp-studio");
    config["serverVersion"] = json!(BUILD);
    assert_eq!(look(sandbox.serve(&config, &[]), "."), expected("mcp-studio"));
}

// `prefixPrompts`, `separator: ""` (decision 7), `managerTools` by front end
#[test]
fn names_can_be_left_as_they_are() {
    let sandbox = Sandbox::new();
    let server = fake(json!({"prompts": [{"name": "greet"}]}));
    let config = json!({"mcpServers": {"one": server}, "separator": "", "prefixPrompts": false,
                        "prefixDescriptions": false, "managerTools": {"stdio": false}});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-06-18", json!({}));
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools.as_array().map(Vec::len), Some(1), "{tools}");
    assert_eq!(tools[0]["description"], "Says it back");
    let name = tools[0]["name"].as_str().unwrap().to_owned();
    assert_eq!(client.call(&name, json!({"text": "hi"}))["result"]["content"][0]["text"], "hi");
    assert_eq!(names(&client.ask("prompts/list", json!({}))["result"]["prompts"]), ["greet"]);
    assert!(client.ask("prompts/get", json!({"name": "greet"}))["result"]["messages"].is_array());
}

// `validateArguments: full`
#[test]
fn arguments_can_be_checked_in_full() {
    let sandbox = Sandbox::new();
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let knobs = json!({"tools": [{"name": "echo", "inputSchema": schema}], "log": sandbox.path("log")});
    let config = json!({"mcpServers": {"one": fake(knobs)}, "validateArguments": "full"});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-06-18", json!({}));
    let missing = client.call("one__echo", json!({}));
    assert_eq!(missing["error"]["message"], "Invalid params: Missing required parameter 'n'", "{missing}");
    let wrong = client.call("one__echo", json!({"n": "many"}));
    assert_eq!((&wrong["error"]["code"], &wrong["error"]["data"]["field"]), (&json!(-32602), &json!("n")));
    assert_eq!(sandbox.received("log", "tools/call").len(), 0);
    assert!(client.call("one__echo", json!({"n": 5}))["result"].is_object());
}

// `callTimeout`
#[test]
fn the_call_timeout_can_be_set() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"one": fake(json!({"hangOn": "tools/call"}))}, "callTimeout": 1000});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-06-18", json!({}));
    let error = &client.call("one__echo", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(1000)), "{error}");
}

// `start`
#[test]
fn eager_profiles_start_their_servers_unasked() {
    for profile in ["mcps-proxy", "mcp-all-in-one"] {
        let sandbox = Sandbox::new();
        let mut client = sandbox.serve(&config(&sandbox), &["--profile", profile]);
        client.initialize("2025-06-18", json!({}));
        assert!(until(PATIENCE, || sandbox.path("one").exists()), "{profile}: {}", client.stderr());
    }
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox);
    config["start"] = json!("eager");
    let mut client = sandbox.serve(&config, &["--profile", "manifold"]);
    client.initialize("2025-06-18", json!({}));
    assert!(until(PATIENCE, || sandbox.path("one").exists()), "{}", client.stderr());
}

// `start`, S1-23
#[test]
fn lazy_profiles_start_nothing_unasked() {
    let cases = [("manifold", Value::Null), ("mcp-studio", Value::Null), ("mcp-all-in-one", json!("lazy"))];
    for (profile, start) in cases {
        let sandbox = Sandbox::new();
        let mut config = config(&sandbox);
        config["start"] = start;
        let mut client = sandbox.serve(&config, &["--profile", profile]);
        client.initialize("2025-06-18", json!({}));
        client.ask("ping", Value::Null);
        client.close_stdin();
        assert!(client.wait_exit(PATIENCE).success());
        assert!(!sandbox.path("one").exists(), "{profile}");
    }
}

// The profile's config file
#[test]
fn each_profile_has_its_own_config_path() {
    let paths = [
        ("manifold", ".config/manifold/config.json"),
        ("mcps-proxy", ".mcps-proxy/config.json"),
        ("mcp-studio", ".config/mcp-studio/config.json"),
        ("mcp-all-in-one", ".mcp-all-in-one/mcp.json"),
    ];
    for (profile, path) in paths {
        let sandbox = Sandbox::new();
        for (other, path) in paths {
            sandbox.write(path, &json!({"mcpServers": {other: {"builtin": "time"}}}).to_string());
        }
        let mut command = sandbox.manifold();
        command.args(["status", "--json", "--profile", profile]);
        let report: Value = serde_json::from_str(&run(command).stdout).unwrap();
        assert_eq!(report["config"], json!(sandbox.path(path)));
        assert_eq!(report["servers"][0]["id"], profile);
        assert_eq!(report["profile"], profile);
    }
}

// Without `XDG_CONFIG_HOME` the folder is `~/.config`
#[test]
fn the_config_folder_has_a_default() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&json!({"mcpServers": {"mine": {"builtin": "time"}}}));
    let mut command = sandbox.manifold();
    command.args(["status", "--json"]).env_remove("XDG_CONFIG_HOME");
    let report: Value = serde_json::from_str(&run(command).stdout).unwrap();
    assert_eq!(report["config"], json!(path));
}

// The profile's log file
#[test]
fn mcps_proxy_alone_has_a_log_file_unasked() {
    for profile in ALL {
        let sandbox = Sandbox::new();
        sandbox.write("any.json", r#"{"mcpServers": {}}"#);
        let mut command = sandbox.manifold();
        command.args(["serve", "--config", "any.json", "--profile", profile]);
        let ran = run_with(command, PING);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        match fs::read_to_string(sandbox.path(".mcps-proxy/logs/mcps-proxy.log")) {
            Ok(log) => {
                assert_eq!(profile, "mcps-proxy");
                assert_eq!(without_times(&log), without_times(&ran.stderr));
            }
            Err(_) => assert_ne!(profile, "mcps-proxy"),
        }
        assert!(!sandbox.path(".mcp-all-in-one").exists(), "{profile}");
    }
}

// Started bare
#[test]
fn two_profiles_answer_a_bare_start_with_help() {
    let sandbox = Sandbox::new();
    for profile in ["mcp-studio", "mcp-all-in-one"] {
        let mut by_flag = sandbox.manifold();
        by_flag.args(["--profile", profile]);
        for command in [sandbox.command(named(&sandbox, profile)), by_flag] {
            let ran = run(command);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{profile}");
            assert!(ran.stdout.contains("Usage:"), "{profile}: {}", ran.stdout);
        }
    }
}
