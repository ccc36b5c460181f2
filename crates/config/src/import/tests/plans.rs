//! What an import would change.

use super::{found_at, named, ours, ours_with};
use crate::import::{FoundServer, ImportPlan, Outcome, PlannedServer, plan_import};

fn at(path: &str, servers: &str) -> Vec<FoundServer> {
    found_at(path, &format!(r#"{{"mcpServers": {{{servers}}}}}"#))
}

fn added(plan: &ImportPlan) -> Vec<(&str, &str, bool)> {
    plan.added.iter().map(|one| (one.id.as_str(), one.entry.as_str(), one.enabled)).collect()
}

const CURSOR: &str = "/home/ann/.cursor/mcp.json";
const KIRO: &str = "/home/ann/.kiro/settings/mcp.json";
const PROJECT: &str = "/work/site/.mcp.json";

#[test]
fn duplicates_are_dropped_and_namesakes_kept() {
    let mut found = at(CURSOR, r#""git": {"command": "a"}, "docs": {"url": "https://a.example"}"#);
    found.extend(at(
        KIRO,
        r#""also-git": {"command": "a"}, "docs": {"url": "https://b.example"}, "git": {"command": "b"}"#,
    ));
    let plan = plan_import(&[], &found);
    assert_eq!(
        added(&plan),
        [
            ("git", r#"{"command": "a"}"#, true),
            ("docs", r#"{"url": "https://a.example"}"#, true),
            ("docs-kiro", r#"{"url": "https://b.example"}"#, true),
            ("git-kiro", r#"{"command": "b"}"#, true),
        ]
    );
    assert_eq!(plan.outcomes[2], Outcome::Same("git".to_owned()));
    assert!(plan.same.is_empty() && plan.skipped.is_empty());
}

#[test]
fn a_second_run_adds_nothing() {
    let mut found = at(PROJECT, r#""git": {"command": "./a"}, "x": {"command": "python", "args": ["s.py"]}"#);
    found.extend(at(CURSOR, r#""git": {"command": "b", "env": {"TOKEN": "abc"}}, "time": {"command": "uvx", "args": ["mcp-server-time"]}"#));
    let plan = plan_import(&[], &found);
    let existing: Vec<FoundServer> = plan.added.iter().map(|one| ours(&one.id, &one.entry)).collect();
    let again = plan_import(&existing, &found);
    assert_eq!(added(&again), []);
    assert_eq!(again.same, ["git", "x", "git-cursor", "time"]);
    // Neither after a secret was put away.
    let mut moved = found.clone();
    let secret = moved[2].secrets[0].clone();
    moved[2].take_secret(&secret, "TOKEN").unwrap();
    let plan = plan_import(&[], &moved);
    let stored = |one: &PlannedServer| ours_with(&one.id, &one.entry, "abc");
    let existing: Vec<FoundServer> = plan.added.iter().map(stored).collect();
    assert_eq!(added(&plan_import(&existing, &found)), []);
}

// Else a take-over would throw the second account's token away.
#[test]
fn servers_that_differ_in_a_stored_secret_only_are_two() {
    let moved = r#"{"command": "hub", "env": {"TOKEN": "${secret:T}"}}"#;
    let found = at(CURSOR, r#""hub": {"command": "hub", "env": {"TOKEN": "abc"}}"#);
    let id = |existing| added(&plan_import(&[existing], &found)).iter().map(|one| one.0.to_owned()).collect();
    let none: Vec<String> = id(ours_with("hub", moved, "abc"));
    assert_eq!(none, Vec::<String>::new());
    let other: Vec<String> = id(ours_with("hub", moved, "def"));
    assert_eq!(other, ["hub-cursor"]);
    let unknown: Vec<String> = id(ours("hub", moved));
    assert_eq!(unknown, ["hub-cursor"], "what is not stored is no text's value");
    // Two in the store are told apart by their values, too.
    let mut two = at(
        CURSOR,
        r#""a": {"command": "hub", "env": {"TOKEN": "abc"}}, "b": {"command": "hub", "env": {"TOKEN": "def"}}"#,
    );
    for (server, name) in two.iter_mut().zip(["T", "T_2"]) {
        let secret = server.secrets[0].clone();
        server.take_secret(&secret, name).unwrap();
    }
    assert!(!two[0].starts_same(&two[1]));
}

#[test]
fn servers_that_differ_in_how_one_signs_in_are_two() {
    let with = |more: &str| named("x", &format!(r#"{{"url": "https://x.example/mcp"{more}}}"#));
    assert!(!with("").starts_same(&with(r#", "auth": {"CLIENT_ID": "a"}"#)));
    assert!(!with(r#", "auth": {"CLIENT_ID": "b"}"#).starts_same(&with(r#", "auth": {"CLIENT_ID": "a"}"#)));
    assert!(with(r#", "oauth": {"scopes": ["a"]}"#).starts_same(&with(r#", "oauth": {"scopes": ["a"]}"#)));
    assert!(!with(r#", "oauth": {"scopes": ["a"]}"#).starts_same(&with(r#", "oauth": {"scopes": ["b"]}"#)));
}

#[test]
fn a_project_comes_first_and_is_not_switched_on() {
    let mut found = at(CURSOR, r#""git": {"command": "user"}"#);
    found.extend(at(PROJECT, r#""git": {"command": "project"}"#));
    let plan = plan_import(&[], &found);
    assert_eq!(
        added(&plan),
        [
            ("git", r#"{"command": "project", "cwd": "/work/site", "disabled": true}"#, false),
            ("git-cursor", r#"{"command": "user"}"#, true)
        ]
    );
    found[1].approved = true;
    assert_eq!(
        added(&plan_import(&[], &found))[0],
        ("git", r#"{"command": "project", "cwd": "/work/site"}"#, true)
    );
}

// Else what a user has switched on would be lost to what a project brings along.
#[test]
fn the_users_own_counts_before_the_same_of_a_project() {
    let mut found = at(PROJECT, r#""theirs": {"command": "a"}"#);
    found.extend(at(CURSOR, r#""off": {"command": "a", "disabled": true}"#));
    found.extend(at(KIRO, r#""mine": {"command": "a"}"#));
    let plan = plan_import(&[], &found);
    assert_eq!(added(&plan), [("mine", r#"{"command": "a"}"#, true)]);
    assert_eq!(plan.added[0].found, 2);
}

#[test]
fn of_several_folders_none_is_chosen() {
    let mut found = at("/work/a/.mcp.json", r#""x": {"command": "a"}"#);
    found.extend(at("/work/b/.mcp.json", r#""x": {"command": "a"}"#));
    let plan = plan_import(&[], &found);
    assert_eq!(added(&plan), [("x", r#"{"command": "a", "disabled": true}"#, false)]);
    let existing = [ours("x", &plan.added[0].entry)];
    assert_eq!(added(&plan_import(&existing, &found)), []);
}

#[test]
fn we_ourselves_are_skipped() {
    let found = at(
        CURSOR,
        r#""m": {"command": "/opt/bin/manifold", "args": ["serve", "--stdio"]},
           "n": {"command": "npx", "args": ["-y", "manifold", "serve"]},
           "h": {"url": "http://localhost:3095/mcp"},
           "d": {"command": "docker", "args": ["run", "-i", "ghcr.io/them/manifold:1"]},
           "e": {"command": "manifold.exe"},
           "other": {"command": "manifolder"},
           "remote": {"url": "https://manifold.example:3095/mcp"},
           "broken": {}"#,
    );
    let plan = plan_import(&[], &found);
    let skipped: Vec<&str> = plan.skipped.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(skipped, ["m", "n", "h", "d", "e", "broken"]);
    assert_eq!(plan.skipped[0].1, "it is Manifold itself");
    assert_eq!(plan.skipped[5].1, "has neither `command` nor `url`");
    assert_eq!(plan.added.len(), 2);
    let mut at_another_port = named("x", r#"{"url": "http://127.0.0.1:4000/mcp"}"#);
    assert!(!at_another_port.is_ourselves);
    at_another_port.know_ourselves("127.0.0.1", 4000);
    assert!(at_another_port.is_ourselves);
}

#[cfg(unix)]
#[test]
fn we_are_known_under_another_name() {
    let directory = crate::testing::programs(&["real"]);
    let (real, link) = (directory.path().join("real"), directory.path().join("mcps-proxy"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut environment = crate::testing::environment();
    environment.program = Some(real);
    environment.vars.insert("PATH".into(), directory.path().display().to_string());
    let text = r#"{"mcpServers": {"x": {"command": "mcps-proxy"}, "y": {"command": "other"}}}"#;
    let found = crate::import::servers_in(text, std::path::Path::new("/x.json"), None, &environment).unwrap();
    assert_eq!(found.iter().map(|one| one.is_ourselves).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn ids_are_made_valid() {
    let found = at(
        CURSOR,
        r#""github.com/a/b": {"command": "a"}, "Größe": {"command": "b"}, "…": {"command": "c"}, "manifold": {"command": "d"}, "Git": {"command": "e"}, "git": {"command": "f"}"#,
    );
    let plan = plan_import(&[ours("git-cursor", r#"{"command": "z"}"#)], &found);
    let ids: Vec<&str> = plan.added.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["github-com-a-b", "Gr-e", "server", "manifold-cursor", "Git", "git-cursor-2"]);
}

#[test]
fn known_servers_are_marked_as_shared() {
    let found = at(
        PROJECT,
        r#""time": {"command": "uvx", "args": ["mcp-server-time"]}, "mine": {"command": "uvx", "args": ["mcp-server-fetch"], "shared": false}"#,
    );
    let plan = plan_import(&[], &found);
    assert_eq!(
        plan.added[0].entry,
        r#"{"command": "uvx", "args": ["mcp-server-time"], "shared": true, "disabled": true}"#
    );
    assert!(plan.added[1].entry.contains(r#""shared": false"#));
}
