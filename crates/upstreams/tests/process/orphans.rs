//! L15: what nothing can be told by falls to us, and what is not ours is left alone.

use std::process::Command;

use manifold_upstreams::process::{ExitStatusInfo, SpawnError, own_all_orphans};

use super::proc_files::{alive, children_of, sleepers};
use super::{command, eventually, none_left, shell, start_host, token};

/// L15: a server kills keeper and guard and leaves a grandchild that nothing can be told by.
pub(super) const TRAITOR: &str = r#"
    env -i setsid sh -c '(sleep $0 &)' $0
    guard=$(cut -d' ' -f4 /proc/$PPID/stat)
    kill -STOP $PPID; kill -KILL $guard; kill -KILL $PPID; sleep 60
"#;

pub(super) async fn l15_what_no_mark_tells_falls_to_us() {
    own_all_orphans();
    let (host, _owner) = start_host();
    let token = token();
    let server = host.spawn(shell(TRAITOR, &token)).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&token).await;
    eventually("no zombies are left", || children_of(std::process::id()).is_empty()).await;
    // As it goes as well: the end of the gateway waits for it.
    let server = host.spawn(shell(TRAITOR, &token)).await.unwrap();
    host.finish().await;
    assert_eq!(alive(&token), [0; 0]);
    assert_eq!(children_of(std::process::id()), [0; 0]);
    drop(server);
    assert!(matches!(host.spawn(command("true", &[])).await, Err(SpawnError::ShuttingDown)));
}

// L15: nor is what we were given by whoever we were before ours to kill
pub(super) async fn l15_children_of_others_are_left_alone() {
    let token = token();
    let mut others = Command::new("sleep").arg(&token).spawn().unwrap();
    own_all_orphans();
    let (host, _owner) = start_host();
    let server = host.spawn(shell(TRAITOR, "0")).await.unwrap();
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    host.finish().await;
    assert_eq!(sleepers(&token), 1);
    others.kill().unwrap();
    others.wait().unwrap();
}
