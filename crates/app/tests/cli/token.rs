//! `token create | list | revoke`.

use std::os::unix::fs::PermissionsExt as _;

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{alone, check_schema};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({
        "mcpServers": {"t": {"builtin": "time"}},
        "namespaces": {"work": {"serverIds": ["t"]}},
        "server": {"tokens": {"fixed": {"hash": "00".repeat(32), "tools": ["t__*"]}}}
    }));
    sandbox
}

#[test]
fn a_token_is_shown_once_and_only_its_hash_is_kept() {
    let sandbox = sandbox();
    let made = alone(&sandbox, "token create laptop --namespace wrok --tool t__* --expires 1d");
    assert_eq!(made.code, Some(0), "{made:?}");
    let token = made.stdout.trim_end();
    assert!(token.starts_with("mfd_") && made.stdout.lines().count() == 1, "{made:?}");
    assert!(made.stderr.contains("there is no namespace 'wrok'") && made.stderr.contains("work"), "{made:?}");
    let listed = alone(&sandbox, "token list");
    assert!(listed.stdout.contains("laptop") && listed.stdout.contains("fixed"), "{listed:?}");
    assert_eq!(alone(&sandbox, "token list -q").stdout, "fixed\nlaptop\n");
    let folder = sandbox.path(".local/share/manifold/tokens");
    let files = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it can be read");
        assert!(!text.contains(token), "{text}");
        let mode = std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
    for (line, code) in [
        ("token create laptop", 2),
        ("token create fixed", 2),
        ("token create default", 2),
        ("token create a/b", 2),
        ("token create x --expires never", 2),
        ("token create x --expires 0s", 2),
        ("token revoke fixed", 7),
        ("token revoke nobody", 7),
    ] {
        let ran = alone(&sandbox, line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{line}: {ran:?}");
    }
    let revoked = alone(&sandbox, "token revoke laptop");
    assert_eq!(
        (revoked.code, revoked.stdout.as_str()),
        (Some(0), "the token 'laptop' lets nobody in any more\n")
    );
    assert_eq!(alone(&sandbox, "token list -q").stdout, "fixed\n");
}

#[test]
fn what_programs_read_is_as_its_schema_says() {
    let sandbox = sandbox();
    let made = alone(&sandbox, "token create ci --json").stdout;
    check_schema("cli-token", &made);
    let made: Value = serde_json::from_str(&made).expect("JSON");
    assert!(made["token"].as_str().is_some_and(|token| token.starts_with("mfd_")), "{made}");
    check_schema("cli-tokens", &alone(&sandbox, "token list --json").stdout);
    check_schema("cli-token", &alone(&sandbox, "token revoke ci --json").stdout);
}
