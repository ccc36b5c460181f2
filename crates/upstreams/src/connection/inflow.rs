//! How much of what the server says is taken in, and what is made of noise.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tracing::warn;

use super::Connection;

/// Large answers of one server that are read at once for a client that may not read them.
const LARGE_AT_ONCE: usize = 4;

pub(super) struct Inflow {
    /// The longest message the server may send.
    pub(super) limit_bytes: usize,
    large: Semaphore,
    /// Lines that were no message, and answers nobody asked for.
    noise: AtomicU64,
    /// Whether its output has ended.
    silence: watch::Sender<bool>,
}

impl Inflow {
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            large: Semaphore::new(LARGE_AT_ONCE),
            noise: AtomicU64::new(0),
            silence: watch::Sender::new(false),
        }
    }
}

impl Connection {
    /// Returns whether all that the server says is for one client.
    pub(crate) fn has_only_client(&self) -> bool {
        self.host.only_client().is_some()
    }

    /// Waits until there is room for what the server says next.
    pub(crate) async fn room(&self) {
        if let Some(client) = self.host.only_client() {
            client.uncrowded().await;
        }
    }

    /// Waits for the turn to take in something large. Where all is for one client only a few do at a time: answers that
    /// began while there was room would else all come in together (F20).
    pub(crate) async fn large_permit(&self) -> Option<SemaphorePermit<'_>> {
        let client = self.host.only_client()?;
        let turn = self.inflow.large.acquire().await.ok();
        client.uncrowded().await;
        turn
    }

    pub(crate) fn fall_silent(&self) {
        self.inflow.silence.send_replace(true);
    }

    /// Waits for the end of the server's output.
    pub(crate) async fn silent(&self) {
        let _ = self.inflow.silence.subscribe().wait_for(|silent| *silent).await;
    }

    /// Counts what a server should not have sent; the log hears of the first and of every thousandth.
    pub(super) fn complain(&self, what: &str) {
        let count = self.inflow.noise.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(1000) {
            warn!(server = self.id(), count = count + 1, "ignored from the server: {what}");
        }
    }
}
