//! Servers of either era, found out by their first words; some do not survive the wrong ones.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::time::{Duration, Instant};

use manifold_testkit::http::Gateway;
use manifold_testkit::{Era, HttpCaller, HttpFake, Sandbox, Style, Trouble, bin, fake, figures, until};
use serde_json::{Value, json};

use crate::studio::{studio, studio_with, text_of};

/// Goes at anything but `initialize`, as servers on rmcp 0.10 do; else it is a fake server.
const DIES_ON_THE_PROBE: &str = r#"
IFS= read -r line
case $line in
  *'"method":"initialize"'*) echo initialize >>"$0.log" ;;
  *) echo other >>"$0.log"; exit 1 ;;
esac
{ printf '%s\n' "$line"; cat; } | "$1" '{}'
"#;

/// Knows only the newest revision, and goes at `initialize`, as servers on rmcp 3.8 do.
const MODERN_ONLY: &str = r#"
while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%,*}
  answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*)
      echo initialize >>"$0.log"
      answer '"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}'
      exit 1 ;;
    *'"method":"server/discover"'*)
      echo discover >>"$0.log"
      answer '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
    *'"method":"tools/list"'*)
      answer '"result":{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}],"ttlMs":1,"cacheScope":"public"}' ;;
    *'"method":"tools/call"'*)
      answer '"result":{"resultType":"complete","content":[{"type":"text","text":"modern"}],"ttlMs":1}' ;;
  esac
done
"#;

fn script(sandbox: &Sandbox, name: &str, text: &str) -> Value {
    let path = sandbox.write(name, text);
    json!({"command": "/bin/sh", "args": [path, bin("fake-server")]})
}

fn log(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path(&format!("{name}.log"))).unwrap_or_default().replace('\n', " ")
}

#[test]
fn a_server_that_dies_on_the_probe_is_served_and_asked_no_more() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"old": script(&sandbox, "old", DIES_ON_THE_PROBE)}});
    for expected in ["other initialize ", "other initialize initialize "] {
        let mut client = studio(&sandbox, &config);
        assert_eq!(text_of(&client.call("old.echo", json!({"text": "hi"}))), "hi");
        assert_eq!(log(&sandbox, "old"), expected);
        client.leave();
    }
}

#[test]
fn a_server_of_the_newest_revision_is_served_to_any_client() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"new": script(&sandbox, "new", MODERN_ONLY)}});
    let mut client = studio(&sandbox, &config);
    let answer = client.call("new.echo", json!({}));
    assert_eq!(answer["result"], json!({"content": [{"type": "text", "text": "modern"}]}), "no marks");
    assert_eq!(log(&sandbox, "new"), "discover ");
}

#[test]
fn a_remembered_era_that_is_no_longer_true_costs_a_start_and_no_failure() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"one": script(&sandbox, "one", DIES_ON_THE_PROBE)}});
    let mut client = studio(&sandbox, &config);
    client.call("one.echo", json!({"text": "hi"}));
    client.leave();
    script(&sandbox, "one", MODERN_ONLY);
    let began = Instant::now();
    let mut client = studio(&sandbox, &config);
    assert_eq!(text_of(&client.call("one.echo", json!({}))), "modern");
    assert_eq!(log(&sandbox, "one"), "other initialize initialize discover ");
    client.leave();
    script(&sandbox, "one", DIES_ON_THE_PROBE);
    let mut client = studio(&sandbox, &config);
    assert_eq!(text_of(&client.call("one.echo", json!({"text": "hi"}))), "hi");
    assert_eq!(log(&sandbox, "one"), "other initialize initialize discover other initialize ");
    figures::took("two more tries without a rest", began.elapsed(), Duration::from_secs(5));
}

#[test]
fn what_is_remembered_stays_in_the_cache_and_holds_no_secret() {
    let sandbox = Sandbox::new();
    let mut entry = script(&sandbox, "new", MODERN_ONLY);
    entry["env"] = json!({"TOKEN": "hunter2hunter2"});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"new": entry}}));
    client.call("new.echo", json!({}));
    client.leave();
    let folder = fs::read_dir(sandbox.path(".cache/manifold")).expect("a folder");
    let files: Vec<_> = folder.flatten().filter(|entry| entry.file_name() != "salt").collect();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(files[0].path()).expect("a file");
    assert!(text.contains(r#""era":"modern""#) && !text.contains("hunter2"), "{text}");
}

/// A question of a tool `ask`, and what a client says to it.
fn asking() -> Value {
    json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
}

fn sampled() -> Value {
    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}})
}

fn is_marked(message: &Value) -> bool {
    !message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null()
}

// On HTTP a session stands beside the newest revision, opened when a caller first needs it
#[test]
fn a_dual_server_at_an_address_is_spoken_to_in_the_era_of_whoever_asks() {
    let sandbox = Sandbox::new();
    let server = HttpFake::start_as(Era::Dual, Style::Events, &["echo", "ask"]);
    let config = json!({"mcpServers": {"d": {"url": server.url()}}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let modern = HttpCaller::new(gateway.port, "/mcp", json!({"sampling": {}}));
    let call = json!({"name": "d__echo", "arguments": {"text": "hi"}});
    assert_eq!(text_of(&modern.ask("tools/call", call)), "hi");
    assert!(server.received("initialize").is_empty(), "nobody needed a session");
    assert!(is_marked(&server.received("tools/call")[0].body));

    let legacy = gateway.session("/mcp", "2025-11-25", json!({"sampling": {}}));
    for round in 2..4 {
        let mut call = legacy.call(round, "d__ask", asking(), None);
        let mut events = call.response().events();
        let question = events.message();
        assert_eq!(question["method"], "sampling/createMessage", "{question}");
        legacy.reply(&question["id"], sampled());
        let answer = events.message();
        assert!(text_of(&answer).contains("yes"), "{answer}");
        assert_eq!(server.received("initialize").len(), 1, "one session for all");
        assert!(!is_marked(&server.received("tools/call")[round as usize - 1].body));
    }
    assert_eq!(server.received("tools/list").len(), 1, "the list is read once");
    // The other era goes on beside it: its question is an answer.
    let asks = json!({"name": "d__ask", "arguments": asking()});
    let answer = modern.ask("tools/call", asks);
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
}

// A server that names both and opens no session is bridged, and no call is lost
#[test]
fn a_server_that_only_claims_both_eras_is_bridged() {
    let sandbox = Sandbox::new();
    let server = HttpFake::start_as(Era::Dual, Style::Events, &["ask"]);
    server.trouble_for_good("initialize", Trouble::status(500));
    let config = json!({"mcpServers": {"d": {"url": server.url()}}});
    let mut client = studio_with(&sandbox, &config, json!({"sampling": {}}));
    client.answer(|_, _| Ok(sampled()));
    for _ in 0..2 {
        let answer = client.call("d.ask", asking());
        assert!(text_of(&answer).contains("yes"), "{answer}");
    }
    assert_eq!(server.received("initialize").len(), 1, "asked for once");
}

// On stdio one process serves both if it answers both
#[test]
fn a_dual_server_on_a_pipe_is_spoken_to_in_the_era_of_whoever_asks() {
    let sandbox = Sandbox::new();
    let knobs = json!({"era": "dual", "log": sandbox.path("d.log"), "pid": sandbox.path("d.pid"),
        "tools": [{"name": "echo"}, {"name": "ask"}]});
    let config = json!({"mcpServers": {"d": fake(knobs)}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let modern = HttpCaller::new(gateway.port, "/mcp", json!({"sampling": {}}));
    let call = json!({"name": "d__echo", "arguments": {"text": "hi"}});
    assert_eq!(text_of(&modern.ask("tools/call", call)), "hi");
    let legacy = gateway.session("/mcp", "2025-11-25", json!({"sampling": {}}));
    let mut call = legacy.call(2, "d__ask", asking(), None);
    let mut events = call.response().events();
    let question = events.message();
    legacy.reply(&question["id"], sampled());
    assert!(text_of(&events.message()).contains("yes"));
    let calls = sandbox.received("d.log", "tools/call");
    assert_eq!(calls.iter().map(is_marked).collect::<Vec<_>>(), [true, false]);
    assert_eq!(sandbox.received("d.log", "initialize").len(), 1);
    let pids = fs::read_to_string(sandbox.path("d.pid")).expect("it was started");
    assert_eq!(pids.lines().count(), 1, "one process for both");
    let file = sandbox.path(".config/manifold/config.json");
    let is_known = || {
        let mut status = sandbox.manifold();
        let said = status.args(["status", "--json", "--config"]).arg(&file).output().expect("it runs");
        String::from_utf8_lossy(&said.stdout).contains(r#""era": "dual""#)
    };
    assert!(until(Duration::from_secs(60), is_known), "it is remembered as one that speaks both");
}
