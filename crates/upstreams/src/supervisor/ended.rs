//! The end of a life, and what follows it.

use std::time::Duration;

use manifold_config::{ServerStart, redact};
use manifold_engine::Lock as _;
use manifold_protocol::Fault;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::backoff::{back_off, restart_delay};
use super::{Launcher, Life, Next, NotRunning, Supervisor};
use crate::connection::Connection;

/// One that has run for as long has got over what it failed for.
const STABLE_AFTER: Duration = Duration::from_secs(60);

impl<L: Launcher> Supervisor<L> {
    /// Winds a life up: what could not be sent waits for the next one. Nothing of a life is left when this returns.
    pub(super) async fn end(&mut self, connection: &Connection, life: L::Life, next: &Next) {
        connection.stop_listening().await;
        self.waiting.put_back(connection.close("it was stopped"));
        self.shared.past_calls.locked().add(&connection.tally());
        life.stop().await;
        if !matches!(
            next,
            Next::NotRunning(NotRunning::Asleep | NotRunning::Restarting(..) | NotRunning::Failed(..))
        ) {
            info!(server = %self.shared.id, "stopped");
        }
        if matches!(next, Next::NotRunning(NotRunning::Stopped)) {
            for done in self.ordering.drain(..) {
                let _ = done.send(Ok(()));
            }
        }
    }

    /// Gives up on a server that lives on without taking or giving messages.
    pub(super) fn fell_silent(&mut self, connection: &Connection) -> Next {
        let how = "it closed its input or output and was ended";
        match self.shared.logs.tail() {
            Some(tail) => self.died(connection, None, &format!("{how}; its log: {tail}")),
            None => self.died(connection, None, how),
        }
    }

    /// Decides what follows when a server ended by itself.
    pub(super) fn died(&mut self, connection: &Connection, code: Option<i64>, how: &str) -> Next {
        let how = &*redact(how);
        let busy = connection.is_busy();
        let proven = connection.has_answered();
        if proven || self.shared.shown.status().since.elapsed() >= STABLE_AFTER {
            self.shared.shown.has_recovered();
        }
        self.waiting.put_back(connection.close_with(how, code));
        if proven {
            self.complaint.forget();
        }
        match self.complaint.is_new(how) {
            true => warn!(server = %self.shared.id, busy, "the server is gone: {how}"),
            false => debug!(server = %self.shared.id, busy, "the server is gone: {how}"),
        }
        let server = self.launcher.server();
        let wanted = busy
            || !self.waiting.is_empty()
            || !self.discovering.is_empty()
            || !self.refreshing.is_empty()
            || code != Some(0)
            || server.start == ServerStart::Eager;
        let delay = restart_delay(server);
        if delay.is_none() && self.waiting.is_empty() {
            let reason = format!("{how}, and `restart` is off");
            let fault = Fault::NotRunning { server: self.shared.id.clone(), reason };
            return Next::NotRunning(NotRunning::Failed(fault, None));
        }
        if !wanted {
            return Next::NotRunning(NotRunning::Asleep);
        }
        // A server that did its work is back at once; one that only dies is given ever longer rests.
        let pause = if proven {
            self.failures = 0;
            delay.unwrap_or_default()
        } else {
            back_off(&mut self.failures, &self.shared.id).max(delay.unwrap_or_default())
        };
        debug!(server = %self.shared.id, pause_ms = pause.as_millis() as u64, "restarting");
        let reason = format!("{how}; restarting in {:.1} s", pause.as_secs_f64());
        let fault = Fault::NotRunning { server: self.shared.id.clone(), reason };
        let now = Instant::now();
        Next::NotRunning(NotRunning::Restarting(fault, now + delay.unwrap_or_default(), now + pause))
    }
}
