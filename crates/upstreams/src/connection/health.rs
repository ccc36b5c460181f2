//! Whether a server still answers (F15). Nothing is asked of one that does its work or has none: only where a call has
//! timed out is it asked for a sign of life, once at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manifold_protocol::{Call, Failure, Fault};
use tracing::{info, warn};

use super::Connection;
use super::table::Origin;

/// How long a server may take over a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// What is known of a server's health.
#[derive(Default)]
pub(super) struct Health {
    /// It has done some work: answered a call, not only told of itself.
    proven: AtomicBool,
    /// A sign of life is being waited for.
    probing: AtomicBool,
    /// It was asked for one and gave none.
    unresponsive: AtomicBool,
}

impl Connection {
    pub(crate) fn has_answered(&self) -> bool {
        self.calls.health.proven.load(Ordering::Relaxed)
    }

    /// Notes that the server has answered a call.
    pub(super) fn note_answered(&self) {
        self.calls.health.proven.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server owes a sign of life.
    pub(crate) fn is_unresponsive(&self) -> bool {
        self.calls.health.unresponsive.load(Ordering::Relaxed)
    }

    /// Notes that the server said something, whatever it was.
    pub(super) fn note_heard(&self) {
        // Looked at first: this is on the way of every answer.
        if self.is_unresponsive() && self.calls.health.unresponsive.swap(false, Ordering::Relaxed) {
            info!(server = self.id(), "responds again");
        }
    }

    /// Asks for a sign of life, unless that is under way.
    pub(super) fn probe(&self) {
        if self.calls.health.probing.swap(true, Ordering::Relaxed) {
            return;
        }
        let Some(me) = self.me.upgrade() else { return };
        self.spawn(async move {
            let call = Call::new(me.dialect().probe(), None);
            let answer = me.request_call(call, Origin::Probe, SIGN_OF_LIFE).await;
            let silent = matches!(answer, Err(Failure::Fault(Fault::TimedOut { .. })));
            if silent && !me.calls.health.unresponsive.swap(true, Ordering::Relaxed) {
                warn!(server = me.id(), "it does not respond; its calls time out until it does");
            }
            me.calls.health.probing.store(false, Ordering::Relaxed);
        });
    }
}
