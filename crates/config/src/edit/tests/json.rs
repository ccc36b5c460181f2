use expect_test::expect;

use super::{check, check_round_trip, check_switch, edit, enable, put, remove};

const COMMENTED: &str = r#"// mine
{
    /* all */
    "mcpServers": {
        // the first
        "a": {
            "command": "a", // runs
            "args": [ "1" ]
        }, // behind a
        "b": {"command": "b"},

        // "c": {"command": "c"}
    },
    "start": "lazy", // settings
}
"#;

#[test]
fn comments_order_and_style_stay() {
    check(
        "c.json",
        COMMENTED,
        &enable("a", false),
        expect![[r#"
        // mine
        {
            /* all */
            "mcpServers": {
                // the first
                "a": {
                    "command": "a", // runs
                    "args": [ "1" ],
                    "disabled": true
                }, // behind a
                "b": {"command": "b"},

                // "c": {"command": "c"}
            },
            "start": "lazy", // settings
        }
    "#]],
    );
    check(
        "c.json",
        COMMENTED,
        &enable("b", false),
        expect![[r#"
        // mine
        {
            /* all */
            "mcpServers": {
                // the first
                "a": {
                    "command": "a", // runs
                    "args": [ "1" ]
                }, // behind a
                "b": {"command": "b", "disabled": true},

                // "c": {"command": "c"}
            },
            "start": "lazy", // settings
        }
    "#]],
    );
    check(
        "c.json",
        COMMENTED,
        &put("n", r#"{"command":"n","env":{"K":"v"}}"#),
        expect![[r#"
        // mine
        {
            /* all */
            "mcpServers": {
                // the first
                "a": {
                    "command": "a", // runs
                    "args": [ "1" ]
                }, // behind a
                "b": {"command": "b"},
                "n": {"command": "n", "env": {"K": "v"}},

                // "c": {"command": "c"}
            },
            "start": "lazy", // settings
        }
    "#]],
    );
    check(
        "c.json",
        COMMENTED,
        &remove("a"),
        expect![[r#"
        // mine
        {
            /* all */
            "mcpServers": {
                // the first
                // behind a
                "b": {"command": "b"},

                // "c": {"command": "c"}
            },
            "start": "lazy", // settings
        }
    "#]],
    );
    check(
        "c.json",
        COMMENTED,
        &remove("b"),
        expect![[r#"
        // mine
        {
            /* all */
            "mcpServers": {
                // the first
                "a": {
                    "command": "a", // runs
                    "args": [ "1" ]
                }, // behind a

                // "c": {"command": "c"}
            },
            "start": "lazy", // settings
        }
    "#]],
    );
    check(
        "c.json",
        COMMENTED,
        &put("a", r#"{"command":"a","args":["1","2"],"cwd":"/x"}"#),
        expect![[r#"
            // mine
            {
                /* all */
                "mcpServers": {
                    // the first
                    "a": {
                        "command": "a", // runs
                        "args": [ "1", "2" ],
                        "cwd": "/x"
                    }, // behind a
                    "b": {"command": "b"},

                    // "c": {"command": "c"}
                },
                "start": "lazy", // settings
            }
        "#]],
    );
}

#[test]
fn what_was_put_in_goes_without_a_trace() {
    for text in [
        COMMENTED,
        "{\"mcpServers\": {}}",
        "{\n\t\"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"a\"\n    }\n  }\n}\n",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}",
        "{\"mcpServers\":{\"a\":{\"command\":\"a\"},}}",
        "{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"a\"}\r\n  }\r\n}",
        "\u{feff}{\n  \"servers\": {\n    \"a\": {\"command\": \"a\"} // last\n  }\n}",
        "{\n  \"schemas\": {\n    \"s\": {\n      \"mcpServers\": {\n        \"a\": {\"command\": \"a\"}\n      }\n    }\n  }\n}",
        "{\n  \"a\": {\"command\": \"x\"}\n}\n",
        "{\n  \"mcp\": {\n    \"a\": {\"type\": \"local\", \"command\": [\"x\"]}\n  }\n}\n",
    ] {
        check_round_trip("c.json", text);
    }
}

#[test]
fn a_switch_turned_twice_is_as_before() {
    for text in [
        COMMENTED,
        "{\"mcpServers\":{\"a\":{\"command\":\"a\"}}}",
        "{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"a\"\r\n    }\r\n  }\r\n}",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\", \"enabled\": true}}}",
        "{\"a\": {\"command\": \"a\"}}",
    ] {
        check_switch("c.json", text, "a");
    }
}

#[test]
fn an_empty_file_becomes_a_config() {
    check(
        "c.json",
        "",
        &put("n", r#"{"command": "n"}"#),
        expect![[r#"
        {
          "mcpServers": {
            "n": {
              "command": "n"
            }
          }
        }
    "#]],
    );
    check(
        "c.json",
        "// later\n",
        &put("n", r#"{"command": "n"}"#),
        expect![[r#"
        // later
        {
          "mcpServers": {
            "n": {
              "command": "n"
            }
          }
        }
    "#]],
    );
    check("c.json", "", &enable("n", true), expect!["refused: there is no server 'n'; there is none"]);
}

#[test]
fn flags_are_spelt_as_the_file_spells_them() {
    let text = r#"{"servers": {"a": {"command": "a"}}}"#;
    check(
        "c.json",
        text,
        &enable("a", false),
        expect![[r#"{"servers": {"a": {"command": "a", "enabled": false}}}"#]],
    );
    let text = r#"{"servers": {"a": {"command": "a"}, "b": {"command": "b", "disabled": true}}}"#;
    check(
        "c.json",
        text,
        &enable("a", false),
        expect![[
            r#"{"servers": {"a": {"command": "a", "disabled": true}, "b": {"command": "b", "disabled": true}}}"#
        ]],
    );
    check(
        "c.json",
        text,
        &enable("b", true),
        expect![[r#"{"servers": {"a": {"command": "a"}, "b": {"command": "b"}}}"#]],
    );
    let text = r#"{"mcpServers": {"a": {"Disabled": "true", "command": "a"}}}"#;
    check(
        "c.json",
        text,
        &enable("a", true),
        expect![[r#"{"mcpServers": {"a": {"Disabled": false, "command": "a"}}}"#]],
    );
    let text = r#"{"mcpServers": {"a": {"command": "a", "enabled": false, "disabled": true}}}"#;
    check(
        "c.json",
        text,
        &enable("a", true),
        expect![[r#"{"mcpServers": {"a": {"command": "a", "enabled": true}}}"#]],
    );
    assert_eq!(edit("c.json", text, &enable("a", false)).unwrap(), text);
}

#[test]
fn schemas_are_told_apart() {
    let text = r#"{"schemas": {"s": {"mcpServers": {"a": {"command": "a"}}}, "t": {"mcpServers": {"a": {"command": "b"}, "x": {"command": "x"}}}}}"#;
    check(
        "c.json",
        text,
        &enable("a", false),
        expect!["refused: several schemas have a server 'a'; name one of s/a, t/a"],
    );
    check(
        "c.json",
        text,
        &enable("t/a", false),
        expect![[
            r#"{"schemas": {"s": {"mcpServers": {"a": {"command": "a"}}}, "t": {"mcpServers": {"a": {"command": "b", "disabled": true}, "x": {"command": "x"}}}}}"#
        ]],
    );
    check(
        "c.json",
        text,
        &enable("x", false),
        expect![[
            r#"{"schemas": {"s": {"mcpServers": {"a": {"command": "a"}}}, "t": {"mcpServers": {"a": {"command": "b"}, "x": {"command": "x", "disabled": true}}}}}"#
        ]],
    );
    check(
        "c.json",
        text,
        &put("t/new", r#"{"command": "n"}"#),
        expect![[
            r#"{"schemas": {"s": {"mcpServers": {"a": {"command": "a"}}}, "t": {"mcpServers": {"a": {"command": "b"}, "x": {"command": "x"}, "new": {"command": "n"}}}}}"#
        ]],
    );
    check(
        "c.json",
        text,
        &put("new", r#"{"command": "n"}"#),
        expect!["refused: say which schema it is for, as in `schema/new`: s, t"],
    );
    check(
        "c.json",
        text,
        &enable("y", false),
        expect!["refused: there is no server 'y'; there is s/a, t/a, t/x"],
    );
}

#[test]
fn what_cannot_be_read_is_not_changed() {
    check(
        "c.json",
        "{\"mcpServers\": ",
        &enable("a", true),
        expect!["refused: c.json:1: expected value after colon in object property; correct the JSON there"],
    );
    check(
        "c.json",
        "[1]",
        &enable("a", true),
        expect!["refused: c.json:1: expected an object, found a list; put everything between `{` and `}`"],
    );
    check(
        "c.json",
        r#"{"mcpServers": {"a": 1}}"#,
        &enable("a", false),
        expect!["refused: the entry of `a` is no object"],
    );
    check(
        "c.json",
        r#"{"mcpServers": {}}"#,
        &put("a", "[]"),
        expect!["refused: the entry of a server is an object"],
    );
    check(
        "c.json",
        r#"{"mcpServers": {}}"#,
        &put("a", "{"),
        expect!["refused: the entry of a server is JSON, which this is not"],
    );
    let twice = r#"{"mcpServers": {"a": {"command": "1"}, "a": {"command": "2"}}}"#;
    check("c.json", twice, &remove("a"), expect!["refused: it is written twice; change the file by hand"]);
    check(
        "c.json",
        twice,
        &enable("a", false),
        expect![[r#"{"mcpServers": {"a": {"command": "1"}, "a": {"command": "2", "disabled": true}}}"#]],
    );
}
