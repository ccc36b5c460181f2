mod any;
mod json;
mod revert;
mod rules;
mod toml;
mod yaml;

use std::path::Path;

use expect_test::Expect;

use super::{Edit, EditError, apply};
use crate::testing::options;

fn edit(name: &str, text: &str, edit: &Edit) -> Result<String, EditError> {
    apply(text, Some(Path::new(name)), edit, &options())
}

fn check(name: &str, text: &str, change: &Edit, expected: Expect) {
    let shown = edit(name, text, change).unwrap_or_else(|error| format!("refused: {error}"));
    expected.assert_eq(&shown);
}

fn enable(id: &str, enabled: bool) -> Edit {
    Edit::SetEnabled { id: id.to_owned(), enabled }
}

fn put(id: &str, entry: &str) -> Edit {
    Edit::PutServer { id: id.to_owned(), entry: entry.to_owned() }
}

fn remove(id: &str) -> Edit {
    Edit::RemoveServer { id: id.to_owned() }
}

/// What is put in and taken out again leaves the text as it was.
fn check_round_trip(name: &str, text: &str) {
    let with =
        edit(name, text, &put("new one", r#"{"command": "x", "args": ["-y", "ä"], "env": {"A": "1"}}"#));
    let with = with.unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert!(with.contains("new one"), "{with}");
    assert_eq!(edit(name, &with, &remove("new one")).unwrap(), text, "{with}");
}

/// Turning a server off and on again leaves the text as it was.
fn check_switch(name: &str, text: &str, id: &str) {
    let off = edit(name, text, &enable(id, false)).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_ne!(off, text);
    assert_eq!(edit(name, &off, &enable(id, false)).unwrap(), off);
    assert_eq!(edit(name, &off, &enable(id, true)).unwrap(), text, "{off}");
}

/// Every file of another program that we have can be changed, server by server, without a change of any other.
#[test]
fn files_of_other_programs_are_changed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients");
    let mut refused = String::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.is_file()) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let name = path.file_name().unwrap().to_str().unwrap();
        let Ok(config) = crate::load::load_text(&text, Some(path), &options()) else { continue };
        for server in &config.servers {
            let id = &server.key.id;
            for change in [enable(id, !server.enabled), remove(id)] {
                match apply(&text, Some(path), &change, &options()) {
                    Ok(new) => any::check_others(path, &text, &new, id),
                    Err(error) => refused += &format!("{name} {id}: {error}\n"),
                }
            }
        }
    }
    expect_test::expect![[""]].assert_eq(&refused);
}

/// What a project goes without is used again; what stands in a project and outside it is changed where it counts.
#[test]
fn the_project_of_the_folder_counts() {
    let text = r#"{"numStartups": 3, "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}},
 "projects": {"/p": {"mcpServers": {"b": {"command": "y"}}, "disabledMcpServers": ["a", "z"]}}}"#;
    let mut options = options();
    options.environment.cwd = "/p/below".into();
    let change = |edit: &Edit| apply(text, Some(Path::new(".claude.json")), edit, &options).unwrap();
    assert_eq!(change(&enable("a", true)), text.replace("\"a\", \"z\"", "\"z\""));
    assert_eq!(change(&enable("b", false)), text.replace("\"y\"", "\"y\", \"disabled\": true"));
    let without =
        text.replace(", \"b\": {\"command\": \"x\"}", "").replace("{\"b\": {\"command\": \"y\"}}", "{}");
    assert_eq!(change(&remove("b")), without);
}
