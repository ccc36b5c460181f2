use super::*;
use crate::testing::load;

fn check_select(text: &str, requested: Option<&str>, expected: Selection) {
    assert_eq!(select_namespace(&load(text), requested), expected, "{requested:?} of {text}");
}

fn chosen(id: &str, how: How) -> Selection {
    Selection::Namespace { id: id.to_owned(), how }
}

fn unknown(requested: &str, exists: &[&str], disabled: bool, fatal: bool) -> Selection {
    let exists = exists.iter().map(|&id| id.to_owned()).collect();
    Selection::Unknown { requested: requested.to_owned(), exists, disabled, fatal }
}

const ONE: &str = r#"{"servers": {}, "namespaces": [{"id": "w1rk", "name": "work"}]}"#;
const TWO: &str =
    r#"{"servers": {}, "namespaces": [{"id": "w1rk", "name": "work"}, {"id": "h0me", "name": "home"}]}"#;
const SCHEMAS: &str = r#"{"schemas": {"default": {}, "workspace": {}, "old": {"enabled": false}}}"#;

// S1-11, and decision 1: an id or a unique name.
#[test]
fn a_named_namespace_is_taken() {
    check_select(TWO, Some("h0me"), chosen("h0me", How::Flag));
    check_select(TWO, Some("work"), chosen("w1rk", How::Flag));
    check_select(TWO, Some("x"), unknown("x", &["w1rk", "h0me"], false, false));
    let same = r#"{"namespaces": [{"id": "a", "name": "n"}, {"id": "b", "name": "n"}]}"#;
    check_select(same, Some("n"), unknown("n", &["a", "b"], false, false));
    check_select("{}", Some("x"), unknown("x", &[], false, false));
}

// S1-12
#[test]
fn else_the_default_namespace() {
    for key in ["defaultNamespaceId", "defaultNamespace"] {
        let text = TWO.replacen('{', &format!("{{\"{key}\": \"h0me\","), 1);
        check_select(&text, None, chosen("h0me", How::Default));
        check_select(&text, Some("w1rk"), chosen("w1rk", How::Flag));
        check_select(&text.replacen("h0me", "x", 1), None, unknown("x", &["w1rk", "h0me"], false, false));
    }
}

// S1-13, S1-14, S1-15
#[test]
fn else_the_only_one_or_all_or_nothing() {
    check_select(ONE, None, chosen("w1rk", How::Only));
    check_select("{}", None, Selection::All);
    check_select(r#"{"mcpServers": {"t": {"builtin": "time"}}}"#, None, Selection::All);
    check_select(TWO, None, Selection::Ambiguous { exists: vec!["w1rk".into(), "h0me".into()] });
    let off = r#"{"namespaces": {"a": {"enabled": false}, "b": {}}}"#;
    check_select(off, None, chosen("b", How::Only));
    check_select(off, Some("a"), unknown("a", &["b"], true, false));
    let all_off = r#"{"namespaces": {"a": {"enabled": false}}}"#;
    check_select(all_off, None, unknown("a", &[], true, false));
}

// S0-4, S0-5, S0-13, S0-14 and decision 5: in a schemas file an unknown schema is fatal.
#[test]
fn a_schemas_file_has_a_default_and_is_strict() {
    check_select(SCHEMAS, None, chosen("default", How::Default));
    check_select(SCHEMAS, Some("default"), chosen("default", How::Flag));
    check_select(SCHEMAS, Some("workspace"), chosen("workspace", How::Flag));
    check_select(SCHEMAS, Some("x"), unknown("x", &["default", "workspace"], false, true));
    check_select(SCHEMAS, Some("old"), unknown("old", &["default", "workspace"], true, true));
    check_select(r#"{"schemas": {"a": {}}}"#, None, unknown("default", &["a"], false, true));
}

// Decision 3: `default` names the selected namespace where none has that id.
#[test]
fn default_names_whatever_is_selected() {
    check_select(ONE, Some("default"), chosen("w1rk", How::Only));
    check_select("{}", Some("default"), Selection::All);
    check_select(TWO, Some("default"), Selection::Ambiguous { exists: vec!["w1rk".into(), "h0me".into()] });
    let schemas = r#"{"defaultNamespace": "a", "schemas": {"a": {}, "b": {}}}"#;
    check_select(schemas, Some("default"), chosen("a", How::Default));
    let own = r#"{"defaultNamespace": "a", "namespaces": {"a": {}, "default": {}}}"#;
    check_select(own, Some("default"), chosen("default", How::Flag));
}
