//! F16: a server is asked to end before it is made to.

use std::time::Duration;

use manifold_engine::{Order, Phase};
use manifold_testkit::figures;
use manifold_upstreams::process::{ExitStatusInfo, StopGrace, stop};
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::handover::{connect, ready as discovered, signal};
use super::handover_askers::{fake, upstreams};
use super::proc_files::{alive, children, children_of, descendants_of, parent_of};
use super::{eventually, ready, shell, start_host, token};

/// Ignores the end of its input and SIGTERM.
const STUBBORN: &str = "trap '' TERM HUP INT; echo ready; while :; do sleep $0; done";

pub(super) async fn f16_stop_lets_a_polite_server_finish() {
    let (host, _owner) = start_host();
    // It writes more than a pipe holds once its input ends.
    let server = host.spawn(shell("cat >/dev/null; head -c 2000000 /dev/zero; exit 3", "")).await.unwrap();
    assert_eq!(stop(server, StopGrace::default()).await, ExitStatusInfo::Code(3));
}

pub(super) async fn f16_stop_sends_term_to_the_group() {
    let (host, _owner) = start_host();
    let mut server =
        host.spawn(shell("trap 'exit 5' TERM; echo ready; while :; do sleep 60; done", "")).await.unwrap();
    ready(&mut server).await;
    let grace = StopGrace { after_close: Duration::from_millis(20), after_term: Duration::from_secs(5) };
    assert_eq!(stop(server, grace).await, ExitStatusInfo::Code(5));
}

pub(super) async fn f16_stubborn_server_is_gone_within_grace() {
    let (host, _owner) = start_host();
    let token = token();
    let mut server = host.spawn(shell(STUBBORN, &token)).await.unwrap();
    ready(&mut server).await;
    let grace = StopGrace::default();
    let started = Instant::now();
    assert_eq!(stop(server, grace).await, ExitStatusInfo::Signal(9));
    let (took, allowed) = (started.elapsed(), grace.after_close + grace.after_term);
    assert!(took >= allowed, "{took:?}");
    figures::took("F16: a stubborn server gone", took, allowed + Duration::from_millis(200));
    assert_eq!(alive(&token), [0; 0]);
}

pub(super) async fn f16_no_zombies() {
    let (host, _owner) = start_host();
    let script = "for i in 1 2 3 4 5 6 7 8; do (sleep 0 &); done; echo ready; exec sleep $0";
    let token = token();
    let mut server = host.spawn(shell(script, &token)).await.unwrap();
    ready(&mut server).await;
    let keeper = parent_of(server.pid);
    let guard = parent_of(keeper);
    eventually("the orphans are reaped", || children_of(keeper) == [server.pid]).await;
    server.control.sweep().await;
    eventually("the keeper is reaped", || children_of(guard).is_empty()).await;
}

// A start that was given up before the machine came to it must not run beside the next one.
pub(super) async fn a_start_that_comes_late_is_over_before_the_next() {
    let host = upstreams();
    let first = connect(&host, &fake(json!({}), &json!({})));
    discovered(&*first).await;
    let [guard] = children()[..] else { panic!("the guard is the only child") };
    let server = connect(&host, &fake(json!({}), &json!({})));
    // They are started alike, so one more than the first is all there may be.
    let words = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let alike = words(first.status().pid.unwrap());
    let servers = || descendants_of(guard).into_iter().filter(|pid| words(*pid) == alike).count();

    signal(guard, Signal::SIGSTOP);
    let starting = Handle::current().spawn(server.order(Order::Start));
    eventually("it is being started", || server.status().phase == Phase::Starting).await;
    server.order(Order::Stop).await.unwrap();
    let again = Handle::current().spawn(server.order(Order::Start));
    eventually("it is being started again", || server.status().phase == Phase::Starting).await;
    signal(guard, Signal::SIGCONT);
    while server.status().phase != Phase::Ready {
        assert!(servers() <= 2, "two at once");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    again.await.unwrap().unwrap();
    let _ = starting.await;
    assert_eq!(servers(), 2);
}
