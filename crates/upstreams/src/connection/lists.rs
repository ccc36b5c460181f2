//! What is known of the server's lists: which are out of date, and what of its tools matters to their calls.

use std::sync::atomic::{AtomicBool, Ordering};

use super::dialect::KnownTools;
use super::stale_lists::StaleLists;

#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) stale: StaleLists,
    /// Whether some are being read again.
    pub(crate) is_reading: AtomicBool,
    pub(super) tools: KnownTools,
}

impl Lists {
    /// Returns whether what is known of them is out of date, or about to be.
    pub(super) fn are_stale(&self) -> bool {
        self.is_reading.load(Ordering::Relaxed) || self.stale.is_marked()
    }
}
