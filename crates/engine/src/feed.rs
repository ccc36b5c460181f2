//! What happens, told to whoever watches. Nobody waits for a reader: one that is too slow is told that it has missed
//! something, and reads everything anew.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::sync::Lock as _;
use manifold_admin::{Cursor, Event, Happening};
use tokio::sync::broadcast::{self, error::RecvError};

/// Events that a reader may be behind.
const CAPACITY: usize = 1024;

pub(crate) struct Feed {
    epoch: u64,
    /// The number of the last event.
    seq: AtomicU64,
    is_watched: AtomicBool,
    /// There is one only while somebody watches: its room is taken up at once.
    channel: Mutex<Option<broadcast::Sender<Arc<Event>>>>,
}

impl Feed {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            // Another in every run, so that a number of an earlier one is not taken for one of ours.
            epoch: RandomState::new().build_hasher().finish(),
            seq: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            channel: Mutex::default(),
        })
    }

    /// Tells what has happened; nothing is made of it while nobody watches. It is made with the feed held, so that of
    /// two events about one thing the later says how it is: no lock may be held here that making it takes.
    pub(crate) fn publish(&self, happening: impl FnOnce() -> Option<Happening>) {
        if !self.is_watched.load(Ordering::Relaxed) {
            return;
        }
        let mut channel = self.lock();
        let Some(sender) = channel.as_ref() else { return };
        if sender.receiver_count() == 0 {
            *channel = None;
            self.is_watched.store(false, Ordering::Relaxed);
            return;
        }
        if let Some(happening) = happening() {
            let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
            // Whoever could not be told has just left.
            let _ = sender.send(Arc::new(Event { seq, happening }));
        }
    }

    /// Lets somebody watch from now on.
    pub(crate) fn watch(self: &Arc<Self>) -> Events {
        let mut channel = self.lock();
        let watched = channel.as_ref().filter(|sender| sender.receiver_count() > 0);
        let receiver = match watched {
            Some(sender) => sender.subscribe(),
            None => {
                // What happened meanwhile has no number; who was here before finds that something is missing.
                self.seq.fetch_add(1, Ordering::Relaxed);
                let (sender, receiver) = broadcast::channel(CAPACITY);
                *channel = Some(sender);
                self.is_watched.store(true, Ordering::Relaxed);
                receiver
            }
        };
        Events { feed: Arc::downgrade(self), receiver }
    }

    /// Returns where the events are now.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch, seq: self.seq.load(Ordering::Relaxed) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<broadcast::Sender<Arc<Event>>>> {
        self.channel.locked()
    }
}

/// The events of a gateway, as one reader gets them. Read the snapshot after this was opened: what is in both does no
/// harm, and nothing is missed.
pub struct Events {
    feed: Weak<Feed>,
    receiver: broadcast::Receiver<Arc<Event>>,
}

impl Events {
    /// Waits for the next event; `None` once the gateway is gone. Whoever reads too slowly gets a reset in the place of
    /// what it missed and of what it had yet to read.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(_)) => {
                let feed = self.feed.upgrade()?;
                let _told = feed.lock();
                self.receiver = self.receiver.resubscribe();
                let seq = feed.cursor().seq;
                Some(Arc::new(Event { seq, happening: Happening::Reset }))
            }
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests;
