//! B2: what restricts never falls open for the way it is written, at the start or on a reload.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::cli::run;

const SOON: Duration = Duration::from_secs(60);

fn with(keys: Value) -> Value {
    let mut server = fake(json!({"tools": [{"name": "ok"}, {"name": "secret"}]}));
    for (key, value) in keys.as_object().unwrap() {
        server[key] = value.clone();
    }
    server
}

/// Returns the tools beside our own.
fn tools(client: &mut Client) -> Vec<String> {
    let mut names = client.tool_names();
    names.retain(|name| !name.starts_with("manifold__"));
    names
}

fn rows(client: &mut Client) -> Vec<Value> {
    let listed = client.call("manifold__servers_list", json!({}));
    serde_json::from_str(listed["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn check(sandbox: &Sandbox) -> Option<i32> {
    let mut command = sandbox.manifold();
    command.args(["config", "check"]);
    run(command).code
}

// B2
#[test]
fn a_server_with_an_unreadable_restriction_is_listed_as_broken_and_never_started() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "text": with(json!({"deniedTools": "secret"})),
        "case": with(json!({"allowedtools": ["ok"]})),
        "off": with(json!({"disabled": "true"})),
        "list": with(json!({"deniedTools": [["secret"]]})),
        "odd": with(json!({"disabled": "perhaps"})),
    }});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    assert!(until(SOON, || tools(&mut client) == ["case__ok", "text__ok"]), "{}", client.stderr());
    for name in ["text__secret", "case__secret", "list__ok", "list__secret", "odd__ok", "off__ok"] {
        let answer = client.call(name, json!({}));
        assert!(answer.get("error").is_some(), "{name}: {answer}");
    }
    for (id, says) in [("list", "a list such as"), ("odd", "true or false, without quotes")] {
        let rows = rows(&mut client);
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        assert_eq!((&row["state"], &row["enabled"]), (&json!("failed"), &json!(true)), "{row}");
        assert!(row["problems"][0].as_str().unwrap().contains(says), "{row}");
        assert_eq!(row.get("pid"), None);
    }
    assert_eq!(check(&sandbox), Some(2));
}

// B2: a reload may only close, never open
#[test]
fn a_reload_never_opens_what_was_closed() {
    let sandbox = Sandbox::new();
    let config = |keys: Value, namespace: Value| {
        let mut work = json!({"id": "n", "serverIds": ["g", "h"]});
        for (key, value) in namespace.as_object().unwrap() {
            work[key] = value.clone();
        }
        json!({"mcpServers": {"g": with(keys), "h": with(json!({"deniedTools": ["secret"]}))}, "namespaces": [work]})
    };
    let mut client = sandbox.serve(&config(json!({"deniedTools": ["secret"]}), json!({})), &[]);
    client.initialize("2025-11-25", json!({}));
    assert!(until(SOON, || tools(&mut client) == ["g__ok", "h__ok"]), "{}", client.stderr());

    sandbox.write_config(&config(json!({"deniedTools": [["secret"]]}), json!({})));
    assert!(until(SOON, || tools(&mut client) == ["h__ok"]), "{}", client.stderr());
    assert!(client.call("g__secret", json!({})).get("error").is_some());

    sandbox.write_config(&config(json!({"deniedTools": ["secret"]}), json!({"denyByDefault": true})));
    assert!(until(SOON, || tools(&mut client).is_empty()), "{}", client.stderr());
    sandbox.write_config(&config(json!({}), json!({"denyByDefault": 1})));
    assert!(until(SOON, || client.stderr().contains("not reloaded")), "{}", client.stderr());
    assert!(tools(&mut client).is_empty(), "the config before it stays");
    assert!(client.call("g__secret", json!({})).get("error").is_some());
    assert_eq!(check(&sandbox), Some(2));
}
