//! A config that is there and cannot be used (D9).

use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use super::{SOON, command, serve_file};
use crate::cli::{PING, run_with};

const BROKEN: &str = "{\n  \"mcpServers\": {\n    \"a\": {\n";

fn servers(names: &[&str]) -> Value {
    let all = names.iter().map(|name| ((*name).to_owned(), fake(json!({}))));
    json!({"mcpServers": Value::Object(all.collect())})
}

/// Returns the tools beside our own.
fn tools(client: &mut Client) -> Vec<String> {
    let mut names = client.tool_names();
    names.retain(|name| !name.starts_with("manifold__"));
    names
}

fn listed(client: &mut Client) -> String {
    client.call("manifold__servers_list", json!({})).to_string()
}

// D9
#[test]
fn a_client_is_told_what_is_wrong_and_served_once_it_is_mended() {
    let sandbox = Sandbox::new();
    let mut client = serve_file(&sandbox, "mine.json", BROKEN, &[]);
    let met = client.initialize("2025-11-25", json!({}));
    let told = met["result"]["instructions"].as_str().unwrap_or_else(|| panic!("{met}"));
    assert!(told.contains("mine.json:3: the `{` that opens here is never closed"), "{told}");
    assert!(tools(&mut client).is_empty());
    assert!(client.tool_names().contains(&"manifold__config_reload".to_owned()));
    let rows = client.call("manifold__servers_list", json!({}));
    assert_eq!(rows["result"]["content"][0]["text"], "[]");
    assert!(rows["result"]["content"][1]["text"].to_string().contains("mine.json:3: "), "{rows}");
    assert!(until(SOON, || client.stderr().contains("mine.json:3: the `{`")), "{}", client.stderr());

    // Wrong in another way: what is told is what is wrong now.
    sandbox.write("mine.json", "[]");
    let found = until(SOON, || listed(&mut client).contains("expected an object, found a list"));
    assert!(found, "{}", listed(&mut client));

    sandbox.write("mine.json", &servers(&["a"]).to_string());
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert!(until(SOON, || tools(&mut client) == ["a__echo"]), "{}", client.stderr());
    assert!(!listed(&mut client).contains("cannot be used"));
    let said = client.call("a__echo", json!({"text": "hi"}));
    assert_eq!(said["result"]["content"][0]["text"], "hi");
}

// B6: a file that is no config of ours, however well it can be read, is told of like one that cannot be.
#[test]
fn a_file_that_makes_no_sense_is_told_too() {
    for (text, said) in [
        (r#"{"mcpServers": 5}"#, "mcpServers: expected an object, found a number"),
        (r#"{"servers": "x"}"#, "servers: expected an object, found text"),
        (r#"{"mcp": 5}"#, "mcp: expected an object, found a number"),
        (r#"{"schemas": {"s": {"mcpServers": 5}}}"#, "schemas.s.mcpServers: expected an object"),
        (r#"{"profile": "litemcp", "mcpServers": {"a": {"builtin": "time"}}}"#, "profile: expected one of"),
    ] {
        let sandbox = Sandbox::new();
        let mut client = serve_file(&sandbox, "mine.json", text, &[]);
        let met = client.initialize("2025-11-25", json!({}));
        assert!(met["result"]["instructions"].to_string().contains(said), "{text} {met}");
        assert!(listed(&mut client).contains(said), "{text}");
        sandbox.write("mine.json", &servers(&["a"]).to_string());
        assert!(until(SOON, || tools(&mut client) == ["a__echo"]), "{text} {}", client.stderr());
        sandbox.write("bad.json", text);
        for args in [&["config", "check", "bad.json"][..], &["http", "--port", "0", "--config", "bad.json"]] {
            assert_eq!(command(&sandbox, args).code, Some(2), "{args:?} {text}");
        }
    }
}

// D9: clients without sessions ask by `server/discover`.
#[test]
fn a_modern_client_is_told_too() {
    let sandbox = Sandbox::new();
    let mut client = serve_file(&sandbox, "mine.json", BROKEN, &[]);
    client.speak_modern(json!({}));
    let met = client.ask("server/discover", json!({}));
    assert!(met["result"]["instructions"].to_string().contains("mine.json:3: "), "{met}");
    assert!(listed(&mut client).contains("mine.json:3: "));
}

// D9: the namespace asked for is served once the file has it, and not before.
#[test]
fn the_mended_file_decides_what_is_served() {
    let sandbox = Sandbox::new();
    let mut client = serve_file(&sandbox, "mine.json", BROKEN, &["--namespace", "work"]);
    client.initialize("2025-11-25", json!({}));
    let mut config = servers(&["a", "b"]);
    sandbox.write("mine.json", &config.to_string());
    let refused = |client: &mut Client| client.call("manifold__config_reload", json!({})).to_string();
    assert!(
        until(SOON, || refused(&mut client).contains("Namespace 'work' not found")),
        "{}",
        client.stderr()
    );
    assert!(tools(&mut client).is_empty());
    config["namespaces"] = json!({"work": {"serverIds": ["b"]}, "home": {"serverIds": ["a"]}});
    sandbox.write("mine.json", &config.to_string());
    assert!(until(SOON, || tools(&mut client) == ["b__echo"]), "{}", client.stderr());
    let active = client.call("manifold__namespaces_list", json!({})).to_string();
    assert!(active.contains(r#"\"activeNamespaceId\":\"work\""#), "{active}");
}

// D9: a folder where the file should be is as unreadable as a broken one.
#[test]
fn what_cannot_be_read_at_all_is_told_as_well() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("mine.json")).unwrap();
    let mut gateway = sandbox.manifold();
    gateway.args(["serve", "--config", "mine.json"]);
    let mut client = Client::spawn(gateway);
    let met = client.initialize("2025-11-25", json!({}));
    assert!(met["result"]["instructions"].to_string().contains("mine.json: cannot be read"), "{met}");
    std::fs::remove_dir(sandbox.path("mine.json")).unwrap();
    sandbox.write("mine.json", &servers(&["a"]).to_string());
    assert!(until(SOON, || tools(&mut client) == ["a__echo"]), "{}", client.stderr());
}

// D9: whoever can read an exit code gets one.
#[test]
fn everybody_else_ends_as_before() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.json", BROKEN);
    for args in [
        &["http", "--port", "0", "--config", "mine.json"][..],
        &["config", "check", "mine.json"],
        &["status", "--config", "mine.json"],
        &["litemcp", "--config", "mine.json"],
        &["serve", "--config", "missing.json"],
        &["--profile", "mcps-proxy", "--stdio", "--config", "mine.json"],
        &["--profile", "mcp-studio", "serve", "--stdio", "--config", "mine.json"],
        &["--profile", "mcp-all-in-one", "stdio", "--config", "mine.json"],
    ] {
        let ran = command(&sandbox, args);
        assert_eq!(ran.code, Some(2), "{args:?} {}", ran.stderr);
    }
    let mut named = sandbox.command(crate::cli::named(&sandbox, "mcp-all-in-one"));
    named.args(["stdio", "--config", "mine.json"]);
    assert_eq!(run_with(named, PING).code, Some(2));
}
