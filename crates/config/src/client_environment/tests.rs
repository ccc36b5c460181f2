use std::path::Path;

use super::*;
use crate::load::{LoadOptions, load_text};
use crate::model::{Config, ProcessSpec, ServerFault, Sharing, Transport};
use crate::testing::{options, programs, server};

/// The daemon has `KEY`, `NAME` and more of its own: see `testing::environment`.
fn load_for(client: ClientEnvironment, text: &str) -> Config {
    let mut options = LoadOptions { client: Some(client), ..options() };
    options.environment.vars.insert("HOME".to_owned(), "/home/ann".to_owned());
    options.environment.vars.insert("LC_TIME".to_owned(), "C".to_owned());
    load_text(text, Some(Path::new("/etc/config.json")), &options).unwrap()
}

fn client(values: &[(&str, &str)], cwd: &str) -> ClientEnvironment {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ClientEnvironment { values, cwd: cwd.into(), project: "/project".into() }
}

fn process<'a>(config: &'a Config, id: &str) -> &'a ProcessSpec {
    match &server(config, id).transport {
        Transport::Process(spec) => spec,
        other => panic!("{other:?}"),
    }
}

fn started_as(spec: &ProcessSpec) -> Vec<String> {
    let all = spec.environment.as_ref().expect("an environment of its own");
    all.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect()
}

#[test]
fn names_come_from_the_client_alone() {
    let text = r#"{"mcpServers": {"a": {"command": "/bin/sh", "args": ["${NAME}", "${workspaceFolder}"]},
        "b": {"command": "/bin/sh", "args": ["${KEY}"]}}}"#;
    let config = load_for(client(&[("NAME", "bob")], "/work"), text);
    assert_eq!(process(&config, "a").args, ["bob", "/work"]);
    // The daemon has it, which is none of this client's business.
    assert!(
        matches!(&server(&config, "b").fault, Some(ServerFault::MissingVariable { variable, .. }) if variable == "KEY")
    );
}

#[test]
fn settings_are_the_daemons_own() {
    let text = r#"{"server": {"token": "${KEY}"}, "serverName": "${NAME}", "mcpServers": {"a": {"builtin": "time"}}}"#;
    let config = load_for(client(&[("NAME", "bob")], "/work"), text);
    assert_eq!(config.settings.server_name, "ann");
    assert!(config.settings.http.token.is_some());
}

// Decision 30
#[test]
fn paths_are_the_clients_and_base_variables_the_daemons() {
    let theirs = programs(&["only-here"]);
    let path = theirs.path().to_str().unwrap();
    let client =
        client(&[("PATH", path), ("TOKEN", "t"), ("HOME", "/else"), ("MANIFOLD_X", "x"), ("MORE", "m")], "/");
    let config = load_for(
        client,
        r#"{"mcpServers": {
            "unset": {"command": "only-here", "args": ["${TOKEN}"], "env": {"OWN": "o", "Z": "${MANIFOLD_X}"}},
            "list": {"command": "only-here", "args": ["${TOKEN}"], "inheritEnv": ["MORE", "HOME", "ABSENT"]},
            "none": {"command": "only-here", "inheritEnv": false},
            "all": {"command": "only-here", "inheritEnv": true, "shared": true}
        }}"#,
    );
    assert!(config.servers.iter().all(|server| server.fault.is_none()), "{:?}", config.problems);
    let path = format!("PATH={path}");
    let is = |id: &str, expected: &[&str]| assert_eq!(started_as(process(&config, id)), expected, "{id}");
    is("unset", &["HOME=/home/ann", "LC_TIME=C", "OWN=o", &path, "TOKEN=t", "Z=x"]);
    is("list", &["HOME=/else", "LC_TIME=C", "MORE=m", &path]);
    is("none", &["HOME=/home/ann", &path]);
    is("all", &["HOME=/else", "LC_TIME=C", "MORE=m", &path, "TOKEN=t"]);
    let shared = |id: &str| server(&config, id).shared;
    assert_eq!((shared("unset"), shared("all")), (Sharing::Default, Sharing::PerClient));
}

#[test]
fn a_server_runs_in_the_clients_folder() {
    let text = r#"{"mcpServers": {
        "unset": {"command": "/bin/sh"}, "below": {"command": "/bin/sh", "cwd": "sub"},
        "set": {"command": "/bin/sh", "cwd": "/srv"}, "project": {"command": "/bin/sh", "shared": "project"}
    }}"#;
    let config = load_for(client(&[], "/work"), text);
    let folder = |id: &str| {
        let spec = process(&config, id);
        (spec.cwd.clone().unwrap().display().to_string(), spec.in_client_folder)
    };
    assert_eq!(folder("unset"), ("/work".to_owned(), true));
    assert_eq!(folder("below"), ("/work/sub".to_owned(), false));
    assert_eq!(folder("set"), ("/srv".to_owned(), false));
    assert_eq!(folder("project"), ("/project".to_owned(), true));
}

#[test]
fn a_program_is_given_the_servers_of_the_clients_folder() {
    let text = r#"{"numStartups": 3, "mcpServers": {},
        "projects": {"/one": {"mcpServers": {"p": {"command": "/bin/sh"}}}}}"#;
    let ids = |cwd: &str| -> Vec<String> {
        let config = load_for(client(&[], cwd), text);
        config.servers.iter().map(|server| server.key.id.clone()).collect()
    };
    assert_eq!(ids("/one/below"), ["p"]);
    assert_eq!(ids("/two"), [""; 0]);
}

#[test]
fn without_a_client_nothing_is_different() {
    let config = crate::testing::load(r#"{"mcpServers": {"a": {"command": "/bin/sh"}}}"#);
    let spec = process(&config, "a");
    assert_eq!((&spec.environment, &spec.cwd, spec.in_client_folder), (&None, &None, false));
}

#[test]
fn no_value_is_shown() {
    let client = client(&[("KEY", "hunter2-hunter2")], "/work");
    let config =
        load_for(client.clone(), r#"{"mcpServers": {"a": {"command": "/bin/sh", "args": ["${KEY}"]}}}"#);
    let shown = format!("{client:?} {config:?}");
    assert!(shown.contains("KEY") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_project_begins_where_its_repository_does() {
    let folder = tempfile::tempdir().unwrap();
    let (root, below) = (folder.path().join("repo"), folder.path().join("repo/src/deep"));
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(project_root(&below), below);
    // In a worktree it is a file.
    std::fs::write(root.join(".git"), "gitdir: elsewhere").unwrap();
    assert_eq!(project_root(&below), root);
    assert_eq!(project_root(&root), root);
}
