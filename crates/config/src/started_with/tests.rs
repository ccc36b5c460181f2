use std::path::Path;

use super::*;
use crate::load::{LoadOptions, load_text};
use crate::testing::{options, programs};

struct Window {
    values: Vec<(&'static str, String)>,
    cwd: &'static str,
    project: &'static str,
}

fn window() -> Window {
    let values = vec![("TOKEN", "one".to_owned()), ("PATH", "/bin".to_owned()), ("OTHER", "o".to_owned())];
    Window { values, cwd: "/work", project: "/work" }
}

impl Window {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.values.retain(|(known, _)| *known != name);
        self
    }

    fn at(self, cwd: &'static str) -> Self {
        Self { cwd, ..self }
    }

    /// Returns what a server with this entry would be started with.
    fn starts(self, entry: &str) -> StartedWith {
        let values = self.values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let client = ClientEnvironment { values, cwd: self.cwd.into(), project: self.project.into() };
        let options = LoadOptions { client: Some(client.clone()), ..options() };
        let text = format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#);
        let config = load_text(&text, Some(Path::new("/etc/config.json")), &options).unwrap();
        started_with(&config.servers[0], &client)
    }
}

fn check_differs(entry: &str, other: Window, expected: &[&str]) {
    let (one, other) = (window().starts(entry), other.starts(entry));
    assert_eq!(one.differs(&other), expected, "{entry}");
    assert_eq!(other.differs(&one), expected, "{entry}");
    assert_eq!(one.hash() == other.hash(), expected.is_empty(), "{entry}");
}

const PLAIN: &str = r#""command": "sh", "env": {"TOKEN": "${TOKEN}"}"#;

#[test]
fn equal_windows_share() {
    check_differs(PLAIN, window(), &[]);
    check_differs(PLAIN, window().with("OTHER", "two"), &[]);
}

#[test]
fn windows_that_differ_in_what_the_server_gets_do_not() {
    check_differs(PLAIN, window().with("TOKEN", "two"), &["TOKEN"]);
    check_differs(PLAIN, window().without("TOKEN"), &["TOKEN"]);
    check_differs(PLAIN, window().with("PATH", "/usr/bin"), &["PATH"]);
    check_differs(PLAIN, window().at("/else"), &["cwd"]);
    check_differs(
        PLAIN,
        window().at("/else").with("TOKEN", "2").with("PATH", "/x"),
        &["PATH", "TOKEN", "cwd"],
    );
    check_differs(
        r#""command": "sh", "args": ["--key=${TOKEN}"]"#,
        window().with("TOKEN", "two"),
        &["TOKEN"],
    );
    check_differs(r#""command": "sh", "inheritEnv": ["OTHER"]"#, window().with("OTHER", "two"), &["OTHER"]);
}

#[test]
fn the_folder_counts_where_it_matters() {
    let with = |more: &str| format!(r#""command": "sh", {more}"#);
    check_differs(&with(r#""cwd": "/srv""#), window().at("/else"), &[]);
    check_differs(&with(r#""cwd": "sub""#), window().at("/else"), &["cwd"]);
    check_differs(&with(r#""shared": true"#), window().at("/else"), &[]);
    check_differs(&with(r#""shared": true, "cwd": "sub""#), window().at("/else"), &["cwd"]);
    check_differs(&with(r#""shared": "project""#), window().at("/work/src"), &[]);
    check_differs(&with(r#""shared": "project""#), Window { project: "/else", ..window() }, &["cwd"]);
    check_differs(r#""url": "http://127.0.0.1/""#, window().at("/else"), &[]);
}

#[test]
fn remote_servers_are_told_apart_by_what_they_are_told() {
    let entry = r#""url": "http://127.0.0.1/", "headers": {"X": "${TOKEN}"}"#;
    check_differs(entry, window().with("PATH", "/usr/bin"), &[]);
    check_differs(entry, window().with("TOKEN", "two"), &["TOKEN"]);
    check_differs(r#""builtin": "time""#, window().at("/else").with("PATH", ""), &[]);
}

#[test]
fn what_is_shared_across_does_not_count() {
    let with = |names: &str| format!(r#"{PLAIN}, "shareAcross": [{names}]"#);
    check_differs(&with(r#""PATH""#), window().with("PATH", "/bin:/more"), &[]);
    check_differs(&with(r#""TOKEN", "cwd""#), window().with("TOKEN", "two").at("/else"), &[]);
    check_differs(&with(r#""PATH""#), window().with("TOKEN", "two"), &["TOKEN"]);
}

#[test]
fn what_made_the_difference_is_named_where_it_is_not_what_was_compared() {
    let (one, other) = (programs(&["tool"]), programs(&["tool"]));
    let path = |folder: &tempfile::TempDir| window().with("PATH", folder.path().to_str().unwrap());
    let entry = r#""command": "tool", "shareAcross": ["PATH"]"#;
    assert_eq!(path(&one).starts(entry).differs(&path(&other).starts(entry)), ["PATH"]);
    let entry = r#""command": "sh", "args": ["${TOKEN}"], "shareAcross": ["TOKEN"]"#;
    check_differs(entry, window().with("TOKEN", "two"), &["TOKEN"]);
    let entry = r#""command": "${workspaceFolder}/tool", "shared": true"#;
    check_differs(entry, window().at("/else").with("OTHER", "two"), &["cwd"]);
    let entry = r#""url": "http://127.0.0.1/${TOKEN}", "shareAcross": ["TOKEN"]"#;
    check_differs(entry, window().with("TOKEN", "two").at("/else"), &["TOKEN"]);
    let entry = r#""command": "sh", "args": ["${workspaceFolder}"], "env": {"DIR": "${workspaceFolder}"}, "shared": true"#;
    check_differs(entry, window().at("/else"), &["DIR", "cwd"]);
    // A program that was put before the other in between.
    let (early, late) = (tempfile::tempdir().unwrap(), programs(&["tool"]));
    let path = format!("{}:{}", early.path().display(), late.path().display());
    let start = || window().with("PATH", &path).starts(r#""command": "tool""#);
    let before = start();
    std::fs::copy(late.path().join("tool"), early.path().join("tool")).unwrap();
    assert_eq!(before.differs(&start()), ["PATH"]);
    // A file that has changed in between.
    let (one, other) =
        (window().starts(PLAIN), window().starts(r#""command": "sh", "env": {"TOKEN": "x${TOKEN}"}"#));
    assert_eq!(one.differs(&other), ["TOKEN"]);
}

#[test]
fn no_value_is_kept_and_the_seed_can_go_on() {
    let started = window().with("TOKEN", "hunter2-hunter2").starts(PLAIN);
    assert!(!format!("{started:?}").contains("hunter2"));
    assert!(restore_hash_seed(hash_seed()));
    assert!(!restore_hash_seed([0; 16]), "it is in use already");
}
