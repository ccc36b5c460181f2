//! Until when a command may take: `--timeout` is for all of it, with servers that are started first.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here")]

use std::time::{Duration, Instant};

use crate::commands::patience::Patience;
use crate::output::{Exit, Failure, Output};

/// By how much later we end than the gateway is told to.
const GRACE: Duration = Duration::from_millis(500);

/// When a command is given up, if it ever is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deadline(Option<(Instant, Duration)>);

impl Deadline {
    /// So many milliseconds from now.
    pub(crate) fn of(timeout_ms: Option<u64>) -> Self {
        let patience = timeout_ms.map(Duration::from_millis);
        Self(patience.and_then(|patience| Some((Instant::now().checked_add(patience)?, patience))))
    }

    /// Has the command end when it is late, whatever it waits for then, until what is returned is dropped. A gateway that is
    /// well says so itself a moment before.
    pub(crate) fn enforce(self, output: &Output) -> Patience {
        let late = self.0.map(|(at, patience)| (at + GRACE, timed_out(patience)));
        Patience::until(late, output)
    }

    /// Says it in the time that was asked for where a gateway was late: it was told what was left of that.
    pub(crate) fn named(self, failure: Failure) -> Failure {
        match self.0 {
            Some((_, patience)) if failure.exit == Exit::TimedOut => {
                // What became of the call stays.
                let rest = failure.message.split_once(" ms").map_or("", |(_, rest)| rest);
                let message = format!("{}{rest}", timed_out(patience).message);
                Failure { message, ..failure }
            }
            _ => failure,
        }
    }

    /// Returns how many milliseconds are left, or the failure that none are.
    pub(crate) fn left_ms(self) -> Result<Option<u64>, Failure> {
        let Some((at, patience)) = self.0 else { return Ok(None) };
        let left = at.saturating_duration_since(Instant::now());
        match u64::try_from(left.as_millis()) {
            Ok(0) => Err(timed_out(patience)),
            left => Ok(Some(left.unwrap_or(u64::MAX))),
        }
    }
}

fn timed_out(patience: Duration) -> Failure {
    let message = format!("no answer came within {} ms", patience.as_millis());
    Failure::new(Exit::TimedOut, "timed-out", message).hint("a longer time can be given with `--timeout`")
}
