use super::*;
use crate::testing::load;

const BEFORE: &str = r#"{"separator": "_",
  "mcpServers": {"a": {"command": "x", "args": ["1"]}, "b": {"url": "http://b", "name": "Bee"}, "c": {"builtin": "time"}},
  "namespaces": {"n": {"serverIds": ["a", "b"]}}}"#;

fn check_diff(from: &str, to: &str) -> Difference {
    assert!(BEFORE.contains(from), "{from}");
    diff(&load(BEFORE), &load(&BEFORE.replace(from, to)))
}

fn keys(ids: &[&str]) -> Vec<ServerKey> {
    ids.iter().map(|&id| ServerKey { schema: None, id: id.to_owned() }).collect()
}

#[test]
fn the_same_file_changes_nothing() {
    assert!(check_diff("x", "x").is_empty());
    assert!(check_diff("\"1\"", "\"1\" /* a comment */").is_empty());
}

#[test]
fn what_a_connection_depends_on_needs_a_new_one() {
    let only = |changed: &[&str]| Difference { changed: keys(changed), ..Difference::default() };
    assert_eq!(check_diff(r#"["1"]"#, r#"["2"]"#), only(&["a"]));
    assert_eq!(check_diff("http://b", "http://c"), only(&["b"]));
    let oauth = r#""name": "Bee", "oauth": {"clientId": "x"}"#;
    assert_eq!(check_diff(r#""name": "Bee""#, oauth), only(&["b"]));
    assert_eq!(check_diff(r#""builtin": "time""#, r#""builtin": "time", "idleTimeout": 9"#), only(&["c"]));
    assert_eq!(check_diff(r#""builtin": "time""#, r#""builtin": "time", "disabled": true"#), only(&["c"]));
}

// S1-52: a reload leaves untouched servers running.
#[test]
fn labels_and_memberships_keep_the_connection() {
    let labels = check_diff("Bee", "Wasp");
    assert_eq!(labels, Difference { relabelled: keys(&["b"]), ..Difference::default() });
    let denied = check_diff(r#""name": "Bee""#, r#""name": "Bee", "deniedTools": ["x"]"#);
    assert_eq!(denied, Difference { relabelled: keys(&["b"]), ..Difference::default() });
    let member = check_diff(r#"["a", "b"]"#, r#"["a", "c"]"#);
    assert_eq!(
        member,
        Difference { relabelled: keys(&["b", "c"]), namespaces_changed: true, ..Difference::default() }
    );
}

#[test]
fn servers_come_go_and_move() {
    let renamed = check_diff(r#""c": {"#, r#""d": {"#);
    assert_eq!(renamed, Difference { added: keys(&["d"]), removed: keys(&["c"]), ..Difference::default() });
    let (old, new) = (
        load(r#"{"servers": {"a": {"builtin": "time"}, "b": {"builtin": "time"}}}"#),
        load(r#"{"servers": {"b": {"builtin": "time"}, "a": {"builtin": "time"}}}"#),
    );
    assert_eq!(diff(&old, &new), Difference { reordered: true, ..Difference::default() });
}

#[test]
fn settings_are_compared_as_a_whole() {
    let settings = check_diff(r#""separator": "_""#, r#""separator": "-""#);
    assert_eq!(settings, Difference { settings_changed: true, ..Difference::default() });
    let default = check_diff(r#""separator": "_""#, r#""separator": "_", "defaultNamespace": "n""#);
    assert_eq!(default, Difference { namespaces_changed: true, ..Difference::default() });
}
