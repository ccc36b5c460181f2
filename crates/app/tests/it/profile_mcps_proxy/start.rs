//! What keeps the program from starting, and what of `cli.stdio` does not.

use super::*;

fn refused(config: impl FnOnce(&Sandbox) -> Value, args: &[&str]) -> Ran {
    let sandbox = Sandbox::new();
    let config = config(&sandbox);
    let ran = run_with(mcps_proxy(&sandbox, &config, args), PING);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    for name in ["default-fs", "workspace-fs", "off-fs"] {
        assert!(!started(&sandbox, name), "{name} was started");
    }
    ran
}

// S0-13; section 2.1: start-up errors give a hint and a usage example
#[test]
fn a_schema_that_does_not_exist_stops_the_start() {
    let ran = refused(schemas, &["--stdio", "--schema=nowhere"]);
    for part in ["'nowhere'", "does not exist", "default", "workspace", "--schema"] {
        assert!(ran.stderr.contains(part), "no {part} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("off"), "a disabled one cannot be chosen: {}", ran.stderr);
}

// S0-13: also where nobody named it
#[test]
fn a_file_without_the_default_schema_stops_the_start() {
    let without = |sandbox: &Sandbox| {
        let mut config = schemas(sandbox);
        config["schemas"].as_object_mut().map(|schemas| schemas.remove("default"));
        config
    };
    let ran = refused(without, &["--stdio"]);
    assert!(ran.stderr.contains("'default'") && ran.stderr.contains("workspace"), "{}", ran.stderr);
}

// S0-14
#[test]
fn a_disabled_schema_stops_the_start_and_is_said_to_be_disabled() {
    for args in [&["--stdio", "--schema=off"][..], &["--stdio", "--schema", "off"]] {
        let ran = refused(schemas, args);
        assert!(ran.stderr.contains("'off' is disabled"), "{}", ran.stderr);
    }
}

// S0-15
#[test]
fn stdio_and_http_exclude_each_other() {
    let sandbox = Sandbox::new();
    for program in [bin("manifold"), named(&sandbox, "mcps-proxy")] {
        let orders = [
            &["--stdio", "--http"][..],
            &["--http", "--stdio"],
            &["--http", "--schema=x", "--stdio"],
            &["serve", "--stdio", "--http"],
            &["serve", "--http", "--stdio"],
        ];
        for args in orders {
            let mut command = sandbox.command(&program);
            command.args(args);
            let ran = run(command);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
            assert!(ran.stderr.contains("--stdio and --http cannot be used together"), "{}", ran.stderr);
        }
    }
}

fn with_cli(cli: Value, knobs: Value) -> Value {
    json!({"server": {"port": 0}, "cli": cli,
           "schemas": {"default": {"mcpServers": {"fs": fake(knobs)}}}})
}

// S0-16
#[test]
fn every_key_of_cli_stdio_is_optional() {
    let sections = [
        json!({}),
        json!({"stdio": {}}),
        json!({"stdio": {"encoding": "utf8"}}),
        json!({"stdio": {"delimiter": "\n"}}),
        json!({"stdio": {"timeout": 30000}}),
        json!({"stdio": {"encoding": "utf8", "delimiter": "\n", "timeout": 30000}}),
    ];
    for cli in sections {
        let sandbox = Sandbox::new();
        let mut client = client(&sandbox, &with_cli(cli.clone(), json!({})), &["--stdio"]);
        assert_eq!(text(&client.call("fs-echo", json!({"text": "hi"}))), "hi", "{cli}");
        let log = logged_at_start(&client);
        assert!(!log.contains("WARN"), "{cli}: {log}");
    }
}

// S0-16, decision 25: the timeout of the section is the one that counts on stdio
#[test]
fn the_timeout_of_cli_stdio_is_used() {
    let sandbox = Sandbox::new();
    let config = with_cli(json!({"stdio": {"timeout": 1000}}), json!({"hangOn": "tools/call"}));
    let mut client = client(&sandbox, &config, &["--stdio"]);
    let error = &client.call("fs-echo", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(1000)), "{error}");
}

// Decision 25: a server's own timeout comes before that of the section, and that before `callTimeout`
#[test]
fn a_servers_own_timeout_comes_first() {
    let sandbox = Sandbox::new();
    let knobs = json!({"hangOn": "tools/call"});
    let mut config = with_cli(json!({"stdio": {"timeout": 60_000}}), knobs);
    config["callTimeout"] = json!(1000);
    config["schemas"]["default"]["mcpServers"]["fs"]["timeout"] = json!(1100);
    let mut client = client(&sandbox, &config, &["--stdio"]);
    let error = &client.call("fs-echo", json!({}))["error"];
    assert_eq!((&error["code"], &error["data"]["timeoutMs"]), (&json!(-32002), &json!(1100)), "{error}");
}

// S0-17, trap (f)
#[test]
fn an_invalid_cli_stdio_is_replaced_by_defaults_with_a_warning() {
    let sections = [
        (json!("loud"), "cli"),
        (json!([]), "cli"),
        (json!({"stdio": 5}), "cli.stdio"),
        (json!({"stdio": {"encoding": "latin1"}}), "cli.stdio.encoding"),
        (json!({"stdio": {"encoding": 8}}), "cli.stdio.encoding"),
        (json!({"stdio": {"delimiter": "|"}}), "cli.stdio.delimiter"),
        (json!({"stdio": {"delimiter": null, "timeout": "soon"}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeout": -5}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeout": 20}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeout": 300_001}}), "cli.stdio.timeout"),
        (json!({"stdio": {"timeuot": 5}}), "did you mean `timeout`?"),
    ];
    for (cli, place) in sections {
        let sandbox = Sandbox::new();
        let config = with_cli(cli.clone(), json!({"tools": [{"name": "sleep"}]}));
        let mut client = client(&sandbox, &config, &["--stdio"]);
        // Longer than the 20 ms above: the default is in force.
        assert_eq!(text(&client.call("fs-sleep", json!({"ms": 60}))), "slept", "{cli}");
        let log = logged_at_start(&client);
        let warned = log.lines().any(|line| line.contains("WARN") && line.contains(place));
        assert!(warned, "no warning about {place} for {cli}: {log}");
    }
}
