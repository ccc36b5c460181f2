//! Letting go of a server without its end, and beginning with one that runs already.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Listing;
use manifold_protocol::Fault;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::{Launcher, Life, Running, Supervisor};
use crate::handover::{SavedProcess, write_listing};

/// How long a server that is not carried over may take over its end.
const PARTING: Duration = Duration::from_millis(200);
/// How many lines of its log go with a server.
const LOG_LINES: usize = 100;

/// What a supervisor leaves to the program that takes our place.
pub(crate) struct Suspended {
    /// Whether an operator has stopped it.
    pub(crate) is_stopped: bool,
    pub(crate) lives: u64,
    /// What it has failed for, and since when it does.
    pub(crate) trouble: Option<(Fault, Instant)>,
    /// `None` where it does not run, or cannot be carried over.
    pub(crate) process: Option<SavedProcess>,
}

/// Somebody who wants a server to be let go of.
pub(super) struct Suspending {
    /// Whether there is somebody to know it again.
    pub(super) is_carried: bool,
    pub(super) reply: oneshot::Sender<Suspended>,
}

/// How a supervisor begins.
pub(crate) struct Begin<L> {
    /// What the program whose place we took had running.
    pub(crate) running: Option<Running<L>>,
    /// What that offers, where it is known.
    pub(crate) listing: Option<Arc<Listing>>,
    /// Since when it runs.
    pub(crate) since: Option<Instant>,
    /// Whether an operator has stopped it.
    pub(crate) is_stopped: bool,
    /// How often it has come up.
    pub(crate) lives: u64,
    /// What it had failed for, and since when it does.
    pub(crate) trouble: Option<(Fault, Instant)>,
}

impl<L> Default for Begin<L> {
    fn default() -> Self {
        Self { running: None, listing: None, since: None, is_stopped: false, lives: 0, trouble: None }
    }
}

impl<L: Launcher> Supervisor<L> {
    /// Lets go of a server that runs.
    pub(super) async fn let_go(&mut self, running: Running<L::Life>, suspending: Suspending) {
        let Running { connection, said, life, .. } = running;
        let since = self.shared.shown.status().since;
        let mut process = None;
        if suspending.is_carried && L::Life::OUTLIVES_US {
            process = life.suspend(&said).await;
        } else {
            let unsent = connection.close(
                "the gateway was upgraded and its connection to the server did not outlive that; the call may have run",
            );
            unsent.into_iter().for_each(|(_, exchange)| exchange.leave_to_another_process());
            let _ = timeout(PARTING, life.stop()).await;
        }
        if let Some(process) = &mut process {
            process.running_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or_default();
            let log = self.shared.logs.last(LOG_LINES);
            process.log_times_ms = log.iter().map(|line| line.at_ms).collect();
            process.log = log.into_iter().map(|line| line.line).collect();
            let listing = self.shared.listing.load_full();
            (process.listing, process.freshness) = listing
                .and_then(|listing| write_listing(&listing))
                .map_or_else(Default::default, |(listing, freshness)| (Some(listing), freshness));
        }
        self.leave(suspending, false, process);
    }

    /// Tells who wants it what there is to know.
    pub(super) fn leave(&self, suspending: Suspending, is_stopped: bool, process: Option<SavedProcess>) {
        let lives = self.shared.shown.lives();
        let trouble = self.shared.shown.trouble();
        let _ = suspending.reply.send(Suspended { is_stopped, lives, trouble, process });
    }
}
