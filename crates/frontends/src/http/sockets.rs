//! What WebSockets share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// WebSockets served at once.
const MAX_SOCKETS: usize = 4096;

/// Room for WebSockets, and how long they have when we leave.
pub(super) struct Sockets {
    pub(super) places: Arc<Semaphore>,
    pub(super) drain: Duration,
}

impl Sockets {
    pub(super) fn new(drain: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_SOCKETS)), drain }
    }
}
