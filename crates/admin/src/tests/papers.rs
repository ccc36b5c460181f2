//! `docs/api.md` lists the routes there are, and `docs/faces.md` who asks for which: `UPDATE_EXPECT=1` writes that.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use super::schemas::docs;
use crate::{Effect, ROUTES};

fn table() -> String {
    let mut table = "| request | command line | |\n|---|---|---|\n".to_owned();
    for route in ROUTES {
        let verbs: Vec<String> = route.verbs.iter().map(|verb| format!("`{verb}`")).collect();
        let effect = match route.effect {
            Effect::Reads => "reads",
            Effect::Asks => "asks",
            Effect::Changes => "changes, audited",
        };
        let _ = writeln!(
            table,
            "| `{} {}` | {} | {effect} |",
            route.method.as_str(),
            route.path,
            verbs.join(", ")
        );
    }
    table
}

#[test]
fn the_manual_lists_every_route() {
    let text = fs::read_to_string(docs().join("api.md")).expect("the manual is there");
    assert!(text.contains(&table()), "docs/api.md should have this table:\n{}", table());
}

/// What code asks for: the file, and the path as it is written there, with `{}` for what is put in.
type Asked = (String, String);

/// Returns every path of the control API in the code below a folder, tests aside.
fn asked_in(folder: &str, endings: &[&str]) -> Vec<Asked> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).expect("the folder is there");
        for path in entries.map(|entry| entry.expect("it can be read").path()) {
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() {
                folders.extend((!is_test).then_some(path));
            } else if !is_test
                && endings.iter().any(|ending| path.extension().is_some_and(|it| it == *ending))
            {
                found.extend(asked_by(&path, &root));
            }
        }
    }
    found.sort();
    found
}

fn asked_by(path: &PathBuf, root: &Path) -> Vec<Asked> {
    let text = fs::read_to_string(path).expect("it is text");
    let name = path.strip_prefix(root).expect("it is below").display().to_string();
    let begins = text.match_indices("/v1/").filter(|(at, _)| text[..*at].ends_with(['"', '`']));
    begins.map(|(at, _)| (name.clone(), plain(&text[at..]))).collect()
}

/// Returns a path up to its end or its query, each thing that is put into it as `{}`. What is put in at the end behind
/// no slash is a query.
fn plain(text: &str) -> String {
    let mut path = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' | '`' | '?' => break,
            '$' if rest.peek() == Some(&'{') => {}
            '{' => {
                let mut depth = 1;
                while depth > 0 {
                    match rest.next() {
                        Some('{') => depth += 1,
                        Some('}') => depth -= 1,
                        Some(_) => {}
                        None => return path,
                    }
                }
                if !path.ends_with('/') {
                    break;
                }
                path.push_str("{}");
            }
            c => path.push(c),
        }
    }
    path
}

/// Returns whether a path as code has it may be one of a route: what is put in may be any one part.
fn may_be(asked: &str, route: &str) -> bool {
    let (asked, route): (Vec<_>, Vec<_>) = (asked.split('/').collect(), route.split('/').collect());
    let fits = |(asked, route): (&&str, &&str)| *asked == "{}" || asked == route;
    asked.len() == route.len() && asked.iter().zip(&route).all(fits)
}

// B1: whatever a button or a key asks for is a route that is listed, and so a verb of the command line.
#[test]
fn every_button_and_key_asks_for_a_listed_route() {
    let page = asked_in("dashboard/web/src", &["ts", "tsx"]);
    let terminal = asked_in("tui/src", &["rs"]);
    assert!(page.len() > 25 && terminal.len() > 20, "{} {}", page.len(), terminal.len());
    for (file, path) in page.iter().chain(&terminal) {
        assert!(ROUTES.iter().any(|route| may_be(path, route.path)), "{file} asks for {path}");
    }
    let files = |all: &[Asked], path: &str| -> String {
        let files: BTreeSet<String> = all
            .iter()
            .filter(|(_, asked)| may_be(asked, path))
            .map(|(file, _)| format!("`{file}`"))
            .collect();
        files.into_iter().collect::<Vec<_>>().join(", ")
    };
    let mut table = "# Who asks for which route\n\nMade by a test from the code of the page (`crates/dashboard/web/src`) and of the terminal\n(`crates/tui/src`): each button and key comes to a route, and each route to a verb.\n\n| route | command line | page | terminal |\n|---|---|---|---|\n".to_owned();
    let mut told = BTreeSet::new();
    for route in ROUTES.iter().filter(|route| told.insert(route.path)) {
        let verbs: BTreeSet<&str> =
            ROUTES.iter().filter(|one| one.path == route.path).flat_map(|one| one.verbs).copied().collect();
        let verbs: Vec<String> = verbs.into_iter().map(|verb| format!("`{verb}`")).collect();
        let (page, terminal) = (files(&page, route.path), files(&terminal, route.path));
        let _ = writeln!(table, "| `{}` | {} | {page} | {terminal} |", route.path, verbs.join(", "));
    }
    expect_file![docs().join("faces.md")].assert_eq(&table);
}
