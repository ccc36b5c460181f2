//! How a call ends before its answer: its client leaves, or nobody comes back.

use std::sync::MutexGuard;
use std::time::Duration;

use manifold_protocol::{Failure, Raw};

use super::{Run, State};
use crate::session::CUT_OFF;

impl Run {
    /// The client that waits is gone, and the call with it.
    pub(in crate::modern) fn leave(&self, number: u64, reason: Option<Raw>) {
        let mut state = self.lock();
        if let Some(pending) = state.pending.take_if(|pending| pending.number == number) {
            self.end(state, reason);
            pending.lane.abandon();
        }
    }

    /// Takes the call back and tells the client that waits.
    pub(in crate::modern) fn shut_down(&self, number: u64) {
        let mut state = self.lock();
        if let Some(pending) = state.pending.take_if(|pending| pending.number == number) {
            self.end(state, Some(Raw::from_static(r#""the gateway is shutting down""#)));
            self.deliver(pending, Err(Failure::Peer(Raw::from_static(CUT_OFF))));
        }
    }

    /// Takes back a call that nobody waits for.
    pub(crate) fn give_up(&self, why: &str) {
        let state = self.lock();
        if state.pending.is_none() {
            self.end(state, Some(Raw::string(why)));
        }
    }

    pub(crate) fn is_forsaken(&self, patience: Duration) -> bool {
        self.lock().alone_since.is_some_and(|since| since.elapsed() >= patience)
    }

    pub(super) fn end(&self, mut state: MutexGuard<'_, State>, reason: Option<Raw>) {
        state.is_over = true;
        state.reply = None;
        let (flight, questions) = (state.flight.take(), std::mem::take(&mut state.questions));
        drop(state);
        self.vacate();
        if let Some(flight) = flight {
            flight.cancel(reason);
        }
        drop(questions);
    }

    /// Leaves its place among those that wait.
    pub(super) fn vacate(&self) {
        if let Some(Ok(place)) = self.place.get() {
            self.modern.parked.remove(place);
        }
    }
}
