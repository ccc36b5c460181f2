use expect_test::expect;

use super::{check, check_round_trip, check_switch, edit, enable, put, remove};
use crate::edit::Edit;

const GOOSE: &str = r#"# mine
GOOSE_PROVIDER: x

extensions:
  # the first
  a:
    cmd: a # runs
    args:
      - "1" # one
      - two
    enabled: true   # on
    type: stdio

  'b c':
    uri: http://x/
    type: sse
    envs: {K: v}
    description: >
      enabled: is a word

      in here
    # still b
  # the end
other:
- 1
"#;

#[test]
fn comments_order_and_style_stay() {
    check(
        "config.yaml",
        GOOSE,
        &enable("a", false),
        expect![[r##"
        # mine
        GOOSE_PROVIDER: x

        extensions:
          # the first
          a:
            cmd: a # runs
            args:
              - "1" # one
              - two
            enabled: false   # on
            type: stdio

          'b c':
            uri: http://x/
            type: sse
            envs: {K: v}
            description: >
              enabled: is a word

              in here
            # still b
          # the end
        other:
        - 1
    "##]],
    );
    check(
        "config.yaml",
        GOOSE,
        &enable("b c", false),
        expect![[r##"
        # mine
        GOOSE_PROVIDER: x

        extensions:
          # the first
          a:
            cmd: a # runs
            args:
              - "1" # one
              - two
            enabled: true   # on
            type: stdio

          'b c':
            uri: http://x/
            type: sse
            envs: {K: v}
            description: >
              enabled: is a word

              in here
            enabled: false
            # still b
          # the end
        other:
        - 1
    "##]],
    );
    check(
        "config.yaml",
        GOOSE,
        &put("n", r#"{"command":"n","args":["-y","true"],"env":{"K":"v: w"}}"#),
        expect![[r##"
            # mine
            GOOSE_PROVIDER: x

            extensions:
              # the first
              a:
                cmd: a # runs
                args:
                  - "1" # one
                  - two
                enabled: true   # on
                type: stdio

              'b c':
                uri: http://x/
                type: sse
                envs: {K: v}
                description: >
                  enabled: is a word

                  in here
                # still b
              "n":
                command: "n"
                args:
                  - "-y"
                  - "true"
                env:
                  K: "v: w"
              # the end
            other:
            - 1
        "##]],
    );
    check(
        "config.yaml",
        GOOSE,
        &remove("a"),
        expect![[r#"
        # mine
        GOOSE_PROVIDER: x

        extensions:
          # the first

          'b c':
            uri: http://x/
            type: sse
            envs: {K: v}
            description: >
              enabled: is a word

              in here
            # still b
          # the end
        other:
        - 1
    "#]],
    );
    check(
        "config.yaml",
        GOOSE,
        &put("a", r#"{"cmd":"a","args":["1","2","3"],"enabled":true,"type":"stdio","envs":{"A":"b"}}"#),
        expect!["refused: the change would not come of it in a file of goose; change the file by hand"],
    );
    check(
        "config.yaml",
        GOOSE,
        &put("b c", r#"{"uri":"http://y/","type":"sse","envs":{"K":"w"}}"#),
        expect!["refused: the change would not come of it in a file of goose; change the file by hand"],
    );
    check(
        "config.yaml",
        GOOSE,
        &Edit::RenameServer { id: "b c".into(), to: "d".into() },
        expect![[r##"
        # mine
        GOOSE_PROVIDER: x

        extensions:
          # the first
          a:
            cmd: a # runs
            args:
              - "1" # one
              - two
            enabled: true   # on
            type: stdio

          d:
            uri: http://x/
            type: sse
            envs: {K: v}
            description: >
              enabled: is a word

              in here
            # still b
          # the end
        other:
        - 1
    "##]],
    );
}

const LIST: &str = "name: mine\nschema: v1\nmcpServers:\n  - name: a # first\n    command: a\n    args: [x, y]\n  - name: b\n    command: b\n";

#[test]
fn lists_of_servers_are_changed_too() {
    check(
        "config.yaml",
        LIST,
        &enable("a", false),
        expect![[r#"
        name: mine
        schema: v1
        mcpServers:
          - name: a # first
            command: a
            args: [x, y]
            disabled: true
          - name: b
            command: b
    "#]],
    );
    check(
        "config.yaml",
        LIST,
        &put("n", r#"{"command":"n","args":["-y"],"env":{"K":"v"}}"#),
        expect![[r#"
            name: mine
            schema: v1
            mcpServers:
              - name: a # first
                command: a
                args: [x, y]
              - name: b
                command: b
              - name: "n"
                command: "n"
                args:
                  - "-y"
                env:
                  K: v
        "#]],
    );
    check(
        "config.yaml",
        LIST,
        &remove("a"),
        expect![[r#"
        name: mine
        schema: v1
        mcpServers:
          - name: b
            command: b
    "#]],
    );
    check(
        "config.yaml",
        LIST,
        &put("a", r#"{"command":"a","args":["x","y","z"]}"#),
        expect![[r#"
            name: mine
            schema: v1
            mcpServers:
              - name: a # first
                command: a
                args: [x, y, "z"]
              - name: b
                command: b
        "#]],
    );
    check(
        "config.yaml",
        LIST,
        &Edit::RenameServer { id: "b".into(), to: "d".into() },
        expect![[r#"
        name: mine
        schema: v1
        mcpServers:
          - name: a # first
            command: a
            args: [x, y]
          - name: d
            command: b
    "#]],
    );
}

#[test]
fn what_was_put_in_goes_without_a_trace() {
    for text in [
        GOOSE,
        LIST,
        "extensions: {}\n",
        "extensions: {} # none yet\n",
        "mcpServers:\r\n    a:\r\n        command: a\r\n\r\nstart: lazy",
        "---\nmcpServers:\n  a: {command: a}\n# end\n",
        "mcpServers: {\"a\": {\"command\": \"a\"}}\n",
    ] {
        check_round_trip("config.yaml", text);
    }
}

#[test]
fn a_switch_turned_twice_is_as_before() {
    check_switch("config.yaml", GOOSE, "a");
    check_switch("config.yaml", LIST, "a");
    check_switch("config.yaml", LIST, "b");
    check_switch("config.yaml", "mcpServers:\n  a: {\"command\": \"a\"} # x\n", "a");
}

#[test]
fn an_empty_file_becomes_a_config() {
    check(
        "c.yaml",
        "",
        &put("n", r#"{"command": "n"}"#),
        expect![[r#"
        mcpServers:
          "n":
            command: "n"
    "#]],
    );
    check(
        "c.yaml",
        "# later\n",
        &put("n", r#"{"command": "n"}"#),
        expect![[r##"
        # later
        mcpServers:
          "n":
            command: "n"
    "##]],
    );
    check(
        "c.yaml",
        "mcpServers:\n",
        &put("n", r#"{"command": "n"}"#),
        expect![[r#"
        mcpServers:
          "n":
            command: "n"
    "#]],
    );
}

#[test]
fn what_would_change_more_is_refused() {
    let anchored = "mcpServers:\n  a: &x\n    command: a\n  b: *x\n";
    check(
        "c.yaml",
        anchored,
        &enable("a", false),
        expect!["refused: it has an anchor, an alias or a tag; change the file by hand"],
    );
    check(
        "c.yaml",
        anchored,
        &enable("b", false),
        expect!["refused: it has an anchor, an alias or a tag; change the file by hand"],
    );
    let merged = "base: &x\n  command: a\nmcpServers:\n  a:\n    <<: *x\n    args: []\n";
    check(
        "c.yaml",
        merged,
        &enable("a", false),
        expect!["refused: a line of it is no `key: value`; change the file by hand"],
    );
    let long = "mcpServers: {\n  a: {command: a} }\n";
    check(
        "c.yaml",
        long,
        &enable("a", false),
        expect!["refused: what is between its brackets is several lines long; change the file by hand"],
    );
}

// `012`, `1.10` and `on` mean different things to different readers: they stay as they are written.
#[test]
fn what_stands_between_brackets_keeps_its_bytes() {
    let text = "mcpServers: {a: {command: 'it''s', args: [012, 1.10, on, ~], env: {V: 1.10, \"W\": y, N: 0x1F}}} # all\n";
    let with = edit("c.yaml", text, &put("b", r#"{"command": "b", "args": ["x"]}"#)).unwrap();
    let expected = text.replace("N: 0x1F}}}", "N: 0x1F}}, \"b\": {\"command\": \"b\", \"args\": [\"x\"]}}");
    assert_eq!(with, expected);
    assert_eq!(edit("c.yaml", &with, &remove("b")).unwrap(), text);
    let off = edit("c.yaml", text, &enable("a", false)).unwrap();
    assert_eq!(off, text.replace("0x1F}}}", "0x1F}, \"disabled\": true}}"));
    assert_eq!(edit("c.yaml", &off, &enable("a", true)).unwrap(), text);
    let renamed = edit("c.yaml", text, &Edit::RenameServer { id: "a".into(), to: "z".into() }).unwrap();
    assert_eq!(renamed, text.replace("{a: {", "{\"z\": {"));
}
