//! What a supervisor lets others look at: how its server is doing, and what it has gone through.

use std::sync::{Arc, Mutex, MutexGuard};

use manifold_engine::{History, InstanceReport, Listing, Lock as _, Phase, Status};
use manifold_protocol::Fault;
use tokio::time::Instant;

use super::{Begin, Launcher, Running, Shared, Supervisor};

/// How a server is doing.
pub(super) struct Shown(Mutex<(Status, History)>);

impl Shown {
    /// Shows a server that sleeps, or runs already.
    pub(super) fn beginning<L>(begin: &Begin<L>) -> Self {
        let now = Instant::now();
        let status = match &begin.running {
            Some(running) => {
                Status { phase: Phase::Ready, pid: running.pid, since: begin.since.unwrap_or(now) }
            }
            None if begin.is_stopped => Status { phase: Phase::Stopped, pid: None, since: now },
            None => Status { phase: Phase::Idle, pid: None, since: now },
        };
        let history = History { lives: Some(begin.lives), failures: Some(0), ..History::default() };
        Self(Mutex::new((status, history)))
    }

    pub(super) fn status(&self) -> Status {
        self.lock().0.clone()
    }

    /// Returns how often it has come up.
    pub(super) fn lives(&self) -> u64 {
        self.lock().1.lives.unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, (Status, History)> {
        self.0.locked()
    }
}

impl Shared {
    pub(super) fn report(&self) -> InstanceReport {
        let (status, history) = self.shown.lock().clone();
        let ready = self.ready.load();
        let is_unresponsive = ready.as_ref().is_some_and(|connection| connection.is_unresponsive());
        let mut calls = self.past_calls.locked().clone();
        if let Some(connection) = &*ready {
            calls.add(&connection.tally());
        }
        InstanceReport { client: None, status, is_unresponsive, history, calls: Some(calls) }
    }
}

impl<L: Launcher> Supervisor<L> {
    pub(super) fn show(&self, phase: Phase) {
        self.show_until(phase, None, None);
    }

    /// Shows a phase that may have come of a fault, and may end by itself.
    pub(super) fn show_until(&self, phase: Phase, fault: Option<&Fault>, retry_at: Option<Instant>) {
        let since = Instant::now();
        {
            let (status, history) = &mut *self.shared.shown.lock();
            *status = Status { phase, pid: None, since };
            history.failures = Some(self.failures);
            history.retry_at = retry_at;
            if let Some(fault) = fault {
                history.last_fault = Some((fault.clone(), since));
            }
        }
        self.tell_status();
    }

    pub(super) fn show_ready(&mut self, running: &Running<L::Life>) {
        // One that ran before us has come up already.
        let (since, lives) = self.since.take().map_or_else(|| (Instant::now(), 1), |since| (since, 0));
        {
            let (status, history) = &mut *self.shared.shown.lock();
            *status = Status { phase: Phase::Ready, pid: running.pid, since };
            history.lives = history.lives.map(|before| before + lives);
            history.revision = Some(running.said.revision.clone());
            history.failures = Some(0);
            history.retry_at = None;
        }
        self.tell_status();
    }

    pub(super) fn publish(&self, listing: Option<Arc<Listing>>) {
        let before = self.shared.listing.swap(listing);
        if before.is_some() {
            self.launcher.host().listing_changed(&self.launcher.server().key);
        }
    }

    fn tell_status(&self) {
        self.launcher.host().status_changed(&self.launcher.server().key);
    }
}
