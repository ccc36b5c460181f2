//! Learning what servers offer before a list is answered: a few at a time in the order of the config, each once however
//! many ask, and never for longer than a client will wait.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::Duration;

use manifold_config::ServerKey;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::sync::Lock as _;
use crate::tasks::Tasks;
use crate::upstream::{Phase, Upstream};

/// How many servers are started for lists at once, for each processor (S1-28, D3). More would share the processors until
/// none of them is ready in time.
const AT_ONCE_PER_PROCESSOR: usize = 2;
/// How long a server may hold one of those places. It takes its first moments to load a program, which strains the
/// machine; after that it mostly waits, and one that hangs must not keep others from their turn. Each has its whole start
/// timeout from its own start (F3), and calls never stand in this line.
const PLACE: Duration = Duration::from_millis(400);
/// How long a list waits for a server, from when it first stood in line (S1-29, decision 18): a slower one goes on to its
/// start timeout, is announced when it is there, and holds up no list in between.
pub(crate) const PATIENCE: Duration = Duration::from_millis(4500);

/// The discoveries under way.
pub(crate) struct Discovery {
    /// One line for all namespaces: they share the machine.
    places: Arc<Semaphore>,
    /// Cancelled when we are leaving: what nobody waits for is not begun then (D2).
    leaving: CancellationToken,
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

impl Underway {
    /// Returns whether it is neither settled nor given up.
    fn is_open(&self) -> bool {
        !*self.settled.borrow() && self.settled.has_changed().is_ok()
    }
}

/// A discovery that has not begun yet.
struct Due {
    upstream: Arc<dyn Upstream>,
    done: watch::Sender<bool>,
}

/// Returns the places of servers that are started for lists.
pub(crate) fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(at_once()))
}

impl Discovery {
    pub(crate) fn new(places: Arc<Semaphore>, leaving: CancellationToken) -> Self {
        Self { places, leaving, running: Mutex::default(), gathering: Arc::default() }
    }

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
        for mut one in self.begin(servers, tasks) {
            let settled = one.settled.wait_for(|settled| *settled);
            let _ = timeout_at(one.began + PATIENCE, settled).await;
        }
    }

    /// Discovers servers that somebody asked for by name, returning when all are settled: each has its own start timeout.
    pub(crate) async fn settle(&self, servers: Vec<(ServerKey, Arc<dyn Upstream>)>, tasks: &Tasks) {
        for mut one in self.begin(servers, tasks) {
            let _ = one.settled.wait_for(|settled| *settled).await;
        }
    }

    fn begin(&self, servers: Vec<(ServerKey, Arc<dyn Upstream>)>, tasks: &Tasks) -> Vec<Underway> {
        let mut due = Vec::new();
        let underway: Vec<Underway> =
            servers.into_iter().map(|(key, upstream)| self.join(key, upstream, &mut due)).collect();
        if !due.is_empty() {
            let (places, leaving) = (Arc::clone(&self.places), self.leaving.clone());
            tasks.spawn(begin_staggered(places, due, leaving, tasks.clone()));
        }
        underway
    }

    /// Returns whether a server is being discovered, or stands in line for it.
    pub(crate) fn is_underway(&self, key: &ServerKey) -> bool {
        let running = self.running.locked();
        running.get(key).is_some_and(Underway::is_open)
    }

    /// Joins the discovery of a server, or puts it down as due.
    fn join(&self, key: ServerKey, upstream: Arc<dyn Upstream>, due: &mut Vec<Due>) -> Underway {
        let mut running = self.running.locked();
        if let Some(underway) = running.get(&key).filter(|underway| underway.is_open()) {
            return underway.clone();
        }
        let (done, settled) = watch::channel(false);
        let underway = Underway { began: Instant::now(), settled };
        running.insert(key, underway.clone());
        due.push(Due { upstream, done });
        underway
    }
}

/// Begins discoveries one after the other, as places come free.
async fn begin_staggered(places: Arc<Semaphore>, due: Vec<Due>, leaving: CancellationToken, tasks: Tasks) {
    for Due { upstream, done } in due {
        // One that runs, or is being started for a call, strains the machine no more for being asked.
        let place = match upstream.status().phase {
            Phase::Idle => Arc::clone(&places).acquire_owned().await.ok(),
            _ => None,
        };
        // The table of those under way has one receiver.
        if leaving.is_cancelled() && done.receiver_count() <= 1 {
            continue;
        }
        tasks.spawn(async move {
            let mut discovered = upstream.discover();
            if timeout(PLACE, &mut discovered).await.is_err() {
                drop(place);
                discovered.await;
            }
            done.send_replace(true);
        });
    }
}

fn at_once() -> usize {
    available_parallelism().map_or(1, NonZero::get) * AT_ONCE_PER_PROCESSOR
}

#[cfg(test)]
mod tests;
