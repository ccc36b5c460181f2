//! What the style guide says of the rooms of this house, checked: who may know whom, where `unsafe` is allowed, and
//! that no library prints.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Whom each crate may know. `admin`, `tui` and `dashboard` are rooms still to be built.
const MAY_KNOW: [(&str, &[&str]); 13] = [
    ("protocol", &[]),
    ("http1", &[]),
    ("config", &[]),
    ("guard", &[]),
    ("admin", &[]),
    ("engine", &["protocol", "config"]),
    ("upstreams", &["engine", "protocol", "http1", "config", "guard"]),
    ("frontends", &["engine", "protocol", "http1", "config", "admin"]),
    ("tui", &["admin"]),
    ("dashboard", &["admin"]),
    ("testkit", &[]),
    ("bench", &["protocol", "config", "engine", "frontends"]),
    ("app", &["protocol", "config", "admin", "engine", "upstreams", "frontends", "tui", "dashboard"]),
];

/// Where the kernel, or the processor, is talked to directly.
const UNSAFE_ALLOWED: [&str; 5] = [
    "crates/upstreams/src/process/",
    "crates/guard/src/",
    "crates/app/src/machine/pages.rs",
    "crates/app/src/machine/secrecy.rs",
    "crates/protocol/src/scan/step.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the folder name and the manifest of every crate.
fn crates() -> BTreeMap<String, String> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let crates: BTreeMap<String, String> = folders
        .filter_map(|folder| {
            let name = folder.file_name()?.to_str()?.to_owned();
            Some((name, fs::read_to_string(folder.join("Cargo.toml")).ok()?))
        })
        .collect();
    assert!(crates.len() >= 7, "found only {:?}", crates.keys());
    crates
}

/// Returns the workspace crates a manifest names, each with its section.
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_owned();
            // A dependency may have a section of its own.
            if let Some((section, name)) = section.split_once(".manifold-") {
                found.push((section.to_owned(), name.to_owned()));
            }
        } else if section.ends_with("dependencies")
            && let Some(rest) = line.strip_prefix("manifold-")
        {
            let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            found.push((section.clone(), name));
        }
    }
    found
}

#[test]
fn dependencies_point_inwards() {
    for (name, manifest) in crates() {
        let allowed = MAY_KNOW.iter().find(|(room, _)| *room == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("`{name}` is no room of the style guide"));
        for (section, known) in dependencies(&manifest) {
            if known == "testkit" {
                assert_eq!(section, "dev-dependencies", "{name}: testkit is only ever a dev-dependency");
            } else {
                assert!(allowed.contains(&known.as_str()), "`{name}` must not know `{known}` ({section})");
            }
        }
    }
}

#[test]
fn packages_are_named_after_their_folders() {
    for (name, manifest) in crates() {
        let package = if name == "app" { "manifold".to_owned() } else { format!("manifold-{name}") };
        assert!(manifest.contains(&format!("name = \"{package}\"\n")), "crates/{name} should be `{package}`");
    }
}

/// Returns every Rust file below `crates` by its path from the root.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut folders = vec![root.join("crates")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 50, "found only {} files", files.len());
    files
}

/// Returns the lines of a file that are code, numbered.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn what_is_unsafe_has_its_few_places() {
    for (file, text) in sources() {
        if UNSAFE_ALLOWED.iter().any(|room| file.starts_with(room))
            || file == "crates/app/tests/architecture.rs"
        {
            continue;
        }
        for (at, line) in code(&text) {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            assert!(!words.into_iter().any(|word| word == "unsafe"), "{file}:{}: {line}", at + 1);
        }
    }
}

#[test]
fn no_library_prints() {
    for (file, text) in sources() {
        // The program itself may speak to its user; the test kit and the benchmarks are no part of it.
        let is_library = file.contains("/src/")
            && !["crates/app/", "crates/testkit/", "crates/bench/"].iter().any(|room| file.starts_with(room));
        if !is_library || file.ends_with("tests.rs") {
            continue;
        }
        for (at, line) in code(&text) {
            for macro_name in ["println!", "print!", "eprintln!", "eprint!", "dbg!"] {
                assert!(!line.contains(macro_name), "{file}:{}: {line}", at + 1);
            }
        }
    }
}

/// Who may ask what day it is: a jump of that clock must reach no deadline.
const KNOWS_THE_DATE: [(&str, &str); 9] = [
    ("crates/app/src/wiring.rs", "since when the config in force is the older one, told to people"),
    ("crates/engine/src/upstream.rs", "how old a saved list is"),
    ("crates/upstreams/src/memory.rs", "when something was learnt"),
    ("crates/upstreams/src/memory/", "when something was learnt"),
    ("crates/upstreams/src/builtin/time", "the server that tells the time"),
    ("crates/upstreams/src/remote/client.rs", "`Retry-After` may be a date; the wait it gives has a bound"),
    ("crates/frontends/src/http/status.rs", "shown, and not used"),
    ("crates/frontends/src/http/h1/respond.rs", "the `Date` of an answer"),
    ("crates/frontends/src/http/h2/respond.rs", "the `Date` of an answer"),
];

// F33: deadlines are kept by the monotonic clock
#[test]
fn no_deadline_knows_the_date() {
    let mut files = 0;
    for (file, text) in sources() {
        let is_program = file.contains("/src/") && !file.starts_with("crates/testkit/");
        if !is_program || KNOWS_THE_DATE.iter().any(|(known, _)| file.starts_with(known)) {
            continue;
        }
        files += 1;
        for (at, line) in code(&text) {
            for clock in ["SystemTime", "UNIX_EPOCH", "Timestamp::now", "Zoned::now", "CLOCK_REALTIME"] {
                assert!(!line.contains(clock), "{file}:{}: {line}", at + 1);
            }
        }
    }
    println!("F33: {files} files know no date; {} do, none for a deadline", KNOWS_THE_DATE.len());
}

#[test]
fn there_is_no_mod_rs_and_no_drawer_for_odds_and_ends() {
    for (file, _) in sources() {
        let name = file.rsplit('/').next().unwrap();
        // Cargo wants `main.rs` or `mod.rs` where an integration test has several files.
        let odd = ["mod.rs", "utils.rs", "util.rs", "common.rs", "helpers.rs", "misc.rs"].contains(&name);
        assert!(!odd || file.contains("/tests/"), "{file}");
    }
}

// S1-2: what serves and what a terminal shows share the core, and the one never loads the other.
#[test]
fn no_terminal_code_is_linked_into_what_serves() {
    for (name, manifest) in crates() {
        if name == "tui" {
            continue;
        }
        for library in ["ratatui", "crossterm", "tui-"] {
            assert!(
                !manifest.lines().any(|line| line.trim().starts_with(library)),
                "`{name}` names {library}"
            );
        }
    }
}

// Issue 5: each fault is tested where the page says
#[test]
fn every_fault_has_the_tests_it_is_said_to_have() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let sources: BTreeMap<String, String> = sources().into_iter().collect();
    let mut wrong = Vec::new();
    for fault in (1..=40).map(|number| format!("F{number}")) {
        let row = page.lines().find(|line| line.starts_with(&format!("| {fault} |")));
        let files: Vec<&str> = row.unwrap_or_default().split('`').skip(1).step_by(2).collect();
        if files.is_empty() {
            wrong.push(format!("{fault} has no test"));
        }
        for file in files {
            let cites =
                |text: &String| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == fault);
            if !sources.get(&spelled_out(file)).is_some_and(cites) {
                wrong.push(format!("{file} does not cite {fault}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the whole path of a file as the page names it.
fn spelled_out(file: &str) -> String {
    match file.split_once('/') {
        None | Some(("it" | "strain", _)) => format!("crates/app/tests/{file}"),
        Some((krate, rest)) if rest.starts_with("tests/") => format!("crates/{krate}/{rest}"),
        Some((krate, rest)) => format!("crates/{krate}/src/{rest}"),
    }
}
