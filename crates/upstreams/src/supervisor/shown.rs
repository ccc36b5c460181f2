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
        let trouble = begin.trouble.as_ref().filter(|_| begin.running.is_none() && !begin.is_stopped);
        let status = match &begin.running {
            Some(running) => {
                Status { phase: Phase::Ready, pid: running.pid, since: begin.since.unwrap_or(now) }
            }
            None if begin.is_stopped => Status { phase: Phase::Stopped, pid: None, since: now },
            None => match trouble {
                Some((fault, since)) => {
                    Status { phase: Phase::Failed(fault.clone()), pid: None, since: *since }
                }
                None => Status { phase: Phase::Idle, pid: None, since: now },
            },
        };
        let failing_since = trouble.map(|(_, since)| *since);
        let history =
            History { lives: Some(begin.lives), failures: Some(0), failing_since, ..History::default() };
        Self(Mutex::new((status, history)))
    }

    pub(super) fn status(&self) -> Status {
        self.lock().0.clone()
    }

    /// Returns what it has failed for, and since when it does.
    pub(super) fn trouble(&self) -> Option<(Fault, Instant)> {
        match &self.lock().0 {
            Status { phase: Phase::Failed(fault), since, .. } => Some((fault.clone(), *since)),
            _ => None,
        }
    }

    /// What it fails for from now on is another trouble.
    pub(super) fn has_recovered(&self) {
        self.lock().1.failing_since = None;
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
        let now = Instant::now();
        {
            let (status, history) = &mut *self.shared.shown.lock();
            let since = match &phase {
                Phase::Failed(_) => *history.failing_since.get_or_insert(now),
                Phase::Idle | Phase::Stopped => {
                    history.failing_since = None;
                    now
                }
                Phase::Starting | Phase::Ready => now,
            };
            *status = Status { phase, pid: None, since };
            history.failures = Some(self.failures);
            history.retry_at = retry_at;
            if let Some(fault) = fault {
                history.last_fault = Some((fault.clone(), now));
                history.failing_since.get_or_insert(now);
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

    pub(super) fn tell_status(&self) {
        self.launcher.host().status_changed(&self.launcher.server().key);
    }
}
