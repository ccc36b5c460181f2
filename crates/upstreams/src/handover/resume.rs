//! Taking up the servers of the program whose place we took.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_config::Server;
use manifold_engine::{Lock as _, Reopen, Tasks};
use tokio::time::Instant;
use tracing::info;

use super::{Handover, SavedServer, definition, read_listing, unhex};
use crate::cache::Cache;
use crate::process::ProcessHost;
use crate::stdio::{self, Launch};
use crate::supervisor::{Begin, Supervised};
use crate::{Upstreams, remote};

/// Servers that nobody has taken up yet. Each keeps what it has to say in its pipe.
pub(crate) struct Unclaimed {
    key: Vec<u8>,
    servers: Mutex<Vec<SavedServer>>,
    askers: Arc<dyn Reopen>,
}

impl Upstreams {
    /// Goes on with the servers of the program whose place we took: each is taken up by the first `connect` of the same
    /// server and instance, and its calls in flight are answered to `askers`. [`stop_unclaimed`](Self::stop_unclaimed) ends
    /// those nobody has taken up.
    pub fn resume(
        tasks: Tasks,
        cache: Cache,
        limit_bytes: usize,
        handover: Handover,
        askers: Arc<dyn Reopen>,
    ) -> Self {
        let Handover { key, host, servers, .. } = handover;
        let (processes, owner) = ProcessHost::resume(host);
        tasks.spawn_background(owner);
        let key = unhex(&key).unwrap_or_default();
        let unclaimed = Unclaimed { key, servers: Mutex::new(servers), askers };
        Self {
            unclaimed: Some(unclaimed),
            sign_ins: None,
            may_lease: false,
            leases: Arc::default(),
            cache: cache.written_behind(&tasks),
            processes,
            tasks,
            trust: remote::Trust::default(),
            limit_bytes,
            above: Arc::default(),
            live: Mutex::default(),
        }
    }

    /// Ends every server of the program whose place we took that nobody has taken up: its definition is gone, or whoever used
    /// it has not come back.
    pub fn stop_unclaimed(&self) {
        let Some(unclaimed) = &self.unclaimed else { return };
        let left = std::mem::take(&mut *unclaimed.servers.locked());
        for SavedServer { id, process, .. } in left {
            let Some(process) = process else { continue };
            info!(server = %id, pid = process.pid, "nobody has taken it up after the upgrade; stopping");
            let why = "nobody has taken it up after an upgrade of the gateway";
            let askers = &*unclaimed.askers;
            self.tasks.spawn(stdio::stop(&self.processes, &id, process, askers, why));
        }
    }

    /// Starts to supervise a process, from where another program stopped if one did.
    pub(crate) fn supervise(&self, launch: Launch, instance: Option<&str>) -> Arc<Supervised> {
        let begin = match self.claim(&launch.server, instance) {
            Some((saved, unclaimed)) => begin(&launch, saved, unclaimed),
            None => Begin::default(),
        };
        Supervised::begin(launch, begin, &self.tasks)
    }

    fn claim(&self, server: &Server, instance: Option<&str>) -> Option<(SavedServer, &Unclaimed)> {
        let unclaimed = self.unclaimed.as_ref()?;
        let instance = instance?;
        let mut servers = unclaimed.servers.locked();
        let at = servers.iter().position(|saved| {
            saved.id == server.key.id && saved.schema == server.key.schema && saved.instance == instance
        })?;
        Some((servers.swap_remove(at), unclaimed))
    }
}

/// Returns how a supervisor begins with what was left of its server.
fn begin(launch: &Launch, saved: SavedServer, unclaimed: &Unclaimed) -> Begin<stdio::Process> {
    let is_same = saved.definition == definition(&unclaimed.key, &launch.server);
    let trouble = saved.trouble.filter(|_| is_same).map(|trouble| trouble.read(&launch.server.key.id));
    let is_stopped = saved.is_stopped && is_same;
    let begin = Begin { is_stopped, lives: saved.lives, trouble, ..Begin::default() };
    let Some(mut process) = saved.process else { return begin };
    if !is_same {
        launch.replace(process, &*unclaimed.askers);
        return begin;
    }
    let (listing, freshness) = (process.listing.take(), std::mem::take(&mut process.freshness));
    let listing = listing.and_then(|listing| read_listing(&listing, &freshness)).map(Arc::new);
    let now = Instant::now();
    let since = now.checked_sub(Duration::from_millis(process.running_ms)).unwrap_or(now);
    match launch.resume(process, &*unclaimed.askers) {
        Some(running) => Begin { listing, running: Some(running), since: Some(since), ..begin },
        None => begin,
    }
}
