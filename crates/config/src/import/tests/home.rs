//! A home in which every program we know has been used.

use std::path::Path;

use super::ours;
use crate::clients::{Client, clients};
use crate::environment::Environment;
use crate::import::places::files_of;
use crate::import::{FoundServer, Outcome, Scope, find_servers, plan_import};
use crate::testing::environment;

/// Copies the fixture, for it lies in a project of its own.
fn home() -> (tempfile::TempDir, Environment) {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if from.is_dir() {
                copy(&from, &to);
            } else {
                std::fs::copy(&from, &to).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/home"), folder.path());
    let mut environment = environment();
    environment.home = Some(folder.path().to_path_buf());
    (folder, environment)
}

#[test]
fn every_program_has_a_file_and_every_server_is_found() {
    let (folder, environment) = home();
    let scan = find_servers(&environment, &folder.path().join("nowhere"));
    assert!(scan.unread.is_empty(), "{:?}", scan.unread);
    let has_files = |client: &&Client| !files_of(client, Scope::User, &environment).is_empty();
    for client in clients().iter().filter(has_files) {
        let id = client.id;
        let mut of_it = scan.servers.iter().filter(|server| server.client == Some(client.id));
        assert!(of_it.any(|server| server.id == format!("only-{id}")), "{id}");
    }
    assert!(scan.servers.iter().all(|server| server.scope == Scope::User && server.fault.is_none()));
}

#[test]
fn each_is_added_once_and_the_second_time_none() {
    let (folder, environment) = home();
    let scan = find_servers(&environment, &folder.path().join("nowhere"));
    let (found, files) = (scan.servers, scan.files.len());
    let plan = plan_import(&[], &found);
    let count = |is: &dyn Fn(&FoundServer, &Outcome) -> bool| {
        found.iter().zip(&plan.outcomes).filter(|(server, outcome)| is(server, outcome)).count()
    };
    // One of ours and one that all have in each file.
    assert_eq!(
        count(&|server, outcome| server.id == "manifold" && matches!(outcome, Outcome::Skipped(_))),
        files
    );
    assert_eq!(
        count(&|server, outcome| server.id == "context7" && matches!(outcome, Outcome::Same(_))),
        files - 1
    );
    assert_eq!(plan.added.iter().filter(|one| one.id == "context7").count(), 1);
    assert_eq!(plan.added.iter().filter(|one| one.id.starts_with("only-")).count(), files);
    let mut ids: Vec<&str> = plan.added.iter().map(|one| one.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|two| two[0] != two[1]), "{ids:?}");
    let existing: Vec<FoundServer> =
        plan.added.iter().map(|one| ours_at(&environment, &one.id, &one.entry)).collect();
    let again = plan_import(&existing, &found);
    assert!(again.added.is_empty(), "{:?}", again.added);
    assert_eq!(again.same.len(), plan.added.len());
}

fn ours_at(environment: &Environment, id: &str, entry: &str) -> FoundServer {
    let text = format!(r#"{{"mcpServers": {{"{id}": {entry}}}}}"#);
    let path = environment.home.as_ref().unwrap().join(".config/manifold/config.json");
    let found = crate::import::servers_in(&text, &path, None, environment).unwrap().remove(0);
    assert_eq!(ours(id, entry).entry, found.entry, "what we write we read as it is");
    found
}

#[test]
fn what_differs_between_programs_comes_out_alike() {
    let (folder, environment) = home();
    let found = find_servers(&environment, &folder.path().join("nowhere")).servers;
    let plan = plan_import(&[], &found);
    let mut wrong = String::new();
    let mut check = |id: &str, entry: &str| {
        let planned = plan.added.iter().find(|one| one.id == id).map(|one| one.entry.as_str());
        if planned != Some(entry) {
            wrong.push_str(&format!("{id}: {planned:?}, expected {entry}\n"));
        }
    };
    let home = folder.path().display();
    check("context7", r#"{"command": "npx", "args": ["-y", "@upstash/context7-mcp"], "shared": true}"#);
    check(
        "github",
        r#"{"type": "http", "url": "https://github.example/mcp", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN:-none}"}}"#,
    );
    check("local", r#"{"command": "only-server", "args": ["--for", "/work/site"], "cwd": "/work/site"}"#);
    check(
        "local-claude-code",
        r#"{"command": "only-server", "args": ["--for", "/work/other"], "cwd": "/work/other"}"#,
    );
    check("off", r#"{"command": "only-server", "args": ["--off"], "cwd": "/work/site", "disabled": true}"#);
    check(
        "slow",
        r#"{"timeout": 90000, "type": "http", "url": "https://cline.example/mcp", "disabled": true}"#,
    );
    check(
        "only-codex",
        r#"{"command": "only-server", "args": ["--for", "codex", "${:-${NOT_A_VARIABLE}}"], "timeout": 90000, "startTimeout": 20000, "allowedTools": ["status"], "inheritEnv": ["HTTPS_PROXY"]}"#,
    );
    check(
        "figma",
        r#"{"url": "https://figma.example/mcp", "headers": {"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Org": "${FIGMA_ORG}", "X-Region": "eu"}, "disabled": true}"#,
    );
    check(
        "keyed",
        r#"{"command": "only-server", "args": ["--keyed"], "env": {"API_KEY": "${CURSOR_KEY}", "AT": "${userHome}/x"}}"#,
    );
    check(
        "keyed-opencode",
        &format!(
            r#"{{"command": "only-server", "args": ["--keyed"], "timeout": 5000, "env": {{"API_KEY": "${{OPENCODE_KEY}}", "TOKEN": "${{file:{home}/.config/opencode/./token}}"}}, "disabled": true}}"#
        ),
    );
    check(
        "docs",
        r#"{"type": "http", "url": "https://docs.example/mcp", "headers": {"X-Key": "${DOCS_KEY}"}}"#,
    );
    check(
        "only-goose",
        r#"{"command": "only-server", "args": ["--for", "goose"], "timeout": 120000, "env": {"GOOSE_KEY": "${GOOSE_KEY}"}}"#,
    );
    check(
        "quiet",
        r#"{"command": "only-server", "args": ["--quiet"], "autoApprove": ["x"], "deniedTools": ["rm"], "disabled": true}"#,
    );
    check(
        "asked",
        r#"{"type": "http", "url": "https://asked.example/mcp", "headers": {"Authorization": "Bearer ${INPUT_API_TOKEN}"}}"#,
    );
    check("filed", r#"{"url": "https://filed.example/mcp", "headers": {"X-Key": "${file:/run/key}"}}"#);
    assert_eq!(wrong, "");
}
