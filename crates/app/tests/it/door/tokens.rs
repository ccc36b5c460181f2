//! Tokens by name: in the config, and made by commands while the gateway runs.
#![expect(clippy::disallowed_types, reason = "how long a command takes to count is measured in real time")]

use std::process::Command;
use std::time::{Duration, Instant};

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::end_quietly;
use manifold_testkit::{Sandbox, figures, until};
use serde_json::{Value, json};

use super::*;
use crate::cli::run;
use crate::http_lifecycle::http_command;

/// How long a running gateway may take to hear of a token; who makes it counts too.
const WITHIN: Duration = Duration::from_secs(2);
const ALL: &str = "a token for everything";
const WORK: &str = "a token for work alone";
const SOME: &str = "a token for some tools";

pub(super) fn verb(sandbox: &Sandbox, words: &[&str]) -> Command {
    let mut command = sandbox.manifold();
    command.arg("token").args(words).arg("--config").arg(sandbox.path(".config/manifold/config.json"));
    command
}

/// Makes a token; returns it.
pub(super) fn created(sandbox: &Sandbox, words: &[&str]) -> String {
    let ran = run(verb(sandbox, &[&["create"], words].concat()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let token = ran.stdout.strip_suffix('\n').unwrap();
    assert!(
        token.starts_with("mfd_") && token.len() == 47 && !token.contains(char::is_whitespace),
        "{token}"
    );
    assert!(!ran.stderr.contains(token), "{}", ran.stderr);
    token.to_owned()
}

/// Asks as often as it takes to be heard: only so many wrong ones are in a second (L17).
fn status_of(gateway: &Gateway, token: &str) -> u16 {
    let mut status = 429;
    until(PATIENCE, || {
        status = api(gateway, "both", token, "ping", json!({})).status;
        status != 429
    });
    status
}

#[test]
fn a_token_of_the_config_has_its_namespaces_and_tools() {
    let sandbox = Sandbox::new();
    let file = sandbox.write_private("work-token", WORK);
    let hash = sha256(SOME);
    let tokens = json!({
        "all": {"env": "ALL_TOKEN"},
        "work": {"file": file, "namespaces": ["work"]},
        "some": {"hash": hash, "tools": ["a__e*", "nothing"]},
        "old": {"hash": sha256("an old token, long over"), "expires": "2020-01-01"},
    });
    let mut command = http_command(&sandbox, &two(&sandbox, json!({"tokens": tokens})), &[]);
    command.env("ALL_TOKEN", ALL);
    let gateway = crate::front_door::spawn(command);
    for token in ["", "wrong", "an old token, long over"] {
        let answer = api(&gateway, "both", token, "ping", json!({}));
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{token}");
    }
    assert_eq!(gateway.ask("GET", "/api/status", &[], "").status, 401, "this machine included");
    // No token is taken from an address, whatever lets in.
    let credential = bearer(ALL);
    for headers in [&[][..], &[("Authorization", credential.as_str())]] {
        let answer = gateway.ask("GET", "/api/status?a=b&access_token=x", headers, "");
        let challenge = answer.header("www-authenticate");
        assert_eq!((answer.status, challenge), (400, Some("Bearer error=\"invalid_request\"")));
    }
    assert_eq!(tools(&gateway, "both", ALL).len(), 8);
    assert_eq!(tools(&gateway, "work", WORK).len(), 4);
    for namespace in ["home", "both"] {
        assert_eq!(api(&gateway, namespace, WORK, "ping", json!({})).status, 404, "{namespace}");
    }
    let credential = bearer(WORK);
    let headers = [("Authorization", credential.as_str())];
    for path in ["/mcp", "/mcp/home", "/sse", "/sse/home", "/litemcp/home", "/litemcp/home/echo"] {
        let method =
            if path.contains("mcp/") && !path.contains("lite") || path == "/mcp" { "POST" } else { "GET" };
        let body = if method == "POST" { calling(1, "ping", json!({})) } else { String::new() };
        assert_eq!(gateway.ask(method, path, &headers, &body).status, 404, "{path}");
    }
    let status = gateway.ask("GET", "/api/status", &headers, "").json();
    let shown: Vec<&String> = status["schemas"].as_object().unwrap().keys().collect();
    assert_eq!(shown, ["work"], "what it may not use it is not told of");
    // Some tools: those alone are listed, and what is not is not there.
    assert_eq!(tools(&gateway, "both", SOME), ["a__echo", "a__env"]);
    assert_eq!(echo(&gateway, "both", SOME, "a__echo").json()["result"]["content"][0]["text"], "in");
    for name in ["b__echo", "a__headers", "a.headers", "headers", "b.echo", "no_such"] {
        let answer = echo(&gateway, "both", SOME, name).json();
        let message = answer["error"]["message"].as_str().unwrap_or_default().to_lowercase();
        assert!(answer["error"]["code"] == -32601 || answer["error"]["code"] == -32000, "{name}: {answer}");
        assert!(message.contains("not found"), "{name}: {answer}");
    }
    let prompts = api(&gateway, "both", SOME, "prompts/list", json!({})).json();
    assert_eq!(prompts["result"]["prompts"], json!([]), "tools and nothing else");
    assert_eq!(sandbox.received("b.log", "tools/call").len(), 0);
    end_quietly(gateway.client);
}

pub(super) fn sha256(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn tokens_are_made_and_revoked_while_the_gateway_runs() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &two(&sandbox, json!({})), &[]);
    assert_eq!(gateway.ask("GET", "/api/status", &[], "").status, 200, "nobody is asked for anything");
    let began = Instant::now();
    let ci = created(&sandbox, &["ci", "--namespace", "work", "--namespace", "both", "--tool", "a__*"]);
    assert!(
        until(PATIENCE, || gateway.ask("GET", "/api/status", &[], "").status == 401),
        "now one is needed"
    );
    assert!(until(PATIENCE, || status_of(&gateway, &ci) == 200));
    figures::took("a token that is made counts", began.elapsed(), WITHIN);
    assert_eq!(tools(&gateway, "both", &ci).len(), 4);
    assert_eq!(api(&gateway, "home", &ci, "ping", json!({})).status, 404);
    let other = created(&sandbox, &["other", "--expires", "30d"]);
    assert!(until(PATIENCE, || status_of(&gateway, &other) == 200));
    // A name is one token's.
    let again = run(verb(&sandbox, &["create", "ci"]));
    assert_eq!((again.code, again.stdout.as_str()), (Some(2), ""), "{}", again.stderr);
    let listed = run(verb(&sandbox, &["list", "--json"]));
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((&rows[0]["name"], &rows[0]["tools"]), (&json!("ci"), &json!(["a__*"])));
    assert_eq!((&rows[1]["name"], &rows[1]["namespaces"]), (&json!("other"), &json!(null)));
    assert!(rows[1]["expires"].as_str().unwrap().starts_with("20"));
    assert!(!listed.stdout.contains(&ci) && !listed.stdout.contains(&sha256(&ci)));
    let session = gateway.ask(
        "POST",
        "/mcp",
        &[("Authorization", &bearer(&ci)), ("Accept", crate::http_lifecycle::BOTH)],
        &calling(1, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})),
    );
    assert_eq!(session.status, 200, "{}", session.text());
    let began = Instant::now();
    let ran = run(verb(&sandbox, &["revoke", "ci"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(until(PATIENCE, || status_of(&gateway, &ci) == 401));
    figures::took("a token that is revoked counts no more", began.elapsed(), WITHIN);
    assert_eq!(status_of(&gateway, &other), 200);
    assert_eq!(run(verb(&sandbox, &["revoke", "ci"])).code, Some(7));
    assert_eq!(run(verb(&sandbox, &["revoke", "other"])).code, Some(0));
    assert!(until(PATIENCE, || status_of(&gateway, &other) == 401));
    assert_eq!(
        gateway.ask("GET", "/api/status", &[], "").status,
        401,
        "the last one opens no door as it goes"
    );
    let audit = sandbox.path(".local/state/manifold/audit/audit.jsonl");
    let audit = std::fs::read_to_string(audit).unwrap();
    for word in ["token create", "token revoke", "\"ci\"", "refused"] {
        assert!(audit.contains(word), "{word}: {audit}");
    }
    let everything = [audit, gateway.client.stderr()].concat();
    assert!(!everything.contains(&ci) && !everything.contains(&other));
    end_quietly(gateway.client);
}

#[test]
fn a_changed_config_counts_at_once() {
    let sandbox = Sandbox::new();
    let with = |tokens: Value| two(&sandbox, json!({"tokens": tokens}));
    let gateway = Gateway::start(&sandbox, &with(json!({"one": {"hash": sha256(ALL)}})), &[]);
    assert_eq!(tools(&gateway, "both", ALL).len(), 8);
    sandbox.write_config(&with(
        json!({"renamed": {"hash": sha256(ALL), "tools": ["b__*"]}, "two": {"hash": sha256(WORK)}}),
    ));
    assert!(until(PATIENCE, || status_of(&gateway, WORK) == 200));
    assert_eq!(tools(&gateway, "both", ALL), ["b__echo", "b__env", "b__headers", "b__ask"]);
    // A file that cannot be understood changes nothing, and opens nothing.
    sandbox.write_config(&with(json!({"two": {"hash": "x"}})));
    sandbox.write_config(&with(json!({"three": {"hash": sha256(SOME)}})));
    assert!(until(PATIENCE, || status_of(&gateway, SOME) == 200));
    assert_eq!((status_of(&gateway, ALL), status_of(&gateway, WORK)), (401, 401));
    end_quietly(gateway.client);
}
