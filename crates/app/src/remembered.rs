//! What earlier runs have learnt of servers that do not run now.

use manifold_admin::{Era, Saved, Snapshot};
use manifold_config::Config;
use manifold_upstreams::Cache;

/// Adds it to what the files say.
pub(crate) fn remembered(snapshot: &mut Snapshot, config: &Config, cache: &Cache) {
    for (shown, server) in snapshot.servers.iter_mut().zip(&config.servers) {
        shown.saved = cache.saved(server).map(|saved| Saved {
            era: saved.era.map(|era| match era {
                _ if saved.is_dual => Era::Dual,
                manifold_protocol::Era::Legacy => Era::Legacy,
                manifold_protocol::Era::Modern => Era::Modern,
            }),
            tools: saved.age.map(|_| saved.tools),
            age_ms: saved.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        });
    }
}
