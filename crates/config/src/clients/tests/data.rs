//! The data itself.

use std::path::Path;

use super::super::table::clients;
use crate::keys::table::SERVER;
use crate::syntax::Syntax;

#[test]
fn every_file_is_read_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/clients/data");
    let files = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(clients().len(), files, "a file in data/ has no `title`, `syntax` or `roots`");
    for client in clients() {
        assert!(!client.title.is_empty() && !client.roots.is_empty(), "{}", client.id);
        assert!(client.roots.iter().all(|root| !root.is_empty()), "{}", client.id);
        for place in client.user.iter().chain(&client.project) {
            let syntax = match Path::new(place).extension().and_then(|extension| extension.to_str()) {
                Some("toml") => Syntax::Toml,
                Some("yaml") => Syntax::Yaml,
                _ => Syntax::Json,
            };
            assert_eq!(client.syntax, syntax, "{place}");
        }
    }
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
    assert_eq!(of("/work/site/.mcp.json"), ["claude-code"]);
    assert_eq!(of("/home/ann/.codeium/windsurf/mcp_config.json"), ["windsurf"]);
    assert_eq!(of("/home/ann/.gemini/antigravity/mcp_config.json"), ["antigravity"]);
    assert!(of("/home/ann/mcp.json").is_empty());
}
