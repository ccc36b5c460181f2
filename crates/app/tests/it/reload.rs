//! The config file changes while the gateway serves (F31): what is valid is taken over by difference, what is not
//! changes nothing, and calls on untouched servers never notice.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how long a change takes is measured in real time")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, alive, fake, until};
use serde_json::{Value, json};

use crate::http_lifecycle::{Gateway, calling};
use manifold_testkit::http::end_quietly;

const SOON: Duration = Duration::from_secs(60);

/// Servers by these names, each with an echo, its pid and a nap.
fn servers(sandbox: &Sandbox, names: &[&str]) -> Value {
    let server = |name: &str| {
        let tools = [json!({"name": "echo"}), json!({"name": "pid"}), json!({"name": "sleep"})];
        fake(json!({"name": name, "tools": tools, "pid": sandbox.path(&format!("{name}.pid"))}))
    };
    let all: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), server(name))).collect();
    json!({"mcpServers": all, "managerTools": false})
}

fn starts(sandbox: &Sandbox, name: &str) -> usize {
    fs::read_to_string(sandbox.path(&format!("{name}.pid"))).unwrap_or_default().lines().count()
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Waits until the tool list is the one wanted.
fn await_tools(client: &mut Client, wanted: &[&str]) {
    let mut names = Vec::new();
    let found = until(SOON, || {
        names = client.tool_names();
        names.iter().map(String::as_str).eq(wanted.iter().copied())
    });
    assert!(found, "{names:?} {}", client.stderr());
}

fn open(sandbox: &Sandbox, config: &Value) -> Client {
    let mut client = sandbox.serve(config, &[]);
    client.initialize("2025-11-25", json!({}));
    client
}

const A: [&str; 3] = ["a__echo", "a__pid", "a__sleep"];
const AB: [&str; 6] = ["a__echo", "a__pid", "a__sleep", "b__echo", "b__pid", "b__sleep"];

// F31
#[test]
fn a_change_of_the_file_is_taken_over_and_told() {
    let sandbox = Sandbox::new();
    let mut client = open(&sandbox, &servers(&sandbox, &["a"]));
    await_tools(&mut client, &A);
    let pid = text_of(&client.call("a__pid", json!({}))).to_owned();
    let nap = client.request("tools/call", json!({"name": "a__sleep", "arguments": {"ms": 800}}));

    let began = Instant::now();
    sandbox.write_config(&servers(&sandbox, &["a", "b"]));
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    println!("F31: a new server was announced after {:?}", began.elapsed());
    await_tools(&mut client, &AB);
    assert_eq!(text_of(&client.call("b__echo", json!({"text": "hi"}))), "hi");
    assert_eq!(text_of(&client.call("a__pid", json!({}))), pid, "an untouched server keeps running");
    assert_eq!(text_of(&client.wait_for(nap, SOON)), "slept", "and so do its calls");

    let b = text_of(&client.call("b__pid", json!({}))).parse().unwrap();
    let nap = client.request("tools/call", json!({"name": "b__sleep", "arguments": {"ms": 800}}));
    sandbox.write_config(&servers(&sandbox, &["a"]));
    await_tools(&mut client, &A);
    assert_eq!(text_of(&client.wait_for(nap, SOON)), "slept", "a server that goes ends its calls first");
    assert!(until(SOON, || !alive(b)));
    assert_eq!(starts(&sandbox, "a"), 1);
}

// F31
#[test]
fn every_way_to_replace_a_file_is_noticed() {
    let sandbox = Sandbox::new();
    let text = |names: &[&str]| servers(&sandbox, names).to_string();
    // `etc/config.json` → `..data/config.json` → `one/config.json`, as volumes are mounted.
    sandbox.write("etc/one/config.json", &text(&["a"]));
    sandbox.write("etc/two/config.json", &text(&["a", "b"]));
    let etc = sandbox.path("etc");
    symlink("one", etc.join("..data")).unwrap();
    symlink("..data/config.json", etc.join("config.json")).unwrap();
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(etc.join("config.json"));
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25", json!({}));
    await_tools(&mut client, &A);

    let swap = |target: &str| {
        symlink(target, etc.join("..new")).unwrap();
        fs::rename(etc.join("..new"), etc.join("..data")).unwrap();
    };
    swap("two");
    await_tools(&mut client, &AB);
    swap("one");
    await_tools(&mut client, &A);
    // Behind the link, rename-over as editors do it.
    rename_over(&etc.join("one/config.json"), &text(&["a", "b"]));
    await_tools(&mut client, &AB);
    // The link itself replaced by a file.
    rename_over(&etc.join("config.json"), &text(&["a"]));
    await_tools(&mut client, &A);
    // Written in place, in two halves with a pause in between.
    let whole = text(&["a", "b"]);
    let (first, second) = whole.split_at(whole.len() / 2);
    fs::write(etc.join("config.json"), first).unwrap();
    assert!(until(SOON, || client.stderr().contains("not reloaded")), "{}", client.stderr());
    assert_eq!(client.tool_names(), A, "half a file changes nothing");
    let mut file = fs::OpenOptions::new().append(true).open(etc.join("config.json")).unwrap();
    std::io::Write::write_all(&mut file, second.as_bytes()).unwrap();
    await_tools(&mut client, &AB);
    // Gone, and back.
    fs::remove_file(etc.join("config.json")).unwrap();
    assert!(until(SOON, || client.stderr().contains("the config file is gone")), "{}", client.stderr());
    assert_eq!(client.tool_names(), AB);
    fs::write(etc.join("config.json"), text(&["a"])).unwrap();
    await_tools(&mut client, &A);
    assert_eq!(starts(&sandbox, "a"), 1, "none of this concerned it");
}

fn rename_over(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

// F31: namespaces come and go at their own addresses
#[test]
fn namespaces_come_and_go_over_http() {
    let sandbox = Sandbox::new();
    let config = |namespaces: Value| {
        let mut config = servers(&sandbox, &["a", "b"]);
        config["namespaces"] = namespaces;
        config
    };
    let one = json!({"id": "one", "serverIds": ["a"]});
    let two = json!({"id": "two", "serverIds": ["b"]});
    let gateway = Gateway::start(&sandbox, &config(json!([one, two])), &["--namespace", "one"]);
    let session = gateway.session("/mcp/two", "2025-11-25", json!({}));
    let stays = gateway.session("/mcp/one", "2025-11-25", json!({}));
    let mut nap = session.call(2, "b__sleep", json!({"ms": 1000}), None);

    sandbox.write_config(&config(json!([one, {"id": "three", "serverIds": ["a", "b"]}])));
    let ask = |namespace: &str| {
        let answer =
            gateway.ask("POST", &format!("/api/{namespace}/mcp"), &[], &calling(1, "tools/list", json!({})));
        answer.status
    };
    assert!(until(SOON, || ask("three") == 200));
    assert_eq!((ask("one"), ask("two")), (200, 404));
    assert!(nap.answer().text().contains("slept"), "what was in flight is answered");
    let gone = || session.post("application/json, text/event-stream", &calling(3, "ping", json!({}))).status;
    assert_eq!(gone(), 404);
    let alive = stays.post("application/json, text/event-stream", &calling(3, "ping", json!({}))).status;
    assert_eq!(alive, 200, "a session elsewhere goes on");
    end_quietly(gateway.client);
}
