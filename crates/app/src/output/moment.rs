//! What the date is, for people: nothing waits by it.

use std::time::Duration;

use jiff::Timestamp;

/// Returns when it was, so long ago.
pub(crate) fn before_now(ago: Duration) -> Timestamp {
    before(Timestamp::now(), ago)
}

/// Returns when it was, to the second.
pub(super) fn before(now: Timestamp, ago: Duration) -> Timestamp {
    let then = now.checked_sub(ago).unwrap_or(now);
    Timestamp::from_second(then.as_second()).unwrap_or(then)
}
