//! Limits of calls, counted together with the other replicas.

use manifold_engine::{BoxFuture, RateAsk, RateStore, RateVerdict};
use manifold_state::{Store, Take};

pub(super) struct SharedRates(pub(super) Store);

impl RateStore for SharedRates {
    fn take(&self, asks: Vec<RateAsk>) -> BoxFuture<Option<RateVerdict>> {
        let store = self.0.clone();
        Box::pin(async move {
            let takes: Vec<Take<'_>> =
                asks.iter().map(|ask| Take { key: &ask.key, limit: ask.limit, window: ask.window }).collect();
            // Where the store is away it counts our part of each.
            let verdict = match store.take(&takes).await {
                Ok(()) => RateVerdict::Allowed,
                Err(used_up) => {
                    RateVerdict::Limited { ask: asks.get(used_up.at)?.clone(), retry_after: used_up.wait }
                }
            };
            Some(verdict)
        })
    }
}
