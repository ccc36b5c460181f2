use std::path::Path;

use expect_test::{Expect, expect};

use crate::load::load_text;
use crate::testing::{options, problems};

fn check(name: &str, text: &str, expected: Expect) {
    let error = load_text(text, Some(Path::new(name)), &options()).unwrap_err();
    expected.assert_eq(&error.to_string());
}

// D8: no guess hides an error. A broken JSON file says what is wrong with its JSON, where it is.
#[test]
fn a_broken_file_is_told_in_its_own_syntax() {
    check(
        "a.json",
        "{\n\"mcpServers\": {\n\"a\": {\"command\" \"x\"}}}",
        expect![
            "a.json:3: expected colon after the string or word in object property; correct the JSON there"
        ],
    );
    check("a.json", "hello", expect!["a.json:1: unexpected word; correct the JSON there"]);
    check("a.json", "servers:\n  a: [", expect!["a.json:1: unexpected word; correct the JSON there"]);
    check(
        "a.toml",
        "[mcp_servers.a]\ncommand = \"x\nargs = []",
        expect![[r#"a.toml:2: invalid basic string, expected `"`; correct the TOML there"#]],
    );
    check(
        "a.toml",
        "[mcp_servers.a]\ncommand = \"x\"\ncommand = \"y\"",
        expect!["a.toml:3: duplicate key; correct the TOML there"],
    );
    check(
        "a.yaml",
        "extensions:\n  a:\n    cmd: [x\n",
        expect!["a.yaml:3: unclosed bracket '['; correct the YAML there"],
    );
    check(
        "a.yaml",
        "extensions:\n  a:\n\tcmd: x\n",
        expect!["a.yaml:3: tabs disallowed within this context (block indentation); correct the YAML there"],
    );
    check(
        "a.yaml",
        "- 1\n- 2\n",
        expect!["a.yaml:1: expected an object, found a list; put everything between `{` and `}`"],
    );
    check("a.yaml", "# nothing\n", expect!["a.yaml: is empty; write at least `{}`"]);
}

// D7: a brace that is never closed is looked for where it was opened.
#[test]
fn an_unclosed_brace_is_told_where_it_opens() {
    expect![[r#"
        config.json:3: the `{` that opens here is never closed; add the `}` that belongs to it
    "#]]
    .assert_eq(&problems("{\n  \"mcpServers\": {\n    \"git\": {\n      \"command\": \"x\"\n  }\n}\n"));
    expect![[r#"
        config.json:4: the `[` that opens here is never closed; add the `]` that belongs to it
    "#]]
    .assert_eq(&problems(
        "{\n  \"mcpServers\": {\n    \"git\": {\n      \"args\": [\"}\", \"a\"\n    }\n  }\n}\n",
    ));
    expect![[r#"
        config.json:6: the `{` that opens here is never closed; add the `}` that belongs to it
    "#]]
    .assert_eq(&problems(
        "{\n  // {\n  \"mcpServers\": { /* {\n { */\n    \"a\": {\"command\": \"{\"},\n    \"b\": {\n",
    ));
    expect![[r#"
        config.json:1: the `[` that opens here is never closed; add the `]` that belongs to it
    "#]]
    .assert_eq(&problems("{\"a\": [1, 2"));
}

// B8: without indents, what begins on its own line and is not closed there; and where a string began
#[test]
fn what_was_left_open_is_found_without_indents() {
    expect![[r#"
        config.json:3: the `{` that opens here is never closed; add the `}` that belongs to it
    "#]]
    .assert_eq(&problems(
        "{\"mcpServers\": {\n\"g\": {\"command\":\"sh\"},\n\"a\": {\"command\":\"sh\"\n}}\n",
    ));
    let string =
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"sh},\n    \"b\": {\"command\": \"sh\"}\n  }\n}\n";
    expect![[r#"
        config.json:3: the string that begins here is never closed; add the `"` at its end
    "#]]
    .assert_eq(&problems(string));
}

#[test]
fn the_lines_of_every_syntax_are_known() {
    let lines = |name: &str, text: &str| {
        let config = load_text(text, Some(Path::new(name)), &options()).unwrap();
        config.problems.iter().map(|problem| format!("{problem}\n")).collect::<String>()
    };
    let toml = "# one\n[mcp_servers.a]\ncommand = \"nowhere\"\nzzz = 1\n\n[mcp_servers.b]\nurl = \"x\"\n";
    expect![[r#"
        a.toml:2: mcp_servers.a: cannot find the program `nowhere`; install it, or write its full path
        a.toml:4: mcp_servers.a: unknown key `zzz`
        a.toml:6: mcp_servers.b: `url` is not an address; write one such as `https://host/path`
    "#]]
    .assert_eq(&lines("a.toml", toml));
    let yaml = "# one\nextensions:\n  a:\n    cmd: nowhere\n    zzz: 1\n  b:\n    uri: x\n";
    expect![[r#"
        a.yaml:4: extensions.a: cannot find the program `nowhere`; install it, or write its full path
        a.yaml:5: extensions.a: unknown key `zzz`
        a.yaml:7: extensions.b: `url` is not an address; write one such as `https://host/path`
    "#]]
    .assert_eq(&lines("a.yaml", yaml));
}

#[test]
fn deep_and_many_is_refused_and_not_a_crash() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for (name, text) in [
        ("a.toml", format!("a = {}", deep("[", "]"))),
        ("a.yaml", deep("[", "]")),
        ("a.yaml", format!("a: {}", deep("{b: ", "}"))),
    ] {
        assert!(load_text(&text, Some(Path::new(name)), &options()).is_err(), "{name}");
    }
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(load_text(&bomb, Some(Path::new("a.yaml")), &options()).is_err());
}
