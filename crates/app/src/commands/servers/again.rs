//! What goes on when the gateway that was asked is restarted or upgraded.
#![allow(clippy::disallowed_types, reason = "no runtime runs here")]

use std::thread;
use std::time::{Duration, Instant};

use super::Verb;
use crate::commands::source::{Need, Source};
use crate::operator::is_daemon_being_started;
use crate::output::{Exit, Failure};

/// How long another may take to come where nobody is known to start one.
const GRACE: Duration = Duration::from_secs(1);

/// How long one may take that is being started.
const START_PATIENCE: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(50);

/// Finds the gateway that came in the place of one that is gone. Fails where none does.
pub(super) fn reach_again(before: &Source, verb: &Verb) -> Result<Source, Failure> {
    let lost_at = Instant::now();
    loop {
        match Source::find(verb.options, verb.flags, Need::Running) {
            Ok(source) if source.is_another_than(before) => {
                verb.output.detail(&format!("went on with {}", source.which()));
                return Ok(source);
            }
            // It answers no more, or it is on its way out, or in.
            Ok(_) | Err(Failure { exit: Exit::NotRunning | Exit::Failed, .. }) => {}
            Err(failure) => return Err(failure),
        }
        let patience = if is_daemon_being_started(verb.options) { START_PATIENCE } else { GRACE };
        if lost_at.elapsed() > patience {
            let message = format!("{} has ended", before.which());
            return Err(Failure { message, ..Failure::not_running() });
        }
        thread::sleep(PAUSE);
    }
}

/// Returns whether a request failed because whoever was asked is gone, or about to be.
pub(super) fn is_gone(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "unreachable" | "shutting-down" | "not-running")
}
