//! What a daemon changed on somebody's order is taken back to the byte, and the daemon serves what was there before.

use std::fs;

use manifold_testkit::until;
use serde_json::{Value, json};

use crate::home::Home;
use crate::{SOON, fake_with};

fn run(home: &Home, words: &[&str]) -> String {
    let output = home.sandbox.daemon().args(words).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn ids(home: &Home) -> Vec<String> {
    let list: Value = serde_json::from_str(&run(home, &["list", "--json"])).expect("JSON");
    let servers = list.as_array().or_else(|| list["servers"].as_array()).expect("servers");
    let off = |one: &Value| if one["enabled"] == false || one["state"] == "disabled" { " (off)" } else { "" };
    servers.iter().map(|one| format!("{}{}", one["id"].as_str().expect("an id"), off(one))).collect()
}

/// Returns the last two changes that the audit has.
fn noted(home: &Home) -> Vec<String> {
    let lines: Vec<Value> = serde_json::from_str(&run(home, &["audit", "--json"])).expect("JSON");
    let last = lines.iter().rev().take(2).rev();
    last.map(|line| line["verb"].as_str().expect("a verb").to_owned()).collect()
}

#[test]
fn what_a_daemon_wrote_is_taken_back_and_served_no_longer() {
    let home =
        Home::new(json!({"one": fake_with(&["pid"], json!({})), "two": fake_with(&["pid"], json!({}))}));
    home.sandbox.write("theirs.json", r#"{"mcpServers": {"three": {"command": "true"}}}"#);
    let _window = home.open();
    let (before, served) = (fs::read(&home.config).expect("a config"), ids(&home));
    for words in [
        &["add", "new", "--", "true"][..],
        &["add-json", "new", "{\"command\": \"true\"}"],
        &["remove", "two"],
        &["rename", "two", "second"],
        &["import", "--from", "theirs.json"],
        &["disable", "two"],
    ] {
        let pid = home.daemon();
        run(&home, words);
        assert!(fs::read(&home.config).expect("a config") != before, "{words:?}");
        assert!(until(SOON, || ids(&home) != served), "{words:?} is not served");
        run(&home, &["undo"]);
        assert_eq!(noted(&home), [words[0], "undo"], "each by its own word");
        assert!(fs::read(&home.config).expect("a config") == before, "{words:?}");
        assert!(until(SOON, || ids(&home) == served), "{words:?} is still served: {:?}", ids(&home));
        assert_eq!(home.daemon(), pid);
    }
}
