//! Config files of every format as the running program reads them.

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake};
use serde_json::{Value, json};

use crate::cli::{PING, logged_at_start, run, run_with};
use crate::config_command::{check, check_json};

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Serves a file with this text and returns the tools beside our own.
fn tools(sandbox: &Sandbox, config: &str, args: &[&str]) -> (Client, Vec<String>) {
    let path = sandbox.write("some.json", config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--config"]).arg(path).args(args);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    let mut names = client.tool_names();
    names.retain(|name| !name.starts_with("manifold__"));
    (client, names)
}

// Decision 2: the format of S0 and S2, with every key of section 2.1
#[test]
fn a_schemas_file_is_read() {
    let sandbox = Sandbox::new();
    let mut fs = fake(json!({}));
    for (key, value) in [("cwd", json!(".")), ("timeout", json!(30000)), ("restart", json!(true))] {
        fs[key] = value;
    }
    fs["env"] = json!({"A": "1"});
    fs["restartDelay"] = json!(5000);
    let config = json!({
        "server": {"port": 3095, "host": "127.0.0.1", "cors": {"enabled": true, "origins": ["http://a.example"],
            "methods": ["GET", "POST", "OPTIONS"], "credentials": false,
            "allowedHeaders": ["Content-Type", "Authorization"]}},
        "cli": {"stdio": {"encoding": "utf8", "delimiter": "\n", "timeout": 30000}},
        "schemas": {"default": {"enabled": true, "mcpServers": {
            "fs": fs,
            "api": {"type": "http", "url": "https://x.invalid/mcp", "headers": {"Authorization": "Bearer k"},
                    "timeout": 10000, "retries": 3, "retryDelay": 1000},
            "ev": {"type": "sse", "url": "http://y.invalid/sse", "headers": {}, "reconnectInterval": 1000,
                   "maxRetries": 5, "timeout": 30000}}}},
        "logging": {"level": "info", "file": "~/.mcps-proxy/logs/mcps-proxy.log", "maxSize": "10MB",
                    "maxFiles": 5, "console": true},
    })
    .to_string();
    let (ran, report) = check_json(&sandbox, &config);
    assert_eq!((ran.code, &report["problems"]), (Some(0), &json!([])), "{report:#}");
    assert_eq!((&report["servers"], &report["namespaces"]), (&json!(3), &json!(1)));
    assert_eq!(tools(&sandbox, &config, &[]).1, ["fs__echo"]);
}

// Decision 2: `defaultNamespaceId` and the server keys mean the same in every format
#[test]
fn a_schemas_file_may_name_its_default() {
    let sandbox = Sandbox::new();
    let mut named = fake(json!({}));
    named["name"] = json!("Named");
    let config = json!({"schemas": {"default": {"mcpServers": {"a": fake(json!({}))}},
                                    "work": {"mcpServers": {"b": named}}}, "defaultNamespaceId": "work"});
    let (mut client, names) = tools(&sandbox, &config.to_string(), &[]);
    assert_eq!(names, ["b__echo"]);
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["description"], "[Named] Says it back");
    assert_eq!(tools(&sandbox, &config.to_string(), &["--schema", "default"]).1, ["a__echo"]);
}

// Decision 2: S1's format as its seed had it, with ids
#[test]
fn a_servers_file_with_ids_is_read() {
    let sandbox = Sandbox::new();
    let mut a1b2 = fake(json!({"tools": [{"name": "read"}, {"name": "delete"}]}));
    for (key, value) in [("id", "a1b2"), ("name", "Filesystem"), ("kind", "stdio"), ("cwd", "")] {
        a1b2[key] = json!(value);
    }
    a1b2["enabled"] = json!(true);
    a1b2["env"] = json!({});
    let config = json!({
        "schemaVersion": 1,
        "defaultNamespaceId": "w1rk",
        "servers": {"a1b2": a1b2, "c3d4": {"id": "c3d4", "name": "Remote", "kind": "sse",
                                           "url": "https://x.invalid", "headers": {}}},
        "namespaces": [{"id": "w1rk", "name": "work", "description": "", "serverIds": ["a1b2"],
                        "denyByDefault": false}],
        "proxies": [],
        "toolPermissions": [
            {"namespaceId": "w1rk", "serverId": "a1b2", "toolName": "delete", "enabled": false}],
        "lastModified": "2026-01-26T00:00:00Z",
    })
    .to_string();
    let (ran, report) = check_json(&sandbox, &config);
    assert_eq!((ran.code, &report["problems"]), (Some(0), &json!([])), "{report:#}");
    assert_eq!(tools(&sandbox, &config, &[]).1, ["a1b2__read"]);
    assert_eq!(tools(&sandbox, &config, &["--namespace", "work"]).1, ["a1b2__read"], "by its name");
}

// Decision 2: S1's format as it became, with names
#[test]
fn a_servers_file_with_names_is_read() {
    let sandbox = Sandbox::new();
    let mut files = fake(json!({"tools": [{"name": "read"}, {"name": "delete"}, {"name": "list"}]}));
    files["autostart"] = json!(false);
    files["startup_timeout_sec"] = json!(10);
    files["tool_timeout_sec"] = json!(60);
    files["deniedTools"] = json!(["list"]);
    files["shared"] = json!(true);
    let config = json!({
        "schemaVersion": 2,
        "daemonMode": "auto",
        "defaultNamespace": "work",
        "servers": {"files": files, "other": {"kind": "streamable_http", "url": "https://x.invalid",
            "http_headers": {"A": "b"}, "oauth": {"client_id": "c"}}},
        "namespaces": {"work": {"description": "mine", "serverIds": ["files"], "denyByDefault": false,
                                "serverDefaults": {"files": false}},
                       "play": {"serverIds": ["other"]}},
        "toolPermissions": [{"namespace": "work", "server": "files", "toolName": "delete", "enabled": false}],
        "metrics": {"enabled": true, "retentionDays": 7},
        "mcp_oauth_credentials_store": "auto",
        "mcp_oauth_callback_port": 0,
    })
    .to_string();
    let (ran, report) = check_json(&sandbox, &config);
    assert_eq!((ran.code, &report["problems"]), (Some(0), &json!([])), "{report:#}");
    assert_eq!(tools(&sandbox, &config, &[]).1, ["files__read"]);
}

// Decision 2: the format of S3 and of every client, alone or with namespaces in either shape
#[test]
fn an_mcp_servers_file_is_read() {
    let sandbox = Sandbox::new();
    let servers = json!({"a": fake(json!({})), "b": fake(json!({}))});
    let plain = json!({"mcpServers": servers}).to_string();
    assert_eq!(tools(&sandbox, &plain, &[]).1, ["a__echo", "b__echo"]);
    let list = json!({"mcpServers": servers, "namespaces": [{"id": "n", "serverIds": ["b"]}]}).to_string();
    assert_eq!(tools(&sandbox, &list, &[]).1, ["b__echo"]);
    let map =
        json!({"mcpServers": servers, "namespaces": {"n": {"serverIds": ["b"]}, "m": {"serverIds": ["a"]}},
                     "defaultNamespaceId": "m"})
        .to_string();
    assert_eq!(tools(&sandbox, &map, &[]).1, ["a__echo"]);
    assert_eq!(tools(&sandbox, &map, &["--namespace", "n"]).1, ["b__echo"]);
}

// Decision 2
#[test]
fn comments_and_trailing_commas_are_accepted() {
    let sandbox = Sandbox::new();
    let entry = fake(json!({})).to_string();
    let config = format!(
        "\u{feff}// all of it\n{{\n  /* the\n servers */ \"mcpServers\": {{\n    \"a\": {entry}, // mine\n  }},\n}}\n"
    );
    let (client, names) = tools(&sandbox, &config, &[]);
    assert_eq!(names, ["a__echo"]);
    let log = logged_at_start(&client);
    assert!(!log.contains("WARN"), "{log}");
    let (ran, report) = check_json(&sandbox, &config);
    assert_eq!((ran.code, &report["problems"]), (Some(0), &json!([])));
}

// Decision 2
#[test]
fn an_unknown_key_is_warned_of_with_the_nearest_known_one() {
    let sandbox = Sandbox::new();
    let mut entry = fake(json!({}));
    entry["comand"] = json!("x");
    let config = json!({"mcpServers": {"a": entry}, "seperator": ".", "zzzzzzzz": 1});
    let (client, names) = tools(&sandbox, &format!("{config:#}"), &[]);
    assert_eq!(names, ["a__echo"], "it is only a warning");
    let log = logged_at_start(&client);
    let (ran, report) = check_json(&sandbox, &format!("{config:#}"));
    assert_eq!((ran.code, &report["valid"]), (Some(0), &json!(true)));
    for (place, what, hint) in [
        ("mcpServers.a", "unknown key `comand`", Some("did you mean `command`?")),
        ("", "unknown key `seperator`", Some("did you mean `separator`?")),
        ("", "unknown key `zzzzzzzz`", None),
    ] {
        let found = report["problems"].as_array().unwrap().iter().find(|problem| problem["what"] == what);
        let problem = found.unwrap_or_else(|| panic!("no {what} in {report:#}"));
        assert_eq!((&problem["place"], &problem["hint"]), (&json!(place), &json!(hint)));
        assert_eq!(problem["severity"], "warning");
        assert!(problem["line"].as_u64() > Some(1), "{problem}");
        let logged = |line: &str| {
            line.contains("WARN") && line.contains(what) && hint.is_none_or(|hint| line.contains(hint))
        };
        assert!(log.lines().any(logged), "{what}: {log}");
    }
}

// Decision 2
#[test]
fn odd_numbers_are_used_and_wrong_kinds_are_not() {
    let sandbox = Sandbox::new();
    let mut entry = fake(json!({"hangOn": "tools/call"}));
    entry["timeout"] = json!(150);
    let config =
        json!({"mcpServers": {"a": entry}, "separator": 5, "prefixDescriptions": "maybe", "managerTools": 1});
    let (mut client, names) = tools(&sandbox, &config.to_string(), &[]);
    assert_eq!(names, ["a__echo"], "the default separator");
    let error = &client.call("a__echo", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(150)), "{error}");
    let log = logged_at_start(&client);
    for place in ["mcpServers.a.timeout", "separator", "prefixDescriptions", "managerTools"] {
        let warned = log.lines().any(|line| line.contains("WARN") && line.contains(place));
        assert!(warned, "no warning about {place}: {log}");
    }
}

// Decision 2
#[test]
fn a_named_file_that_is_missing_stops_the_start() {
    let sandbox = Sandbox::new();
    for args in [
        &["serve", "--config", "no/such.json"][..],
        &["--stdio", "-c", "no/such.json"],
        &["stdio", "--mcp-config", "no/such.json"],
        &["http", "--config", "no/such.json"],
        &["status", "--config", "no/such.json"],
    ] {
        let mut command = sandbox.manifold();
        command.args(args);
        let ran = run_with(command, PING);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains("no/such.json"), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("does not exist"), "{args:?}: {}", ran.stderr);
    }
    assert!(!sandbox.path("no").exists(), "it is not made up either");
}

// D9: in profile `manifold` a client on stdio is served and told instead (`newcomer/unreadable.rs`)
#[test]
fn a_file_that_is_no_json_stops_the_start_and_names_the_line() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.json", "{\n  \"mcpServers\": {\n    \"a\": nonsense\n  }\n}\n");
    for (name, text) in [("empty.json", ""), ("list.json", "[]")] {
        sandbox.write(name, text);
    }
    for (name, place) in
        [("bad.json", "bad.json:3:"), ("empty.json", "empty.json"), ("list.json", "list.json")]
    {
        let mut command = sandbox.manifold();
        command.args(["--profile", "mcp-all-in-one", "serve", "--config", name]);
        let ran = run_with(command, PING);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}");
        assert!(ran.stderr.contains(place), "{name}: {}", ran.stderr);
        let checked = check(&sandbox, &[name]);
        assert_eq!(checked.code, Some(2), "{name}");
        assert!(checked.stdout.contains(place), "{name}: {}", checked.stdout);
    }
}

// Decision 2: a file with no servers has no servers
#[test]
fn a_file_with_no_servers_serves_none() {
    let sandbox = Sandbox::new();
    for config in
        ["{}", r#"{"mcpServers": {}}"#, r#"{"servers": {}, "namespaces": []}"#, r#"{"mcpServers": null}"#]
    {
        let (mut client, names) = tools(&sandbox, config, &[]);
        assert_eq!(names, [""; 0], "{config}");
        assert_eq!(client.tool_names().len(), 7, "our own are there: {config}");
        let (ran, report) = check_json(&sandbox, config);
        assert_eq!((ran.code, &report["servers"]), (Some(0), &json!(0)), "{config}");
    }
}

// Section 3: `MANIFOLD_CONFIG`, section 2.3: `MCP_CONFIG`; the flag comes first
#[test]
fn the_file_can_be_named_by_a_variable() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {"default": {"builtin": "time"}}}));
    for name in ["flag", "ours", "theirs"] {
        let config = json!({"mcpServers": {name: {"builtin": "time"}}});
        sandbox.write(&format!("{name}.json"), &config.to_string());
    }
    let server = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = sandbox.manifold();
        command.args(["status", "--json"]).args(args).envs(variables.iter().copied());
        let report: Value = serde_json::from_str(&run(command).stdout).unwrap();
        report["servers"][0]["id"].as_str().unwrap().to_owned()
    };
    let both = [("MANIFOLD_CONFIG", "ours.json"), ("MCP_CONFIG", "~/theirs.json")];
    assert_eq!(server(&["--config", "flag.json"], &both), "flag");
    assert_eq!(server(&[], &both), "ours");
    assert_eq!(server(&[], &both[1..]), "theirs");
    assert_eq!(server(&[], &[("MANIFOLD_CONFIG", ""), both[1]]), "theirs");
    assert_eq!(server(&[], &[("MANIFOLD_CONFIG", ""), ("MCP_CONFIG", "")]), "default");
}

// S1-4: the client's config passes `~` to us without a shell
#[test]
fn a_leading_tilde_in_the_flag_is_ours_to_expand() {
    let sandbox = Sandbox::new();
    sandbox.write("deep/own.json", &json!({"mcpServers": {"a": fake(json!({}))}}).to_string());
    let mut command = sandbox.manifold();
    command.args(["serve", "--config", "~/deep/own.json"]).current_dir("/");
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(client.tool_names()[0], "a__echo");
}

// Sections 2.1, 2.3: `${VAR}` in every string; `~` and defaults. T18: a value is filled in once and never split
#[test]
fn variables_and_the_home_are_filled_in() {
    let sandbox = Sandbox::new();
    let mut entry = fake(json!({"tools": [{"name": "env"}, {"name": "cwd"}]}));
    entry["env"] = json!({
        "PLAIN": "${GIVEN}",
        "INSIDE": "a-${GIVEN}-b-${env:GIVEN}",
        "DEFAULT": "${NOT_GIVEN:-x}",
        "EMPTY": "${HOLLOW:-full}",
        "UNUSED_DEFAULT": "${GIVEN:-x}",
        "HOME_PATH": "~/data",
        "HOME_ALONE": "~",
        "NO_HOME": "a~/b",
        "DOLLAR": "$GIVEN $5 ${",
        "ONCE": "${NESTED}",
    });
    entry["cwd"] = json!("~/work/${GIVEN}");
    std::fs::create_dir_all(sandbox.path("work/given value")).unwrap();
    let path = sandbox.write_config(&json!({"mcpServers": {"a": entry}}));
    let mut command = sandbox.manifold();
    command.args(["serve", "--config"]).arg(path);
    command.envs([("GIVEN", "given value"), ("HOLLOW", ""), ("NESTED", "${GIVEN}")]);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    let home = sandbox.home().display();
    for (name, value) in [
        ("PLAIN", "given value"),
        ("INSIDE", "a-given value-b-given value"),
        ("DEFAULT", "x"),
        ("EMPTY", "full"),
        ("UNUSED_DEFAULT", "given value"),
        ("HOME_PATH", &format!("{home}/data")),
        ("HOME_ALONE", &home.to_string()),
        ("NO_HOME", "a~/b"),
        ("DOLLAR", "$GIVEN $5 ${"),
        ("ONCE", "${GIVEN}"),
        // Decision 30: the rest of our environment is passed on
        ("GIVEN", "given value"),
    ] {
        assert_eq!(text(&client.call("a__env", json!({"name": name}))), value, "{name}");
    }
    let cwd = client.call("a__cwd", json!({}));
    let expected = sandbox.path("work/given value").canonicalize().unwrap();
    assert_eq!(text(&cwd), expected.display().to_string());
}

// The program and its arguments are strings as well
#[test]
fn the_command_and_its_arguments_are_filled_in() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("programs")).unwrap();
    std::os::unix::fs::symlink(manifold_testkit::bin("fake-server"), sandbox.path("programs/fake")).unwrap();
    let config = json!({"mcpServers": {"a": {
        "command": "~/programs/${NAME:-fake}", "args": ["{\"tools\":[{\"name\":\"${TOOL}\"}]}"]}}});
    let path = sandbox.write_config(&config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--config"]).arg(path).env("TOOL", "hammer");
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(client.tool_names()[0], "a__hammer");
}

// Decision 30, T23
#[test]
fn our_own_variables_are_kept_from_servers() {
    let sandbox = Sandbox::new();
    let entry = |inherit: Value| {
        let mut entry = fake(json!({"tools": [{"name": "env"}]}));
        entry["env"] = json!({"OWN": "own"});
        entry["inheritEnv"] = inherit;
        entry
    };
    let config = json!({"mcpServers": {
        "all": entry(Value::Null), "none": entry(json!(false)), "some": entry(json!(["SECOND"]))}});
    let path = sandbox.write_config(&config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--config"]).arg(path);
    command.envs([("MANIFOLD_TOKEN", "t"), ("FIRST", "1"), ("SECOND", "2")]);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    for (server, variable, value) in [
        ("all", "MANIFOLD_TOKEN", "unset"),
        ("all", "FIRST", "1"),
        ("all", "OWN", "own"),
        ("none", "FIRST", "unset"),
        ("none", "OWN", "own"),
        ("some", "FIRST", "unset"),
        ("some", "SECOND", "2"),
    ] {
        let answer = client.call(&format!("{server}__env"), json!({"name": variable}));
        assert_eq!(text(&answer), value, "{server} {variable}");
    }
}

// Decision 17's companion: a config that is fine apart from one server still serves the others
#[test]
fn one_bad_entry_does_not_stop_the_others() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"bad": {"command": 5}, "worse": "x", "a": fake(json!({}))}});
    let (mut client, names) = tools(&sandbox, &config.to_string(), &[]);
    assert_eq!(names, ["a__echo"]);
    for server in ["bad", "worse"] {
        let error = &client.call(&format!("{server}__x"), json!({}))["error"];
        assert_eq!((&error["code"], &error["data"]["serverId"]), (&json!(-32001), &json!(server)), "{error}");
    }
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
}
