//! `config edit`: what comes out of the editor is checked, saved, and taken back by `undo`.

use std::fs;
use std::process::Stdio;

use manifold_testkit::Sandbox;

use crate::fake::{Ran, ran};

const CONFIG: &str = ".config/manifold/config.json";
const WRITTEN: &str = "{\n  // mine\n  \"mcpServers\": {\"clock\": {\"builtin\": \"time\"}}\n}\n";

fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(CONFIG, WRITTEN);
    sandbox
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(CONFIG)).expect("a config")
}

fn edit(sandbox: &Sandbox, editor: &str) -> Ran {
    let mut command = sandbox.daemon();
    command.args(["config", "edit"]).env("EDITOR", editor).env_remove("VISUAL").stdin(Stdio::null());
    ran(command)
}

#[test]
fn what_was_edited_is_saved_and_can_be_undone() {
    let sandbox = home();
    let saved = edit(&sandbox, "sed -i s/clock/watch/");
    assert_eq!(saved.code, Some(0), "{saved:?}");
    assert_eq!(text(&sandbox), WRITTEN.replace("clock", "watch"));
    assert_eq!(edit(&sandbox, "true").code, Some(0), "nothing is typed, nothing is changed");
    let mut undo = sandbox.daemon();
    undo.arg("undo").stdin(Stdio::null());
    let undone = ran(undo);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(text(&sandbox), WRITTEN);
}

#[test]
fn what_is_refused_changes_nothing_and_is_not_lost() {
    let sandbox = home();
    let refused = edit(&sandbox, "sed -i s/^{/[/");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert_eq!(text(&sandbox), WRITTEN);
    let kept = refused.stderr.split("what was typed is in ").nth(1).and_then(|rest| rest.lines().next());
    let kept = kept.expect("the file is named").trim();
    assert!(fs::read_to_string(kept).expect("it is there").starts_with("[\n  // mine"));
    fs::remove_file(kept).expect("it can go");
    let failed = edit(&sandbox, "false");
    assert_ne!(failed.code, Some(0), "an editor that fails changes nothing: {failed:?}");
    assert_eq!(text(&sandbox), WRITTEN);
}

#[test]
fn programs_are_told_what_was_saved_as_json() {
    let sandbox = home();
    let mut command = sandbox.daemon();
    command.args(["config", "edit", "--json"]).env("EDITOR", "sed -i s/clock/watch/").env_remove("VISUAL");
    command.stdin(Stdio::null());
    let saved = ran(command);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let said: serde_json::Value = serde_json::from_str(&saved.stdout).expect("it is JSON");
    assert_eq!(said["changed"], serde_json::json!(true), "{said}");
    assert_eq!(text(&sandbox), WRITTEN.replace("clock", "watch"));
}
