//! What servers write beside the protocol.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::changes::ClientId;

/// One line, without secrets and with nothing in it that would steer a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedLine {
    pub at: SystemTime,
    /// Greater than that of every line the same instance wrote before.
    pub number: u64,
    /// Whose own instance wrote it; `None`: everybody's.
    pub client: Option<ClientId>,
    pub line: String,
}

impl LoggedLine {
    /// Makes a line that is said now.
    pub fn now(line: String) -> Self {
        Self { at: SystemTime::now(), number: Self::next_number(), client: None, line }
    }

    /// Returns a number for the next line of any server.
    pub fn next_number() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }
}
