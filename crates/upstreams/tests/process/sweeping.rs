//! F17: whatever a server has started ends with it.

use std::time::Duration;

use manifold_testkit::figures;
use manifold_upstreams::process::ExitStatusInfo;
use tokio::time::Instant;

use super::proc_files::{alive, children_of, parent_of, sleepers};
use super::{
    NASTY_SLEEPERS, command, cycles, eventually, kill_hard, none_left, shell, start_host, start_nasty, token,
};

pub(super) async fn f17_sweep_leaves_nothing() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&token), [0; 0], "the sweep is over, so all are gone");
}

pub(super) async fn f17_crash_leaves_nothing() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    let crashed = Instant::now();
    kill_hard(server.pid);
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Signal(9));
    figures::took("F17: a crash told, all gone", crashed.elapsed(), Duration::from_millis(200));
    assert_eq!(alive(&token), [0; 0], "the end is told when all are gone");
}

pub(super) async fn f17_drop_leaves_nothing() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    drop(server);
    none_left(&token).await;
}

pub(super) async fn f17_a_hundred_cycles_leave_nothing() {
    let (host, _owner) = start_host();
    for n in 0..cycles(100) {
        let token = token();
        let server =
            host.spawn(shell("setsid sleep $0 & (setsid sleep $0 &); sleep $0", &token)).await.unwrap();
        // Every other time at whatever point of its start this hits.
        if n % 2 == 0 {
            eventually("all sleep", || sleepers(&token) == 3).await;
        }
        assert_ne!(server.control.sweep().await, ExitStatusInfo::Lost);
        assert_eq!(alive(&token), [0; 0]);
    }
}

pub(super) async fn f17_a_process_that_never_stands_still_is_caught() {
    let (host, _owner) = start_host();
    let token = token();
    // Each lives for one fork only, in a session of its own.
    let comet = "import os
os.setsid() if os.fork() == 0 else os._exit(0)
while True:
    if os.fork(): os._exit(0)
    os.setsid()";
    let wanted = command("sh", &["-c", "python3 -c \"$0\" \"$1\" & exec sleep \"$1\"", comet, &token]);
    let server = host.spawn(wanted).await.unwrap();
    let keeper = parent_of(server.pid);
    eventually("it is on its way", || children_of(keeper).iter().any(|child| *child != server.pid)).await;
    assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&token), [0; 0]);
}

pub(super) async fn f17_others_are_untouched() {
    let (host, _owner) = start_host();
    let (first, first_token) = start_nasty(&host).await;
    let (second, second_token) = start_nasty(&host).await;
    first.control.sweep().await;
    assert_eq!(alive(&first_token), [0; 0]);
    assert_eq!(sleepers(&second_token), NASTY_SLEEPERS);
    assert_eq!(second.exit.try_get(), None);
}
