//! The guard itself: its size, its end, and what it costs.

use std::fs;
use std::time::Duration;

use manifold_upstreams::process::{ExitStatusInfo, ProcessHost};
use tokio::time::{Instant, timeout};

use super::proc_files::{alive, children_of, is_ours, parent_of};
use super::{command, ready, shell, start_host, start_nasty};

pub(super) async fn guard_ends_with_the_host() {
    let (host, owner) = start_host();
    let (server, token) = start_nasty(&host).await;
    drop(host);
    assert_eq!(server.exit.try_get(), None, "the server's handle keeps the guard");
    drop(server);
    timeout(Duration::from_secs(1), owner).await.unwrap().unwrap();
    assert_eq!(alive(&token), [0; 0]);
    assert_eq!(children_of(std::process::id()), [0; 0]);
}

pub(super) async fn guard_and_keepers_are_small() {
    if manifold_guard::PROGRAM.is_empty() {
        return println!("skipped: no small guard was built here");
    }
    let (host, _owner) = start_host();
    let mut server = host.spawn(shell("echo ready; read line", "")).await.unwrap();
    ready(&mut server).await;
    let keeper = parent_of(server.pid);
    for pid in [keeper, parent_of(keeper)] {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        let kib: u32 = kib.unwrap().trim().parse().unwrap();
        println!("{} has {kib} KiB", status.lines().next().unwrap());
        assert!(is_ours(pid) && kib < 150, "{kib} KiB");
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        // M10: the marker, and nothing that could be secret.
        let is_bare = environment.starts_with("MANIFOLD_TREE=") && environment.matches('\0').count() == 1;
        assert!(is_bare, "{environment}");
    }
}

pub(super) async fn the_gateway_can_be_its_own_guard() {
    let (host, owner) = ProcessHost::with_guard_program("/proc/self/exe".into());
    let _owner = tokio::runtime::Handle::current().spawn(owner);
    let (server, token) = start_nasty(&host).await;
    let keeper = parent_of(server.pid);
    let ours = fs::read_link("/proc/self/exe").unwrap();
    assert_eq!(fs::read_link(format!("/proc/{keeper}/exe")).unwrap(), ours);
    assert!(is_ours(keeper) && is_ours(parent_of(keeper)));
    let environment = fs::read_to_string(format!("/proc/{}/environ", server.pid)).unwrap();
    assert!(environment.contains("MANIFOLD_TREE="), "{environment}");
    assert_eq!(server.control.sweep().await, ExitStatusInfo::Signal(9));
    assert_eq!(alive(&token), [0; 0]);
}

/// Prints what the guard costs. Run by hand: `cargo test --release --test process measure`.
pub(super) async fn measure() {
    let (host, _owner) = start_host();
    let mut servers = Vec::new();
    let mut times = Vec::new();
    for _ in 0..101 {
        let started = Instant::now();
        servers.push(host.spawn(command("sleep", &["60"])).await.unwrap());
        times.push(started.elapsed().as_micros());
    }
    let keeper = parent_of(servers[0].pid);
    println!("first spawn {} µs", times.remove(0));
    times.sort_unstable();
    println!("later spawns: median {} µs, p99 {} µs", times[50], times[99]);
    for (name, pid) in [("guard", parent_of(keeper)), ("keeper", keeper)] {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
        let wanted = ["Rss:", "Pss:", "Private_Dirty:"];
        let lines = rollup.lines().filter(|line| wanted.iter().any(|w| line.starts_with(w)));
        println!(
            "{name}: {}",
            lines.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
        );
    }
    let started = Instant::now();
    for server in servers {
        server.control.sweep().await;
    }
    println!("101 sweeps {} ms", started.elapsed().as_millis());
}
