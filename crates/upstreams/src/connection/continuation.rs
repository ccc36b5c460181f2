//! Calls that are not over with their first answer: the server has questions, makes a task of it, or wants to be told
//! more. Such a call stays in the table, under its number, until its asker has the one answer.

use std::sync::Arc;

use manifold_protocol::envelope::Outcome;
use manifold_protocol::{Call, Caller, Raw, Reply};
use tokio::sync::oneshot;

use super::Connection;

/// What it takes to go on with a call.
pub(super) struct Continuation {
    /// As it was first made, its asker's own progress token in place.
    pub(super) call: Call,
    pub(super) rounds: u32,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// The server owes an answer.
    Written,
    /// The asker does, to this round of questions.
    Asking(Raw),
    /// It goes on as this task of the server's.
    Task(String),
}

impl Continuation {
    pub(super) fn new(call: Call) -> Self {
        Self { call, rounds: 0, stage: Stage::Written }
    }
}

impl Connection {
    /// Takes an answer to a call that may go on.
    pub(super) fn answer_kept(&self, id: u64, outcome: Outcome) {
        match self.caller_of_written(id) {
            Some(caller) => self.dialect().go_on(self, id, caller.as_ref(), outcome),
            None => self.complain("an answer that nobody waits for"),
        }
    }

    /// Returns who makes a call, if there is one and the server owes it an answer.
    fn caller_of_written(&self, id: u64) -> Option<Option<Arc<Caller>>> {
        let table = self.lock();
        let kept = table.get(id)?.kept.as_ref().filter(|kept| kept.stage == Stage::Written)?;
        Some(kept.call.caller.clone())
    }

    /// Lets a call rest with us. Returns what resolves once it has left the table, however that comes.
    pub(super) fn park(&self, id: u64, stage: Stage) -> Option<oneshot::Receiver<()>> {
        let mut table = self.lock();
        let pending = table.get_mut(id)?;
        pending.kept.as_mut()?.stage = stage;
        let (leave, left) = oneshot::channel();
        // Whoever carried it to the server is done.
        pending.leave = Some(leave);
        Some(left)
    }

    /// Sends a kept call again, as `change` makes it, under a new number.
    pub(super) fn send_again(&self, id: u64, change: impl FnOnce(&mut Continuation) -> Option<Call>) {
        let mut table = self.lock();
        // Cancelled or timed out meanwhile, if it is not there.
        let Some(mut pending) = table.remove(id) else { return };
        let again = pending.kept.as_mut().and_then(|kept| {
            kept.stage = Stage::Written;
            change(kept)
        });
        let number = table.next_id();
        let held = self.me.upgrade().is_some_and(|me| pending.exchange.set_canceller(me, number));
        match again {
            Some(call) if held => {
                pending.refresh();
                self.write_as(&mut table, number, call, pending);
            }
            _ => {
                // Its asker may be told of this, and must find us unlocked.
                self.refill(table);
                drop(pending);
            }
        }
    }

    /// Ends a kept call with what it came to.
    pub(super) fn finish_kept(&self, id: u64, reply: Reply) {
        if let Some(pending) = self.take(id) {
            pending.exchange.finish(reply);
        }
    }

    /// Shows that the server still works on a kept call.
    pub(super) fn keep_alive(&self, id: u64) {
        if let Some(pending) = self.lock().get_mut(id) {
            pending.refresh();
        }
    }
}
