use expect_test::expect;

use super::{check, check_round_trip, check_switch, enable, put, remove};
use crate::edit::Edit;

const CODEX: &str = r#"# mine
model = "x"

# the first
[mcp_servers.a]
command = "a" # runs
args = [
  "1", # one
]

[mcp_servers.a.env]
K = "v"

# the second
[mcp_servers."b c"]
url = "http://x/"
enabled = false # for now

# the rest
[other]
x = 1
"#;

#[test]
fn comments_order_and_style_stay() {
    check(
        "config.toml",
        CODEX,
        &enable("a", false),
        expect![[r##"
        # mine
        model = "x"

        # the first
        [mcp_servers.a]
        command = "a" # runs
        args = [
          "1", # one
        ]
        enabled = false

        [mcp_servers.a.env]
        K = "v"

        # the second
        [mcp_servers."b c"]
        url = "http://x/"
        enabled = false # for now

        # the rest
        [other]
        x = 1
    "##]],
    );
    check(
        "config.toml",
        CODEX,
        &enable("b c", true),
        expect![[r##"
        # mine
        model = "x"

        # the first
        [mcp_servers.a]
        command = "a" # runs
        args = [
          "1", # one
        ]

        [mcp_servers.a.env]
        K = "v"

        # the second
        [mcp_servers."b c"]
        url = "http://x/"
        enabled = true # for now

        # the rest
        [other]
        x = 1
    "##]],
    );
    check(
        "config.toml",
        CODEX,
        &put("n", r#"{"command":"n","env":{"K":"v"},"cwd":null}"#),
        expect![[r##"
        # mine
        model = "x"

        # the first
        [mcp_servers.a]
        command = "a" # runs
        args = [
          "1", # one
        ]

        [mcp_servers.a.env]
        K = "v"

        # the second
        [mcp_servers."b c"]
        url = "http://x/"
        enabled = false # for now

        [mcp_servers.n]
        command = "n"
        env = { K = "v" }

        # the rest
        [other]
        x = 1
    "##]],
    );
    check(
        "config.toml",
        CODEX,
        &remove("a"),
        expect![[r##"
        # mine
        model = "x"

        # the first

        # the second
        [mcp_servers."b c"]
        url = "http://x/"
        enabled = false # for now

        # the rest
        [other]
        x = 1
    "##]],
    );
    check(
        "config.toml",
        CODEX,
        &put("a", r#"{"command":"a","args":["1","2"],"env":{"K":"w","L":"x"}}"#),
        expect![[r##"
            # mine
            model = "x"

            # the first
            [mcp_servers.a]
            command = "a" # runs
            args = [
              "1", # one
              "2",
            ]

            [mcp_servers.a.env]
            K = "w"
            L = "x"

            # the second
            [mcp_servers."b c"]
            url = "http://x/"
            enabled = false # for now

            # the rest
            [other]
            x = 1
        "##]],
    );
    check(
        "config.toml",
        CODEX,
        &Edit::RenameServer { id: "a".into(), to: "z.z".into() },
        expect![[r##"
        # mine
        model = "x"

        # the first
        [mcp_servers."z.z"]
        command = "a" # runs
        args = [
          "1", # one
        ]

        [mcp_servers."z.z".env]
        K = "v"

        # the second
        [mcp_servers."b c"]
        url = "http://x/"
        enabled = false # for now

        # the rest
        [other]
        x = 1
    "##]],
    );
}

#[test]
fn what_was_put_in_goes_without_a_trace() {
    for text in [
        CODEX,
        "[mcp_servers.a]\ncommand = \"a\"\n",
        "[mcp_servers.a]\r\ncommand = \"a\"\r\n\r\n[x]\r\ny = 1",
        "[mcp_servers]\na = { command = \"a\" }\n",
        "mcp_servers = { a = { command = \"a\" } }\n",
        "[mcpServers.a]\ncommand = \"a\"",
        "[mcp_servers.a]\ncommand = \"a\"\n# enabled = false\n\n# the rest\n[other]\nx = 1\n",
        "[mcp_servers.a]\ncommand = \"a\"\n# the rest\n[other]\nx = 1\n",
        "[[mcp_servers]]\nname = \"a\"\ncommand = \"a\"\n# off = true\n\n[other]\nx = 1\n",
        "[[mcp_servers]]\nname = \"a\"\ncommand = \"a\"\n[other]\nx = 1\n",
    ] {
        check_round_trip("config.toml", text);
    }
}

#[test]
fn a_switch_turned_twice_is_as_before() {
    for text in [
        "[mcpServers.a]\ncommand = \"a\"",
        "[mcpServers.a]\r\ncommand = \"a\"\r\n\r\n[mcpServers.a.env]\r\ny = \"1\"",
        "[mcpServers]\na = { command = \"a\" }\n",
        "[mcp_servers.a]\nenabled = true # on\ncommand = \"a\"\n",
    ] {
        check_switch("config.toml", text, "a");
    }
}

#[test]
fn an_empty_file_becomes_a_config() {
    check(
        "c.toml",
        "",
        &put("n", r#"{"command": "n"}"#),
        expect![[r#"
        [mcpServers.n]
        command = "n"
    "#]],
    );
    check(
        "c.toml",
        "# later\n",
        &put("n", r#"{"command": "n"}"#),
        expect![[r##"
        # later

        [mcpServers.n]
        command = "n"
    "##]],
    );
}
