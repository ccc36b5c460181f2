//! `secret set | list | rm`.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Gateway, Ran, alone, check_schema};

const VALUE: &str = "hunter2-hunter2";
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Runs a verb with something on its standard input.
fn given(sandbox: &Sandbox, line: &str, variables: &[(&str, &str)], input: &str) -> Ran {
    let mut command = sandbox.daemon();
    command.args(line.split(' ')).envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // One that reads nothing may have ended.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn set(sandbox: &Sandbox, name: &str, value: &str) {
    let ran = given(sandbox, &format!("secret set {name}"), &[], value);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let server = json!({"command": "/bin/sh", "env": {"TOKEN": "${secret:TOKEN}"}});
    sandbox.write_config(&json!({"mcpServers": {"fx": server}}));
    sandbox
}

fn report(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&alone(sandbox, "secret list --json").stdout).expect("JSON")
}

#[test]
fn what_is_stored_is_listed_and_removed_and_never_shown() {
    let sandbox = sandbox();
    let ran = alone(&sandbox, "list");
    assert!(
        ran.stdout.contains("the secret `TOKEN` is not stored; run `manifold secret set TOKEN`"),
        "{ran:?}"
    );
    let first = given(&sandbox, "secret set TOKEN", &[], &format!("{VALUE}\n"));
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), "the secret TOKEN has been stored\n"));
    assert!(first.stderr.contains("protects against little"), "{first:?}");
    let again = given(&sandbox, "secret set TOKEN --json", &[], VALUE);
    let said: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(
        said,
        json!({"name": "TOKEN", "generation": 2, "key": "beside", "usedBy": ["fx"], "restarted": null})
    );
    assert!(alone(&sandbox, "list").stdout.contains("fx  idle"));
    let list = alone(&sandbox, "secret list");
    assert!(list.stdout.starts_with("TOKEN  2  20") && list.stdout.contains("  fx  "), "{list:?}");
    assert!(list.stderr.contains("protects against little"), "{list:?}");
    let said = report(&sandbox);
    assert_eq!((&said["key"], &said["protected"]), (&json!("beside"), &json!(false)));
    assert_eq!(alone(&sandbox, "secret list -q").stdout, "TOKEN\n");
    let status = alone(&sandbox, "status");
    assert!(status.stdout.contains("secrets: 1 stored, their key lies beside them"), "{status:?}");
    let shown = alone(&sandbox, "config show").stdout;
    assert!(shown.contains("${secret:TOKEN}"), "{shown}");
    for ran in [first, again, list, status, alone(&sandbox, "list -v"), alone(&sandbox, "get fx --json")] {
        assert!(!ran.stdout.contains(VALUE) && !ran.stderr.contains(VALUE), "{ran:?}");
    }
    let removed = alone(&sandbox, "secret rm TOKEN");
    assert_eq!((removed.code, removed.stdout.as_str()), (Some(0), "the secret TOKEN has been removed\n"));
    assert!(removed.stderr.contains("it is still used by fx"), "{removed:?}");
    let missing = alone(&sandbox, "secret rm TOKEN --json");
    let error: Value = serde_json::from_str(&missing.stderr).expect("JSON");
    assert_eq!((missing.code, &error["error"]["code"]), (Some(7), &json!("unknown-secret")));
}

#[test]
fn names_and_values_are_checked_before_anything_is_written() {
    let sandbox = sandbox();
    for (name, value) in
        [("../x", "v"), ("-", "v"), ("a/b", "v"), ("TOKEN", ""), ("TOKEN", "\n"), ("TOKEN", "a\0b")]
    {
        let ran = given(&sandbox, &format!("secret set -- {name}"), &[], value);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}: {ran:?}");
    }
    // A value on the command line is one that others have seen.
    assert_eq!(alone(&sandbox, "secret set TOKEN value").code, Some(2));
    assert!(!sandbox.path(".local/share/manifold").exists());
}

#[test]
fn a_key_that_is_given_keeps_the_store_and_another_opens_nothing() {
    let sandbox = sandbox();
    let file = sandbox.write_private("key", KEY);
    let with = format!("secret set TOKEN --key-file {file}");
    assert_eq!(given(&sandbox, &with, &[], VALUE).code, Some(0));
    assert!(!sandbox.path(".local/share/manifold/credentials.key").exists());
    let given_key = [("MANIFOLD_KEY", KEY)];
    assert!(given(&sandbox, "list", &given_key, "").stdout.contains("fx  idle"));
    assert!(given(&sandbox, "list", &[("MANIFOLD_KEY_FILE", &file)], "").stdout.contains("fx  idle"));
    let said = given(&sandbox, "secret list --json", &given_key, "");
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).expect("JSON")["protected"], true);
    for other in [vec![], vec![("MANIFOLD_KEY", KEY.replace("00", "ff"))]] {
        let other: Vec<(&str, &str)> = other.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let set = given(&sandbox, "secret set NEW", &other, VALUE);
        assert_eq!(set.code, Some(1), "{set:?}");
        assert!(set.stderr.contains("credentials"), "names the file: {set:?}");
        let list = given(&sandbox, "list", &other, "");
        assert!(list.stdout.contains("fx  failed") && list.stdout.contains("cannot be read"), "{list:?}");
    }
    assert!(!sandbox.path(".local/share/manifold/credentials.key").exists(), "no second store");
}

#[test]
fn a_file_others_can_read_is_told_of_by_name() {
    let sandbox = sandbox();
    set(&sandbox, "TOKEN", VALUE);
    let file = sandbox.path(".local/share/manifold/credentials/secret.TOKEN");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("the mode can be set");
    let said = report(&sandbox);
    let problem = said["secrets"][0]["problem"].as_str().expect("a problem");
    assert!(problem.contains("secret.TOKEN: has mode 644") && problem.contains("chmod 600"), "{said}");
    assert!(alone(&sandbox, "list").stdout.contains("secret.TOKEN: has mode 644"));
}

#[test]
fn what_runs_is_asked_to_read_its_config_anew() {
    let done =
        json!({"added": [], "removed": [], "restarted": [{"id": "git"}], "unchanged": 1, "problems": []});
    let gateway = Gateway::new().says("POST /v1/daemon/reload", &done);
    let ran = given(&gateway.sandbox, "secret set TOKEN", &[], VALUE);
    assert_eq!(ran.stdout, "the secret TOKEN has been stored; started anew: git\n", "{ran:?}");
    let silent = Gateway::new().refuses("POST /v1/daemon/reload", 500, "failed", "its file is broken");
    let ran = given(&silent.sandbox, "secret set TOKEN", &[], VALUE);
    assert_eq!(ran.code, Some(0), "it is stored: {ran:?}");
    assert!(ran.stderr.contains("what runs has not taken it over: its file is broken"), "{ran:?}");
}

#[test]
fn what_programs_read_is_as_its_schema_says() {
    let sandbox = sandbox();
    check_schema("cli-secret", &given(&sandbox, "secret set TOKEN --json", &[], VALUE).stdout);
    check_schema("cli-secrets", &alone(&sandbox, "secret list --json").stdout);
    check_schema("cli-secret", &alone(&sandbox, "secret rm TOKEN --json").stdout);
}
