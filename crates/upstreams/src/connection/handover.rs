//! A connection left to the program that takes our place, and taken up there: what is in flight is answered to whoever
//! asked, by the addresses its askers have.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Exchange, Reach, Reopen, Target};
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::{Id, Outgoing};

use super::Connection;
use super::continuation::{Continuation, Stage};
use super::dialect::Dialect;
use super::table::{Origin, Pending};
use crate::handover::{
    Json, SavedCall, SavedConnection, SavedContinuation, SavedQuestion, SavedStage, fail_calls,
};

impl Connection {
    /// Stops for good without a word to any asker. Returns all there is to know, and what has not been written. To be called
    /// when nobody reads from the server or writes to it any more.
    pub(crate) fn suspend(&self, said: &ServerFacts) -> (SavedConnection, Vec<Outgoing>) {
        let are_lists_stale = self.lists.are_stale();
        let taken = self.lock().take_out();
        let waiting = taken.queued.into_iter().chain(self.dialect().take_waiting());
        waiting.for_each(|(_, exchange)| exchange.leave_to_another_process());
        self.dialect().leave_listeners();
        let (mut calls, mut listening) = (Vec::new(), Vec::new());
        for (id, pending) in taken.calls {
            let is_listening = pending.origin == Origin::Listening;
            let (saved, exchange) = pending.save(id);
            exchange.leave_to_another_process();
            match is_listening {
                true => listening.push(id),
                false => calls.push(saved),
            }
        }
        let saved = SavedConnection {
            dialect: self.dialect().save(),
            revision: said.revision.clone(),
            capabilities: Json(said.capabilities.clone()),
            instructions: said.instructions.clone(),
            count: taken.count,
            has_answered: self.has_answered(),
            calls,
            listening,
            questions: self.questions.save(),
            are_lists_stale,
            is_shared: taken.is_shared,
            is_one_clients: taken.is_one_clients,
            abandoned: taken.abandoned,
        };
        self.calls.sooner.notify_one();
        self.lock_work().abort_all();
        (saved, self.outbox.hand_over())
    }

    /// Goes on where another program stopped. Returns what the server had said of itself; `None` where it cannot be spoken
    /// to.
    pub(crate) fn resume(&self, saved: SavedConnection, askers: &dyn Reopen) -> Option<ServerFacts> {
        let said = ServerFacts {
            revision: saved.revision,
            capabilities: saved.capabilities.0,
            instructions: saved.instructions,
        };
        let Some(dialect) = Dialect::resume(&saved.dialect, &said) else {
            fail_calls(
                self.id(),
                saved.calls,
                askers,
                "it could not be taken up after an upgrade of the gateway",
            );
            return None;
        };
        if saved.has_answered {
            self.note_answered();
        }
        if saved.are_lists_stale {
            self.lists.stale.mark_all();
        }
        {
            let mut table = self.lock();
            table.count_from(saved.count);
            if saved.is_shared {
                table.attribution.resume_shared(saved.is_one_clients, saved.count, &saved.abandoned);
            }
        }
        self.speak(dialect);
        saved.listening.into_iter().for_each(|id| self.dialect().end_listening(self, id));
        let going_on: Vec<_> =
            saved.calls.into_iter().filter_map(|call| self.take_up(call, askers)).collect();
        for (id, stage) in going_on {
            self.dialect().go_on_from(self, id, stage);
        }
        for SavedQuestion { id, call, request } in saved.questions {
            if let Some(id) = Id::from_raw(&id.0) {
                self.question(id, request.into(), call);
            }
        }
        Some(said)
    }

    /// Takes a call into the table. Returns it if it rests with us and has to be gone on with.
    fn take_up(&self, mut saved: SavedCall, askers: &dyn Reopen) -> Option<(u64, Stage)> {
        let (id, is_clients, is_wanted) = (saved.id, saved.is_clients, saved.address.is_some());
        let exchange = saved.address.take().and_then(|address| askers.reopen(address.read()?));
        let kept = match saved.continuation.take().map(Continuation::read) {
            None => None,
            Some(Some(kept)) => Some(kept),
            // Nobody here knows how to go on with it.
            Some(None) => {
                let fault = self.died(saved.tool, "the gateway was upgraded in the middle of the call");
                exchange.into_iter().for_each(|exchange| exchange.fail(fault.clone()));
                return None;
            }
        };
        let Some(mut exchange) = exchange.filter(|exchange| self.holds(exchange, id)) else {
            // Its answer will come and is nobody's; a task goes on without us.
            if kept.is_none_or(|kept| kept.stage == Stage::Written) {
                let pending = Pending::resumed(Exchange::detached(), Origin::Ourselves, saved);
                if is_wanted {
                    self.dialect().cancel(self, id, &pending, None);
                }
                self.put_in(id, pending, is_clients);
            }
            return None;
        };
        let timeout = Duration::from_millis(saved.timeout_ms);
        let target =
            Target { server: self.id().to_owned(), tool: saved.tool.clone(), timeout, reach: Reach::Pipe };
        exchange.set_target(Arc::new(target));
        let mut pending = Pending::resumed(exchange, Origin::Client, saved);
        let stage = kept.as_ref().map(|kept| kept.stage.clone());
        pending.kept = kept.map(Box::new);
        self.put_in(id, pending, false);
        stage.filter(|stage| *stage != Stage::Written).map(|stage| (id, stage))
    }

    fn holds(&self, exchange: &Exchange, id: u64) -> bool {
        self.me.upgrade().is_some_and(|me| exchange.set_canceller(me, id))
    }

    fn put_in(&self, id: u64, pending: Pending, is_unknown_clients: bool) {
        let mut table = self.lock();
        if is_unknown_clients && table.attribution.is_shared() {
            table.attribution.abandoned(id, None);
        }
        if table.take_up(id, pending) {
            self.calls.sooner.notify_one();
        }
    }
}

impl From<Continuation> for SavedContinuation {
    fn from(kept: Continuation) -> Self {
        let stage = match kept.stage {
            Stage::Written => SavedStage::Written,
            Stage::Asking(round) => SavedStage::Asking { round: Json(round) },
            Stage::Task(task) => SavedStage::Task { task },
        };
        Self { call: (&kept.call).into(), rounds: kept.rounds, stage }
    }
}

impl Continuation {
    /// Reads what was written down; `None` if it is at a stage that we know nothing of.
    fn read(saved: SavedContinuation) -> Option<Self> {
        let stage = match saved.stage {
            SavedStage::Written => Stage::Written,
            SavedStage::Asking { round } => Stage::Asking(round.0),
            SavedStage::Task { task } => Stage::Task(task),
            SavedStage::Unknown => return None,
        };
        Some(Self { call: saved.call.into(), rounds: saved.rounds, stage })
    }
}
