//! The data itself.

use std::path::Path;

use super::super::Writing;
use super::super::table::{clients, read, read_all};
use crate::keys::table::SERVER;
use crate::syntax::Syntax;

/// What commands call the clients, in the order of names.
const IDS: &str = "amp antigravity claude-code claude-desktop cline codex continue copilot crush cursor factory gemini \
                   goose grok jetbrains kilo kimi kiro lmstudio opencode qoder roo trae vibe vscode vscode-insiders \
                   windsurf zed";

#[test]
fn every_file_is_read_whole() {
    let wrong: Vec<String> = read_all().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let ids: Vec<&str> = clients().iter().map(|client| client.id).collect();
    assert_eq!(ids, IDS.split_whitespace().collect::<Vec<_>>());
    for client in clients() {
        assert!(!client.title.is_empty() && client.as_of.starts_with("2026-"), "{}", client.id);
        assert!(client.roots.iter().all(|root| !root.is_empty()), "{}", client.id);
        assert!(client.roots.contains(&client.root), "{}", client.id);
        for place in client.places.everywhere().chain(&client.places.project) {
            let syntax = match Path::new(place).extension().and_then(|extension| extension.to_str()) {
                Some("toml") => Syntax::Toml,
                Some("yaml") => Syntax::Yaml,
                _ => Syntax::Json,
            };
            assert_eq!(client.syntax, syntax, "{place}");
        }
    }
}

// What is written somewhere can be, and what is not says why.
#[test]
fn every_client_can_be_written_or_says_why_not() {
    for client in clients() {
        let id = client.id;
        assert_eq!(client.stdio.is_some(), client.writing != Writing::Never, "{id}");
        assert!(client.remote.is_some() || client.no_remote.is_some() || client.stdio.is_none(), "{id}");
        assert!(client.writing == Writing::File || client.note.is_some(), "{id}");
        assert!(client.writing != Writing::File || !client.places.user.is_empty(), "{id}");
    }
}

#[test]
fn a_key_that_is_not_known_is_refused() {
    let text = "title = \"X\"\nsyntax = \"json\"\nroots = [[\"a\"]]\nwriting = \"file\"\nsure = \"source\"\nas_of = \"2026-08\"\n";
    assert!(read("x", text).is_ok());
    let wrong = |more: &str| read("x", &format!("{text}{more}")).unwrap_err();
    assert_eq!(wrong("colour = 1"), "x: `colour` is not known");
    assert_eq!(wrong("[limits]\nmax = 1"), "x: limits: `max` is not known");
    assert_eq!(wrong("[own_command]\nadd = []"), "x: own_command: `add` is not known");
    assert_eq!(wrong("user = \"a\""), "x: `user` is no list of texts");
    assert_eq!(wrong("[stdio]\ncommand = \"{cmd}\""), "command: `{cmd}` is no place to fill in");
}

#[test]
fn every_field_becomes_one_that_is_there() {
    for client in clients() {
        for (theirs, ours) in &client.fields {
            let special = ["", "bearer", "environment names", "inherited names"].contains(&ours.as_str());
            assert!(special || SERVER.key(ours).is_some(), "{}: {theirs} = {ours}", client.id);
        }
        for ours in client.types.iter().map(|(_, ours)| ours).chain(&client.url_type) {
            assert!(["", "stdio", "http", "sse"].contains(&ours.as_str()), "{}: {ours}", client.id);
        }
    }
}

// Every key the files use is one the README explains.
#[test]
fn every_key_is_told_of() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/clients");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for file in std::fs::read_dir(folder.join("data")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let top = text.split("\n[").next().unwrap().lines().filter_map(|line| line.split_once(" = "));
        for (key, _) in top {
            assert!(readme.contains(&format!("`{key}`")), "{key}");
        }
        for section in text.lines().filter(|line| line.starts_with('[')) {
            assert!(readme.contains(&format!("`{section}`")), "{section}");
        }
    }
}

#[test]
fn a_file_is_known_by_its_place() {
    let of = |path: &str| {
        let found = clients().iter().filter(|client| client.keeps(Path::new(path)));
        found.map(|client| client.id).collect::<Vec<_>>()
    };
    assert_eq!(of("/home/ann/.cursor/mcp.json"), ["cursor"]);
    assert_eq!(of("/home/ann/.config/Code/User/mcp.json"), ["vscode"]);
    assert_eq!(of("/home/ann/.config/Code - Insiders/User/mcp.json"), ["vscode-insiders"]);
    // One file for two programs.
    assert_eq!(of("/work/site/.mcp.json"), ["claude-code", "copilot"]);
    assert_eq!(of("/work/site/.vscode/mcp.json"), ["vscode", "vscode-insiders"]);
    assert_eq!(of("/home/ann/.codeium/windsurf/mcp_config.json"), ["windsurf"]);
    assert_eq!(of("/home/ann/.gemini/antigravity/mcp_config.json"), ["antigravity"]);
    assert!(of("/home/ann/mcp.json").is_empty());
}
