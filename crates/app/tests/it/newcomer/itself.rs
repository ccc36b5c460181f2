//! The gateway in its own config (D1).

use std::fs;

use manifold_testkit::{Client, Sandbox, bin, fake, until};
use serde_json::{Value, json};

use super::{SOON, row};

/// Returns how many gateways run in this sandbox.
fn gateways(sandbox: &Sandbox) -> usize {
    let gateway = bin("manifold").canonicalize().unwrap();
    let runs = |pid: &u32| {
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == gateway)
            // The gateway may be the guard of its own children.
            && !fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("guard")
    };
    sandbox.processes().iter().filter(|pid| runs(pid)).count()
}

fn open(mut client: Client) -> Client {
    client.initialize("2025-11-25", json!({}));
    client
}

// D1: this very entry made 185 processes within a second.
#[test]
fn the_gateway_in_its_own_config_is_marked_and_the_rest_works() {
    for eager in [false, true] {
        let sandbox = Sandbox::new();
        let me = json!({"command": bin("manifold"), "args": ["serve", "--stdio"], "eager": eager});
        let mut client = open(sandbox.serve(&json!({"mcpServers": {"me": me, "a": fake(json!({}))}}), &[]));
        let mut tools = client.tool_names();
        tools.retain(|name| !name.starts_with("manifold__"));
        assert_eq!(tools, ["a__echo"]);
        let error = row(&mut client, "me")["error"].clone();
        assert!(error.as_str().is_some_and(|error| error.contains("this is Manifold itself")), "{error}");
        let answer = client.call("me__echo", json!({}));
        assert!(answer["error"]["message"].to_string().contains("this is Manifold itself"), "{answer}");
        assert_eq!(gateways(&sandbox), 1);
    }
}

// D1: behind another program it cannot be seen beforehand; the one below finds out and goes.
#[test]
fn a_gateway_behind_a_wrapper_finds_out_by_itself() {
    let sandbox = Sandbox::new();
    let script = format!("exec {} serve --stdio", bin("manifold").display());
    for inherit in [json!(true), json!(false)] {
        let me = json!({"command": "sh", "args": ["-c", script], "inheritEnv": inherit,
                        "env": {"XDG_CONFIG_HOME": sandbox.path(".config")}});
        let mut client = open(sandbox.serve(&json!({"mcpServers": {"me": me, "a": fake(json!({}))}}), &[]));
        let answer = client.call("me__echo", json!({}));
        assert!(answer["error"]["message"].to_string().contains("this is Manifold itself"), "{answer}");
        assert!(client.tool_names().contains(&"a__echo".to_owned()));
        assert!(until(SOON, || gateways(&sandbox) <= 2), "{}", gateways(&sandbox));
    }
}

// D1: nesting on purpose works down to the third gateway below, and the fourth says why it does not.
#[test]
fn gateways_may_stand_below_each_other_three_deep() {
    let sandbox = Sandbox::new();
    let config = |depth: usize| -> Value {
        let mut servers = json!({"a": fake(json!({}))});
        if depth < 4 {
            let below = sandbox.path(&format!("{}.json", depth + 1));
            servers["g"] = json!({"command": bin("manifold"), "args": ["serve", "--config", below]});
        }
        json!({"mcpServers": servers, "managerTools": depth == 3})
    };
    for depth in 1..=4 {
        sandbox.write(&format!("{depth}.json"), &config(depth).to_string());
    }
    let mut client = open(sandbox.serve(&config(0), &[]));
    let deepest = "g__g__g__manifold__servers_list";
    let mut tools = Vec::new();
    assert!(
        until(SOON, || {
            tools = client.tool_names();
            tools.iter().any(|name| name == deepest)
        }),
        "{tools:?}"
    );
    for name in ["a__echo", "g__a__echo", "g__g__a__echo", "g__g__g__a__echo"] {
        assert!(tools.iter().any(|one| one == name), "{name} in {tools:?}");
    }
    let mut told = Value::Null;
    let found = until(SOON, || {
        told = client.call(deepest, json!({}));
        told.to_string().contains("4 gateways stand above this one, and 3 are the most")
    });
    assert!(found, "{told}");
}
