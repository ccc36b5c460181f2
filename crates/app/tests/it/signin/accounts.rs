//! Several accounts of one server, each in its namespace.

use manifold_testkit::http::{Gateway, end_quietly};
use manifold_testkit::{Client, OAuthFake, Sandbox};
use serde_json::{Value, json};

use super::{gateway, sign_in, text_of};

/// Calls under way at once, in each namespace.
const AT_ONCE: usize = 50;

/// Returns how many calls are made in all.
fn calls() -> usize {
    if std::env::var_os("MANIFOLD_LONG").is_some() { 10_000 } else { 1_000 }
}

// Row 22 of signing in.
#[test]
fn two_accounts_of_one_server_are_never_crossed() {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    let config = json!({
        "mcpServers": {"far": {"url": server.url()}},
        "namespaces": {
            "work": {"serverIds": ["far"], "accounts": {"far": "work"}},
            "home": {"serverIds": ["far"]},
        },
    });
    sandbox.write_config(&config);
    server.set_user("at work");
    sign_in(&sandbox, &["--account", "work"]);
    server.set_user("at home");
    sign_in(&sandbox, &[]);
    let mut clients: Vec<(&str, Client)> =
        ["work", "home"].map(|namespace| (namespace, gateway(&sandbox, &["--namespace", namespace]))).into();
    let (calls, before) = (calls(), server.count("call"));
    for _ in 0..calls / (2 * AT_ONCE) {
        let mut asked = Vec::new();
        // Mixed: one of either, and again.
        for at in (0..2 * AT_ONCE).map(|number| number % 2) {
            let id = clients[at].1.request("tools/call", json!({"name": "far__whoami", "arguments": {}}));
            asked.push((at, id));
        }
        for (at, id) in asked {
            let (namespace, client) = &mut clients[at];
            let answer: Value = client.wait_for(id, super::PATIENCE);
            assert_eq!(text_of(&answer), format!("at {namespace}"));
        }
        // Tokens are renewed meanwhile, too.
        server.refuse_tokens();
    }
    assert!(server.count("call") - before >= calls);
    println!("{calls} calls, none crossed; {} renewals", server.count("refresh"));
}

/// The row as it is worded: one gateway by HTTP, a namespace for each account, calls mixed.
#[test]
fn two_accounts_in_two_namespaces_of_one_gateway_are_never_crossed() {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    let config = json!({
        "mcpServers": {"far": {"url": server.url()}},
        "managerTools": false,
        "namespaces": {
            "work": {"serverIds": ["far"], "accounts": {"far": "work"}},
            "home": {"serverIds": ["far"], "accounts": {"far": "private"}},
        },
    });
    sandbox.write_config(&config);
    for (namespace, account) in [("work", "work"), ("home", "private")] {
        server.set_user(&format!("at {namespace}"));
        sign_in(&sandbox, &["--account", account]);
    }
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let before = server.count("call");
    let session = |namespace: &str| gateway.session(&format!("/mcp/{namespace}"), "2025-11-25", json!({}));
    let sessions = ["work", "home"].map(|namespace| (namespace, session(namespace)));
    let mut id = 1;
    for _ in 0..calls() / (2 * AT_ONCE) {
        let mut asked = Vec::new();
        // Mixed: one of either, and again; all of them are under way at once.
        for (namespace, session) in sessions.iter().cycle().take(2 * AT_ONCE) {
            id += 1;
            asked.push((namespace, session.call(id, "far__whoami", json!({}), None)));
        }
        for (namespace, mut connection) in asked {
            let answer = connection.answer();
            assert_eq!(answer.status, 200, "{}", answer.text());
            let others = if *namespace == "work" { "at home" } else { "at work" };
            let text = answer.text();
            assert!(text.contains(&format!("at {namespace}")) && !text.contains(others), "{text}");
        }
        server.refuse_tokens();
    }
    assert!(server.count("call") - before >= calls());
    // Who is signed out of one of them is told how to come back to that one.
    server.forget_sign_ins();
    for (namespace, session) in &sessions {
        id += 1;
        let text = session.call(id, "far__whoami", json!({}), None).answer().text();
        let account = if *namespace == "work" { "work" } else { "private" };
        assert!(text.contains(&format!("manifold login far --account {account}")), "{text}");
    }
    end_quietly(gateway.client);
}

/// The same in one process, where both accounts have connections and tokens side by side.
#[test]
fn two_accounts_in_one_process_are_never_crossed() {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    let config = json!({
        "mcpServers": {"far": {"url": server.url()}, "near": {"url": server.url(), "account": "work"}},
        "managerTools": false,
    });
    sandbox.write_config(&config);
    server.set_user("at home");
    sign_in(&sandbox, &[]);
    server.set_user("at work");
    let mut command = sandbox.manifold();
    command.arg("login").arg("near").arg("--no-browser");
    super::sign_in_as(command);
    let mut client = gateway(&sandbox, &[]);
    for _ in 0..calls() / (2 * AT_ONCE) {
        let asked: Vec<(&str, u64)> = (0..AT_ONCE)
            .flat_map(|_| [("far__whoami", "at home"), ("near__whoami", "at work")])
            .map(|(name, user)| (user, client.request("tools/call", json!({"name": name, "arguments": {}}))))
            .collect();
        for (user, id) in asked {
            assert_eq!(text_of(&client.wait_for(id, super::PATIENCE)), user);
        }
        server.refuse_tokens();
    }
}
