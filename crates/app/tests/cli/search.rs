//! `search`: a registry of the test's own on this machine, honest and not.

use manifold_testkit::{RegistryFake, Sandbox};
use serde_json::{Value, json};

use crate::fake::{Ran, check_schema, ran};

const RECORDED: [&str; 5] = [
    include_str!("../../../registry/fixtures/npm-search.json"),
    include_str!("../../../registry/fixtures/pypi-weather.json"),
    include_str!("../../../registry/fixtures/remote-docs.json"),
    include_str!("../../../registry/fixtures/hybrid.json"),
    include_str!("../../../registry/fixtures/deprecated.json"),
];

fn recorded() -> Vec<Value> {
    RECORDED.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

fn search(sandbox: &Sandbox, registry: &str, line: &str) -> Ran {
    let mut command = sandbox.manifold();
    command.arg("search").args(line.split(' ')).env("MANIFOLD_REGISTRY", registry);
    // A proxy of the machine has no business here.
    command.env("NO_PROXY", "*");
    ran(command)
}

/// Returns what is said of a search that fails, and its exit code.
fn failure(sandbox: &Sandbox, registry: &str, line: &str) -> (Option<i32>, String) {
    let ran = search(sandbox, registry, line);
    assert_eq!(ran.stdout, "", "{ran:?}");
    (ran.code, ran.stderr)
}

#[test]
fn it_shows_names_versions_ways_and_what_they_are() {
    let (sandbox, registry) = (Sandbox::new(), RegistryFake::new());
    registry.lists("example", &recorded());
    let ran = search(&sandbox, registry.address(), "example");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(
        ran.stdout,
        "io.github.example/brave-search-mcp  1.0.2  npm  Web and news search through the Brave Search API\n\
         io.github.example/weather-mcp  0.5.0  pypi  Weather and forecasts\n\
         com.example/docs  2.0.0  http,sse  Searches the documentation\n\
         com.example/hybrid  1.5.0  npm,http  Here or there\n\
         io.github.example/old-weather  0.9.5  npm  (deprecated: Use io.github.example/weather-mcp) The weather of before\n"
    );
    let ran = search(&sandbox, registry.address(), "example -q --limit 1");
    assert_eq!(ran.stdout, "io.github.example/brave-search-mcp\n");
    let ran = search(&sandbox, registry.address(), "example --json --limit 4");
    check_schema("cli-search", &ran.stdout);
    let rows: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        rows[3],
        json!({"name": "com.example/hybrid", "version": "1.5.0", "description": "Here or there", "status": "active",
            "ways": [
                {"source": "npm", "identifier": "@example/hybrid", "refused": "packages[0].transport: it is a server \
                    that has to run by itself; start it, then `manifold add NAME URL`"},
                {"source": "npm", "identifier": "@example/hybrid"},
                {"source": "http", "identifier": "https://mcp.example.com/mcp"}]})
    );
    assert_eq!(rows[0]["repository"], "https://github.com/example/brave-search-mcp");
    assert_eq!(registry.asked().len(), 1, "within the hour it is asked once");
}

#[test]
fn offline_it_takes_what_was_kept_and_asks_nobody() {
    let (sandbox, registry) = (Sandbox::new(), RegistryFake::new());
    registry.lists("docs", &recorded());
    let (code, said) = failure(&sandbox, registry.address(), "docs --offline");
    assert_eq!(code, Some(1));
    assert!(said.contains("nothing is kept of that"), "{said}");
    assert_eq!(registry.asked(), Vec::<String>::new());
    search(&sandbox, registry.address(), "docs");
    let ran = search(&sandbox, registry.address(), "docs --offline");
    assert!(ran.stdout.starts_with("com.example/docs"), "{ran:?}");
    assert!(ran.stderr.contains("answered by what was kept"), "{ran:?}");
    assert_eq!(registry.asked().len(), 1);
}

#[test]
fn nothing_found_is_no_failure_and_nobody_there_is_one() {
    let (sandbox, registry) = (Sandbox::new(), RegistryFake::new());
    registry.lists("nonsense", &[]);
    let ran = search(&sandbox, registry.address(), "nonsense");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(ran.stderr, "manifold: the registry has nothing for 'nonsense'\n");
    let (code, said) = failure(&sandbox, registry.address(), "other");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("it answered HTTP 404; with --offline"), "{said}");
    for address in ["http://registry.example", "ftp://127.0.0.1", "nonsense"] {
        let (code, said) = failure(&sandbox, address, "docs");
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("MANIFOLD_REGISTRY must begin with https://"), "{said}");
    }
}

#[test]
fn a_registry_that_lies_is_refused_with_nothing_written() {
    let (sandbox, registry) = (Sandbox::new(), RegistryFake::new());
    let path = |word: &str| format!("/v0.1/servers?search={word}&version=latest&limit=100");
    registry.has(&path("html"), "<html>Sign in</html>");
    registry.has(&path("types"), r#"{"servers":{"a":1}}"#);
    registry.redirects(&path("elsewhere"), "https://evil.example/v0.1/servers");
    registry.redirects(&path("plain"), "http://evil.example/v0.1/servers");
    registry.never_ends(&path("endless"));
    for (word, code, said) in [
        ("html", 1, "answered something else than was asked for"),
        ("types", 1, "answered something else than was asked for"),
        ("elsewhere", 4, "redirects to another host"),
        ("plain", 4, "redirects to another host"),
        ("endless", 4, "larger than 8388608 bytes"),
    ] {
        let failure = failure(&sandbox, registry.address(), word);
        assert_eq!(failure.0, Some(code), "{word}: {failure:?}");
        assert!(failure.1.contains(said), "{word}: {failure:?}");
    }
    assert!(!sandbox.path(".cache/manifold/registry").exists());
}

#[test]
fn foreign_words_do_not_reach_the_terminal_raw() {
    let (sandbox, registry) = (Sandbox::new(), RegistryFake::new());
    let ugly = json!({"server": {"name": "com.example/ugly", "version": "1.0.0",
        "description": "a\u{1b}]0;owned\u{7}\u{202e}b\nc", "title": "\u{9b}31m",
        "packages": [{"registryType": "npm\u{1b}[2J", "identifier": "\u{1b}[2J", "version": "1"}]}});
    let worse = json!({"server": {"name": "com.example/\u{1b}[2J", "version": "1.0.0", "description": "x"}});
    registry.lists("ugly", &[ugly, worse]);
    for line in ["ugly", "ugly --json", "ugly -q"] {
        let ran = search(&sandbox, registry.address(), line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{ran:?}");
        assert!(shown.contains("1 server left out that cannot be read"), "{ran:?}");
    }
}
