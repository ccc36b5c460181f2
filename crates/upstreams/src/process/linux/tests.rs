//! What needs no process; the rest is in `tests/process.rs`, whose binary can be its own guard.

use super::*;
use crate::process::*;

fn command(program: &str) -> SpawnCommand {
    SpawnCommand { program: program.into(), args: vec![], env: vec![], cwd: None, limits: Limits::default() }
}

#[test]
fn a_program_is_sought_on_the_servers_own_path() {
    let sought = |command: SpawnCommand| {
        let found = request::candidates(&command);
        assert!(found.iter().all(|path| path.is_absolute()));
        found.into_iter().map(|path| path.into_os_string().into_string().unwrap()).collect::<Vec<_>>()
    };
    let with_path = |path: &str| SpawnCommand {
        env: vec![("PATH".into(), "/old".into()), ("PATH".into(), path.into())],
        cwd: Some("/here".into()),
        ..command("tool")
    };

    assert_eq!(sought(with_path("/a:/b c:d")), ["/a/tool", "/b c/tool", "/here/d/tool"]);
    assert_eq!(sought(SpawnCommand { program: "./tool".into(), ..with_path("/a") }), ["/here/./tool"]);
    assert_eq!(sought(SpawnCommand { program: "/x/tool".into(), ..with_path("/a") }), ["/x/tool"]);
    assert_eq!(sought(command("tool")), ["/usr/local/bin/tool", "/usr/bin/tool", "/bin/tool"]);
    assert_eq!(sought(command("")), [""; 0]);
}

#[test]
fn what_cannot_be_given_to_a_program_is_refused() {
    let refused = request::encode(&SpawnCommand { args: vec!["a\0b".into()], ..command("git") });
    assert!(matches!(refused, Err(SpawnError::Failed { .. })));
    let large = "x".repeat(manifold_guard::wire::MAX_REQUEST_BYTES);
    let refused = request::encode(&SpawnCommand { args: vec![large.into()], ..command("git") });
    assert!(matches!(refused, Err(SpawnError::TooLarge { .. })));
}

#[test]
fn nothing_secret_is_shown() {
    let wanted = SpawnCommand { env: vec![("TOKEN".into(), "hunter2".into())], ..command("git") };
    let shown = format!("{wanted:?}");
    assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
}
