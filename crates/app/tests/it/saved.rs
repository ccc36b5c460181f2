//! What servers offer is kept from one run to the next (F3, F11): lists are answered at once and nothing is started.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how fast a list comes is measured in real time")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use manifold_testkit::http_client::HttpCaller;
use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::http_lifecycle::{BOTH, Gateway, calling, end_quietly};

const SOON: Duration = Duration::from_secs(60);

fn open(sandbox: &Sandbox, config: &Value) -> Client {
    let mut client = sandbox.serve(config, &[]);
    client.initialize("2025-11-25", json!({}));
    client
}

/// Has one run list the tools, and leaves.
fn list_once(sandbox: &Sandbox, config: &Value) -> Vec<String> {
    let mut client = open(sandbox, config);
    let names = client.tool_names();
    client.leave();
    names
}

fn config(sandbox: &Sandbox, tools: &[&str], more: Value) -> Value {
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    let knobs = json!({"tools": tools, "pid": sandbox.path("a.pid"), "instructions": "Be kind.",
        "prompts": [{"name": "p"}], "resources": [{"uri": "a://1", "name": "one"}]});
    // What it is told to offer comes by a file, so that its definition stays the same.
    let knobs = sandbox.write("knobs.json", &knobs.to_string());
    let mut server = fake(json!({}));
    server["args"] = json!([format!("@{}", knobs.display())]);
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"mcpServers": {"a": server}, "managerTools": false})
}

fn starts(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.path("a.pid")).unwrap_or_default().lines().count()
}

fn saved_files(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let folder = fs::read_dir(sandbox.path(".cache/manifold")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    // Beside them is the key they are named by.
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

// F11: what is remembered is listed at once. T39: what is kept is for its user alone
#[test]
fn the_next_run_knows_everything_and_starts_nothing() {
    let sandbox = Sandbox::new();
    let config = config(&sandbox, &["echo", "pid"], json!({"env": {"TOKEN": "hunter2hunter2"}}));
    let names = list_once(&sandbox, &config);
    assert_eq!(starts(&sandbox), 1);

    let began = Instant::now();
    let mut client = sandbox.serve(&config, &[]);
    let said = client.initialize("2025-11-25", json!({}));
    assert!(said["result"]["instructions"].as_str().unwrap().contains("Be kind."), "{said}");
    let asked = Instant::now();
    assert_eq!(client.tool_names(), names);
    println!(
        "F11: tools/list from the saved catalog in {:?}, {:?} after the start",
        asked.elapsed(),
        began.elapsed()
    );
    assert_eq!(client.ask("prompts/list", json!({}))["result"]["prompts"][0]["name"], "a__p");
    assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"][0]["uri"], "a://1");
    assert_eq!(starts(&sandbox), 1, "nothing was started for that");
    assert_eq!(client.call("a__echo", json!({"text": "hi"}))["result"]["content"][0]["text"], "hi");
    assert_eq!(starts(&sandbox), 2);

    for file in saved_files(&sandbox) {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(file).unwrap().contains("hunter2"), "no secret is kept");
    }
    let file = sandbox.path(".config/manifold/config.json");
    let status = sandbox.manifold().args(["status", "--config"]).arg(file).output().unwrap();
    let text = String::from_utf8(status.stdout).unwrap();
    assert!(text.contains("[lazy; 2 tools known, read "), "{text}");
}

// Differences are announced when a call starts the server
#[test]
fn a_server_that_changed_meanwhile_is_announced_when_it_runs() {
    let sandbox = Sandbox::new();
    let first = config(&sandbox, &["echo"], json!({}));
    assert_eq!(list_once(&sandbox, &first), ["a__echo"]);
    let second = config(&sandbox, &["echo", "new"], json!({}));
    let mut client = open(&sandbox, &second);
    assert_eq!(client.tool_names(), ["a__echo"], "as it was");
    client.call("a__echo", json!({"text": "hi"}));
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert_eq!(client.tool_names(), ["a__echo", "a__new"]);
}

// Eager servers are refreshed at once
#[test]
fn an_eager_server_is_started_and_asked_at_once() {
    let sandbox = Sandbox::new();
    let first = config(&sandbox, &["echo"], json!({"eager": true}));
    assert_eq!(list_once(&sandbox, &first), ["a__echo"]);
    let second = config(&sandbox, &["echo", "new"], json!({"eager": true}));
    let mut client = open(&sandbox, &second);
    assert!(until(SOON, || starts(&sandbox) == 2));
    assert!(until(SOON, || client.tool_names() == ["a__echo", "a__new"]));
}

// What is older than a day is asked for again, behind the answer
#[test]
fn what_was_saved_long_ago_is_refreshed_when_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let first = config(&sandbox, &["echo"], json!({}));
    assert_eq!(list_once(&sandbox, &first), ["a__echo"]);
    for file in saved_files(&sandbox) {
        let mut known: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let at = known["listing"]["at"].as_u64().unwrap();
        known["listing"]["at"] = json!(at - 25 * 3600);
        fs::write(&file, known.to_string()).unwrap();
    }
    let second = config(&sandbox, &["echo", "new"], json!({}));
    let mut client = open(&sandbox, &second);
    assert_eq!(client.tool_names(), ["a__echo"], "answered at once, from what is known");
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert_eq!(client.tool_names(), ["a__echo", "a__new"]);
}

// S1-32: an error never becomes an empty success, and a failed start takes the list away
#[test]
fn a_server_that_no_longer_starts_leaves_the_list_and_says_why() {
    let sandbox = Sandbox::new();
    let good = config(&sandbox, &["echo"], json!({}));
    assert_eq!(list_once(&sandbox, &good), ["a__echo"]);
    sandbox.write("knobs.json", &json!({"crashOn": "initialize"}).to_string());
    let mut client = open(&sandbox, &good);
    assert_eq!(client.tool_names(), ["a__echo"]);
    let answer = client.call("a__echo", json!({}));
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
    assert!(until(SOON, || client.tool_names().is_empty()));
    let answer = client.call("a__echo", json!({}));
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
}

// Whatever lies in the cache, the gateway works
#[test]
fn a_spoilt_memory_is_no_memory() {
    for spoilt in ["", "{", "[]", "null", r#"{"format":1,"listing":{"at":1}}"#, r#"{"format":9}"#] {
        let sandbox = Sandbox::new();
        let config = config(&sandbox, &["echo"], json!({}));
        assert_eq!(list_once(&sandbox, &config), ["a__echo"]);
        for file in saved_files(&sandbox) {
            fs::write(file, spoilt).unwrap();
        }
        assert_eq!(open(&sandbox, &config).tool_names(), ["a__echo"], "{spoilt}");
        fs::write(sandbox.path(".cache/manifold/salt"), spoilt).unwrap();
        assert_eq!(list_once(&sandbox, &config), ["a__echo"], "{spoilt}");
        assert_eq!(saved_files(&sandbox).len(), 1, "what no key leads to is gone");
    }
    let sandbox = Sandbox::new();
    fs::remove_dir(sandbox.path(".cache")).unwrap();
    sandbox.write(".cache", "a file where the folder should be");
    assert_eq!(open(&sandbox, &config(&sandbox, &["echo"], json!({}))).tool_names(), ["a__echo"]);
}

/// Offers a tool more to clients that can sample, and writes down what it was told.
const SAMPLES: &str = r#"
while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%,*}
  case $line in
    *'"method":"initialize"'*)
      case $line in *'"sampling"'*) more=',{"name":"sample","inputSchema":{"type":"object"}}'; echo sampling >>"$0.log" ;;
        *) more=; echo plain >>"$0.log" ;; esac
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}%s]}}\n' "$id" "$more" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

// D5, T35: what a server offered is known to clients with the same capabilities, and never shown to others
#[test]
fn what_is_saved_is_for_clients_that_can_do_the_same() {
    let sandbox = Sandbox::new();
    let script = sandbox.write("samples", SAMPLES);
    let config =
        json!({"mcpServers": {"a": {"command": "/bin/sh", "args": [script]}}, "managerTools": false});
    let listed = |capabilities: Value| {
        let mut client = sandbox.serve(&config, &[]);
        client.initialize("2025-11-25", capabilities);
        let names = client.tool_names();
        client.leave();
        names
    };
    let told = || fs::read_to_string(sandbox.path("samples.log")).unwrap_or_default().replace('\n', " ");
    assert_eq!(listed(json!({})), ["a__echo"]);
    assert_eq!(told(), "plain ");
    assert_eq!(listed(json!({"sampling": {}})), ["a__echo", "a__sample"], "asked for like an unknown server");
    assert_eq!(told(), "plain sampling ");
    assert_eq!(listed(json!({})), ["a__echo"], "and not what another could");
    assert_eq!(listed(json!({"sampling": {}})), ["a__echo", "a__sample"]);
    assert_eq!(told(), "plain sampling ", "nobody was started for what is known");
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Lists at a gateway over HTTP as clients with these capabilities do, with a session and without, and says what all see.
#[track_caller]
fn listed_over_http(gateway: &Gateway, capabilities: &Value) -> Vec<String> {
    let session = gateway.session("/mcp", "2025-11-25", capabilities.clone());
    let legacy = |accept| names(&session.post(accept, &calling(7, "tools/list", json!({}))).json());
    let modern = HttpCaller::new(gateway.port, "/mcp", capabilities.clone()).ask("tools/list", json!({}));
    let seen = legacy(BOTH);
    assert_eq!(seen, legacy("application/json"), "where it cannot be asked it sees the same");
    assert_eq!(seen, names(&modern));
    seen
}

// D5: one list serves all who share a server, less what is known not to be for a caller
#[test]
fn who_shares_a_server_does_not_see_what_its_own_set_was_not_offered() {
    let (able, unable) = (json!({"sampling": {}}), json!({}));
    let (all, less) = (["a__echo", "a__sample"].map(str::to_owned), ["a__echo".to_owned()]);
    for is_known_first in [true, false] {
        let sandbox = Sandbox::new();
        let script = sandbox.write("samples", SAMPLES);
        let config =
            json!({"mcpServers": {"a": {"command": "/bin/sh", "args": [script]}}, "managerTools": false});
        let on_stdio = || {
            let mut client = sandbox.serve(&config, &[]);
            client.initialize("2025-11-25", unable.clone());
            assert_eq!(client.tool_names(), less);
            client.leave();
        };
        if is_known_first {
            on_stdio();
        } else {
            let gateway = Gateway::start(&sandbox, &config, &[]);
            for capabilities in [&unable, &able] {
                assert_eq!(listed_over_http(&gateway, capabilities), all, "nothing else is known");
            }
            end_quietly(gateway.client);
            on_stdio();
        }
        let gateway = Gateway::start(&sandbox, &config, &[]);
        for (capabilities, expected) in [(&able, &all[..]), (&unable, &less), (&able, &all), (&unable, &less)]
        {
            assert_eq!(listed_over_http(&gateway, capabilities), expected, "{capabilities}");
        }
        let elicits = json!({"elicitation": {}});
        assert_eq!(listed_over_http(&gateway, &elicits), all, "a set never met");
        // A call finds its way all the same; the server itself answers it.
        let session = gateway.session("/mcp", "2025-11-25", unable.clone());
        let answer = session.call(9, "a__sample", json!({}), None).answer().json();
        assert_eq!(answer["error"]["message"], "no", "{answer}");
        assert_eq!(listed_over_http(&gateway, &unable), less, "as when it runs");
        end_quietly(gateway.client);
        let gateway = Gateway::start(&sandbox, &config, &[]);
        assert_eq!(listed_over_http(&gateway, &able), all, "and all stays for all");
        assert_eq!(listed_over_http(&gateway, &unable), less);
        end_quietly(gateway.client);
    }
}

// D5: what a client's own process offers is known of clients like it from then on, and takes nothing from others
#[test]
fn a_process_of_ones_own_tells_what_is_for_clients_like_it() {
    let (able, unable) = (json!({"sampling": {}}), json!({}));
    let sandbox = Sandbox::new();
    let script = sandbox.write("samples", SAMPLES);
    let server = json!({"command": "/bin/sh", "args": [script], "shared": false});
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": {"a": server}, "managerTools": false}), &[]);
    let all = ["a__echo", "a__sample"];
    assert_eq!(listed_over_http(&gateway, &unable), all, "nothing else is known");
    let session = gateway.session("/mcp", "2025-11-25", unable.clone());
    session.call(9, "a__echo", json!({}), None).answer();
    assert!(until(SOON, || listed_over_http(&gateway, &unable) == ["a__echo"]));
    assert_eq!(listed_over_http(&gateway, &able), all);
    end_quietly(gateway.client);
}
