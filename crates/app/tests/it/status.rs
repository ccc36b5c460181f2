//! `status`: what is configured and what is wrong with it, without starting anything (S1-1).

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::{Ran, named, run};

fn status(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.manifold();
    command.arg("status").args(args);
    run(command)
}

/// Returns the report of a config with, or without, servers that cannot work (D7).
fn report(sandbox: &Sandbox, args: &[&str], code: i32) -> Value {
    let ran = status(sandbox, &[&["--json"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {ran:?}"))
}

/// Returns a config with a server of every kind and every trouble.
fn mixed(sandbox: &Sandbox) -> Value {
    let mut eager = fake(json!({"pid": sandbox.path("started")}));
    eager["eager"] = json!(true);
    eager["name"] = json!("The First");
    let mut manual = fake(json!({"pid": sandbox.path("started")}));
    manual["eager"] = json!(false);
    manual["lazy"] = json!(false);
    let mut off = fake(json!({"pid": sandbox.path("started")}));
    off["disabled"] = json!(true);
    json!({
        "mcpServers": {
            "first": eager,
            "by.hand": manual,
            "off": off,
            "gone": {"command": "no-such-program", "args": ["a", "b"]},
            "uv": {"command": "uvx-no-such", "args": ["a"]},
            "unset": {"command": "true", "env": {"A": "${NO_SUCH_VARIABLE}"}},
            "web": {"type": "http", "url": "https://h.example:8443/mcp?key=1",
                    "headers": {"Authorization": "Bearer ${NO_SUCH_KEY}"}},
            "events": {"type": "sse", "url": "http://h.example/sse"},
            "clock": {"builtin": "time"},
        },
        "namespaces": {"work": {"name": "Work", "serverIds": ["first", "clock"]},
                       "rest": {"enabled": false, "serverIds": ["off"]}},
        "defaultNamespaceId": "work",
    })
}

fn row<'a>(report: &'a Value, id: &str) -> &'a Value {
    let rows = report["servers"].as_array().unwrap_or_else(|| panic!("no servers: {report}"));
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no {id} in {report:#}"))
}

// S1-1
#[test]
fn status_as_json_tells_everything() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&mixed(&sandbox));
    let report = report(&sandbox, &[], 1);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&report["profile"], &report["format"]), (&json!("manifold"), &json!("mcpServers")));
    assert_eq!(report["config"], json!(path));
    assert_eq!(report["defaultNamespace"], "work");
    let namespaces = json!([
        {"id": "rest", "name": "rest", "enabled": false, "serverIds": ["off"]},
        {"id": "work", "name": "Work", "enabled": true, "serverIds": ["first", "clock"]},
    ]);
    assert_eq!(report["namespaces"], namespaces);
    assert_eq!(report["servers"].as_array().map(Vec::len), Some(9));

    let first = row(&report, "first");
    assert_eq!((&first["name"], &first["exposedId"]), (&json!("The First"), &json!("first")));
    assert_eq!((&first["transport"], &first["start"]), (&json!("stdio"), &json!("eager")));
    assert_eq!((&first["enabled"], first.get("problem")), (&json!(true), None));
    assert_eq!(row(&report, "by.hand")["start"], "manual");
    assert!(!row(&report, "by.hand")["exposedId"].as_str().unwrap().contains('.')); // S1-22
    assert_eq!(row(&report, "off")["enabled"], false);
    assert_eq!(row(&report, "clock")["transport"], "builtin");
    assert_eq!(row(&report, "clock")["start"], "lazy");
    assert_eq!(row(&report, "web")["transport"], "http");
    assert_eq!(row(&report, "web")["target"], "https://h.example:8443", "no query, no credentials");
    assert_eq!(row(&report, "events")["transport"], "sse");

    let problem = |id| row(&report, id)["problem"].as_str().unwrap_or_default();
    assert!(problem("gone").contains("no such program `no-such-program`"), "{}", problem("gone"));
    assert!(problem("unset").contains("NO_SUCH_VARIABLE"), "{}", problem("unset"));
    assert!(problem("web").contains("NO_SUCH_KEY"), "{}", problem("web"));
    assert!(!report["problems"].as_array().unwrap().is_empty());
}

#[test]
fn status_as_text_is_for_people() {
    let sandbox = Sandbox::new();
    let path = sandbox.write_config(&mixed(&sandbox));
    let ran = status(&sandbox, &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "some of them cannot work (D7)");
    let line = |start: &str| {
        let found = ran.stdout.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("no {start} in {}", ran.stdout))
    };
    assert_eq!(line("manifold"), concat!("manifold ", env!("CARGO_PKG_VERSION"), ", profile manifold"));
    assert_eq!(line("config:"), format!("config: {}", path.display()));
    assert!(line("first").ends_with("[eager]"));
    assert!(line("by.hand").ends_with("[manual]"));
    assert!(line("off").ends_with("[disabled]"));
    assert!(line("clock").ends_with("[lazy]"));
    assert!(line("gone").contains("no-such-program (2 arguments)"), "{}", line("gone"));
    assert!(line("gone").contains("[cannot work: no such program `no-such-program`"), "{}", line("gone"));
    assert!(line("unset").contains("the variable NO_SUCH_VARIABLE is not set"), "{}", line("unset"));
    assert!(line("web").contains("the variable NO_SUCH_KEY is not set"), "{}", line("web"));
    assert_eq!(line("namespace work"), "namespace work: first, clock");
    assert_eq!(line("namespace rest"), "namespace rest (disabled): off");
    assert!(ran.stdout.contains("problems:"), "{}", ran.stdout);
}

// S1-1: a quick check starts no process, eager servers or not
#[test]
fn status_starts_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&mixed(&sandbox));
    for args in [&[][..], &["--json"], &["--eager"], &["--profile", "mcps-proxy", "--json"]] {
        // That profile looks elsewhere, and finds nothing wrong with what is built in.
        let code = i32::from(!args.contains(&"mcps-proxy"));
        assert_eq!(status(&sandbox, args).code, Some(code), "{args:?}");
    }
    assert!(!sandbox.path("started").exists());
    assert_eq!(sandbox.processes(), [0; 0]);
}

#[test]
fn a_variable_that_is_set_is_no_problem() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&mixed(&sandbox));
    let mut command = sandbox.manifold();
    command.args(["status", "--json"]).envs([("NO_SUCH_VARIABLE", "x"), ("NO_SUCH_KEY", "x")]);
    let report: Value = serde_json::from_str(&run(command).stdout).unwrap();
    assert_eq!(row(&report, "unset").get("problem"), None);
    assert_eq!(row(&report, "web").get("problem"), None);
}

// Decision 3: a schema owns its servers
#[test]
fn servers_of_schemas_are_told_apart() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(
        ".mcps-proxy/config.json",
        &json!({"server": {"port": 3095}, "schemas": {
            "default": {"mcpServers": {"fs": fake(json!({}))}},
            "workspace": {"enabled": false, "mcpServers": {"fs": {"command": "no-such-program"}}}}})
        .to_string(),
    );
    let mut command = sandbox.command(named(&sandbox, "mcps-proxy"));
    command.args(["status", "--json"]);
    let report: Value = serde_json::from_str(&run(command).stdout).unwrap();
    assert_eq!((&report["profile"], &report["format"]), (&json!("mcps-proxy"), &json!("schemas")));
    assert_eq!(report["config"], json!(path));
    let schemas: Vec<_> = report["servers"].as_array().unwrap().iter().map(|row| &row["schema"]).collect();
    assert_eq!(schemas, ["default", "workspace"]);
    assert_eq!(report["problems"], json!([]), "nobody minds what is disabled");
    let mut command = sandbox.command(sandbox.path("bin/mcps-proxy"));
    command.arg("status");
    let shown = run(command).stdout;
    assert!(shown.contains("  default/fs ") && shown.contains("  workspace/fs "), "{shown}");
}

#[test]
fn without_a_config_the_built_in_one_is_shown() {
    let sandbox = Sandbox::new();
    let report = report(&sandbox, &[], 0);
    assert_eq!((&report["config"], &report["format"]), (&Value::Null, &json!("embedded")));
    assert_eq!(report["servers"][0]["target"], "time");
    let shown = status(&sandbox, &[]).stdout;
    assert!(shown.contains("built in (no config file)"), "{shown}");
}

#[test]
fn a_config_without_servers_is_said_to_have_none() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({}));
    let shown = status(&sandbox, &[]);
    assert_eq!(shown.code, Some(0));
    assert!(shown.stdout.contains("no servers"), "{}", shown.stdout);
}

#[test]
fn a_config_that_cannot_be_read_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!([]));
    for args in [&[][..], &["--json"], &["--config", "no/such.json"]] {
        let ran = status(&sandbox, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        let start = if args == ["--json"] { "{\"error\":" } else { "manifold: " };
        assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
    }
}

/// A file may say which profile it is for; the gateway that serves it is found by the same words.
#[test]
fn a_gateway_over_http_is_found_whatever_profile_its_file_names() {
    let sandbox = Sandbox::new();
    let config = json!({"profile": "mcps-proxy", "mcpServers": {"t": {"builtin": "time"}}});
    let path = sandbox.write("of-its-own.json", &config.to_string());
    let mut command = sandbox.manifold();
    command.args(["http", "--port", "0", "--config"]).arg(&path);
    let gateway = Client::spawn(command);
    assert!(until(PATIENCE, || gateway.stderr().contains("listening on ")), "{}", gateway.stderr());
    let mut command = sandbox.manifold();
    command.args(["list", "-v", "--config"]).arg(&path);
    let ran = run(command);
    assert!(ran.stderr.contains("asked manifold http"), "{ran:?}");
}
