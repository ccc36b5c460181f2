//! Calls to a server that wants to know who asks: before somebody signs in, after, and while tokens are renewed.

use std::time::Duration;

use manifold_testkit::http::Gateway;
use manifold_testkit::{Client, Misbehaviour, OAuthFake, Sandbox, until, visit};
use serde_json::{Value, json};

use super::{PATIENCE, gateway, run, serve, sign_in, text_of, world};

const CALLS: usize = 64;

/// Makes all of these calls at once and returns the answers.
fn at_once(client: &mut Client, calls: usize) -> Vec<Value> {
    let ids: Vec<u64> = (0..calls)
        .map(|number| {
            let arguments = json!({"text": number.to_string()});
            client.request("tools/call", json!({"name": "far__echo", "arguments": arguments}))
        })
        .collect();
    ids.into_iter().map(|id| client.wait_for(id, PATIENCE)).collect()
}

fn check_all(answers: &[Value]) {
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(text_of(answer), number.to_string());
    }
}

#[test]
fn many_calls_with_an_expired_token_refresh_it_once() {
    let (sandbox, server) = world();
    server.set_life(0);
    sign_in(&sandbox, &[]);
    let before = server.count("refresh");
    server.set_life(3600);
    server.set_pause(Duration::from_millis(200));
    let mut client = serve(&sandbox, &server, json!({}));
    check_all(&at_once(&mut client, CALLS));
    assert_eq!((server.count("refresh") - before, server.count("reuse")), (1, 0));
}

#[test]
fn many_calls_from_four_processes_refresh_it_once() {
    let (sandbox, server) = world();
    server.set_life(0);
    sign_in(&sandbox, &[]);
    let before = server.count("refresh");
    server.set_life(3600);
    server.set_pause(Duration::from_millis(200));
    // The config is written once: those who run already would see it being written.
    let mut clients: Vec<Client> = (0..4).map(|_| gateway(&sandbox, &[])).collect();
    let mut ids = Vec::new();
    for (at, client) in clients.iter_mut().enumerate() {
        for number in 0..CALLS / 4 {
            let params = json!({"name": "far__echo", "arguments": {"text": number.to_string()}});
            ids.push((at, client.request("tools/call", params)));
        }
    }
    for (number, (at, id)) in ids.into_iter().enumerate() {
        let answer = clients[at].wait_for(id, PATIENCE);
        assert_eq!(text_of(&answer), (number % (CALLS / 4)).to_string());
    }
    assert_eq!((server.count("refresh") - before, server.count("reuse")), (1, 0));
}

#[test]
fn a_burst_of_refusals_refreshes_once_and_sends_each_call_twice_at_the_most() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    let mut client = serve(&sandbox, &server, json!({}));
    check_all(&at_once(&mut client, 1));
    let (refreshed, refused) = (server.count("refresh"), server.count("unauthorized"));
    server.set_pause(Duration::from_millis(200));
    server.refuse_tokens();
    check_all(&at_once(&mut client, CALLS));
    assert_eq!((server.count("refresh") - refreshed, server.count("reuse")), (1, 0));
    assert!(server.count("unauthorized") - refused <= CALLS + 1, "none was refused twice");
}

// Lists start nothing, a call says what to do, and after a login elsewhere all goes on by itself.
#[test]
fn a_call_names_the_command_and_a_login_elsewhere_is_taken_up() {
    let (sandbox, server) = world();
    let browser = sandbox.write("browser", "#!/bin/sh\ntouch \"$HOME/opened\"\n");
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio"]).env("BROWSER", browser);
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25", json!({}));
    assert!(!client.tool_names().iter().any(|name| name.starts_with("far__")));
    let answer = client.call("far__echo", json!({}));
    let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(message.contains("'far'") && message.contains("`manifold login far`"), "{message}");
    let data = json!({"service": "far", "state": "needs login", "command": "manifold login far"});
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]), (&json!(-32603), &data));
    let asked = (server.count("register"), server.count("authorize"));
    assert_eq!(asked, (0, 0), "nobody signs in by itself");
    sign_in(&sandbox, &[]);
    client.wait_for_notification("notifications/tools/list_changed", PATIENCE);
    assert!(client.tool_names().contains(&"far__echo".to_owned()));
    assert_eq!(text_of(&client.call("far__echo", json!({"text": "hi"}))), "hi");
    assert_eq!(
        client.try_notification("notifications/tools/list_changed", Duration::ZERO),
        None,
        "one is enough"
    );
    assert!(!sandbox.path("opened").exists());
}

/// Returns how the server is signed in to, as a verb shows it.
fn sign_in_of(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, Value) {
    let ran = run(sandbox, args);
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{} {}", ran.stdout, ran.stderr));
    let server = match &report["servers"] {
        Value::Array(servers) => servers[0].clone(),
        _ if report.is_array() => report[0].clone(),
        _ => report,
    };
    (ran.code, server["signIn"].clone())
}

#[test]
fn verbs_show_how_one_is_signed_in() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    for args in [&["status", "--json"][..], &["list", "--json"], &["get", "far", "--json"]] {
        let (_, sign_in) = sign_in_of(&sandbox, args);
        assert_eq!(sign_in["state"], "ready", "{args:?}");
        assert_eq!(sign_in["issuer"], server.issuer().trim_start_matches("http://"));
        assert!(sign_in["until"].is_string() && sign_in["store"].is_string(), "{sign_in}");
    }
    let shown = run(&sandbox, &["status"]);
    assert!(shown.stdout.contains(server.issuer().trim_start_matches("http://")), "{}", shown.stdout);
    run(&sandbox, &["logout", "far"]);
    let (code, sign_in) = sign_in_of(&sandbox, &["status", "--json"]);
    assert_eq!((code, &sign_in["state"]), (Some(6), &json!("needs login")));
}

#[test]
fn a_sign_in_that_ended_says_so_and_a_new_one_mends_it() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    let mut client = serve(&sandbox, &server, json!({}));
    assert_eq!(text_of(&client.call("far__whoami", json!({}))), "somebody");
    server.forget_sign_ins();
    let answer = client.call("far__whoami", json!({}));
    assert_eq!(answer["error"]["data"]["state"], "login expired", "{answer}");
    assert_eq!(
        client.tool_names().iter().filter(|name| name.starts_with("far__")).count(),
        2,
        "its lists stay"
    );
    sign_in(&sandbox, &[]);
    assert!(until(PATIENCE, || client.call("far__whoami", json!({}))["result"]["content"][0]["text"]
        == "somebody"));
    assert_eq!(server.count("register"), 1);
}

#[test]
fn a_provider_that_is_down_for_a_while_is_no_reason_to_sign_in() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    let mut client = serve(&sandbox, &server, json!({}));
    assert_eq!(text_of(&client.call("far__whoami", json!({}))), "somebody");
    server.misbehave(Some(Misbehaviour::Broken));
    server.refuse_tokens();
    let answer = client.call("far__whoami", json!({}));
    assert!(answer["error"]["message"].is_string(), "{answer}");
    assert!(!answer.to_string().contains("manifold login"), "{answer}");
    server.misbehave(None);
    assert!(until(PATIENCE, || client.call("far__whoami", json!({}))["result"]["content"][0]["text"]
        == "somebody"));
}

#[test]
fn a_scope_that_is_missing_is_asked_for_with_the_next_login() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    server.misbehave(Some(Misbehaviour::WantsScope));
    let mut client = serve(&sandbox, &server, json!({}));
    let answer = client.call("far__echo", json!({"text": "hi"}));
    assert_eq!(answer["error"]["data"]["state"], "needs scope", "{answer}");
    sign_in(&sandbox, &[]);
    let asked = server.scopes_asked();
    let last = asked.last().unwrap();
    assert!(last.contains("mcp:basic") && last.contains("mcp:write"), "{asked:?}");
    assert!(until(PATIENCE, || {
        client.call("far__echo", json!({"text": "hi"}))["result"]["content"][0]["text"] == "hi"
    }));
}

// A server that stops asking needs nobody to sign in, as soon as somebody has it looked at anew.
#[test]
fn a_server_that_stops_asking_works_after_a_refresh() {
    let (sandbox, server) = world();
    let token = "sixteen letters!";
    let config = json!({
        "mcpServers": {"far": {"url": server.url()}},
        "dashboard": {"enabled": true},
        "server": {"token": token},
    });
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let ask = |method: &str, path: &str| {
        gateway.ask(method, path, &headers, if method == "GET" { "" } else { "{}" })
    };
    let state = || {
        let shown = ask("GET", "/v1/servers/far").json();
        (shown["state"].clone(), shown["signIn"]["state"].clone())
    };
    assert_eq!(ask("POST", "/v1/servers/far/refresh").json()["error"]["code"], "sign-in");
    assert_eq!(state(), (json!("needs-login"), json!("needs login")));
    let refused = server.count("unauthorized");
    assert_eq!(ask("POST", "/v1/servers/far/restart").json()["error"]["code"], "sign-in", "it still asks");
    assert!(server.count("unauthorized") > refused, "it was asked anew");
    server.misbehave(Some(Misbehaviour::Open));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "far__whoami", "arguments": {}}});
    let call = || gateway.ask("POST", "/api/default/mcp", &headers, &call.to_string()).json();
    assert_eq!(call()["error"]["data"]["state"], "needs login", "nobody has looked");
    let refreshed = ask("POST", "/v1/servers/far/refresh");
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
    assert_eq!(text_of(&call()), "anybody");
    assert_eq!(state().0, "ready");
    // And asks again, one day.
    server.misbehave(None);
    assert_eq!(call()["error"]["data"]["state"], "needs login");
    assert_eq!(server.count("authorize"), 0);
}

/// A header of the file switches signing in off.
#[test]
fn a_header_of_the_file_is_sent_instead() {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    let headers = json!({"Authorization": "Bearer fixed"});
    let config = json!({"mcpServers": {"far": {"url": server.url(), "headers": headers}}});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    let answer = client.call("far__echo", json!({}));
    assert!(
        answer["error"]["message"].as_str().unwrap_or_default().contains("Authentication failed"),
        "{answer}"
    );
    let off = json!({"mcpServers": {"far": {"url": server.url(), "oauth": false}}});
    let mut client = sandbox.serve(&off, &[]);
    client.initialize("2025-11-25", json!({}));
    let answer = client.call("far__echo", json!({}));
    assert_eq!(answer["error"]["data"], json!({"service": "far", "state": "off"}), "{answer}");
}

// T13: a server that names another authorization server gets nothing of the first one's to it.
#[test]
fn another_authorization_server_gets_nothing_of_the_first() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    let mut client = serve(&sandbox, &server, json!({}));
    assert_eq!(text_of(&client.call("far__whoami", json!({}))), "somebody");
    let other = OAuthFake::start();
    server.move_to(&other);
    server.forget_sign_ins();
    let answer = client.call("far__whoami", json!({}));
    assert_eq!(answer["error"]["data"]["service"], "far", "{answer}");
    let secrets = server.secrets();
    let mut login = super::Login::start(&sandbox, &["--no-browser"]);
    let back = login.sign_in();
    assert_eq!(visit(&back).unwrap().status, 200);
    login.end();
    assert_eq!((other.count("register"), other.count("code")), (1, 1));
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        assert!(!other.heard(secret), "{secret}");
    }
}
