//! Servers of either era, found out by their first words; some do not survive the wrong ones.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::time::{Duration, Instant};

use manifold_testkit::{Sandbox, bin, figures};
use serde_json::{Value, json};

use crate::s1_protocol::{studio, text_of};

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
