//! Calls that wait for their client to come back with answers. Each stays in flight at its server meanwhile.

mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manifold_protocol::Fault;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::info;

use crate::modern::Run;
pub(crate) use state::{Digest, Errand, PREFIX, PlaceId, Seal, digest, refused};

/// How long a client may take to come back: people do think.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// How often is looked for those who did not.
const ROUND: Duration = Duration::from_secs(10);
/// Calls that may wait at once; past that the one that has waited longest is given up.
const MAX_PARKED: usize = 4096;

pub(crate) struct Parked {
    pub(crate) seal: Seal,
    places: Mutex<Places>,
    filled: Notify,
}

#[derive(Default)]
struct Places {
    runs: HashMap<PlaceId, (u64, Arc<Run>)>,
    count: u64,
}

impl Parked {
    pub(crate) fn new() -> Self {
        Self { seal: Seal::new(), places: Mutex::default(), filled: Notify::new() }
    }

    /// Gives a call a place to wait at. `None` where the system has no randomness to name it by.
    pub(crate) fn add(&self, run: &Arc<Run>) -> Option<PlaceId> {
        let place = state::random()?;
        let mut places = self.lock();
        let evicted = if places.runs.len() >= MAX_PARKED { places.take_oldest() } else { None };
        places.count += 1;
        let count = places.count;
        places.runs.insert(place, (count, Arc::clone(run)));
        drop(places);
        self.filled.notify_one();
        if let Some(evicted) = evicted {
            info!("{MAX_PARKED} calls wait for their client; the oldest is given up");
            evicted.give_up("too many calls wait for their client");
        }
        Some(place)
    }

    /// Sees to it that a call still has its place: it may have been given up for a moment's want of room.
    pub(crate) fn keep(&self, place: PlaceId, run: &Arc<Run>) {
        let mut places = self.lock();
        places.count += 1;
        let count = places.count;
        places.runs.entry(place).or_insert_with(|| (count, Arc::clone(run)));
    }

    /// Finds the call a client comes back for.
    pub(crate) fn find(&self, place: &PlaceId) -> Result<Arc<Run>, Fault> {
        let found = self.lock().runs.get(place).map(|(_, run)| Arc::clone(run));
        found.ok_or_else(|| refused("the call it belongs to is over; start the call again"))
    }

    pub(crate) fn remove(&self, place: &PlaceId) {
        // Dropped after the lock: a run takes others along.
        let _removed = self.lock().runs.remove(place);
    }

    /// Gives up calls that nobody came back to, for as long as it is polled.
    pub(crate) async fn expire(&self) {
        loop {
            self.filled.notified().await;
            while !self.lock().runs.is_empty() {
                sleep(ROUND).await;
                let runs: Vec<Arc<Run>> = self.lock().runs.values().map(|(_, run)| Arc::clone(run)).collect();
                for run in runs.into_iter().filter(|run| run.is_forsaken(PATIENCE)) {
                    info!("nobody came back to a call that waits for answers; it is taken back");
                    run.give_up("nobody came back with answers");
                }
            }
        }
    }

    pub(crate) fn give_up_all(&self) {
        let runs = std::mem::take(&mut self.lock().runs);
        for (_, run) in runs.into_values() {
            run.give_up("the gateway is shutting down");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn take_oldest(&mut self) -> Option<Arc<Run>> {
        let alone = self.runs.iter().filter(|(_, (_, run))| run.is_forsaken(Duration::ZERO));
        let oldest = alone.min_by_key(|(_, (count, _))| *count).map(|(place, _)| *place)?;
        self.runs.remove(&oldest).map(|(_, run)| run)
    }
}
