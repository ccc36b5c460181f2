//! The end of a command that has been given a time and waits for somebody who says nothing: a gateway that is stopped or
//! hangs answers neither yes nor no.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here")]

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;

use crate::output::{Failure, Output};

/// Ends the command when it is late; dropped, it ends nothing.
#[must_use]
pub(crate) struct Patience {
    _on_time: Option<Sender<()>>,
}

impl Patience {
    /// Has the command fail so at this moment.
    pub(crate) fn until(late: Option<(Instant, Failure)>, output: &Output) -> Self {
        let Some((at, failure)) = late else { return Self { _on_time: None } };
        let (on_time, hears) = mpsc::channel::<()>();
        let output = output.clone();
        let wait = move || {
            let left = at.saturating_duration_since(Instant::now());
            if hears.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                output.fail(&failure);
                // Servers of our own end with us.
                std::process::exit(failure.exit.code().into());
            }
        };
        // Without it the command waits as long as it would without a time.
        let _ = thread::Builder::new().name("patience".to_owned()).spawn(wait);
        Self { _on_time: Some(on_time) }
    }
}
