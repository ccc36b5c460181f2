//! Messages on their way to one peer: many producers that never wait, one writer that takes all there is.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use manifold_protocol::Outgoing;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::budget::Budget;
use crate::sync::Lock as _;

/// Who reads messages takes so many in a row before the writers have their turn: the other side works on the first while
/// the rest is read, instead of both waiting for each other.
pub const YIELD_EVERY: usize = 8;

/// A queue of whole messages. Answers always fit, since each belongs to a call the owner admitted; what may be
/// lost (`push_droppable`) is refused past the limit, and the owner stops admitting calls while it is `crowded`.
#[derive(Debug)]
pub struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
    emptied: Notify,
    limit_bytes: usize,
    /// Where what is queued counts, besides.
    budget: Option<Budget>,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Outgoing>,
    /// Queued, or taken by the writer and not yet written.
    bytes: usize,
    closed: bool,
}

impl Outbox {
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            queue: Mutex::default(),
            filled: Notify::new(),
            emptied: Notify::new(),
            limit_bytes,
            budget: None,
        }
    }

    /// Counts what is queued in a budget.
    pub fn within(self, budget: &Budget) -> Self {
        Self { budget: Some(budget.clone()), ..self }
    }

    /// Returns where what is queued counts.
    pub fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// Queues a message. Returns false when the peer is gone.
    pub fn push(&self, message: impl Into<Outgoing>) -> bool {
        let mut queue = self.lock();
        if queue.closed {
            return false;
        }
        let message = match &self.budget {
            Some(budget) => message.into().map(|piece| budget.hold(piece)),
            None => message.into(),
        };
        queue.bytes += message.len();
        queue.messages.push_back(message);
        drop(queue);
        self.filled.notify_one();
        true
    }

    /// Queues a message unless the peer is behind. Returns whether it was queued.
    pub fn push_droppable(&self, message: impl Into<Outgoing>) -> bool {
        !self.crowded() && self.push(message)
    }

    /// Returns whether more is waiting than the peer should be owed.
    pub fn crowded(&self) -> bool {
        self.lock().bytes > self.limit_bytes
    }

    /// Waits until the peer has caught up, or is gone.
    pub async fn uncrowded(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let queue = self.lock();
                if queue.closed || queue.bytes <= self.limit_bytes {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Waits until the peer has taken nothing for this long although it is owed more than it should be.
    pub async fn stalled(&self, patience: Duration) {
        loop {
            let emptied = self.emptied.notified();
            if !self.crowded() {
                sleep(patience).await;
            } else if timeout(patience, emptied).await.is_err() {
                return;
            }
        }
    }

    /// Waits for messages and moves all of them into `batch`. Returns false once closed and empty.
    pub async fn take(&self, batch: &mut impl Extend<Outgoing>) -> bool {
        loop {
            let filled = self.filled.notified();
            {
                let mut queue = self.lock();
                if !queue.messages.is_empty() {
                    batch.extend(queue.messages.drain(..));
                    return true;
                }
                if queue.closed {
                    return false;
                }
            }
            filled.await;
        }
    }

    /// Tells that the writer has written `bytes` of what it took.
    pub fn written(&self, bytes: usize) {
        let mut queue = self.lock();
        queue.bytes = queue.bytes.saturating_sub(bytes);
        drop(queue);
        self.emptied.notify_waiters();
    }

    /// Waits until everything queued has been written, or the peer is gone.
    pub async fn flushed(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let queue = self.lock();
                if queue.bytes == 0 || (queue.closed && queue.messages.is_empty()) {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Refuses further messages; the writer still gets what is queued.
    pub fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.emptied.notify_waiters();
    }

    /// Refuses further messages and returns the queued ones, which somebody else will write.
    pub fn hand_over(&self) -> Vec<Outgoing> {
        let queued = std::mem::take(&mut self.lock().messages).into();
        self.abandon();
        queued
    }

    /// Refuses further messages and forgets the queued ones: the peer no longer reads.
    pub fn abandon(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.messages.clear();
        queue.bytes = 0;
        drop(queue);
        self.filled.notify_one();
        self.emptied.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.locked()
    }
}

#[cfg(test)]
mod tests;
