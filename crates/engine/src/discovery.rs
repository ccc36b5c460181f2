//! Learning what servers offer before a list is answered: all abreast but for a ramp, each once however many ask, and
//! never for longer than a client will wait.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use manifold_config::ServerKey;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::tasks::Tasks;
use crate::upstream::Upstream;

/// How many servers at least are begun at once (S1-28). A list is as slow as the slowest of its servers, so the usual
/// handful begins together; on more processors more can.
const LEAST_AT_ONCE: usize = 16;
const AT_ONCE_PER_PROCESSOR: usize = 4;
/// How long a server may hold one of those places. It takes its first moments to load a program, which strains the
/// machine; after that it mostly waits, and one that hangs must not keep others from their turn: at sixteen each tenth of
/// a second the last of fifty begins within 0.3 s, and all are given up within 0.5 s of their start timeout (F3).
const PLACE: Duration = Duration::from_millis(100);
/// How long a list waits for a server, from when its discovery began (S1-29, decision 18): a slower one goes on to its
/// start timeout, is announced when it is there, and holds up no list in between.
pub(crate) const PATIENCE: Duration = Duration::from_millis(4500);

/// The discoveries under way.
pub(crate) struct Discovery {
    places: Arc<Semaphore>,
    running: Mutex<HashMap<ServerKey, Underway>>,
    /// Lists that have just begun to wait.
    gathering: Arc<AtomicUsize>,
}

/// How long a list that waits takes in what servers tell all together at its end. Each change of the catalog costs the
/// work of all its lists, and ten servers that start together tell ten times within a few milliseconds.
pub(crate) const TOGETHER: Duration = Duration::from_millis(50);

/// A list that takes in the news of servers by itself, until this is dropped.
pub(crate) struct Gathering(Arc<AtomicUsize>);

impl Drop for Gathering {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Underway {
    began: Instant,
    settled: watch::Receiver<bool>,
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(at_once())),
            running: Mutex::default(),
            gathering: Arc::default(),
        }
    }
}

impl Discovery {
    /// Notes that somebody will take in all news soon.
    pub(crate) fn gather(&self) -> Gathering {
        self.gathering.fetch_add(1, Ordering::Relaxed);
        Gathering(Arc::clone(&self.gathering))
    }

    /// Returns whether somebody will take in all news soon.
    pub(crate) fn is_gathering(&self) -> bool {
        self.gathering.load(Ordering::Relaxed) > 0
    }

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

fn at_once() -> usize {
    let processors = available_parallelism().map_or(1, NonZero::get);
    LEAST_AT_ONCE.max(processors * AT_ONCE_PER_PROCESSOR)
}

#[cfg(test)]
mod tests;
