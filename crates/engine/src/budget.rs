//! What all messages under way may take up together. Past it new work waits or is refused, before the system ends us
//! for it (F35).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::Notify;

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
}

impl Budget {
    pub fn new(limit_bytes: usize) -> Self {
        Self(Arc::new(Shared { limit_bytes, held: AtomicUsize::new(0), freed: Notify::new() }))
    }

    pub fn limit_bytes(&self) -> usize {
        self.0.limit_bytes
    }

    /// Returns whether so much more may be held. Something always may where nothing is.
    pub fn admits(&self, bytes: usize) -> bool {
        let held = self.0.held.load(Ordering::Relaxed);
        held == 0 || held.saturating_add(bytes) <= self.0.limit_bytes
    }

    pub fn is_spent(&self) -> bool {
        self.0.held.load(Ordering::Relaxed) >= self.0.limit_bytes
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

    pub fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.0.held.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let limit = self.budget.0.limit_bytes;
        let before = self.budget.0.held.fetch_sub(self.bytes, Ordering::Relaxed);
        if before >= limit && before - self.bytes < limit {
            self.budget.0.freed.notify_waiters();
        }
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
