//! Calls that wait for their client to come back with answers. Each stays in flight at its server meanwhile.

mod state;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_engine::ClientId;
use manifold_engine::Lock as _;
use manifold_protocol::Fault;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::info;

use crate::modern::Run;
pub(crate) use state::{Digest, PREFIX, PlaceId, Resumption, Seal, digest, refused};

/// How long a client may take to come back: people do think.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// How often is looked for those who did not.
const ROUND: Duration = Duration::from_secs(10);
/// Calls that may wait at once; past that the one that has waited longest is given up.
const MAX_PARKED: usize = 4096;

pub(crate) struct Parked {
    pub(crate) seal: Seal,
    most_per_client: usize,
    places: Mutex<Places>,
    filled: Notify,
}

#[derive(Default)]
struct Places {
    runs: HashMap<PlaceId, (u64, Arc<Run>)>,
    count: u64,
    /// How many of them are whose.
    by_client: HashMap<ClientId, usize>,
    /// Nobody comes any more.
    is_closed: bool,
}

impl Parked {
    pub(crate) fn new(most_per_client: usize, seal: Seal) -> Self {
        Self { seal, most_per_client, places: Mutex::default(), filled: Notify::new() }
    }

    /// Gives a call a place to wait at, if its client has not too many already (M8).
    pub(crate) fn add(&self, run: &Arc<Run>) -> Result<PlaceId, Fault> {
        let no_randomness = || Fault::Internal("the system has no randomness to give".to_owned());
        let place = state::random().ok_or_else(no_randomness)?;
        let mut places = self.lock();
        if places.by_client.get(&run.client()).is_some_and(|count| *count >= self.most_per_client) {
            let what = "calls of this client wait for its answers".to_owned();
            return Err(Fault::OverLimit { what, limit: self.most_per_client, setting: "parkedPerClient" });
        }
        let evicted = if places.runs.len() >= MAX_PARKED { places.take_oldest() } else { None };
        places.insert(place, run);
        drop(places);
        self.filled.notify_one();
        if let Some(evicted) = evicted {
            info!("{MAX_PARKED} calls wait for their client; the oldest is given up");
            evicted.give_up("too many calls wait for their client");
        }
        Ok(place)
    }

    /// Sees to it that a call still has its place: it may have been given up for a moment's want of room.
    pub(crate) fn keep(&self, place: PlaceId, run: &Arc<Run>) {
        let mut places = self.lock();
        if !places.runs.contains_key(&place) {
            places.insert(place, run);
        }
    }

    /// Finds the call a client comes back for.
    pub(crate) fn find(&self, place: &PlaceId) -> Result<Arc<Run>, Fault> {
        let found = self.lock().runs.get(place).map(|(_, run)| Arc::clone(run));
        found.ok_or_else(|| refused("the call it belongs to is over; start the call again"))
    }

    pub(crate) fn remove(&self, place: &PlaceId) {
        // Dropped after the lock: a run takes others along.
        let _removed = self.lock().remove(place);
    }

    /// Gives up calls that nobody came back to, until all are given up.
    pub(crate) async fn expire(&self) {
        while !self.lock().is_closed {
            self.filled.notified().await;
            while !self.lock().runs.is_empty() {
                sleep(ROUND).await;
                let runs: Vec<Arc<Run>> = self.lock().runs.values().map(|(_, run)| Arc::clone(run)).collect();
                for run in runs.into_iter().filter(|run| run.is_forsaken(PATIENCE)) {
                    info!("no retry came for a call that waits for answers; cancelled");
                    run.give_up("no retry came with answers");
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().runs.is_empty()
    }

    pub(crate) fn give_up_all(&self) {
        let closed = Places { is_closed: true, ..Places::default() };
        let places = std::mem::replace(&mut *self.lock(), closed);
        self.filled.notify_one();
        for (_, run) in places.runs.into_values() {
            run.give_up("the gateway is shutting down");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.locked()
    }
}

impl Places {
    fn insert(&mut self, place: PlaceId, run: &Arc<Run>) {
        self.count += 1;
        self.runs.insert(place, (self.count, Arc::clone(run)));
        *self.by_client.entry(run.client()).or_default() += 1;
    }

    fn remove(&mut self, place: &PlaceId) -> Option<Arc<Run>> {
        let (_, run) = self.runs.remove(place)?;
        if let Entry::Occupied(mut count) = self.by_client.entry(run.client()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        Some(run)
    }

    /// Takes out the oldest of those who have most: whoever has few is not made to pay for others.
    fn take_oldest(&mut self) -> Option<Arc<Run>> {
        let alone = self.runs.iter().filter(|(_, (_, run))| run.is_forsaken(Duration::ZERO));
        let oldest =
            alone.max_by_key(|(_, (count, run))| (self.by_client.get(&run.client()), Reverse(*count)));
        let place = *oldest?.0;
        self.remove(&place)
    }
}
