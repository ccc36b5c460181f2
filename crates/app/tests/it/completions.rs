//! Completions of shells: servers and tools by name, from files alone.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use manifold_testkit::{Sandbox, fake};
use serde_json::json;

/// Returns what a shell is told could come next.
fn completed(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let mut command = sandbox.manifold();
    command.env("MANIFOLD_COMPLETE", "fish").args(["--", "manifold"]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_servers_offered_is_completed_and_nothing_is_started() {
    let sandbox = Sandbox::new();
    let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}, "how": {"enum": ["short", "long"]},
        "utc": {"type": "boolean"}}});
    let server = fake(json!({"tools": [{"name": "now", "inputSchema": schema}, {"name": "then"}],
        "prompts": [{"name": "p"}], "resources": [{"uri": "a://1", "name": "one"}], "pid": sandbox.path("a.pid")}));
    let config = json!({"mcpServers": {"clock": server, "other": fake(json!({}))}, "managerTools": false,
        "namespaces": [{"id": "work", "serverIds": ["clock"]}]});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    client.tool_names();
    client.leave();
    let config = sandbox.write("config.json", &config.to_string());
    let config = config.to_str().unwrap();
    let completed = |words: &[&str]| completed(&sandbox, &[&["--config", config], words].concat());
    let starts = || std::fs::read_to_string(sandbox.path("a.pid")).unwrap().lines().count();
    let before = starts();

    assert_eq!(completed(&["call", "clock"]), ["clock__now", "clock__then"]);
    for tool in ["clock__now", "clock.now", "clock/now", "now"] {
        assert_eq!(completed(&["call", tool, "zo"]), ["zone="], "{tool}");
        assert_eq!(completed(&["call", tool, "how="]), ["how=", "how=short", "how=long"], "{tool}");
        assert_eq!(completed(&["call", tool, "utc=t"]), ["utc=true"], "{tool}");
    }
    assert_eq!(completed(&["prompt", "c"]), ["clock__p"]);
    assert_eq!(completed(&["read", "a"]), ["a://1"]);
    assert_eq!(completed(&["--namespace", ""]), ["work"]);
    assert_eq!(completed(&["completi"]), ["completions"]);
    assert_eq!(completed(&["call", "nothing"]), Vec::<String>::new());
    assert_eq!(starts(), before, "nothing was started for that");
}

/// What is broken is not told in the middle of somebody's typing.
#[test]
fn a_broken_config_completes_commands_all_the_same() {
    let sandbox = Sandbox::new();
    let config = sandbox.write("config.json", "{");
    let config = config.to_str().unwrap();
    assert_eq!(completed(&sandbox, &["--config", config, "call", "c"]), Vec::<String>::new());
    assert_eq!(completed(&sandbox, &["--config", config, "completi"]), ["completions"]);
}
