//! `import`: the servers of a home with the files of several programs.

use std::fs;
use std::process::{Command, Stdio};

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Ran, ran};

const CONFIG: &str = ".config/manifold/config.json";

/// A home of somebody who uses three programs, with a project in it.
fn home() -> Sandbox {
    let sandbox = Sandbox::new();
    let claude = json!({"numStartups": 3, "mcpServers": {
        "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"]},
        "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_KEY}"}},
        "manifold": {"command": "manifold", "args": ["serve", "--stdio"]},
    }});
    sandbox.write(".claude.json", &claude.to_string());
    let cursor = json!({"mcpServers": {
        "vcs": {"command": "uvx", "args": ["mcp-server-git"]},
        "docs": {"url": "https://other.example/mcp"},
        "env": {"command": "acme", "env": {"A": "${env:ACME}"}},
    }});
    sandbox.write(".cursor/mcp.json", &cursor.to_string());
    sandbox.write("project/.git/HEAD", "ref: refs/heads/main\n");
    sandbox
        .write("project/.mcp.json", r#"{"mcpServers": {"build": {"command": "make", "args": ["serve"]}}}"#);
    sandbox
}

fn run(sandbox: &Sandbox, folder: &str, words: &[&str]) -> Ran {
    let mut command = sandbox.daemon();
    command.arg("import").args(words).stdin(Stdio::null()).current_dir(sandbox.path(folder));
    ran(command)
}

#[track_caller]
fn report(sandbox: &Sandbox, folder: &str, words: &[&str]) -> Value {
    let ran = run(sandbox, folder, &[words, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).expect("JSON")
}

fn config(sandbox: &Sandbox) -> Value {
    let text = fs::read_to_string(sandbox.path(CONFIG)).expect("a config");
    serde_json::from_str(&text).expect("JSON")
}

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    let name = |one: &Value| one.as_str().or_else(|| one["id"].as_str()).expect("a name").to_owned();
    let mut names: Vec<String> = list.iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn every_server_is_imported_once() {
    let sandbox = home();
    let planned = report(&sandbox, "project", &["--dry-run"]);
    assert!(!sandbox.path(CONFIG).exists(), "a dry run writes nothing");
    let done = report(&sandbox, "project", &[]);
    assert_eq!(done, planned);
    let members: Vec<&String> = done.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["added", "found", "same", "skipped"]);
    assert_eq!(names(&done["found"]), ["build", "docs", "docs", "env", "git", "manifold", "vcs"]);
    let found = done["found"].as_array().expect("a list");
    assert!(found.iter().all(|one| one["file"].is_string() && one["client"].is_string()), "{done}");
    assert_eq!(found[0]["id"], "build", "the project's come first");
    assert_eq!(done["added"].as_array().map(Vec::len), Some(5), "{done}");
    assert_eq!(names(&done["skipped"]), ["manifold"]);
    let config = config(&sandbox);
    let servers = &config["mcpServers"];
    assert_eq!(servers["build"]["disabled"], json!(true), "a project cannot approve itself: {config}");
    assert_eq!(servers["git"]["disabled"], Value::Null);
    assert_eq!(servers["env"]["env"]["A"], "${ACME}");
    assert_eq!(servers["docs"]["headers"]["Authorization"], "Bearer ${DOCS_KEY}");
    let addresses: Vec<&str> =
        servers.as_object().expect("servers").values().filter_map(|one| one["url"].as_str()).collect();
    assert_eq!(addresses.len(), 2, "one name for different servers keeps both: {config}");

    let text = fs::read(sandbox.path(CONFIG)).expect("a config");
    let again = report(&sandbox, "project", &[]);
    assert_eq!((&again["added"], names(&again["same"]).len()), (&json!([]), 5), "{again}");
    assert_eq!(fs::read(sandbox.path(CONFIG)).expect("a config"), text);
    let records = fs::read_dir(sandbox.path(".local/state/manifold/backups")).expect("records").flatten();
    let records = records.filter(|entry| entry.file_name().to_string_lossy().ends_with("-import")).count();
    assert_eq!(records, 1, "one step, and none for what changed nothing");
}

#[test]
fn people_are_shown_what_was_found_and_where() {
    let sandbox = home();
    let ran = run(&sandbox, "project", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = |id: &str| ran.stdout.lines().find(|line| line.starts_with(id)).unwrap_or_default().to_owned();
    assert!(line("git  claude-code  added").contains(".claude.json:"), "{ran:?}");
    assert!(line("vcs  cursor  the same as git").contains(".cursor/mcp.json:"), "{ran:?}");
    assert!(!line("build  claude-code  added, disabled").is_empty(), "{ran:?}");
    assert!(line("manifold").contains("it is Manifold itself"), "{ran:?}");
    assert!(
        ran.stderr.contains("5 servers added to") && ran.stderr.contains("manifold enable build"),
        "{ran:?}"
    );
}

#[test]
fn one_program_or_one_file_can_be_named() {
    let sandbox = home();
    assert_eq!(
        names(&report(&sandbox, "", &["--from", "cursor", "--dry-run"])["found"]),
        ["docs", "env", "vcs"]
    );
    let file = report(&sandbox, "", &["--from", "project/.mcp.json", "--dry-run"]);
    assert_eq!(names(&file["found"]), ["build"]);
    sandbox.write("servers.toml", "[mcp_servers.acme]\ncommand = \"acme\"\n");
    assert_eq!(names(&report(&sandbox, "", &["--from", "servers.toml"])["added"]), ["acme"]);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let sandbox = home();
    sandbox.write("broken.json", "{\"mcpServers\": {");
    sandbox.write("none.json", "{\"mcpServers\": {}}");
    sandbox.write("other.json", "{\"name\": \"package\", \"version\": \"1\"}");
    sandbox.write("empty.json", "");
    let large = fs::File::create(sandbox.path("large.json")).expect("a file");
    large.set_len(100 << 20).expect("a large one");
    for (link, target) in [("passwd.json", "/etc/passwd"), ("etc", "/etc"), ("device.json", "/dev/zero")] {
        std::os::unix::fs::symlink(target, sandbox.path(link)).expect("a link");
    }
    for file in [
        "passwd.json",
        "./etc",
        "device.json",
        "broken.json",
        "none.json",
        "other.json",
        "empty.json",
        "large.json",
        "missing.json",
        "crusor",
        "zed",
    ] {
        let ran = run(&sandbox, "", &["--from", file]);
        assert!(ran.code.is_some_and(|code| code == 1 || code == 2), "{file}: {ran:?}");
        assert!(ran.stdout.is_empty() && ran.stderr.starts_with("manifold: "), "{file}: {ran:?}");
    }
    assert!(run(&sandbox, "", &["--from", "crusor"]).stderr.contains("did you mean `cursor`?"));
    assert!(!sandbox.path(CONFIG).exists());
    sandbox.write(".cursor/mcp.json", "{");
    let ran = run(&sandbox, "", &[]);
    assert_eq!(ran.code, Some(0), "the others are imported: {ran:?}");
    assert!(ran.stderr.contains("left out: ") && ran.stderr.contains(".cursor/mcp.json"), "{ran:?}");
    let sandbox = Sandbox::new();
    assert_eq!(run(&sandbox, "", &[]).code, Some(0), "there is nothing to import");
    sandbox.write(".cursor/mcp.json", "{");
    for more in [&[][..], &["--json"], &["--dry-run"]] {
        let ran = run(&sandbox, "", more);
        assert_eq!(ran.code, Some(2), "nothing else was found: {ran:?}");
    }
    assert!(!sandbox.path(CONFIG).exists());
}

#[test]
fn secrets_go_into_the_store_if_that_is_wanted() {
    let token = |last: &str| format!("ghp_0123456789abcdefghijABCDEFGHIJ01234{last}");
    let sandbox = Sandbox::new();
    let theirs = json!({"mcpServers": {
        "hub": {"command": "hub", "args": ["--token", token("1")], "env": {"API_TOKEN": token("2")}},
        "other": {"command": "other", "env": {"API_TOKEN": token("3")}},
        "same": {"command": "same", "env": {"API_TOKEN": token("2")}},
    }});
    sandbox.write("theirs.json", &theirs.to_string());
    let kept = run(&sandbox, "", &["--from", "theirs.json", "--dry-run"]);
    assert!(kept.stderr.contains("manifold secret set API_TOKEN"), "kept without a word for it: {kept:?}");
    let words = ["--from", "theirs.json", "--secrets", "move"];
    run(&sandbox, "", &[&words[..], &["--dry-run"]].concat());
    let credentials = sandbox.path(".local/share/manifold/credentials");
    assert!(!sandbox.path(CONFIG).exists() && !credentials.exists());
    let ran = run(&sandbox, "", &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("3 secrets stored"), "{ran:?}");
    let config = config(&sandbox);
    let of = |id: &str| config["mcpServers"][id]["env"]["API_TOKEN"].as_str().unwrap_or_default().to_owned();
    let (hub, other) = (of("hub"), of("other"));
    assert!(hub.starts_with("${secret:API_TOKEN") && other.starts_with("${secret:API_TOKEN"), "{config}");
    assert!(hub != other && hub == of("same"), "a name for each value: {config}");
    assert_eq!(config["mcpServers"]["hub"]["args"], json!(["--token", "${secret:HUB_TOKEN}"]));
    let text = config.to_string();
    for shown in [&text, &ran.stdout, &ran.stderr] {
        assert!((1..=3).all(|last| !shown.contains(&token(&last.to_string()))), "{shown}");
    }
    let again = report(&sandbox, "", &words);
    assert_eq!((&again["added"], names(&again["same"]).len()), (&json!([]), 3), "{again}");
}

#[test]
fn secrets_are_not_stored_for_what_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(CONFIG, "{\"mcpServers\": {}}");
    let theirs = json!({"mcpServers": {"hub": {"command": "hub", "env": {"API_TOKEN":
        "ghp_0123456789abcdefghijABCDEFGHIJ012345"}}}});
    sandbox.write("theirs.json", &theirs.to_string());
    let ran = run(&sandbox, "", &["--from", "theirs.json", "--secrets", "move", "--namespace", "none"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    let left =
        fs::read_dir(sandbox.path(".local/share/manifold/credentials")).into_iter().flatten().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("secret.")), "{left:?}");
}

// A repository's `.env` is mostly not in the repository.
#[test]
fn a_file_of_variables_that_is_not_there_stops_nobody() {
    let sandbox = home();
    let servers =
        r#"{"servers": {"p": {"command": "make", "args": ["p"], "envFile": "${workspaceFolder}/.env"}}}"#;
    sandbox.write("project/.vscode/mcp.json", servers);
    let added = names(&report(&sandbox, "project", &[])["added"]);
    assert!(added.contains(&"git".to_owned()) && added.contains(&"p".to_owned()), "{added:?}");
    assert_eq!(config(&sandbox)["mcpServers"]["p"]["disabled"], json!(true));
}

#[test]
fn a_name_of_several_lines_is_told_in_one() {
    let sandbox = Sandbox::new();
    let servers = json!({"mcpServers": {"a\r\nmanifold: run this\tnow": {"command": "x", "env": {"API_KEY": "sk-0123456789abcdefghij"}, "odd\nmanifold: and that": 1}}});
    sandbox.write(".cursor/mcp.json", &servers.to_string());
    for words in [&["--dry-run"][..], &[]] {
        let ran = run(&sandbox, ".", words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let forged = |line: &str| line.starts_with("manifold: run") || line.starts_with("manifold: and");
        assert!(!ran.stderr.lines().chain(ran.stdout.lines()).any(forged), "{ran:?}");
    }
}

// A repository cannot approve itself: whoever sits at a terminal is asked before one of its servers may be started.
#[test]
fn on_a_terminal_a_projects_servers_are_asked_for() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("not run: there is no `script`");
        return;
    }
    for (answer, is_enabled) in [("y", true), ("n", false), ("", false)] {
        let sandbox = home();
        sandbox.write("answers", &format!("{answer}\n"));
        let plain = sandbox.daemon();
        let program = plain.get_program().to_str().expect("a path");
        let mut script = Command::new("script");
        script.args(["-qec", &format!("exec {program} import --secrets keep"), "/dev/null"]);
        script.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.env("TERM", "xterm").env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin");
        script.current_dir(sandbox.path("project"));
        script.stdin(fs::File::open(sandbox.path("answers")).expect("a file"));
        let ran = ran(script);
        assert!(ran.stdout.contains("May it be started?"), "{ran:?}");
        let build = &config(&sandbox)["mcpServers"]["build"];
        assert_eq!(build["disabled"] != true, is_enabled, "{answer:?}: {build} {ran:?}");
    }
}
