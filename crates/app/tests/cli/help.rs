//! `--help`: one screen, examples with every verb, and what is meant by a misspelt one.

use manifold_testkit::Sandbox;
use serde_json::Value;

use crate::fake::{alone, ran};

const VERBS: [&str; 46] = [
    "add",
    "add-json",
    "remove",
    "rename",
    "import",
    "list",
    "get",
    "start",
    "stop",
    "restart",
    "enable",
    "disable",
    "refresh",
    "wait",
    "logs",
    "tools",
    "tool",
    "call",
    "read",
    "prompt",
    "complete",
    "resources",
    "prompts",
    "clients",
    "ns",
    "audit",
    "init",
    "install",
    "uninstall",
    "undo",
    "search",
    "status",
    "config",
    "daemon",
    "secret",
    "doctor",
    "login",
    "logout",
    "token",
    "watch",
    "record",
    "replay",
    "open",
    "tui",
    "completions",
    "man",
];

#[test]
fn the_first_page_fits_one_screen() {
    let sandbox = Sandbox::new();
    for flag in ["--help", "-h"] {
        let mut command = sandbox.manifold();
        command.arg(flag).env("COLUMNS", "100");
        let page = ran(command).stdout;
        assert!(page.lines().count() <= 40, "{} lines:\n{page}", page.lines().count());
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
        for verb in VERBS {
            assert!(
                page.contains(&format!("  {verb}")) || page.contains(&format!(", {verb}")),
                "no {verb}:\n{page}"
            );
        }
    }
}

#[test]
fn every_verb_has_examples_and_the_flags_that_act_there() {
    let sandbox = Sandbox::new();
    for verb in VERBS {
        let page = alone(&sandbox, &format!("{verb} --help")).stdout;
        assert!(page.contains(&format!("manifold {verb}")), "{verb}: {page}");
        // Those with verbs of their own, and those that write no document.
        let has_verbs = ["daemon", "config", "secret", "token", "record"].contains(&verb);
        let has_none = ["tui", "completions", "man"].contains(&verb);
        assert!(has_verbs || page.contains("Example"), "{verb}: {page}");
        assert!(has_verbs || has_none || page.contains("--json"), "{verb}: {page}");
        // Which servers there are does not matter to these.
        let is_without = ["uninstall", "undo", "completions", "man"].contains(&verb);
        assert_ne!(page.contains("--config"), is_without, "{verb}: {page}");
        for other in ["--port", "--tls-cert", "--framing"].iter().filter(|_| verb != "daemon") {
            assert!(!page.contains(other), "{verb} lists {other}: {page}");
        }
    }
}

#[test]
fn what_was_meant_is_said_and_not_done() {
    let sandbox = Sandbox::new();
    let ran = alone(&sandbox, "lits");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("'list'"), "{ran:?}");
    let ran = alone(&sandbox, "lits --json");
    let error: Value = serde_json::from_str(&ran.stderr).expect("one line of JSON");
    assert_eq!((ran.code, &error["error"]["code"]), (Some(2), &Value::from("usage")));
    assert!(error["error"]["message"].as_str().is_some_and(|message| message.contains("lits")), "{error}");
    for line in ["list -q --json", "get", "wait git --timeout soon", "list --port 1", "ns allow work"] {
        assert_eq!(alone(&sandbox, line).code, Some(2), "{line}");
    }
}

#[test]
fn help_is_a_word_too() {
    let sandbox = Sandbox::new();
    for (word, flag) in [("help call", "call --help"), ("help ns deny", "ns deny --help"), ("help", "--help")]
    {
        let (word, flag) = (alone(&sandbox, word), alone(&sandbox, flag));
        assert_eq!((word.code, &word.stdout), (Some(0), &flag.stdout));
    }
    assert_eq!(alone(&sandbox, "help nosuch").code, Some(2));
}
