//! What a command line runs, and which servers are the same.

use super::{found_at, named, one, ours, ours_with};
use crate::import::known::known;
use crate::import::launch::{is_relative_path, launch};

fn package(line: &str) -> String {
    let mut words = line.split(' ').map(str::to_owned);
    let command = words.next().unwrap();
    launch(&command, &words.collect::<Vec<_>>()).package.unwrap_or_default()
}

#[test]
fn a_package_is_found_behind_every_runner() {
    for line in [
        "npx @a/b",
        "npx -y @a/b@latest --flag",
        "/usr/bin/npx --yes @a/b@1.2.3 x",
        "npx -y -p @a/b run-it",
        "npm exec -- @a/b",
        "bunx --bun @a/b",
        "bun x @a/b",
        "pnpm dlx @a/b",
        "yarn dlx -q @a/b",
        "deno run -A npm:@a/b@2",
        "cmd /c npx -y @a/b",
        "npx.cmd -y @a/b",
        "node /usr/lib/node_modules/@a/b/dist/index.js --x",
    ] {
        assert_eq!(package(line), "@a/b", "{line}");
    }
    for line in [
        "uvx a-b",
        "uvx a-b@latest x",
        "uvx --python 3.12 a-b==1.0",
        "uvx --from a-b[cli] run-it",
        "uv tool run a-b",
        "pipx run a-b",
        "python -m a_b",
        "a-b --x",
        "/opt/bin/a-b",
    ] {
        assert_eq!(package(line), "a-b", "{line}");
    }
    for line in [
        "docker run -i --rm -e TOKEN mcp/time",
        "docker run -i --rm -e TOKEN=x -v /a:/b --name=c mcp/time:1.0 --utc",
        "podman container run mcp/time@sha256:00",
        "docker run docker.io/mcp/time",
    ] {
        assert_eq!(package(line), "mcp/time", "{line}");
    }
    assert_eq!(package("docker run -i ghcr.io:443/a/b:1"), "ghcr.io:443/a/b");
    for line in ["docker ps", "npx", "npx -y", "node server.js", "uv run server.py"] {
        assert_eq!(package(line), "", "{line}");
    }
}

#[test]
fn known_servers_are_shared() {
    let is_shared = |entry: &str| one(entry).is_known_shared();
    assert!(is_shared(r#"{"command": "npx", "args": ["-y", "@upstash/context7-mcp@1.0.1"]}"#));
    assert!(is_shared(r#"{"command": "uvx", "args": ["mcp-server-time"]}"#));
    assert!(is_shared(r#"{"command": "docker", "args": ["run", "-i", "mcp/time"]}"#));
    assert!(!is_shared(
        r#"{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}"#
    ));
    assert!(!is_shared(r#"{"command": "uvx", "args": ["mcp-server-time", "--at", "${workspaceFolder}"]}"#));
    assert!(!is_shared(r#"{"command": "uvx", "args": ["mcp-server-time", "./x"]}"#));
    assert!(!is_shared(r#"{"command": "uvx", "args": ["mcp-server-time"], "cwd": "/x"}"#));
    assert!(!is_shared(r#"{"url": "https://mcp-server-time"}"#));
}

#[test]
fn the_lists_are_whole() {
    let lists = [&known().shared, &known().token_prefixes];
    assert!(lists.iter().all(|list| list.len() > 40));
    for list in lists {
        assert!(list.windows(2).all(|two| two[0] != two[1]), "twice in a list");
    }
    assert!(known().shared.iter().all(|name| name.to_ascii_lowercase() == *name));
}

#[test]
fn relative_places_are_told() {
    for path in [".", "..", "./a", "../a", "server.py", "dist/index.js"] {
        assert!(is_relative_path(path), "{path}");
    }
    for other in
        ["a", "/a/server.py", "~/a.js", "${A}/b.js", "@a/b", "https://a/b.json", "--x=a.js", "mcp/time"]
    {
        assert!(!is_relative_path(other), "{other}");
    }
}

fn same(one_entry: &str, other: &str) -> bool {
    let (first, second) = (named("a", one_entry), named("b", other));
    assert_eq!(first.starts_same(&second), second.starts_same(&first));
    first.starts_same(&second)
}

#[test]
fn what_starts_the_same_is_the_same() {
    for (one, other) in [
        (
            r#"{"command": "npx", "args": ["-y", "x"]}"#,
            r#"{"command": "/usr/bin/npx", "args": ["x@latest"]}"#,
        ),
        (
            r#"{"command": "npx", "args": ["-y", "x"]}"#,
            r#"{"command": "cmd", "args": ["/c", "npx", "x"], "timeout": 5000}"#,
        ),
        (r#"{"command": "npx", "args": ["-y", "x", "-y"]}"#, r#"{"command": "bunx", "args": ["x", "-y"]}"#),
        (r#"{"command": "~/x"}"#, r#"{"command": "${HOME}/x", "env": {}, "disabled": true}"#),
        (r#"{"command": "/home/ann/x"}"#, r#"{"command": "${userHome}/x"}"#),
        (
            r#"{"command": "x", "env": {"A": "${env:B}", "C": "1"}}"#,
            r#"{"command": "x", "env": {"C": 1, "A": "${B}"}}"#,
        ),
        (
            r#"{"url": "https://X.example/mcp/"}"#,
            r#"{"serverUrl": "HTTPS://x.example:443/mcp", "type": "http"}"#,
        ),
        (
            r#"{"url": "https://x/a", "headers": {"X-A": "1"}}"#,
            r#"{"httpUrl": "https://x/a", "headers": {"x-a": "1"}}"#,
        ),
    ] {
        assert!(same(one, other), "{one} {other}");
    }
    for (one, other) in [
        (r#"{"command": "x", "args": ["a"]}"#, r#"{"command": "x", "args": ["b"]}"#),
        (r#"{"command": "x", "env": {"A": "1"}}"#, r#"{"command": "x", "env": {"A": "2"}}"#),
        (r#"{"command": "x", "env": {"A": "1"}}"#, r#"{"command": "x"}"#),
        (r#"{"command": "x", "cwd": "/a"}"#, r#"{"command": "x", "cwd": "/b"}"#),
        (r#"{"command": "npx", "args": ["x@1"]}"#, r#"{"command": "npx", "args": ["x@2"]}"#),
        (r#"{"command": "npx", "args": ["x", "-y"]}"#, r#"{"command": "npx", "args": ["x"]}"#),
        (r#"{"url": "https://x/a"}"#, r#"{"url": "https://x/A"}"#),
        (r#"{"url": "https://x/a", "headers": {"X-A": "1"}}"#, r#"{"url": "https://x/a"}"#),
        (r#"{"url": "x"}"#, r#"{"command": "x"}"#),
        ("{}", "{}"),
    ] {
        assert!(!same(one, other), "{one} {other}");
    }
}

#[test]
fn a_secret_that_was_stored_is_the_one_it_was() {
    let entry = r#"{"command": "x", "args": ["-k", "${secret:K}"], "env": {"A": "Bearer ${secret:A}!"}}"#;
    let stored = ours_with("a", entry, "abc");
    let written = named("b", r#"{"command": "x", "args": ["-k", "abc"], "env": {"A": "Bearer abc!"}}"#);
    let other = named("b", r#"{"command": "x", "args": ["-k", "abc"], "env": {"A": "Token abc!"}}"#);
    assert!(stored.starts_same(&written) && written.starts_same(&stored));
    assert!(!stored.starts_same(&other));
}

#[test]
fn the_folder_counts_where_the_server_is_looked_for_in_it() {
    let at =
        |path: &str, entry: &str| found_at(path, &format!(r#"{{"mcpServers": {{"x": {entry}}}}}"#)).remove(0);
    let script = r#"{"command": "python", "args": ["server.py"]}"#;
    let package = r#"{"command": "uvx", "args": ["x"]}"#;
    assert!(!at("/work/a/.mcp.json", script).starts_same(&at("/work/b/.mcp.json", script)));
    assert!(at("/work/a/.mcp.json", script).starts_same(&at("/work/a/.cursor/mcp.json", script)));
    assert!(at("/work/a/.mcp.json", package).starts_same(&at("/work/b/.mcp.json", package)));
    // What was imported says the folder.
    let imported = ours("x", r#"{"command": "python", "args": ["server.py"], "cwd": "/work/a"}"#);
    assert!(imported.starts_same(&at("/work/a/.mcp.json", script)));
    assert!(!imported.starts_same(&at("/work/b/.mcp.json", script)));
}
