//! The commands `config check` and `config schema`.

use manifold_testkit::{Sandbox, fake};
use serde_json::{Value, json};

use crate::cli::{Ran, run};

pub(crate) fn check(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.manifold();
    command.args(["config", "check"]).args(args);
    run(command)
}

pub(crate) fn check_json(sandbox: &Sandbox, config: &str) -> (Ran, Value) {
    sandbox.write("some.json", config);
    let ran = check(sandbox, &["some.json", "--json"]);
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {ran:?}"));
    (ran, report)
}

#[test]
fn check_says_what_a_good_file_has() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"a": fake(json!({"pid": sandbox.path("started")})),
                                       "b": {"builtin": "time"}},
                        "namespaces": {"n": {"serverIds": ["a"]}}});
    let path = sandbox.write_config(&config).display().to_string();
    let expected = format!("{path}: 2 servers, 1 namespace\n");
    for args in [&[path.as_str()][..], &["--config", &path], &[], &["~/.config/manifold/config.json"]] {
        let ran = check(&sandbox, args);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), expected.as_str(), ""));
    }
    // Section 2.3
    for args in [&["--validate-mcp-config", path.as_str()][..], &["--validate-mcp-config"]] {
        let mut command = sandbox.manifold();
        command.args(args);
        let ran = run(command);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected.as_str()), "{args:?}");
    }
    assert!(!sandbox.path("started").exists(), "a check starts nothing");
}

#[test]
fn check_reports_every_problem_at_once() {
    let sandbox = Sandbox::new();
    let config = r#"{
  "mcpServers": {
    "both": {"command": "true", "url": "https://x.invalid"},
    "none": {},
    "gone": {"command": "no-such-program"},
    "unset": {"url": "https://x.invalid", "headers": {"A": "${NO_SUCH_VARIABLE}"}},
    "odd": {"builtin": "time", "timeout": 5}
  },
  "namespaces": {"n": {"serverIds": ["od"]}}
}"#;
    let (ran, report) = check_json(&sandbox, config);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), ""));
    assert_eq!(report["valid"], false);
    assert_eq!((&report["servers"], &report["namespaces"]), (&json!(5), &json!(1)));
    let problems: Vec<_> = report["problems"].as_array().unwrap().iter().collect();
    let found: Vec<_> = problems
        .iter()
        .map(|problem| {
            let text = |key: &str| problem[key].as_str().unwrap_or_default();
            (text("severity"), problem["line"].as_u64().unwrap_or_default(), text("place"))
        })
        .collect();
    let expected = [
        ("error", 3, "mcpServers.both"),
        ("error", 4, "mcpServers.none"),
        ("error", 5, "mcpServers.gone"),
        ("error", 6, "mcpServers.unset.headers.A"),
        ("warning", 7, "mcpServers.odd.timeout"),
        ("warning", 9, "namespaces.n.serverIds"),
    ];
    assert_eq!(found, expected, "{report:#}");
    assert!(problems.iter().all(|problem| problem["file"] == "some.json" && problem["hint"].is_string()));

    let shown = check(&sandbox, &["some.json"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(2), ""));
    assert_eq!(shown.stdout.lines().count(), 6, "{}", shown.stdout);
    for (line, (severity, number, place)) in shown.stdout.lines().zip(expected) {
        assert!(line.starts_with(&format!("{severity}: some.json:{number}: {place}: ")), "{line}");
    }
    assert!(shown.stdout.contains("did you mean `odd`?"), "{}", shown.stdout);
}

#[test]
fn warnings_alone_are_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("some.json", r#"{"mcpServers": {}, "surprise": 1}"#);
    let ran = check(&sandbox, &["some.json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stdout,
        "warning: some.json:1: unknown key `surprise`\n\
         warning: some.json:1: mcpServers: has no servers; add one\n\
         some.json: 0 servers, 0 namespaces\n"
    );
}

#[test]
fn check_fails_for_a_file_that_is_missing() {
    let sandbox = Sandbox::new();
    let ran = check(&sandbox, &["no/such.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.starts_with("error: no/such.json: does not exist"), "{}", ran.stdout);
    let ran = check(&sandbox, &["no/such.json", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &report["valid"]), (Some(2), &json!(false)));
    assert_eq!(report["problems"][0]["file"], "no/such.json");
}

#[test]
fn a_namespace_that_is_not_there_is_an_error_in_each_form() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {}, "namespaces": {"n": {"serverIds": []}}}));
    let ran = check(&sandbox, &["--namespace", "no"]);
    assert_eq!((ran.code, ran.stderr.starts_with("manifold: namespace 'no'")), (Some(2), true), "{ran:?}");
    let ran = check(&sandbox, &["--namespace", "no", "--json"]);
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str(), &error["error"]["code"]), (Some(2), "", &json!("usage")));
}

#[test]
fn check_of_no_file_checks_the_built_in_one() {
    let sandbox = Sandbox::new();
    let ran = check(&sandbox, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "the built-in config: 1 server, 0 namespaces\n"));
}

// Trap (f): the published schema of mcps-proxy forbade `cli`
#[test]
fn the_schema_is_json_and_knows_every_format() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.manifold();
    command.args(["config", "schema"]);
    let ran = run(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(schema["$schema"].as_str().unwrap().starts_with("https://json-schema.org/"));
    for key in ["mcpServers", "servers", "schemas", "namespaces", "cli", "profile", "logging", "server"] {
        assert!(schema["properties"][key].is_object(), "no {key} in {schema:#}");
    }
}

// The commands are for people: nothing of them waits for standard input or starts a server
#[test]
fn a_broken_config_does_not_stop_the_schema() {
    let sandbox = Sandbox::new();
    sandbox.write(".config/manifold/config.json", "{");
    let mut command = sandbox.manifold();
    command.args(["config", "schema"]);
    assert_eq!(run(command).code, Some(0));
}
