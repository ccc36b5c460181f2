//! What the style guide says of the rooms of this house, checked: who may know whom, where `unsafe` is allowed, and
//! that no library prints.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "this is a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Whom each crate may know.
const MAY_KNOW: [(&str, &[&str]); 23] = [
    ("protocol", &[]),
    ("http1", &[]),
    ("config", &[]),
    ("credentials", &[]),
    ("guard", &[]),
    ("admin", &[]),
    ("admin-client", &["admin"]),
    ("rendezvous", &[]),
    ("setup", &["config", "rendezvous"]),
    ("registry", &[]),
    ("recording", &["admin"]),
    ("oauth", &[]),
    ("state", &[]),
    ("shim", &["rendezvous", "protocol"]),
    ("engine", &["protocol", "config", "admin"]),
    ("upstreams", &["engine", "protocol", "http1", "config", "guard", "oauth"]),
    ("frontends", &["engine", "protocol", "http1", "config", "admin", "rendezvous", "dashboard", "oauth"]),
    ("telemetry", &["engine", "protocol", "config", "admin"]),
    ("tui", &["admin", "admin-client"]),
    ("dashboard", &[]),
    ("testkit", &[]),
    ("bench", &["protocol", "config", "engine", "frontends"]),
    (
        "app",
        &[
            "protocol",
            "config",
            "credentials",
            "admin",
            "admin-client",
            "engine",
            "upstreams",
            "frontends",
            "oauth",
            "rendezvous",
            "setup",
            "registry",
            "recording",
            "shim",
            "telemetry",
            "state",
            "tui",
        ],
    ),
];

/// Where the kernel, or the processor, is talked to directly.
const UNSAFE_ALLOWED: [&str; 9] = [
    "crates/upstreams/src/process/linux/",
    "crates/guard/src/",
    "crates/rendezvous/src/descriptors.rs",
    "crates/rendezvous/src/lock.rs",
    "crates/rendezvous/src/stages.rs",
    "crates/app/src/daemon/inherited.rs",
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
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
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

/// What any client of the control API builds on must not bring the gateway with it.
#[test]
fn admin_is_plain_types_and_their_json() {
    let manifest = &crates()["admin"];
    let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap();
    let (dependencies, _) = dependencies.split_once("\n[").unwrap();
    assert_eq!(
        dependencies.trim(),
        "regex.workspace = true\nserde.workspace = true\nserde_json.workspace = true"
    );
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
            if path.ends_with("node_modules") {
                // Others' code, which may be put there or taken away just now.
            } else if path.is_dir() {
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

/// Returns the words of a line in lower case: `speak_modern` and `SpeakModern` are two each.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        let starts = c.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if starts || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// How a server is spoken to is known in one folder: a new revision is a file there, not a sweep through the connection.
#[test]
fn a_connection_knows_no_dialect() {
    const FOLDER: &str = "crates/upstreams/src/connection";
    let is_bound = |file: &str| {
        file.starts_with(FOLDER)
            && !file.starts_with(&format!("{FOLDER}/dialect"))
            && !file.starts_with(&format!("{FOLDER}/tests"))
    };
    let files: Vec<_> = sources().into_iter().filter(|(file, _)| is_bound(file)).collect();
    assert!(files.len() > 10, "found only {} files", files.len());
    for (file, text) in files {
        for (at, line) in text.lines().enumerate() {
            for word in words(line) {
                let is_dialect =
                    matches!(word.as_str(), "era" | "eras" | "modern" | "legacy" | "lite" | "litemcp");
                assert!(!is_dialect, "{file}:{}: {line}", at + 1);
            }
        }
    }
    let named = words("Era::Modern, LiteMCP, is_legacy()");
    assert_eq!(named, ["era", "modern", "lite", "mcp", "is", "legacy"]);
}

#[test]
fn no_library_prints() {
    for (file, text) in sources() {
        // The program itself may speak to its user; the test kit and the benchmarks are no part of it.
        let is_library = file.contains("/src/")
            && !["crates/app/", "crates/testkit/", "crates/bench/"].iter().any(|room| file.starts_with(room));
        if !is_library || file.ends_with("tests.rs") || file.contains("/tests/") {
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
const KNOWS_THE_DATE: [(&str, &str); 29] = [
    ("crates/app/src/secrets.rs", "when a secret was stored, by which undo knows whose it is"),
    ("crates/telemetry/src/", "when a call began and ended, told to others"),
    (
        "crates/frontends/src/replica/clock.rs",
        "until when what replicas seal is good: they share no other clock",
    ),
    ("crates/app/src/tokens.rs", "when a token was made, and the date it is good until"),
    ("crates/app/src/commands/tokens.rs", "when a token was made, and the date it is good until"),
    ("crates/config/src/model/door.rs", "the date that a token is good until"),
    ("crates/config/src/resolve/settings/http/tokens.rs", "the date that a token is good until"),
    ("crates/frontends/src/http/admission/credentials.rs", "the date that a token is good until"),
    ("crates/app/src/output/moment.rs", "when something was, told to people"),
    ("crates/app/src/audit.rs", "when an operator changed something"),
    ("crates/app/src/commands/doctor/machine.rs", "whether the date can be right"),
    ("crates/credentials/src/", "when a credential was stored, told to people"),
    ("crates/app/src/wiring.rs", "since when the config in force is the older one, told to people"),
    ("crates/app/src/registry.rs", "how old an answer of the registry is"),
    ("crates/engine/src/upstream.rs", "how old a saved list is"),
    ("crates/engine/src/upstream/logged.rs", "when a server wrote a line"),
    (
        "crates/setup/src/journal",
        "when a command changed something, told to people; later ones have later names",
    ),
    ("crates/recording/src/writer", "when a recording began and ended, and which file is the oldest"),
    ("crates/app/src/operator/program.rs", "when a recording began, told to people"),
    ("crates/oauth/src/clock.rs", "when a stored token ends; one in use is judged by the other clock"),
    ("crates/registry/src/", "how old an answer of the registry is"),
    ("crates/setup/src/undo", "when it was undone, told to people"),
    ("crates/upstreams/src/cache.rs", "when something was learnt"),
    ("crates/upstreams/src/cache/", "when something was learnt"),
    ("crates/upstreams/src/builtin/time", "the server that tells the time"),
    ("crates/upstreams/src/remote/client.rs", "`Retry-After` may be a date; the wait it gives has a bound"),
    ("crates/frontends/src/admin/audit.rs", "when an operator changed something, told to people"),
    ("crates/frontends/src/http/status.rs", "shown, and not used"),
    ("crates/frontends/src/http/date.rs", "the `Date` of an answer"),
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

const HTTP: &str = "crates/frontends/src/http/";

// A module of HTTP's can be read and changed with those below it in view, and no others.
#[test]
fn no_import_cycle_among_the_modules_of_http() {
    let modules: BTreeSet<String> =
        sources().into_iter().filter_map(|(file, _)| http_module(&file)).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources() {
        let Some(module) = http_module(&file) else { continue };
        let depth = file[HTTP.len()..].matches('/').count();
        let up = format!(" {}", "super::".repeat(depth + 1));
        for (_, line) in code(&text.replace("super::{", "super::{ ")) {
            let line = format!(" {line}");
            let after =
                [up.as_str(), "crate::http::"].iter().find_map(|up| Some(line.split_once(up)?.1.to_owned()));
            let names = after.unwrap_or_default();
            let names = names.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let names: Vec<&str> = names.filter_map(|name| name.split(':').next()).collect();
            let first = names.iter().find(|name| !name.is_empty());
            let is_of_root = first.is_some_and(|name| name.starts_with(char::is_uppercase));
            assert!(!is_of_root, "{file} uses what stands above it: {line}");
            let named = names.into_iter().filter(|name| modules.contains(*name));
            uses.entry(module.clone()).or_default().extend(named.map(str::to_owned));
        }
    }
    // Whoever uses nobody that is left is below the others.
    let mut left = uses.clone();
    while let Some(lowest) =
        left.iter().find(|(me, uses)| !uses.iter().any(|used| used != *me && left.contains_key(used)))
    {
        let lowest = lowest.0.clone();
        left.remove(&lowest);
    }
    assert!(left.is_empty(), "these use each other: {left:#?}");
    println!("{} modules of HTTP, none above itself", uses.len());
}

/// Returns the module of HTTP's that a file belongs to.
fn http_module(file: &str) -> Option<String> {
    let inside = file.strip_prefix(HTTP)?;
    let first = inside.split('/').next()?.trim_end_matches(".rs");
    (first != "tests" && !inside.ends_with("tests.rs") && !inside.contains("/tests/"))
        .then(|| first.to_owned())
}

// What a caller sees of processes is the same on every system: another one adds its module beside `linux.rs`.
#[test]
fn the_api_of_processes_knows_no_system() {
    let seam = "crates/upstreams/src/process.rs";
    let text = fs::read_to_string(root().join(seam)).unwrap();
    for (at, line) in code(&text) {
        for word in ["nix", "unix", "std::os", "manifold_guard", "libc", "RawFd", "OwnedFd", "UnixStream"] {
            assert!(!line.contains(word), "{seam}:{}: {line}", at + 1);
        }
    }
    let users = sources().into_iter().filter(|(file, _)| file.starts_with("crates/upstreams/src/"));
    for (file, text) in users.filter(|(file, _)| !file.starts_with("crates/upstreams/src/process/linux")) {
        for (at, line) in code(&text) {
            assert!(!line.contains("net::unix"), "{file}:{}: {line}", at + 1);
            assert!(!line.contains("manifold_guard"), "{file}:{}: {line}", at + 1);
        }
    }
}

/// Words by which eras and their dialects are known.
const OF_ERAS: [&str; 4] = ["era", "dialect", "legacy", "modern"];

// Eras meet before the engine is asked and part after it has answered
#[test]
fn the_engine_names_no_era() {
    let mut files = 0;
    for (file, text) in sources() {
        let is_engine = file.starts_with("crates/engine/src/");
        if !is_engine || file.ends_with("/tests.rs") || file.contains("/tests/") {
            continue;
        }
        files += 1;
        // Tests in the file itself stand last, and need not be so neutral.
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (at, line) in code(text) {
            // What a definition says a process speaks is the config's own word.
            let line = line.replace("process.dialect", "");
            let words = line.split(|c: char| !c.is_ascii_alphanumeric());
            let named = words.map(str::to_ascii_lowercase).find(|word| OF_ERAS.contains(&word.as_str()));
            assert_eq!(named, None, "{file}:{}: {line}", at + 1);
        }
    }
    assert!(files > 30, "found only {files} files");
}

// The page is for whoever comes next: hard sub-topics have a README in their folder.
#[test]
fn the_page_on_architecture_is_short_and_names_what_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() < 200, "{} lines", page.lines().count());
    let long = page.lines().find(|line| line.chars().count() > 120);
    assert_eq!(long, None);
    let named =
        page.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") || name.ends_with('/'));
    for name in named.filter(|name| name.contains('/')) {
        let (krate, rest) = name.split_once('/').unwrap();
        let places = [format!("crates/{krate}/src/{rest}"), format!("crates/{name}"), name.to_owned()];
        let inside = format!("/{name}");
        let is_there = places.iter().any(|place| root().join(place).exists())
            || sources().iter().any(|(file, _)| file.ends_with(&inside) || file.contains(&inside));
        assert!(is_there, "ARCHITECTURE.md names {name}, which is not there");
    }
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

// S1-2: serving runs no code of the terminal's, as nothing but commands for somebody who sits at one knows of it.
#[test]
fn only_commands_at_a_terminal_know_of_it() {
    let is_bound = |file: &str| file.starts_with("crates/") && !file.starts_with("crates/tui/");
    let mut known = BTreeSet::new();
    for (file, text) in sources().into_iter().filter(|(file, _)| is_bound(file) && file.contains("/src/")) {
        if code(&text).any(|(_, line)| line.contains("manifold_tui")) {
            known.insert(file);
        }
    }
    let at_a_terminal = ["crates/app/src/commands/config/edit.rs", "crates/app/src/commands/tui.rs"];
    assert_eq!(known, BTreeSet::from(at_a_terminal.map(str::to_owned)));
}
