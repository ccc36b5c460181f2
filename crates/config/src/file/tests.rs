use expect_test::expect;
use proptest::prelude::*;

use crate::testing::{load, problems, try_load, with_server};

// Decision 2: comments and trailing commas are accepted.
#[test]
fn comments_trailing_commas_and_a_bom_are_accepted() {
    let config = load("\u{feff}{ // one\n /* two */ \"mcpServers\": {\"t\": {\"builtin\": \"time\",},},\n}");
    assert_eq!(config.servers.len(), 1);
    assert_eq!(config.problems, []);
}

#[test]
fn a_syntax_error_is_one_problem_with_its_line() {
    expect![[r#"
        config.json:2: expected comma; correct the JSON there
    "#]]
    .assert_eq(&problems("{\n  \"a\": 1\n  \"b\": 2\n}"));
    expect![[r#"
        config.json:1: the `{` that opens here is never closed; add the `}` that belongs to it
    "#]]
    .assert_eq(&problems("{\"a\": 1"));
    expect![[r#"
        config.json:1: single-quoted strings are not allowed; correct the JSON there
    "#]]
    .assert_eq(&problems("{'a': 1}"));
}

#[test]
fn a_file_that_is_no_object_is_refused() {
    expect![[r#"
        config.json: is empty; write at least `{}`
    "#]]
    .assert_eq(&problems(" \n// nothing\n"));
    expect![[r#"
        config.json:2: expected an object, found a list; put everything between `{` and `}`
    "#]]
    .assert_eq(&problems("\n[1]"));
}

#[test]
fn of_duplicate_keys_the_last_counts() {
    let text = "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"builtin\": \"time\"}\n}}";
    expect![[r#"
        config.json:3: mcpServers: has `a` twice, first in line 2; the last one counts
    "#]]
    .assert_eq(&problems(text));
    assert!(load(text).servers[0].fault.is_none());
}

#[test]
fn what_only_an_editor_can_ask_for_stays_and_is_said() {
    expect![[r#"
        config.json:1: serverVersion: `${input:v}` can only be asked for by an editor; use a variable such as `${NAME}`
    "#]]
    .assert_eq(&problems(&with_server(r#"{"serverVersion": "${input:v}"}"#)));
    assert_eq!(
        load(r#"{"serverVersion": "${input:v}"}"#).settings.server_version.as_deref(),
        Some("${input:v}")
    );
}

#[test]
fn a_deep_file_is_refused_and_not_a_crash() {
    let deep = format!("{{\"roots\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(try_load(&deep).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,200}") {
        let _ = try_load(&text);
    }

    #[test]
    fn no_json_like_text_makes_the_parser_panic(text in r#"([{}\[\],:"$~\\ \n]|"servers"|"mcpServers"|"schemas"|"namespaces"|"command"|"env"|"roots"|"server"|"tls"|\$\{A|null|true|-1|1e999){0,40}"#) {
        let _ = try_load(&text);
    }

    #[test]
    fn no_value_in_any_place_makes_the_resolver_panic(
        key in prop::sample::select(crate::keys::table::TOP.keys.iter().map(|key| key.name).collect::<Vec<_>>()),
        inner in prop::sample::select(
            crate::keys::table::SERVER.keys.iter().chain(crate::keys::table::NAMESPACE.keys).map(|key| key.name).collect::<Vec<_>>()
        ),
        value in prop::sample::select(vec![
            "null", "true", "-1", "1e400", "0.4", "\"\"", "\"x\"", "\"${NONE}\"", "[]", "[1, null, {}]", "{}", "{\"a\": null}", "{\"a\": [\"b\"]}",
        ]),
    ) {
        let _ = try_load(&format!("{{\"{key}\": {value}}}"));
        let _ = try_load(&format!("{{\"{key}\": {{\"a\": {value}, \"b\": {{\"{inner}\": {value}, \"mcpServers\": {{\"c\": {{\"{inner}\": {value}}}}}}}}}}}"));
        let _ = try_load(&format!("{{\"{key}\": [{{\"{inner}\": {value}}}], \"servers\": {{\"a\": {{\"{inner}\": {value}}}}}}}"));
    }
}
