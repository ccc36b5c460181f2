//! What a server takes up is told with all that it has started.

use manifold_engine::ProcessTable as _;
use manifold_upstreams::process::Processes;

use super::proc_files::alive;
use super::{shell, start_host, start_nasty, token};

pub(super) async fn a_server_counts_with_all_that_it_has_started() {
    let (host, _owner) = start_host();
    let (nasty, token_of_nasty) = start_nasty(&host).await;
    let plain = host.spawn(shell("exec sleep 61", &token())).await.unwrap();
    let usage = Processes.usage(&[nasty.pid, plain.pid]);
    let started = alive(&token_of_nasty);
    let told = &usage[&nasty.pid];
    assert!(started.iter().all(|pid| told.pids.contains(pid)), "{started:?} {told:?}");
    assert!(
        told.memory_bytes > 0 && !told.pids.contains(&plain.pid) && !told.pids.contains(&std::process::id())
    );
    assert_eq!(usage[&plain.pid].pids, [plain.pid], "neither its keeper nor another's");
}
