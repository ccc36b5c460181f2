//! Every program's file, as its users have it on disk (D8). These files stay for good.

mod data;
mod places;
mod telling;
mod write;

use std::fmt::Write as _;
use std::path::Path;

use expect_test::{Expect, expect};

use crate::load::{LoadOptions, load_text};
use crate::model::*;
use crate::testing::{SECRET, environment, options, programs};

/// Loads a file as if it lay at this path, in the folder of a project, with its programs on the `PATH`.
fn load_at(path: &str, text: &str) -> Config {
    let directory = programs(&["fs", "uvx"]);
    let mut environment = environment();
    environment.vars.insert("PATH".into(), directory.path().display().to_string());
    environment.cwd = "/work/site/src".into();
    let options = LoadOptions { environment, ..options() };
    load_text(text, Some(Path::new(path)), &options).unwrap()
}

/// Compares what was read: the line about the file, each server, each problem.
fn check(path: &str, text: &str, expected: Expect) {
    let config = load_at(path, text);
    let mut told = format!("{}\n", config.summary());
    for server in &config.servers {
        let _ = writeln!(told, "{}", line_of(server));
    }
    for problem in &config.problems {
        let _ = writeln!(told, "! {problem}");
    }
    expected.assert_eq(&told);
}

fn line_of(server: &Server) -> String {
    let mut line = format!("{}:", server.key.id);
    match &server.transport {
        Transport::Builtin(_) => line.push_str(" builtin"),
        Transport::Process(spec) => {
            let _ = write!(line, " {} {:?}", spec.command, spec.args);
            for (name, value) in &spec.env {
                let _ = write!(line, " {name}={}", shown(value.expose()));
            }
        }
        Transport::Remote(spec) => {
            let _ = write!(line, " {:?} {}", spec.kind, spec.url);
            for (name, value) in &spec.headers {
                let _ = write!(line, " {name}: {}", shown(value.expose()));
            }
        }
    }
    if !server.enabled {
        line.push_str(" (disabled)");
    }
    if let Some(timeout) = server.call_timeout {
        let _ = write!(line, " timeout={timeout:?}");
    }
    if server.start_timeout.as_secs() != 60 {
        let _ = write!(line, " start={:?}", server.start_timeout);
    }
    if let Some(allowed) = &server.allowed_tools {
        let _ = write!(line, " only={allowed:?}");
    }
    if !server.denied_tools.is_empty() {
        let _ = write!(line, " denied={:?}", server.denied_tools);
    }
    if let Some(fault) = &server.fault {
        let _ = write!(line, " FAULT {}", fault.message());
    }
    line
}

fn shown(value: &str) -> String {
    value.replace(SECRET, "<secret>")
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../fixtures/clients/", $name))
    };
}

#[test]
fn codex() {
    check(
        "config.toml",
        fixture!("codex.toml"),
        expect![[r#"
        Codex config, 2 servers
        git: uvx ["mcp-server-git", "${NOT_A_VARIABLE}"] LEVEL=debug timeout=90s start=20s only=["status", "diff"] denied=["push"]
        figma: Auto https://mcp.figma.example/mcp X-Region: eu Authorization: Bearer <secret> (disabled)
    "#]],
    );
}

#[test]
fn goose() {
    check(
        "config.yaml",
        fixture!("goose.yaml"),
        expect![[r#"
        goose config, 2 servers
        git: uvx ["mcp-server-git"] KEY=<secret> LEVEL=debug timeout=120s
        docs: StreamableHttp https://docs.example/mcp Authorization: Bearer <secret> only=["search"]
        ! config.yaml:5: extensions.developer: is a part of goose, which only it can run; it is left out
    "#]],
    );
}

#[test]
fn opencode() {
    check(
        "opencode.jsonc",
        fixture!("opencode.jsonc"),
        expect![[r#"
        opencode config, 3 servers
        git: uvx ["mcp-server-git", "--name", "ann", "${NAME}"] KEY=<secret> timeout=5s
        docs: Auto https://docs.example/mcp X-Key: <secret>
        old: x [] (disabled)
    "#]],
    );
    check(
        "mine.json",
        fixture!("opencode-v2.json"),
        expect![[r#"
        opencode config, 2 servers
        git: uvx ["mcp-server-git"] timeout=9s start=7s
        docs: Auto https://docs.example/mcp
    "#]],
    );
}

#[test]
fn zed() {
    check(
        "settings.json",
        fixture!("zed.json"),
        expect![[r#"
        Zed config, 3 servers
        git: uvx ["mcp-server-git"] A=1
        older: fs ["/data"]
        docs: Auto https://docs.example/mcp X-A: b timeout=30s
        ! settings.json:9: context_servers.from-extension: is a part of Zed, which only it can run; it is left out
        ! settings.json:10: context_servers.plain-extension: is a part of Zed, which only it can run; it is left out
    "#]],
    );
}

#[test]
fn amp() {
    check(
        "settings.json",
        fixture!("amp.json"),
        expect![[r#"
        Amp config, 2 servers
        git: uvx ["mcp-server-git"] only=["status"]
        docs: Auto https://docs.example/mcp Authorization: Bearer <secret>
    "#]],
    );
}

#[test]
fn vs_code() {
    check(
        "/work/site/.vscode/mcp.json",
        fixture!("vscode.json"),
        expect![[r#"
        VS Code config, 3 servers
        git: uvx ["mcp-server-git", "-r", "/work/site"]
        github: StreamableHttp https://api.githubcopilot.example/mcp/ Authorization: Bearer ${input:github-token} FAULT `${input:github-token}` can only be asked for by an editor; set the variable INPUT_GITHUB_TOKEN instead
        events: Sse https://events.example/sse
        ! /work/site/.vscode/mcp.json:7: servers.github.headers.Authorization: `${input:github-token}` can only be asked for by an editor; set the variable INPUT_GITHUB_TOKEN instead
    "#]],
    );
    check(
        "settings.json",
        fixture!("vscode-settings.json"),
        expect![[r#"
        VS Code config, 1 server
        git: uvx ["mcp-server-git"]
    "#]],
    );
}

#[test]
fn a_bare_map() {
    check(
        "servers.json",
        fixture!("bare.json"),
        expect![[r#"
        2 servers by name, without a key around them
        git: uvx ["mcp-server-git"]
        docs: Auto https://docs.example/mcp
    "#]],
    );
}

#[test]
fn claude_code() {
    check(
        "/home/ann/.claude.json",
        fixture!("claude.json"),
        expect![[r#"
        Claude Code config, 3 servers
        git: uvx ["mcp-server-git"] (disabled)
        docs: Sse https://local.example/sse
        files: fs ["."]
    "#]],
    );
}

#[test]
fn gemini() {
    check(
        "/home/ann/.gemini/settings.json",
        fixture!("gemini.json"),
        expect![[r#"
            Gemini CLI config, 3 servers
            git: uvx ["mcp-server-git"] KEY=<secret> N=%NAME% timeout=15s only=["status"]
            docs: StreamableHttp https://docs.example/mcp X-Key: <secret> denied=["rm"]
            events: Sse https://events.example/sse
        "#]],
    );
}

#[test]
fn continue_dev() {
    check(
        "config.yaml",
        fixture!("continue.yaml"),
        expect![[r#"
        Continue config, 2 servers
        git: uvx ["mcp-server-git"] PORT=8080 start=20s
        docs: StreamableHttp https://docs.example/mcp X-Team: red Authorization: Bearer <secret>
        ! config.yaml:12: mcpServers.git.env: numbers and flags are used as text here; it is used all the same
        ! config.yaml:21: mcpServers[2]: has no `name`; it is left out
    "#]],
    );
}

#[test]
fn crush() {
    check(
        "crush.json",
        fixture!("crush.json"),
        expect![[r#"
        Crush config, 2 servers
        git: uvx ["mcp-server-git"] KEY=<secret> timeout=120s denied=["push"]
        docs: StreamableHttp https://docs.example/mcp (disabled)
    "#]],
    );
}

#[test]
fn mistral_vibe() {
    check(
        "config.toml",
        fixture!("vibe.toml"),
        expect![[r#"
        Mistral Vibe config, 2 servers
        git: uvx ["mcp-server-git"]
        docs: StreamableHttp https://docs.example/mcp Authorization: Bearer <secret>
    "#]],
    );
}

#[test]
fn cline() {
    let path = "/home/ann/.cline/data/settings/cline_mcp_settings.json";
    check(
        path,
        fixture!("cline_mcp_settings.json"),
        expect![[r#"
        Cline config, 3 servers
        git: uvx ["mcp-server-git"] timeout=60s
        docs: StreamableHttp https://docs.example/mcp
        older: Sse https://older.example/sse
    "#]],
    );
    // Wherever it lies, all but the unit of its timeout is understood.
    check(
        "mine.json",
        fixture!("cline_mcp_settings.json"),
        expect![[r#"
        3 servers, 0 namespaces
        git: uvx ["mcp-server-git"] timeout=60ms
        docs: StreamableHttp https://docs.example/mcp
        older: Sse https://older.example/sse
        ! mine.json:2: mcpServers.git.timeout: 60 is outside 1000 to 300000; it is used all the same
    "#]],
    );
}

#[test]
fn copilot_cli() {
    check(
        "/home/ann/.copilot/mcp-config.json",
        fixture!("copilot.json"),
        expect![[r#"
        GitHub Copilot CLI config, 2 servers
        git: uvx ["mcp-server-git"]
        docs: StreamableHttp https://docs.example/mcp only=["search"]
    "#]],
    );
}
