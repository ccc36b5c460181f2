//! What the processes of servers take up, looked at seldom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use manifold_admin as admin;
use tokio::time::Instant;

use crate::sync::Lock as _;

/// For how long what was seen is shown again.
const KEPT: Duration = Duration::from_millis(500);

/// Knows the processes of this machine.
pub trait ProcessTable: Send + Sync {
    /// Returns what each of these processes and all that it has started take up. One that is gone is left out.
    fn usage(&self, roots: &[u32]) -> HashMap<u32, Usage>;
}

/// A process and all that it has started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// In order.
    pub pids: Vec<u32>,
    pub memory_bytes: u64,
}

/// What was last seen, and who can see.
#[derive(Default)]
pub(super) struct Usages {
    table: OnceLock<Arc<dyn ProcessTable>>,
    seen: Mutex<Option<Seen>>,
}

struct Seen {
    at: Instant,
    roots: Vec<u32>,
    usage: HashMap<u32, Usage>,
}

impl Usages {
    pub(super) fn see_by(&self, table: Arc<dyn ProcessTable>) {
        let _ = self.table.set(table);
    }

    /// Adds to servers what their processes take up.
    pub(super) fn add_to(&self, servers: &mut [admin::Server]) {
        let Some(table) = self.table.get() else { return };
        let mut roots: Vec<u32> =
            servers.iter().flat_map(|server| &server.instances).filter_map(|instance| instance.pid).collect();
        roots.sort_unstable();
        let mut seen = self.seen.locked();
        let is_fresh = |seen: &&mut Seen| seen.at.elapsed() < KEPT && seen.roots == roots;
        let usage = match seen.as_mut().filter(is_fresh) {
            Some(seen) => &seen.usage,
            None => {
                let usage = table.usage(&roots);
                &seen.insert(Seen { at: Instant::now(), roots, usage }).usage
            }
        };
        for instance in servers.iter_mut().flat_map(|server| &mut server.instances) {
            if let Some(usage) = instance.pid.and_then(|pid| usage.get(&pid)) {
                instance.pids = usage.pids.clone();
                instance.memory_bytes = Some(usage.memory_bytes);
            }
        }
    }
}
