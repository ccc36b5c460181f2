//! How much a client has open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much of one kind a client has open.
#[derive(Default)]
pub(super) struct Tally(AtomicUsize);

impl Tally {
    /// Counts some more, unless that would be more than `most`.
    pub(super) fn enter(self: &Arc<Self>, count: usize, most: usize) -> Option<Entered> {
        let entered = Entered { tally: Arc::clone(self), count };
        let before = self.0.fetch_add(count, Ordering::Relaxed);
        (before + count <= most).then_some(entered)
    }
}

/// Counts until it is dropped.
pub(super) struct Entered {
    tally: Arc<Tally>,
    count: usize,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.tally.0.fetch_sub(self.count, Ordering::Relaxed);
    }
}
