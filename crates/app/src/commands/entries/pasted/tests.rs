use expect_test::{Expect, expect};
use manifold_config::Environment;

use super::*;

/// Writes what is read of a text: a name and an entry each, or why nothing is.
fn check(text: &str, expected: Expect) {
    let shown = match read(text, &Environment::default()) {
        Ok(given) => {
            let line = |one: &Given| {
                let remarks: String = one.remarks.iter().map(|remark| format!(" ({remark})")).collect();
                format!("{} {}{remarks}", one.name.as_deref().unwrap_or("-"), one.entry.text())
            };
            given.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Err(failure) => format!("refused: {}", failure.message),
    };
    expected.assert_eq(&shown);
}

#[test]
fn lines_are_cut_as_a_shell_would() {
    check(
        r#"A=1 B='x y' prog "a \"b\" \n" c\ d '' '$HOME' $HOME/x "${HOME}""#,
        expect![[
            r#"prog {"command":"prog","args":["a \"b\" \\n","c d","","$HOME","${HOME}/x","${HOME}"],"env":{"A":"1","B":"x y"}}"#
        ]],
    );
    check("prog \\\n  --flag \\\r\n  x", expect![[r#"prog {"command":"prog","args":["--flag","x"]}"#]]);
    check("prog 'x", expect!["refused: a quote (') is not closed in what was pasted"]);
    check("cd x && prog", expect!["refused: `&` means something to a shell only, and none starts a server"]);
    check("prog 'a && b'", expect![[r#"prog {"command":"prog","args":["a && b"]}"#]]);
    check("A=1", expect!["refused: there is no command in what was pasted"]);
}

#[test]
fn entries_of_toml_and_yaml_are_read() {
    check(
        "# mine\n[mcp_servers.git]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\"]\n[mcp_servers.git.env]\nA = \"1\"",
        expect![[r#"git {"command":"uvx","args":["mcp-server-git"],"env":{"A": "1"}}"#]],
    );
    check(
        "extensions:\n  git:\n    type: stdio\n    cmd: uvx\n    args: [mcp-server-git, on]",
        expect![[r#"git {"command":"uvx","args":["mcp-server-git", "on"]}"#]],
    );
    check(
        "- name: git\n  command: uvx\n  args:\n    - mcp-server-git",
        expect![[r#"git {"command":"uvx","args":["mcp-server-git"]}"#]],
    );
    check("git:\n  command: uvx", expect![[r#"git {"command":"uvx"}"#]]);
}

#[test]
fn commands_of_other_programs_are_those_of_servers() {
    check(
        "claude mcp add -t sse -s project linear https://mcp.linear.app/sse",
        expect![[r#"linear {"url":"https://mcp.linear.app/sse","type":"sse"}"#]],
    );
    check(
        "claude mcp add --env A=1 B=2 --transport stdio x -- npx -y y --scope z",
        expect![[r#"x {"command":"npx","args":["-y","y","--scope","z"],"env":{"A":"1","B":"2"}}"#]],
    );
    check(
        "gemini mcp add --timeout 500 --trust x uvx y --flag",
        expect![[r#"x {"command":"uvx","args":["y","--flag"]}"#]],
    );
    check("claude mcp add x", expect!["refused: what was pasted is no whole `claude mcp add` command"]);
    check(
        "docker run --rm image",
        expect![[
            r#"image {"command":"docker","args":["run","--rm","image"]} (`docker run` without `-i` closes a server's standard input)"#
        ]],
    );
}
