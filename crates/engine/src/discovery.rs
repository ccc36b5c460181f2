//! Learning what servers offer before a list is answered: a few at a time, each once however many ask, and never for
//! longer than a client will wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use manifold_config::ServerKey;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::tasks::Tasks;
use crate::upstream::Upstream;

/// How many servers are discovered at once (S1-28).
pub(crate) const AT_ONCE: usize = 4;
/// How long a server may hold one of those places: starting is what strains the machine, waiting is not, and a row of
/// servers that hang must not keep those behind them from their turn for long (F3).
pub(crate) const PLACE: Duration = Duration::from_secs(2);
/// How long a list waits for a server, from when its discovery began (S1-29, decision 18): a slower one goes on to its
/// start timeout, is announced when it is there, and holds up no list in between.
pub(crate) const PATIENCE: Duration = Duration::from_millis(4500);

/// The discoveries under way.
pub(crate) struct Discovery {
    places: Arc<Semaphore>,
    running: Mutex<HashMap<ServerKey, Underway>>,
}

#[derive(Clone)]
struct Underway {
    began: Instant,
    settled: watch::Receiver<bool>,
}

impl Default for Discovery {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), running: Mutex::default() }
    }
}

impl Discovery {
    /// Discovers servers, returning when all are settled or patience with them is over.
    pub(crate) async fn discover(&self, servers: Vec<(ServerKey, Arc<dyn Upstream>)>, tasks: &Tasks) {
        // All begin before the first is waited for.
        let underway: Vec<Underway> =
            servers.into_iter().map(|(key, upstream)| self.begin(key, upstream, tasks)).collect();
        for mut one in underway {
            let settled = one.settled.wait_for(|settled| *settled);
            let _ = timeout_at(one.began + PATIENCE, settled).await;
        }
    }

    /// Joins the discovery of a server, or begins it.
    fn begin(&self, key: ServerKey, upstream: Arc<dyn Upstream>, tasks: &Tasks) -> Underway {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(underway) = running.get(&key).filter(|underway| !*underway.settled.borrow()) {
            return underway.clone();
        }
        let (done, settled) = watch::channel(false);
        let underway = Underway { began: Instant::now(), settled };
        running.insert(key, underway.clone());
        let places = Arc::clone(&self.places);
        tasks.spawn(async move {
            if let Ok(place) = places.acquire_owned().await {
                let mut discovered = upstream.discover();
                if timeout(PLACE, &mut discovered).await.is_err() {
                    drop(place);
                    discovered.await;
                }
            }
            done.send_replace(true);
        });
        underway
    }
}

#[cfg(test)]
mod tests;
