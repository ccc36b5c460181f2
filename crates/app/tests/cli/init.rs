//! `init`: a home with the files of every client, set up in one go and taken back in one go.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use manifold_config::{Scope, Writing, clients};
use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::install::{done, environment, files, json_of, run};

const CONFIG: &str = ".config/manifold/config.json";

fn config(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&fs::read_to_string(sandbox.path(CONFIG)).expect("a config")).expect("JSON")
}

/// Copies a folder of fixtures into a home.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("fixtures").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).expect("a copy")),
        }
    }
}

#[test]
fn a_home_with_every_client_is_set_up_and_taken_back() {
    let sandbox = Sandbox::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/fixtures/home"), sandbox.home());
    let before = files(sandbox.home());
    let dry = json_of(&sandbox, "init --yes --dry-run --json");
    assert!(files(sandbox.home()) == before, "a dry run writes nothing");

    let report = json_of(&sandbox, "init --yes --json");
    assert_eq!(report["failed"], json!([]), "{report}");
    assert_eq!(report["import"], dry["import"]);
    let config = config(&sandbox);
    let added = report["import"]["added"].as_array().expect("ids").len();
    assert_eq!(config["mcpServers"].as_object().expect("servers").len(), added, "each once: {config}");
    assert!(added >= 25, "{report}");
    let mut seen = 0;
    for client in clients().iter().filter(|client| client.writing() == Writing::File) {
        let environment = environment(&sandbox);
        if !client.is_present(&environment) {
            continue;
        }
        let path = client.file(Scope::User, &environment).expect("a file");
        let names = client.names_in(&fs::read_to_string(&path).expect("it is there"), &path).expect("read");
        assert!(names.contains(&"manifold".to_owned()), "{}: {names:?}", client.id());
        let row = report["clients"].as_array().expect("rows").iter().find(|row| row["client"] == client.id());
        let left = row.expect("a row")["left"].as_array().map_or(0, Vec::len);
        assert_eq!(names.len(), 1 + left, "{}: {names:?}", client.id());
        seen += 1;
    }
    assert!(seen >= 24, "only {seen} clients have us");

    let after = files(sandbox.home());
    let again = json_of(&sandbox, "init --yes --json");
    assert_eq!((&again["backup"], &again["import"]["added"]), (&Value::Null, &json!([])), "{again}");
    assert!(files(sandbox.home()) == after, "a second run changes nothing");
    let undone = json_of(&sandbox, "undo --json");
    assert_eq!(undone["left"], json!([]), "{undone}");
    let now = files(sandbox.home());
    for (file, text) in &before {
        assert_eq!(
            now.get(file).map(|text| String::from_utf8_lossy(text)),
            Some(String::from_utf8_lossy(text)),
            "{file}"
        );
    }
    assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(run(&sandbox, "undo").code, Some(1), "one record for all of it");
}

#[test]
fn a_home_without_clients_gets_a_config() {
    let sandbox = Sandbox::new();
    let before = files(sandbox.home());
    let told = done(&sandbox, "init --yes");
    assert!(
        told.contains("no client that we know is here") && told.contains("`manifold install CLIENT`"),
        "{told}"
    );
    assert!(told.contains("`manifold undo`"), "{told}");
    assert_eq!(run(&sandbox, "config check").code, Some(0));
    assert!(config(&sandbox)["mcpServers"].as_object().is_some_and(|servers| !servers.is_empty()));
    let text = fs::read(sandbox.path(CONFIG)).expect("a config");
    done(&sandbox, "init --yes");
    assert_eq!(fs::read(sandbox.path(CONFIG)).expect("a config"), text);
    done(&sandbox, "undo");
    assert!(files(sandbox.home()) == before);
}

#[test]
fn nobody_to_ask_is_told_of_yes() {
    let sandbox = Sandbox::new();
    sandbox.write(".cursor/mcp.json", "{\"mcpServers\": {\"git\": {\"command\": \"git\"}}}");
    let before = files(sandbox.home());
    for line in ["init", "init --json", "init --keep"] {
        let ran = run(&sandbox, line);
        assert!(ran.code == Some(2) && ran.stderr.contains("--yes"), "{line}: {ran:?}");
    }
    let told = done(&sandbox, "init --dry-run");
    assert!(told.contains("git") && told.contains("nothing was written"), "{told}");
    assert!(files(sandbox.home()) == before);
}

/// Answers on a terminal, by way of `script`: each keystroke once its question is there. Returns what was shown and the exit
/// code; `None`: there is no such program.
fn answered(sandbox: &Sandbox, answers: &[(&str, &str)]) -> Option<(String, Option<i32>)> {
    Command::new("script").arg("--version").output().ok()?;
    let plain = sandbox.manifold();
    let program = plain.get_program().to_str()?.to_owned();
    let mut script = sandbox.command("script");
    script.arg("-qec").arg(format!("stty cols 100 && exec {program} init")).arg("/dev/null");
    script.env("TERM", "xterm").env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().ok()?;
    let (mut keys, mut screen) = (child.stdin.take()?, child.stdout.take()?);
    let (mut shown, mut part, mut seen) = (String::new(), [0; 4096], 0);
    let mut answers = answers.iter().peekable();
    loop {
        let count = screen.read(&mut part).unwrap_or(0);
        if count == 0 {
            break;
        }
        shown.push_str(&String::from_utf8_lossy(&part[..count]));
        if let Some((question, answer)) = answers.peek()
            && let Some(at) = shown[seen..].find(question)
        {
            seen += at + question.len();
            keys.write_all(answer.as_bytes()).ok()?;
            answers.next();
        }
    }
    assert!(answers.peek().is_none(), "not asked: {answers:?}\n{shown}");
    Some((shown, child.wait().ok()?.code()))
}

#[test]
fn somebody_at_a_terminal_is_asked_before_anything_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write(".cursor/mcp.json", "{\"mcpServers\": {\"git\": {\"command\": \"git\"}}}");
    sandbox.write(".codex/config.toml", "");
    let before = files(sandbox.home());
    for broken_off in [
        &[("Import 1 server", "\u{3}")][..],
        &[("Import 1 server", "\r"), ("which clients", "\u{3}")],
        &[("Import 1 server", "\r"), ("which clients", "\r"), ("Take what was imported", "\u{3}")],
    ] {
        let Some((shown, code)) = answered(&sandbox, broken_off) else {
            println!("not run: there is no `script`");
            return;
        };
        assert!(code == Some(130) && shown.contains("nothing was written"), "{code:?} {shown}");
        assert!(files(sandbox.home()) == before, "{shown}");
    }
    let yes = [("Import 1 server", "\r"), ("which clients", "\r"), ("Take what was imported", "\r")];
    let (shown, code) = answered(&sandbox, &yes).expect("it was there before");
    assert!(code == Some(0) && shown.contains("`manifold undo` takes all of this back"), "{code:?} {shown}");
    assert!(config(&sandbox)["mcpServers"]["git"].is_object());
    assert!(!fs::read_to_string(sandbox.path(".cursor/mcp.json")).expect("the file").contains("\"git\""));
    assert!(fs::read_to_string(sandbox.path(".codex/config.toml")).expect("the file").contains("manifold"));
    done(&sandbox, "undo");
    assert!(files(sandbox.home()) == before);
}

#[test]
fn a_projects_servers_are_imported_disabled_and_stay_in_its_file() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    let text = "{\"mcpServers\": {\"build\": {\"command\": \"make\"}}}";
    sandbox.write(".mcp.json", text);
    sandbox.write(".cursor/mcp.json", "{\"mcpServers\": {\"git\": {\"command\": \"git\"}}}");
    let told = done(&sandbox, "init --yes --keep");
    assert!(told.contains("disabled: build; `manifold enable build`"), "{told}");
    let config = config(&sandbox);
    assert_eq!(config["mcpServers"]["build"]["disabled"], json!(true), "{config}");
    assert_eq!(config["mcpServers"]["git"]["disabled"], Value::Null, "{config}");
    assert_eq!(fs::read_to_string(sandbox.path(".mcp.json")).expect("the file"), text);
    let kept = fs::read_to_string(sandbox.path(".cursor/mcp.json")).expect("the file");
    assert!(kept.contains("\"git\"") && kept.contains("\"manifold\""), "{kept}");
    let moved = done(&sandbox, "init --yes");
    assert!(moved.contains("1 server moved behind Manifold: git"), "{moved}");
    assert!(!fs::read_to_string(sandbox.path(".cursor/mcp.json")).expect("the file").contains("\"git\""));
}
