//! `undo` after the verbs that change the config: the bytes are those from before.

use std::fs;
use std::process::Stdio;

use manifold_testkit::Sandbox;

use crate::fake::{Ran, ran};

const CONFIG: &str = ".config/manifold/config.json";

const WRITTEN: &str = "\u{feff}{\r\n  // mine\r\n  \"mcpServers\": {\r\n    \"clock\": {\"builtin\": \"time\"}, // ticks\r\n    \
                       \"files\": {\"command\": \"true\", \"disabled\": true}\r\n  },\r\n  \"namespaces\": {\"work\": \
                       {\"serverIds\": [\"files\"]}},\r\n}";

/// Every verb that changes which servers there are.
const CHANGES: [&[&str]; 9] = [
    &["add", "git", "--", "true", "x"],
    &["add", "docs", "https://docs.example/mcp", "--namespace", "work"],
    &["add-json", "more", "{\"command\": \"true\"}"],
    &["add", "clock", "--force", "--", "false"],
    &["rename", "files", "notes"],
    &["remove", "files", "clock"],
    &["import", "--from", "theirs.json", "--secrets", "move"],
    &["enable", "files"],
    &["disable", "clock"],
];

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(CONFIG, WRITTEN);
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let theirs = format!(
        "{{\"mcpServers\": {{\"hub\": {{\"command\": \"hub\", \"env\": {{\"T_TOKEN\": \"{token}\"}}}}}}}}"
    );
    sandbox.write("theirs.json", &theirs);
    sandbox
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let mut command = sandbox.daemon();
    command.args(words).stdin(Stdio::null());
    let ran = ran(command);
    assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    ran
}

/// Stores the token's name with another value.
fn set(sandbox: &Sandbox, value: &str) {
    sandbox.write("value", value);
    let mut command = sandbox.daemon();
    let value = fs::File::open(sandbox.path("value")).expect("a file");
    command.args(["secret", "set", "T_TOKEN"]).stdin(value);
    let ran = ran(command);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(CONFIG)).expect("a config")
}

#[test]
fn each_change_is_taken_back_to_the_byte() {
    for words in CHANGES {
        let sandbox = home();
        run(&sandbox, words);
        assert_ne!(text(&sandbox), WRITTEN, "{words:?}");
        let said = run(&sandbox, &["undo"]);
        assert_eq!(text(&sandbox), WRITTEN, "{words:?}");
        assert_eq!(said.stdout.contains("removed the secret T_TOKEN"), words[0] == "import", "{said:?}");
        assert_eq!(run(&sandbox, &["secret", "list", "-q"]).stdout, "", "{words:?}");
    }
}

#[test]
fn a_secret_goes_with_the_command_that_stored_it_unless_it_is_anothers() {
    const SECRET: &str = "a-value-of-its-own";
    // Stored anew since.
    let sandbox = home();
    run(&sandbox, CHANGES[6]);
    run(&sandbox, &["secret", "rm", "T_TOKEN"]);
    set(&sandbox, SECRET);
    let said: serde_json::Value =
        serde_json::from_str(&run(&sandbox, &["undo", "--json"]).stdout).expect("JSON");
    let why = said["left"][0]["why"].as_str().unwrap_or_default();
    assert!(why.contains("the secret T_TOKEN stays in the store; it was stored anew since"), "{said}");
    assert_eq!(run(&sandbox, &["secret", "list", "-q"]).stdout, "T_TOKEN\n");

    // Used by another server by now.
    let sandbox = home();
    run(&sandbox, CHANGES[6]);
    run(&sandbox, &["add", "too", "-e", "X=${secret:T_TOKEN}", "--", "true"]);
    let list: serde_json::Value =
        serde_json::from_str(&run(&sandbox, &["undo", "--list", "--json"]).stdout).expect("JSON");
    let first = list[1]["id"].as_str().expect("an id").to_owned();
    let said = run(&sandbox, &["undo", &first]);
    assert!(said.stderr.contains("the secret T_TOKEN stays in the store; a config uses it"), "{said:?}");
    assert_eq!(run(&sandbox, &["secret", "list", "-q"]).stdout, "T_TOKEN\n");
}

#[test]
fn changes_are_taken_back_one_after_the_other() {
    let sandbox = home();
    let mut texts = vec![text(&sandbox)];
    for words in [CHANGES[0], CHANGES[4], CHANGES[6], CHANGES[8]] {
        run(&sandbox, words);
        texts.push(text(&sandbox));
    }
    while let Some(last) = texts.pop() {
        assert_eq!(text(&sandbox), last);
        if !texts.is_empty() {
            run(&sandbox, &["undo"]);
        }
    }
}

#[test]
fn what_somebody_wrote_meanwhile_is_kept() {
    let sandbox = home();
    run(&sandbox, CHANGES[0]);
    let with_remark = text(&sandbox).replace("// mine", "// mine, and changed");
    sandbox.write(CONFIG, &with_remark);
    run(&sandbox, &["undo"]);
    assert_eq!(text(&sandbox), WRITTEN.replace("// mine", "// mine, and changed"));
}

#[test]
fn the_first_server_is_taken_back_with_its_file() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["add", "git", "--", "true"]);
    run(&sandbox, &["undo"]);
    assert!(!sandbox.path(CONFIG).exists());
}

#[test]
fn of_many_who_change_the_config_at_once_each_gets_through() {
    let sandbox = home();
    let add = |number: usize| {
        let mut command = sandbox.daemon();
        command.args(["add", &format!("n{number}"), "--", "true"]).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let children: Vec<_> = (0..24).map(add).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = fs::read_to_string(sandbox.path(CONFIG)).expect("a config");
    assert!((0..24).all(|number| text.contains(&format!("\"n{number}\""))), "{text}");
}
