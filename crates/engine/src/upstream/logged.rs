//! What servers write beside the protocol.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::changes::ClientId;

/// One line, without secrets and with nothing in it that would steer a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedLine {
    /// When it came, in milliseconds since the beginning of 1970.
    pub at_ms: u64,
    /// Greater than that of every line the same instance wrote before.
    pub number: u64,
    /// Whose own instance wrote it; `None`: everybody's.
    pub client: Option<ClientId>,
    pub line: String,
}

impl LoggedLine {
    /// Makes a line that is said now.
    pub fn now(line: String) -> Self {
        Self { at_ms: Self::clock_ms(), number: Self::next_number(), client: None, line }
    }

    /// Returns the time of day at which a line comes. It may jump, and no deadline knows it (F33).
    pub fn clock_ms() -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or_default()
    }

    /// Returns a number for the next line of any server.
    pub fn next_number() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }
}
