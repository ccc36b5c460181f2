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
        "prompts": [{"name": "p", "arguments": [{"name": "topic"}, {"name": "a;b"}]}],
        "resources": [{"uri": "a://1", "name": "one"}], "pid": sandbox.path("a.pid")}));
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
    assert_eq!(completed(&["call", "clock."]), ["clock.now", "clock.then"]);
    assert_eq!(completed(&["tool", "clock/t"]), ["clock/then"]);
    assert_eq!(completed(&["tools", "--server", ""]), ["clock", "other"]);
    for tool in ["clock__now", "clock.now", "clock/now", "now"] {
        assert_eq!(completed(&["call", tool, "zo"]), ["zone="], "{tool}");
        assert_eq!(completed(&["call", tool, "how="]), ["how=", "how=short", "how=long"], "{tool}");
        assert_eq!(completed(&["call", tool, "utc=t"]), ["utc=true"], "{tool}");
    }
    assert_eq!(completed(&["prompt", "c"]), ["clock__p"]);
    assert_eq!(completed(&["read", "a"]), ["a://1"]);
    for words in [&["--namespace", ""][..], &["tools", "--namespace", ""], &["call", "--namespace", ""]] {
        assert_eq!(completed(words), ["work"], "{words:?}");
    }
    for words in [&["ns", "show", "w"][..], &["ns", "allow", "w"], &["ns", "deny", "w"]] {
        assert_eq!(completed(words), ["work"], "{words:?}");
    }
    assert_eq!(completed(&["ns", "allow", "work", "clock"]), ["clock.now", "clock.then"]);
    assert_eq!(completed(&["complete", "prompt", "clock."]), ["clock.p"]);
    for prompt in ["clock__p", "clock.p", "p"] {
        assert_eq!(completed(&["prompt", prompt, "t"]), ["topic="], "{prompt}");
        assert_eq!(completed(&["complete", "prompt", prompt, "t"]), ["topic="], "{prompt}");
    }
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

/// A server with one of everything that a shell would obey, and one of each that it would not.
fn hostile() -> serde_json::Value {
    let options = json!([
        "fast;touch pwned;#",
        "$(touch pwned)",
        "`id`",
        "@/etc/passwd",
        "a b",
        "\u{1b}]52;c;aa\u{7}",
        "\u{202e}x",
        "it's",
        "*",
        "calm"
    ]);
    let schema = json!({"type": "object", "properties": {"mode": {"enum": options}, "$(touch pwned)": {}, "a;b": {},
        "\u{1b}[31m": {}, "--config": {}}});
    fake(json!({
        "tools": [{"name": "now", "inputSchema": schema}, {"name": "x$(touch pwned)"}, {"name": "x\ny"}],
        "prompts": [{"name": "p"}, {"name": "p;id"}],
        "resources": [{"uri": "doc$(id)", "name": "a"}, {"uri": "doc`id`", "name": "b"},
            {"uri": "doc://1", "name": "c"}, {"uri": "-doc", "name": "d"}, {"uri": "doc\u{202e}", "name": "e"}],
    }))
}

/// A shell may put what it is offered on the command line as it is: what it would obey is not offered (T27).
#[test]
fn what_a_shell_would_obey_is_not_offered() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"evil": hostile(), "ok": fake(json!({})), "a b;touch $(id)": fake(json!({})),
        "i\u{1b}]52;c;aa\u{7}x": fake(json!({}))}, "managerTools": false});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    client.tool_names();
    client.leave();
    let config = sandbox.write("config.json", &config.to_string());
    let config = config.to_str().unwrap();
    sandbox.write("c$(touch pwned).json", "{}");
    for shell in ["bash", "zsh", "fish"] {
        let completed = |words: &[&str]| {
            let mut command = sandbox.manifold();
            command.env("MANIFOLD_COMPLETE", shell).args(["--", "manifold", "--config", config]).args(words);
            if shell == "zsh" {
                command.env("_CLAP_COMPLETE_INDEX", (words.len() + 2).to_string());
            }
            let output = command.current_dir(sandbox.path("")).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let words = text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned());
            words.collect::<Vec<_>>()
        };
        let uri = if shell == "zsh" { "doc\\://1" } else { "doc://1" };
        assert_eq!(completed(&["read", "doc"]), [uri], "{shell}");
        assert!(!completed(&["read", ""]).contains(&"-doc".to_owned()), "{shell}");
        assert_eq!(completed(&["call", "evil__n"]), ["evil__now"], "{shell}");
        assert_eq!(completed(&["call", "evil.x"]), Vec::<String>::new(), "{shell}");
        assert_eq!(completed(&["call", "evil.now", "mode="]), ["mode=", "mode=calm"], "{shell}");
        assert_eq!(completed(&["call", "evil.now", "$"]), Vec::<String>::new(), "{shell}");
        assert_eq!(completed(&["call", "evil.now", "a"]), Vec::<String>::new(), "{shell}");
        assert_eq!(completed(&["prompt", "evil."]), ["evil.p"], "{shell}");
        assert_eq!(completed(&["tools", "--server", ""]), ["evil", "ok"], "{shell}");
        assert_eq!(completed(&["--token-file", "c"]), ["config.json"], "{shell}");
        let all = [&["get", ""][..], &["call", "evil.now", ""], &["call", ""], &["read", ""]]
            .map(completed)
            .concat();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=\\".contains(c);
        let words = all.iter().map(|line| line.split(":").next().unwrap_or_default());
        for word in words {
            assert!(word.chars().all(is_plain), "{shell}: {word:?}");
        }
    }
}

/// Bash cuts words at `=` and `:`, and replaces what is behind the last of them.
#[test]
fn bash_is_told_what_goes_behind_what_it_has() {
    let sandbox = Sandbox::new();
    let schema = json!({"type": "object", "properties": {"how": {"enum": ["short", "long"]}}});
    let server = fake(json!({"tools": [{"name": "now", "inputSchema": schema}],
        "resources": [{"uri": "demo://a:1", "name": "a"}, {"uri": "demo://b", "name": "b"}]}));
    let config = json!({"mcpServers": {"fx": server}, "managerTools": false,
        "namespaces": [{"id": "work", "serverIds": ["fx"]}]});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    client.tool_names();
    client.leave();
    let config = sandbox.write("config.json", &config.to_string());
    let script = sandbox.manifold().args(["completions", "bash"]).output().unwrap();
    let script = sandbox.write("manifold.bash", &String::from_utf8(script.stdout).unwrap());
    let program = sandbox.manifold().get_program().to_owned();
    let folder = std::path::Path::new(&program).parent().unwrap().to_owned();
    // A line, its words as bash cuts them, and what is behind the last cut.
    let completed = |line: &str, words: &[&str], last: &str| {
        let mut command = std::process::Command::new("bash");
        command.envs(sandbox.manifold().get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("MANIFOLD_CONFIG", &config);
        let asks = r#". "$0"; COMP_LINE=$1; word=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            _manifold_complete manifold "$word"; printf '%s\n' "${COMPREPLY[@]}""#;
        command.args(["--norc", "-c", asks]).arg(&script).args([line, last]).args(words);
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let call = ["manifold", "call", "fx.now"];
    let with = |words: &[&'static str]| [&call[..], words].concat();
    assert_eq!(completed("manifold call fx.now h", &with(&["h"]), "h"), ["how=", "how=short", "how=long"]);
    assert_eq!(completed("manifold call fx.now how=", &with(&["how", "="]), ""), ["short", "long"]);
    assert_eq!(completed("manifold call fx.now how=s", &with(&["how", "=", "s"]), "s"), ["short"]);
    assert_eq!(completed("manifold call fx.now how=s h", &with(&["how", "=", "s", "h"]), "h").len(), 3);
    let read = |words: &[&'static str]| [&["manifold", "read"][..], words].concat();
    assert_eq!(completed("manifold read demo:", &read(&["demo", ":"]), ""), ["//a:1", "//b"]);
    assert_eq!(completed("manifold read demo://a", &read(&["demo", ":", "//a"]), "//a"), ["//a:1"]);
    assert_eq!(completed("manifold read  demo://a:", &read(&["demo", ":", "//a", ":"]), ""), ["1"]);
    assert_eq!(completed("manifold get f", &["manifold", "get", "f"], "f"), ["fx"]);
    let tools = ["manifold", "tools", "--namespace", "="];
    assert_eq!(completed("manifold tools --namespace=", &tools, ""), ["work"]);
    assert_eq!(completed("manifold ns show w", &["manifold", "ns", "show", "w"], "w"), ["work"]);
}
