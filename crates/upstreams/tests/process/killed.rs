//! F28: the gateway, its guard or a keeper is killed, and nothing is left of the servers.

use std::fs;
use std::future::pending;
use std::process::{Command, Stdio};
use std::time::Duration;

use manifold_testkit::figures;
use manifold_upstreams::process::{ExitStatusInfo, ProcessHost};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::Instant;

use super::proc_files::{children_of, descendants_of, is_ours, parent_of, sleepers};
use super::{
    NASTY, NASTY_SLEEPERS, cycles, eventually, kill_hard, none_left, shell, start_host, start_nasty, token,
};

pub(super) async fn f28_killed_gateway_leaves_nothing() {
    for _ in 0..cycles(10) {
        check_killed_gateway(kill_hard).await;
    }
}

pub(super) async fn f28_killed_by_name_leaves_nothing() {
    // Whoever kills by our name must not hit the guard as well, by its command line or its short name.
    check_killed_gateway(|gateway| {
        let name = fs::read_to_string(format!("/proc/{gateway}/comm")).unwrap();
        for pid in std::iter::once(gateway).chain(descendants_of(gateway)) {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if line.contains("process-") || comm == name {
                kill_hard(pid);
            }
        }
    })
    .await;
}

/// Starts a gateway with three nasty servers, ends it in the way given, and wants nothing left one second later.
async fn check_killed_gateway(end: impl Fn(u32)) {
    let token = token();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["gateway", &token])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the gateway's servers run", || sleepers(&token) == 3 * NASTY_SLEEPERS).await;
    let below = descendants_of(child.id());
    assert!(below.len() > 3 * NASTY_SLEEPERS);

    let killed = Instant::now();
    end(child.id());
    child.wait().unwrap();
    none_left(&token).await;
    eventually("guard and keepers are gone", || below.iter().all(|pid| !is_ours(*pid))).await;
    figures::took("F28: all gone after the gateway", killed.elapsed(), Duration::from_secs(1));
}

pub(super) async fn gateway(token: &str) {
    let (host, owner) = ProcessHost::new();
    let servers = async {
        let mut servers = Vec::new();
        for _ in 0..3 {
            servers.push(host.spawn(shell(NASTY, token)).await.unwrap());
        }
        pending::<()>().await;
    };
    tokio::join!(owner, servers);
}

pub(super) async fn killed_guard_ends_servers_and_is_replaced() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    let guard = parent_of(parent_of(server.pid));
    let killed = Instant::now();
    kill_hard(guard);
    server.exit.wait().await;
    none_left(&token).await;
    figures::took("F28: all gone after the guard", killed.elapsed(), Duration::from_secs(1));

    let next = host.spawn(shell("exit 4", "")).await.unwrap();
    assert_eq!(next.exit.wait().await, ExitStatusInfo::Code(4));
    eventually("we have one guard and no zombies", || children_of(std::process::id()).len() == 1).await;

    // Guard and keeper at once: what they leave falls to us.
    let next_token = self::token();
    let next = host.spawn(shell("(setsid sleep $0 &); sleep $0", &next_token)).await.unwrap();
    eventually("both sleep", || sleepers(&next_token) == 2).await;
    let keeper = parent_of(next.pid);
    // Held still, or a quick keeper would still do its work between the two.
    hold_still(keeper).await;
    kill_hard(parent_of(keeper));
    kill_hard(keeper);
    assert_eq!(next.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&next_token).await;
    eventually("no zombies are left", || children_of(std::process::id()).is_empty()).await;
}

pub(super) async fn killed_keeper_ends_its_server_only() {
    let (host, _owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    let (other, other_token) = start_nasty(&host).await;
    kill_hard(parent_of(server.pid));
    assert_eq!(server.exit.wait().await, ExitStatusInfo::Lost);
    none_left(&token).await;
    assert_eq!(sleepers(&other_token), NASTY_SLEEPERS);
    assert_eq!(other.exit.try_get(), None);
}

async fn hold_still(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGSTOP);
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next())
    };
    eventually("it is stopped", || state() == Some('T')).await;
}
