//! Secrets that stand in entries as they are.

use super::{named, one};

/// Compares the places and names of what is found.
fn check(entry: &str, expected: &[(&str, &str)]) {
    let server = named("git-hub", entry);
    let found: Vec<_> =
        server.secrets.iter().map(|secret| (secret.place.as_str(), secret.name_hint.as_str())).collect();
    assert_eq!(found, expected, "{entry}");
}

#[test]
fn variables_are_told_by_their_names() {
    check(
        r#"{"command": "x", "env": {"GITHUB_TOKEN": "abc", "apiKey": "def", "DB_PASSWORD": "p w"}}"#,
        &[("env.GITHUB_TOKEN", "GITHUB_TOKEN"), ("env.apiKey", "APIKEY"), ("env.DB_PASSWORD", "DB_PASSWORD")],
    );
    for harmless in [
        r#""MAX_TOKENS": "4096""#,
        r#""TOKEN_LIMIT": "abcd""#,
        r#""TOKEN": "${TOKEN}""#,
        r#""TOKEN": """#,
        r#""API_KEY_FILE": "secrets.txt""#,
        r#""GOOGLE_APPLICATION_CREDENTIALS": "/home/ann/key.json""#,
        r#""USE_TOKEN": "true""#,
        r#""PUBLIC_KEY": "abcdefgh""#,
        r#""API_KEY": "<your key>""#,
        r#""API_KEY": "YOUR_API_KEY""#,
        r#""PWD": "x""#,
        r#""LEVEL": "debug""#,
        r#""MONKEY": "debug""#,
    ] {
        check(&format!(r#"{{"command": "x", "env": {{{harmless}}}}}"#), &[]);
    }
}

#[test]
fn values_are_told_by_what_they_begin_with() {
    check(
        r#"{"command": "x", "env": {"A": "ghp_0123456789abcdef", "B": "ghp_short", "C": "sk-proj-0123456789abcdef"}}"#,
        &[("env.A", "GIT_HUB_TOKEN"), ("env.C", "GIT_HUB_TOKEN")],
    );
    check(
        r#"{"command": "x", "args": ["xoxb-0123456789-abcdef", "sketch-and-more-words", "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln"]}"#,
        &[("args[0]", "GIT_HUB_TOKEN"), ("args[2]", "GIT_HUB_TOKEN")],
    );
}

#[test]
fn arguments_are_told_by_their_flags() {
    check(
        r#"{"command": "x", "args": ["--api-key", "abc", "--token=def", "--verbose", "x", "--token-file", "y", "--password", "--x"]}"#,
        &[("args[1]", "GIT_HUB_API_KEY"), ("args[2]", "GIT_HUB_TOKEN")],
    );
    check(
        r#"{"command": "docker", "args": ["run", "-e", "A_TOKEN=abc", "-e", "B_TOKEN", "-e", "C=d", "i"]}"#,
        &[("args[2]", "A_TOKEN")],
    );
    check(
        r#"{"command": "npx", "args": ["mcp-remote", "https://x.example/mcp", "--header", "Authorization: Bearer abc", "--header", "X-Key:${KEY}"]}"#,
        &[("args[3]", "GIT_HUB_TOKEN")],
    );
}

#[test]
fn headers_and_addresses() {
    check(
        r#"{"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer abc", "X-Api-Key": "def", "X-Team": "red", "Cookie": "${C}"}}"#,
        &[("headers.Authorization", "GIT_HUB_TOKEN"), ("headers.X-Api-Key", "GIT_HUB_X_API_KEY")],
    );
    check(
        r#"{"url": "https://ann:pass@x.example/mcp?api_key=abc&user=ann&token=${T}"}"#,
        &[("url", "GIT_HUB_PASSWORD"), ("url", "GIT_HUB_API_KEY")],
    );
    check(r#"{"url": "https://x.example/s/ZGY3Mjk4ZDEtNTg2Yi00Y2Q5LTk/mcp"}"#, &[("url", "GIT_HUB_TOKEN")]);
    check(r#"{"url": "https://x.example/some-long-name-of-a-page-2/mcp"}"#, &[]);
    check(
        r#"{"command": "x", "args": ["postgres://ann:pass@db/x"], "env": {"DATABASE_URL": "amqp://:pw12@db"}}"#,
        &[("env.DATABASE_URL", "GIT_HUB_PASSWORD"), ("args[0]", "GIT_HUB_PASSWORD")],
    );
    check(
        r#"{"url": "https://x.example", "auth": {"CLIENT_ID": "a", "CLIENT_SECRET": "b"}}"#,
        &[("auth.CLIENT_SECRET", "CLIENT_SECRET")],
    );
}

#[test]
fn a_secret_is_taken_out() {
    let mut server = one(
        r#"{"url": "https://ann:pass@x.example/mcp?api_key=abc", "headers": {"Authorization": "Bearer t${o}k"}}"#,
    );
    // Cursor would fill in what looks like a variable, so the header is not all plain text.
    assert_eq!(server.secrets.len(), 2);
    let key = server.secrets[1].clone();
    let first = server.secrets[0].clone();
    assert_eq!(server.take_secret(&first, "DB").unwrap().expose(), "pass");
    // The other has moved: it is found anew.
    assert!(server.take_secret(&key, "KEY").is_none());
    let key = server.secrets[0].clone();
    assert_eq!(server.take_secret(&key, "KEY").unwrap().expose(), "abc");
    assert!(server.secrets.is_empty());
    assert!(
        server.entry.contains(r#""https://ann:${secret:DB}@x.example/mcp?api_key=${secret:KEY}""#),
        "{}",
        server.entry
    );
}

#[test]
fn what_only_looks_like_a_variable_is_part_of_the_secret() {
    let text = "[mcp_servers.x]\ncommand = \"x\"\nenv = { TOKEN = \"a${B}c\" }";
    let mut server = super::found_at("/home/ann/.codex/config.toml", text).remove(0);
    let secret = server.secrets[0].clone();
    assert_eq!(server.take_secret(&secret, "T").unwrap().expose(), "a${B}c");
    assert_eq!(server.entry, r#"{"command": "x", "env": {"TOKEN": "${secret:T}"}}"#);
}

#[test]
fn nothing_shows_a_secret() {
    let server =
        one(r#"{"command": "x", "env": {"TOKEN": "hush-hush"}, "args": ["--password", "hush-hush"]}"#);
    assert_eq!(server.secrets.len(), 2);
    assert!(!format!("{server:?}").contains("hush-hush"));
}
