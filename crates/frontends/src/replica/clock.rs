//! The date, which is the one clock that replicas have in common.

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
