//! What work costs: the processor's time, so that a machine that is busy with something else makes nothing seem dear.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns how long this thread has been at work; where nobody knows, no time at all.
pub(crate) fn of_this_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
