//! S1-47 to S1-54, decision 32 and section 2.2: the manager tools, with the shapes their users know.

use std::fs;
use std::time::Duration;

use manifold_testkit::{Client, Sandbox, alive, bin, fake, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, json_of, studio, text_of};

const SOON: Duration = Duration::from_secs(60);

fn two_servers() -> Value {
    let mut alpha = fake_with(&["echo", "pid", "sleep", "crash"], json!({}));
    alpha["name"] = json!("First");
    // What the file's own watcher would take over first is here taken over by order.
    json!({"watchConfig": false, "mcpServers": {"alpha": alpha, "beta": fake_with(&["echo", "pid"], json!({}))}})
}

fn manage(client: &mut Client, tool: &str, server: &str) -> Value {
    client.call(&format!("mcp-studio.{tool}"), json!({"server_id": server}))
}

fn rows(client: &mut Client) -> Vec<Value> {
    match json_of(&client.call("mcp-studio.servers_list", json!({}))) {
        Value::Array(rows) => rows,
        other => panic!("no list: {other}"),
    }
}

fn pid_of(client: &mut Client, server: &str) -> u32 {
    let answer = client.call(&format!("{server}.pid"), json!({}));
    match text_of(&answer).parse() {
        Ok(pid) => pid,
        Err(error) => panic!("{answer}: {error}"),
    }
}

// S1-47 to S1-54, section 2.2
#[test]
fn the_seven_tools_are_listed_with_their_arguments() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers());
    let list = client.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("a list");
    let own: Vec<&Value> = tools
        .iter()
        .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("mcp-studio.")))
        .collect();
    let names: Vec<&str> = own.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = [
        "mcp-studio.servers_list",
        "mcp-studio.servers_start",
        "mcp-studio.servers_stop",
        "mcp-studio.servers_restart",
        "mcp-studio.server_logs",
        "mcp-studio.config_reload",
        "mcp-studio.namespaces_list",
    ];
    assert_eq!(names, expected);
    for tool in own {
        let name = tool["name"].as_str().expect("a name");
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        let takes_id = !matches!(
            name,
            "mcp-studio.servers_list" | "mcp-studio.config_reload" | "mcp-studio.namespaces_list"
        );
        assert_eq!(schema["required"] == json!(["server_id"]), takes_id, "{name}: {schema}");
        assert_eq!(schema["properties"]["lines"].is_object(), name.ends_with("server_logs"), "{name}");
    }
}

// Decision 32: the name of the profile and its separator
#[test]
fn the_prefix_follows_the_profile() {
    let sandbox = Sandbox::new();
    for (profile, tool) in [("manifold", "manifold__servers_list"), ("mcp-studio", "mcp-studio.servers_list")]
    {
        let mut client = sandbox.serve(&two_servers(), &["--profile", profile]);
        client.initialize("2025-06-18", json!({}));
        assert!(client.tool_names().contains(&tool.to_owned()), "{profile}");
        assert!(text_of(&client.call(tool, json!({}))).starts_with('['));
    }
    for profile in ["mcps-proxy", "mcp-all-in-one"] {
        let mut client = sandbox.serve(&two_servers(), &["--profile", profile]);
        client.initialize("2025-06-18", json!({}));
        assert!(!client.tool_names().iter().any(|name| name.contains("servers_list")), "{profile}");
    }
}

// S1-47
#[test]
fn servers_list_has_the_known_shape() {
    let sandbox = Sandbox::new();
    let mut config = two_servers();
    config["mcpServers"]["off"] = fake(json!({}));
    config["mcpServers"]["off"]["enabled"] = json!(false);
    let mut client = studio(&sandbox, &config);
    let command = bin("fake-server");
    let asleep = |id: &str, name: &str, enabled: bool, state: &str| {
        json!({"id": id, "name": name, "kind": "stdio", "enabled": enabled, "command": command,
            "status": "stopped", "state": state, "toolCount": 0})
    };
    let expected = [
        asleep("alpha", "First", true, "idle"),
        asleep("beta", "beta", true, "idle"),
        asleep("off", "off", false, "stopped"),
    ];
    assert_eq!(rows(&mut client), expected, "looking starts nothing");

    client.tool_names();
    let row = rows(&mut client).remove(0);
    assert_eq!(
        (&row["status"], &row["state"], &row["toolCount"]),
        (&json!("running"), &json!("ready"), &json!(4))
    );
    assert_eq!(row["pid"], json!(pid_of(&mut client, "alpha")));
    let uptime = row["uptime"].as_str().expect("an uptime");
    assert!(uptime.ends_with('s') && uptime[..uptime.len() - 1].parse::<u32>().is_ok(), "{uptime}");
    let known = ["id", "name", "kind", "enabled", "command", "status", "state", "pid", "uptime", "toolCount"];
    assert!(row.as_object().is_some_and(|row| row.keys().all(|key| known.contains(&key.as_str()))), "{row}");
}

// S1-48, S1-49, decision 32
#[test]
fn a_stopped_server_stays_down_until_started() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers());
    let first = pid_of(&mut client, "alpha");
    client.tool_names();
    assert_eq!(
        json_of(&manage(&mut client, "servers_stop", "alpha")),
        json!({"success": true, "serverId": "alpha", "status": "stopped"})
    );
    assert!(!alive(first), "gone by the time we hear of it");
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    for _ in 0..3 {
        let error = client.call("alpha.echo", json!({}))["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]["serverId"], &error["data"]["service"]),
            (&json!(-32003), &json!("alpha"), &json!("alpha"))
        );
        assert!(
            error["data"]["reason"].as_str().is_some_and(|reason| reason.contains("servers_start")),
            "{error}"
        );
        assert!(!client.tool_names().contains(&"alpha.echo".to_owned()), "a list does not wake it");
    }
    assert_eq!(rows(&mut client)[0]["state"], "stopped");
    assert_eq!(manage(&mut client, "servers_stop", "alpha")["error"], Value::Null, "once more is no error");
    assert_eq!(
        json_of(&manage(&mut client, "servers_start", "alpha")),
        json!({"success": true, "serverId": "alpha", "status": "running"})
    );
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "back"}))), "back");
    let second = pid_of(&mut client, "alpha");
    assert_ne!(first, second);
    manage(&mut client, "servers_start", "alpha");
    assert_eq!(pid_of(&mut client, "alpha"), second, "starting what runs changes nothing");
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert!(client.tool_names().contains(&"alpha.echo".to_owned()));
}

// S1-50
#[test]
fn restart_replaces_the_process_and_fails_what_was_in_flight() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers());
    let first = pid_of(&mut client, "alpha");
    let sleeping = client.request("tools/call", json!({"name": "alpha.sleep", "arguments": {"ms": 60000}}));
    let done = manage(&mut client, "servers_restart", "alpha");
    assert_eq!(json_of(&done), json!({"success": true, "serverId": "alpha", "status": "running"}));
    let error = client.wait_for(sleeping, SOON)["error"].clone();
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32603), &json!("alpha")));
    assert_ne!(pid_of(&mut client, "alpha"), first);
    assert!(!alive(first));
    manage(&mut client, "servers_stop", "alpha");
    manage(&mut client, "servers_restart", "alpha");
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x", "restart ends a stop");
}

// S1-49: a server can be stopped before it is up; who waited for it hears so
#[test]
fn a_start_can_be_called_off() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("alpha.pid");
    let knobs = json!({"delayMs": {"initialize": 60000}, "pid": pids});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&["echo"], knobs)}}));
    let waiting = client.request("tools/call", json!({"name": "alpha.echo", "arguments": {}}));
    let pid = || fs::read_to_string(&pids).ok().and_then(|text| text.trim().parse::<u32>().ok());
    assert!(until(SOON, || pid().is_some()));
    assert_eq!(rows(&mut client)[0]["state"], "starting");
    manage(&mut client, "servers_stop", "alpha");
    let error = client.wait_for(waiting, SOON)["error"].clone();
    assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32003), &json!("alpha")));
    assert!(until(SOON, || pid().is_some_and(|pid| !alive(pid))), "its process is gone");
    assert_eq!(rows(&mut client)[0]["state"], "stopped");
}

#[test]
fn a_start_that_fails_says_why() {
    let sandbox = Sandbox::new();
    let config =
        json!({"mcpServers": {"dies": {"command": "sh", "args": ["-c", "echo no license >&2; exit 9"]}}});
    let mut client = studio(&sandbox, &config);
    for tool in ["servers_start", "servers_restart"] {
        let error = manage(&mut client, tool, "dies")["error"].clone();
        assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32001), &json!("dies")));
        let reason = error["data"]["reason"].as_str().expect("a reason");
        assert!(reason.contains("no license") && reason.contains("exit code 9"), "{reason}");
    }
}

// S1-51
#[test]
fn server_logs_returns_the_last_lines() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"alpha": fake(json!({"stderrFlood": 120}))}});
    let mut client = studio(&sandbox, &config);
    client.call("alpha.echo", json!({}));
    let mut logs = |arguments: Value| {
        let answer = client.call("mcp-studio.server_logs", arguments);
        text_of(&answer).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let last = "fake-server: flood line 119";
    assert!(until(SOON, || logs(json!({"server_id": "alpha"})).last().is_some_and(|line| line == last)));
    let lines = |lines: Value| json!({"server_id": "alpha", "lines": lines});
    assert_eq!(logs(json!({"server_id": "alpha"})).len(), 50, "unless told otherwise");
    assert_eq!(logs(lines(json!(0))).len(), 50, "0 = 50");
    assert_eq!(logs(lines(json!(3))), ["fake-server: flood line 117", "fake-server: flood line 118", last]);
    assert_eq!(logs(lines(json!(100_000))).len(), 120);
    for wrong in [json!(-1), json!("ten"), json!(1.5)] {
        let error = client.call("mcp-studio.server_logs", lines(wrong.clone()))["error"].clone();
        assert_eq!(error["code"], -32602, "{wrong}");
    }
}

// S1-55
#[test]
fn wrong_arguments_are_told() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers());
    for tool in ["servers_start", "servers_stop", "servers_restart", "server_logs"] {
        let error = manage(&mut client, tool, "nobody")["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]["serverId"]),
            (&json!(-32000), &json!("nobody")),
            "{tool}"
        );
        let missing = client.call(&format!("mcp-studio.{tool}"), json!({}))["error"].clone();
        assert_eq!(missing["code"], -32602, "{tool}");
        assert_eq!(missing["message"], "Invalid params: Missing required parameter 'server_id'");
        let typed = client.call(&format!("mcp-studio.{tool}"), json!({"server_id": 7}))["error"].clone();
        assert_eq!(typed["code"], -32602, "{tool}");
    }
}

// S1-53, section 2.2
#[test]
fn namespaces_list_marks_the_active_one() {
    let sandbox = Sandbox::new();
    let mut config = two_servers();
    config["namespaces"] = json!([
        {"id": "w1rk", "name": "work", "description": "daily", "serverIds": ["alpha"]},
        {"id": "h0me", "name": "home", "serverIds": ["alpha", "beta"]},
    ]);
    let expected = |active: &str, selection: &str| {
        json!({"activeNamespaceId": active, "selection": selection, "namespaces": [
            {"id": "w1rk", "name": "work", "description": "daily", "active": active == "w1rk", "serverCount": 1, "serverIds": ["alpha"]},
            {"id": "h0me", "name": "home", "description": "", "active": active == "h0me", "serverCount": 2, "serverIds": ["alpha", "beta"]},
        ]})
    };
    let mut client = sandbox.serve(&config, &["--profile", "mcp-studio", "--namespace", "home"]);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(json_of(&client.call("mcp-studio.namespaces_list", json!({}))), expected("h0me", "flag"));
    config["defaultNamespaceId"] = json!("w1rk");
    let mut client = studio(&sandbox, &config);
    assert_eq!(json_of(&client.call("mcp-studio.namespaces_list", json!({}))), expected("w1rk", "default"));
    config["defaultNamespaceId"] = Value::Null;
    config["namespaces"] = json!([{"id": "only", "serverIds": ["beta"]}]);
    let mut client = studio(&sandbox, &config);
    let only = json_of(&client.call("mcp-studio.namespaces_list", json!({})));
    assert_eq!((&only["activeNamespaceId"], &only["selection"]), (&json!("only"), &json!("only")));
    let mut client = studio(&sandbox, &two_servers());
    let all = json_of(&client.call("mcp-studio.namespaces_list", json!({})));
    assert_eq!(
        (&all["activeNamespaceId"], &all["selection"], &all["namespaces"]),
        (&Value::Null, &json!("all"), &json!([]))
    );
}

// S1-54, T22, decision 8
#[test]
fn no_server_can_take_the_managers_names() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "mcp-studio": fake_with(&["servers_list", "echo"], json!({})),
        "MCP-Studio": fake_with(&["servers_list"], json!({})),
        "mcp": fake_with(&["servers_list"], json!({})),
    }});
    let mut client = studio(&sandbox, &config);
    let names = client.tool_names();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    // `_` and the first 8 hex digits of SHA-256("mcp-studio").
    let theirs = "mcp-studio_e07ab5fb.servers_list";
    assert!(names.contains(&theirs.to_owned()), "{names:?}");
    assert!(json_of(&client.call("mcp-studio.servers_list", json!({}))).is_array(), "the manager's own");
    assert_eq!(text_of(&client.call(theirs, json!({"text": "theirs"}))), "theirs");
    assert_eq!(text_of(&client.call("mcp-studio_e07ab5fb.echo", json!({"text": "theirs"}))), "theirs");
}

// S1-52, F31
#[test]
fn reload_takes_over_what_changed_and_leaves_the_rest_alone() {
    let sandbox = Sandbox::new();
    let mut config = two_servers();
    config["mcpServers"]["gone"] = fake_with(&["pid"], json!({}));
    let mut client = studio(&sandbox, &config);
    let (alpha, beta, gone) =
        (pid_of(&mut client, "alpha"), pid_of(&mut client, "beta"), pid_of(&mut client, "gone"));
    client.tool_names();
    let in_flight = client.request("tools/call", json!({"name": "alpha.sleep", "arguments": {"ms": 1500}}));

    let mut changed = two_servers();
    changed["mcpServers"]["beta"]["env"] = json!({"NEW": "yes"});
    changed["mcpServers"]["fresh"] = fake_with(&["echo"], json!({}));
    sandbox.write_config(&changed);
    let report = json_of(&client.call("mcp-studio.config_reload", json!({})));
    let expected = json!({"added": ["fresh"], "removed": ["gone"], "restarted": ["beta"], "unchanged": 1, "problems": []});
    assert_eq!(report, expected);
    assert!(!alive(gone) && !alive(beta), "what had to go is gone");
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    let names = client.tool_names();
    assert!(names.contains(&"fresh.echo".to_owned()) && !names.contains(&"gone.pid".to_owned()), "{names:?}");
    assert_eq!(pid_of(&mut client, "alpha"), alpha, "an untouched server keeps its process");
    assert_eq!(text_of(&client.wait_for(in_flight, SOON)), "slept", "and its calls");
    assert_ne!(pid_of(&mut client, "beta"), beta);
    assert_eq!(client.call("gone.pid", json!({}))["error"]["code"], -32000);

    let again = json_of(&client.call("mcp-studio.config_reload", json!({})));
    assert_eq!(again, json!({"added": [], "removed": [], "restarted": [], "unchanged": 3, "problems": []}));
}

// S1-52, F31: keep the last good one and say why
#[test]
fn a_bad_file_changes_nothing_and_says_why() {
    let sandbox = Sandbox::new();
    let mut config = two_servers();
    config["namespaces"] = json!([{"id": "w1rk", "serverIds": ["alpha", "beta"]}]);
    let mut client = studio(&sandbox, &config);
    let alpha = pid_of(&mut client, "alpha");
    let path = sandbox.path(".config/manifold/config.json");
    let text = fs::read_to_string(&path).expect("the config");
    let elsewhere = json!({"mcpServers": {}, "namespaces": [{"id": "other", "serverIds": []}]}).to_string();
    for (bad, why) in [
        ("{ \"mcpServers\": ", "config.json"),
        ("", "config.json"),
        ("[1]", "config.json"),
        (elsewhere.as_str(), "w1rk"),
    ] {
        fs::write(&path, bad).expect("the file can be written");
        let answer = client.call("mcp-studio.config_reload", json!({}));
        assert_eq!(answer["result"]["isError"], true, "{bad:?}: {answer}");
        assert!(
            text_of(&answer).starts_with("The config was not reloaded: ") && text_of(&answer).contains(why),
            "{answer}"
        );
        assert_eq!(pid_of(&mut client, "alpha"), alpha);
    }
    fs::remove_file(&path).expect("the file can be removed");
    assert_eq!(client.call("mcp-studio.config_reload", json!({}))["result"]["isError"], true);
    assert_eq!(pid_of(&mut client, "alpha"), alpha);
    fs::write(&path, text).expect("the file can be written");
    assert_eq!(json_of(&client.call("mcp-studio.config_reload", json!({})))["unchanged"], 2);
    assert_eq!(pid_of(&mut client, "alpha"), alpha);
}

// S1-52: problems are told, the good part is taken
#[test]
fn reload_reports_problems() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers());
    let mut config = two_servers();
    config["mcpServers"]["odd"] = json!({"comand": "x"});
    sandbox.write_config(&config);
    let report = json_of(&client.call("mcp-studio.config_reload", json!({})));
    assert_eq!(report["added"], json!(["odd"]));
    let problems = report["problems"].to_string();
    assert!(problems.contains("odd") && problems.contains("command"), "{problems}");
    assert_eq!(client.call("odd.x", json!({}))["error"]["code"], -32001);
}

// F40: orders are idempotent and one at a time
#[test]
fn a_storm_of_orders_leaves_at_most_one_process() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("alpha.pid");
    let config = json!({"mcpServers": {"alpha": fake_with(&["pid"], json!({"pid": pids}))}});
    let mut client = studio(&sandbox, &config);
    let orders: Vec<u64> = (0..30)
        .map(|n| {
            let tool = ["servers_start", "servers_restart", "servers_stop"][n % 3];
            client.request(
                "tools/call",
                json!({"name": format!("mcp-studio.{tool}"), "arguments": {"server_id": "alpha"}}),
            )
        })
        .collect();
    for id in orders {
        let answer = client.wait_for(id, Duration::from_secs(60));
        let ok = answer["error"].is_null() || answer["error"]["code"] == -32003;
        assert!(ok, "done, or overtaken by a stop: {answer}");
    }
    manage(&mut client, "servers_start", "alpha");
    let now = pid_of(&mut client, "alpha");
    let all: Vec<u32> =
        fs::read_to_string(&pids).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect();
    let left: Vec<&u32> = all.iter().filter(|pid| alive(**pid)).collect();
    println!("F40: 30 orders at once: {} processes started, {} left", all.len(), left.len());
    assert_eq!(left, [&now], "of {} started", all.len());
}
