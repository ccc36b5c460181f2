//! What earlier runs have learnt of servers that do not run now.

use std::sync::{Arc, Mutex};

use manifold_admin::{Era, Saved, Server, ServerId, Snapshot};
use manifold_config::Config;
use manifold_engine::Lock as _;
use manifold_upstreams::Cache;
use tokio::time::Instant;

/// Adds it to what the files say.
pub(crate) fn remembered(snapshot: &mut Snapshot, config: &Config, cache: &Cache) {
    for (shown, server) in snapshot.servers.iter_mut().zip(&config.servers) {
        shown.saved = saved(cache, server);
    }
}

/// What was known when a config came into force, read once: nothing of it changes but by servers that run, which tell
/// themselves what they have.
pub(crate) struct Memory {
    cache: Cache,
    known: Mutex<Option<Arc<Known>>>,
}

struct Known {
    config: Arc<Config>,
    read_at: Instant,
    servers: Vec<Option<Saved>>,
}

impl Memory {
    pub(crate) fn new(cache: Cache) -> Self {
        Self { cache, known: Mutex::default() }
    }

    /// Adds it to servers of which nothing is known otherwise.
    pub(crate) fn add_to(&self, servers: &mut [Server], config: &Arc<Config>) {
        let is_unknown = |server: &Server| server.lists.is_none() && server.saved.is_none();
        if !servers.iter().any(is_unknown) {
            return;
        }
        let known = self.known(config);
        for shown in servers.iter_mut().filter(|server| is_unknown(server)) {
            let is_it = |key: &manifold_config::ServerKey| {
                ServerId { schema: key.schema.clone(), id: key.id.clone() } == shown.key
            };
            let at = config.servers.iter().position(|server| is_it(&server.key));
            let passed = u64::try_from(known.read_at.elapsed().as_millis()).unwrap_or(u64::MAX);
            shown.saved = at
                .and_then(|at| *known.servers.get(at)?)
                .map(|saved| Saved { age_ms: saved.age_ms.map(|age| age.saturating_add(passed)), ..saved });
        }
    }

    fn known(&self, config: &Arc<Config>) -> Arc<Known> {
        let mut known = self.known.locked();
        match &*known {
            Some(known) if Arc::ptr_eq(&known.config, config) => Arc::clone(known),
            _ => {
                let servers = config.servers.iter().map(|server| saved(&self.cache, server)).collect();
                let (config, read_at) = (Arc::clone(config), Instant::now());
                Arc::clone(known.insert(Arc::new(Known { config, read_at, servers })))
            }
        }
    }
}

fn saved(cache: &Cache, server: &manifold_config::Server) -> Option<Saved> {
    let saved = cache.saved(server)?;
    Some(Saved {
        era: saved.era.map(|era| match era {
            _ if saved.is_dual => Era::Dual,
            manifold_protocol::Era::Legacy => Era::Legacy,
            manifold_protocol::Era::Modern => Era::Modern,
        }),
        tools: saved.age.map(|_| saved.tools),
        age_ms: saved.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
    })
}
