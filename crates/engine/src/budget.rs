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
mod tests {
    use super::*;

    // F20
    #[tokio::test]
    async fn a_part_has_a_limit_of_its_own() {
        let whole = Budget::new(100_000);
        let (one, other) = (whole.part(10_000), whole.part(10_000));
        let held = one.hold(Bytes::from(vec![b'x'; 10_000]));
        assert!(!one.is_overdrawn() && whole.admits(90_000) && !whole.admits(90_001));
        let more = one.hold(Bytes::from(vec![b'x'; 2_000]));
        one.overdrawn().await;
        drop((held, more));
        let _alone = one.hold(Bytes::from(vec![b'x'; 12_000]));
        assert!(!one.is_overdrawn(), "one message alone may be as large as it is");
        assert!(!other.is_overdrawn() && !whole.is_overdrawn() && whole.admits(88_000));
    }

    // M6
    #[tokio::test(start_paused = true)]
    async fn past_its_part_a_client_is_given_what_nobody_else_may_need() {
        let patience = Duration::from_millis(200);
        let bytes = |count: usize| Bytes::from(vec![b'x'; count]);
        let whole = Budget::new(100_000);
        let (one, other) = (whole.part(25_000), whole.part(25_000));
        assert!(one.grants(90_000, patience), "one message alone may be as large as it is");
        let mut held = vec![one.hold(bytes(20_000))];
        assert!(one.grants(5_000, patience) && one.grants(30_000, patience));
        assert!(!one.grants(30_001, patience), "half of the whole is for others");
        held.push(one.hold(bytes(20_000)));
        assert!(one.grants(10_000, patience));
        tokio::time::advance(Duration::from_millis(201)).await;
        assert!(!one.grants(1, patience), "it takes nothing of what it has");
        one.note_taken();
        assert!(one.grants(10_000, patience) && other.grants(25_000, patience));
        drop(held);
        assert!(one.grants(25_000, patience));
    }

    // M6
    #[test]
    fn a_message_that_grows_is_measured_beside_others() {
        let whole = Budget::new(100_000);
        let (one, other) = (whole.part(25_000), whole.part(25_000));
        let mut share = one.share();
        share.grow(50_000);
        assert!(share.admits(50_000) && !share.admits(50_001), "alone in its part, and within the whole");
        let mut beside = one.share();
        assert!(!beside.admits(1), "two of one client share its part");
        beside.grow(1);
        assert!(!share.admits(1));
        assert!(other.share().admits(25_000));
    }

    // F35
    #[tokio::test]
    async fn a_message_counts_while_anybody_has_a_part_of_it() {
        let budget = Budget::new(10_000);
        let message = budget.hold(Bytes::from(vec![b'x'; 9_000]));
        let part = message.slice(5..6);
        assert!(budget.admits(1_000) && !budget.admits(1_001));
        drop(message);
        assert!(!budget.admits(1_001), "a part keeps it whole");
        let more = budget.hold(Bytes::from(vec![b'x'; 2_000]));
        assert!(budget.is_spent());
        let mut waiting = Box::pin(budget.room());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        drop(part);
        waiting.await;
        drop(more);
        assert!(budget.admits(50_000), "where nothing is held, something may always be");
    }
}
