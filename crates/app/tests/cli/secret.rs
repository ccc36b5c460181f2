//! `secret set | list | rm | rekey | export | import`.

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
    assert!(
        first.stderr.contains("values are stored in clear") && first.stderr.contains("secret rekey"),
        "{first:?}"
    );
    let again = given(&sandbox, "secret set TOKEN --json", &[], VALUE);
    let said: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(
        said,
        json!({"name": "TOKEN", "generation": 2, "key": "plain", "usedBy": ["fx"], "restarted": null})
    );
    assert!(!again.stderr.contains("in clear"), "that was said: {again:?}");
    assert!(alone(&sandbox, "list").stdout.contains("fx  idle"));
    let list = alone(&sandbox, "secret list");
    assert!(list.stdout.starts_with("TOKEN  2  20") && list.stdout.contains("  fx  "), "{list:?}");
    assert!(list.stderr.contains("the store is kept with: plain"), "{list:?}");
    let said = report(&sandbox);
    assert_eq!((&said["key"], &said["protected"]), (&json!("plain"), &json!(false)));
    assert_eq!(alone(&sandbox, "secret list -q").stdout, "TOKEN\n");
    let status = alone(&sandbox, "status");
    assert!(status.stdout.contains("secrets: 1 stored; store: plain (in clear"), "{status:?}");
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
    let file = sandbox.write_private("key", KEY);
    let backup = format!("secret export backup --with-key-file {file} --json");
    check_schema("cli-secret-backup", &alone(&sandbox, &backup).stdout);
    check_schema("cli-secret-backup", &alone(&sandbox, &backup.replace("export", "import")).stdout);
    check_schema(
        "cli-secret-rekey",
        &alone(&sandbox, &format!("secret rekey --new-key-file {file} --json")).stdout,
    );
    check_schema(
        "cli-secret-rekey",
        &alone(&sandbox, &format!("secret rekey --to plain --key-file {file} --json")).stdout,
    );
    check_schema("cli-secret", &alone(&sandbox, "secret rm TOKEN --json").stdout);
}

fn said(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("JSON: {ran:?}"))
}

const NEW: &str = "/////////////////////////////////////////88=";

/// From no key to one in a file, to one in a variable, and back.
#[test]
fn a_store_gets_another_key_and_every_value_stays() {
    let sandbox = sandbox();
    assert_eq!(said(&alone(&sandbox, "secret rekey --json")), json!({"from": null, "to": null, "files": 0}));
    set(&sandbox, "TOKEN", VALUE);
    // There is no keyring here, and no key is named.
    let refused = alone(&sandbox, "secret rekey");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("there is no keyring") && refused.stderr.contains("--new-key-file"),
        "{refused:?}"
    );
    let file = sandbox.write_private("key", KEY);
    let sealed = alone(&sandbox, &format!("secret rekey --new-key-file {file} --json"));
    assert_eq!(said(&sealed), json!({"from": "plain", "to": "file", "files": 1}), "{sealed:?}");
    let stored =
        std::fs::read(sandbox.path(".local/share/manifold/credentials/secret.TOKEN")).expect("a file");
    assert!(!stored.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()));
    assert!(alone(&sandbox, &format!("list --key-file {file}")).stdout.contains("fx  idle"));
    let without = alone(&sandbox, "secret rekey --to plain");
    assert_eq!(without.code, Some(1), "the present key is needed: {without:?}");
    // The store has a key that is given, so the next one is to be named.
    let unnamed = alone(&sandbox, &format!("secret rekey --key-file {file}"));
    assert_eq!(unnamed.code, Some(2), "{unnamed:?}");
    let keys = [("MANIFOLD_KEY", KEY), ("MANIFOLD_NEW_KEY", NEW)];
    let moved = given(&sandbox, "secret rekey --json", &keys, "");
    assert_eq!(said(&moved), json!({"from": "file", "to": "variable", "files": 1}), "{moved:?}");
    assert!(!moved.stdout.contains(NEW) && !moved.stderr.contains(NEW));
    let status = given(&sandbox, "status --json", &[("MANIFOLD_KEY", NEW)], "");
    assert_eq!(said(&status)["secrets"]["key"], "variable", "{status:?}");
    let opened = given(&sandbox, "secret rekey --to plain --json", &[("MANIFOLD_KEY", NEW)], "");
    assert_eq!(said(&opened), json!({"from": "variable", "to": "plain", "files": 1}), "{opened:?}");
    assert!(opened.stderr.contains("values are stored in clear"), "{opened:?}");
    // A plain store is sealed with the key that is given.
    let with = given(&sandbox, "secret rekey --json", &[("MANIFOLD_KEY", KEY)], "");
    assert_eq!(said(&with), json!({"from": "plain", "to": "variable", "files": 1}), "{with:?}");
    assert!(given(&sandbox, "list", &[("MANIFOLD_KEY", KEY)], "").stdout.contains("fx  idle"));
}

#[test]
fn a_store_from_before_is_read_told_of_and_moved_to_another_key() {
    let sandbox = sandbox();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../credentials/fixtures/beside");
    for name in
        ["credentials.key", "credentials/.store", "credentials/secret.TOKEN", "credentials/secret.OTHER"]
    {
        let path = sandbox.path(".local/share/manifold").join(name);
        let folder = path.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("it is made");
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).expect("a mode");
        std::fs::copy(fixture.join(name), &path).expect("it is copied");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    let listed = alone(&sandbox, "secret list");
    assert!(
        listed.stderr.contains("kept with: beside") && listed.stderr.contains("protects against little"),
        "{listed:?}"
    );
    assert!(alone(&sandbox, "status").stdout.contains("store: beside"));
    set(&sandbox, "NEW", VALUE);
    let file = sandbox.write_private("key", KEY);
    let moved = alone(&sandbox, &format!("secret rekey --new-key-file {file} --json"));
    assert_eq!(said(&moved), json!({"from": "beside", "to": "file", "files": 3}), "{moved:?}");
    assert!(!sandbox.path(".local/share/manifold/credentials.key").exists());
}

#[test]
fn a_backup_is_sealed_and_brings_everything_back() {
    let sandbox = sandbox();
    set(&sandbox, "TOKEN", VALUE);
    set(&sandbox, "OTHER", "other-value");
    for (words, input) in
        [("secret export backup", "short\n"), ("secret export backup --with-key-file nowhere", "")]
    {
        let refused = given(&sandbox, words, &[], input);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(!sandbox.path("backup").exists());
    }
    let written = given(&sandbox, "secret export backup", &[], "correct horse battery\n");
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(written.stdout.starts_with("2 credentials written to "), "{written:?}");
    let file = sandbox.path("backup");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let bytes = std::fs::read(&file).expect("a file");
    assert!(!bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()));
    assert_eq!(
        given(&sandbox, "secret export backup", &[], "correct horse battery").code,
        Some(2),
        "it is there"
    );

    let other = self::sandbox();
    let path = file.display();
    let wrong = given(&other, &format!("secret import {path}"), &[], "another passphrase");
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("this is not its passphrase"), "{wrong:?}");
    let key = [("MANIFOLD_KEY", KEY)];
    let restored = given(&other, &format!("secret import {path}"), &key, "correct horse battery");
    assert!(restored.stdout.contains("2 added"), "{restored:?}");
    assert!(given(&other, "list", &key, "").stdout.contains("fx  idle"));
    assert_eq!(given(&other, "secret set TOKEN", &key, "newer-value").code, Some(0));
    let kept = given(&other, &format!("secret import {path} --json"), &key, "correct horse battery");
    let became = |ran: &Ran| {
        said(ran)["credentials"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["became"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(became(&kept), ["unchanged", "kept"], "{kept:?}");
    assert!(kept.stderr.contains("--replace"), "{kept:?}");
    let replaced =
        given(&other, &format!("secret import {path} --replace --json"), &key, "correct horse battery");
    assert_eq!(became(&replaced), ["unchanged", "replaced"], "{replaced:?}");
}

/// Who did what to the store is written down, and no value is.
#[test]
fn what_is_done_to_the_store_is_noted() {
    let sandbox = sandbox();
    set(&sandbox, "TOKEN", VALUE);
    given(&sandbox, "secret export backup", &[], "correct horse battery");
    alone(&sandbox, "secret rekey --to keyring");
    alone(&sandbox, "secret rm TOKEN");
    let audit =
        std::fs::read_to_string(sandbox.path(".local/state/manifold/audit/audit.jsonl")).expect("the audit");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<[&str; 2]> = lines
        .iter()
        .map(|line| [&line["verb"], &line["outcome"]].map(|text| text.as_str().expect("a text")))
        .collect();
    let expected = [
        ["secret set", "done"],
        ["secret export", "done"],
        ["secret rekey", "refused"],
        ["secret rm", "done"],
    ];
    assert_eq!(told, expected);
    assert!(!audit.contains(VALUE) && !audit.contains("horse"), "{audit}");
}
