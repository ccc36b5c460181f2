//! What all messages under way may take up together. Past it new work waits or is refused, before the system ends us
//! for it (F35).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// A smaller message costs less to hold than to count.
const SMALL_BYTES: usize = 1 << 10;

/// A budget of bytes, shared by all who hold messages.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit_bytes: usize,
    held: AtomicUsize,
    freed: Notify,
    /// What is held here is held there as well.
    whole: Option<Budget>,
    /// Whether more is held than it allows.
    overdrawn: watch::Sender<bool>,
    made: Instant,
    /// When something of it was last taken, in milliseconds since it was made.
    taken: AtomicU64,
}

impl Budget {
    pub fn new(limit_bytes: usize) -> Self {
        Self::part_of(None, limit_bytes)
    }

    /// Opens a part of it, with a limit of its own.
    pub fn part(&self, limit_bytes: usize) -> Self {
        Self::part_of(Some(self.clone()), limit_bytes)
    }

    fn part_of(whole: Option<Self>, limit_bytes: usize) -> Self {
        let overdrawn = watch::Sender::new(false);
        Self(Arc::new(Shared {
            limit_bytes,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
            whole,
            overdrawn,
            made: Instant::now(),
            taken: AtomicU64::new(0),
        }))
    }

    /// Notes that somebody takes of what is held.
    pub fn note_taken(&self) {
        self.0.taken.store(self.0.made.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns whether more is held than it allows and nothing of it was taken for this long.
    pub fn is_stuck(&self, patience: Duration) -> bool {
        let taken = Duration::from_millis(self.0.taken.load(Ordering::Relaxed));
        self.is_overdrawn() && self.0.made.elapsed().saturating_sub(taken) > patience
    }

    pub fn is_overdrawn(&self) -> bool {
        *self.0.overdrawn.borrow()
    }

    /// Waits until more is held than it allows.
    pub async fn overdrawn(&self) {
        let _ = self.0.overdrawn.subscribe().wait_for(|overdrawn| *overdrawn).await;
    }

    pub fn limit_bytes(&self) -> usize {
        self.0.limit_bytes
    }

    /// Returns whether so much more may be held, here and in the whole. Something always may where nothing is.
    pub fn admits(&self, bytes: usize) -> bool {
        let held = self.0.held.load(Ordering::Relaxed);
        (held == 0 || held.saturating_add(bytes) <= self.0.limit_bytes)
            && self.0.whole.as_ref().is_none_or(|whole| whole.admits(bytes))
    }

    /// Returns whether a client may be given so much at once that others made for it: as much as its part allows, and past
    /// that only while it takes what it has, and half of the whole is free (M6).
    pub fn grants(&self, bytes: usize, patience: Duration) -> bool {
        let held = self.0.held.load(Ordering::Relaxed);
        if held == 0 || held.saturating_add(bytes) <= self.0.limit_bytes {
            return true;
        }
        let has_room = self.0.whole.as_ref().is_none_or(|whole| {
            whole.0.held.load(Ordering::Relaxed).saturating_add(bytes) <= whole.0.limit_bytes / 2
        });
        has_room && !self.is_stuck(patience)
    }

    pub fn is_spent(&self) -> bool {
        let is_full = self.0.held.load(Ordering::Relaxed) >= self.0.limit_bytes;
        is_full || self.0.whole.as_ref().is_some_and(Self::is_spent)
    }

    /// Waits until some of it is left.
    pub async fn room(&self) {
        loop {
            let freed = self.0.freed.notified();
            if !self.is_spent() {
                return;
            }
            freed.await;
        }
    }

    /// Counts a message for as long as anybody has a part of it.
    pub fn hold(&self, message: Bytes) -> Bytes {
        if message.len() < SMALL_BYTES {
            return message;
        }
        let mut share = self.share();
        share.grow(message.len());
        Bytes::from_owner(Held { message, _share: share })
    }

    fn add(&self, bytes: usize) {
        let before = self.0.held.fetch_add(bytes, Ordering::Relaxed);
        // One message alone may be as large as it is.
        if before > 0 && before + bytes > self.0.limit_bytes && !self.is_overdrawn() {
            self.0.overdrawn.send_replace(true);
        }
        if let Some(whole) = &self.0.whole {
            whole.add(bytes);
        }
    }

    fn give_back(&self, bytes: usize) {
        let limit = self.0.limit_bytes;
        let before = self.0.held.fetch_sub(bytes, Ordering::Relaxed);
        if before >= limit && before - bytes < limit {
            self.0.freed.notify_waiters();
            self.0.overdrawn.send_replace(false);
        }
        if let Some(whole) = &self.0.whole {
            whole.give_back(bytes);
        }
    }

    /// Opens a share that holds nothing yet.
    pub fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    bytes: usize,
}

impl Share {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether so much more may be held with it. One message alone may be as large as it is, as far as the whole
    /// goes.
    pub fn admits(&self, bytes: usize) -> bool {
        let Budget(shared) = &self.budget;
        let held = shared.held.load(Ordering::Relaxed);
        let fits = held <= self.bytes || held.saturating_add(bytes) <= shared.limit_bytes;
        match &shared.whole {
            Some(whole) => fits && whole.admits(bytes),
            None => self.budget.admits(bytes),
        }
    }

    pub fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.add(bytes);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

struct Held {
    message: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.message
    }
}

#[cfg(test)]
mod tests;
