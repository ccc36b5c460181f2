//! The calls under way and how each leaves: answered, failed, cancelled, or given up with the server.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_engine::{CallHandle, CallTally, Cancel, Exchange, Lock as _, Sink};
use manifold_protocol::{Call, Fault, Raw};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::Connection;
use super::health::Health;
use super::table::{Origin, Pending, Table};

pub(super) struct Calls {
    table: Mutex<Table>,
    /// Wakes the deadline keeper.
    pub(super) sooner: Notify,
    /// Told when the last call in flight is over.
    emptied: Notify,
    pub(super) health: Health,
}

/// What the table had under a number.
pub(super) enum Taken {
    Pending(Pending),
    /// A call that may go on stays where it is.
    Continuation,
    Nothing,
}

impl Calls {
    pub(super) fn new(table: Table) -> Self {
        let table = Mutex::new(table);
        Self { table, sooner: Notify::new(), emptied: Notify::new(), health: Health::default() }
    }
}

impl Connection {
    /// Returns whether the server owes an answer to the call of this number.
    pub(crate) fn awaits(&self, call: u64) -> bool {
        self.lock().get(call).is_some_and(Pending::is_written)
    }

    /// Returns how long the call of this number may still take.
    pub(crate) fn time_left(&self, call: u64) -> Option<Duration> {
        Some(self.lock().get(call)?.deadline.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn tool_of(&self, call: u64) -> Option<String> {
        self.lock().get(call)?.exchange.target()?.tool.clone()
    }

    /// Tells the asker of a call that the server has let go of its connection for now.
    pub(crate) fn release_connection(&self, call: u64) {
        if let Some(asker) = self.asker_of(call) {
            asker.release_connection();
        }
    }

    pub(super) fn asker_of(&self, call: u64) -> Option<Arc<CallHandle<dyn Sink>>> {
        self.lock().get(call).map(|pending| pending.exchange.asker())
    }

    /// Fails one call that could not be brought to the server.
    pub(crate) fn fail(&self, call: u64, fault: Fault) {
        if let Some(pending) = self.take(call) {
            self.note_failed(&pending);
            pending.exchange.fail(fault);
        }
    }

    /// Takes back a call that could not be sent, for the next generation. Returns whether it can be sent again as it was.
    pub(crate) fn take_back(&self, call: u64) -> bool {
        let mut table = self.lock();
        if table.is_closed() || !table.get(call).is_some_and(Pending::is_first_try) {
            return false;
        }
        let Some(Pending { exchange, kept: Some(kept), .. }) = table.remove(call) else { return false };
        table.unsent.push((kept.call, exchange));
        self.refill(table);
        true
    }

    /// Returns whether calls were taken back.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.lock().unsent.is_empty()
    }

    /// Counts a call of a client's that has failed.
    #[cold]
    pub(super) fn note_failed(&self, pending: &Pending) {
        if pending.origin == Origin::Client {
            self.lock().tally.failed += 1;
        }
    }

    /// Returns what became of the calls of clients so far.
    pub(crate) fn tally(&self) -> CallTally {
        self.lock().tally()
    }

    /// Ends this generation: every call in flight gets one error, those never written are given back.
    pub(crate) fn close(&self, reason: &str) -> Vec<(Call, Exchange)> {
        self.close_with(reason, None)
    }

    /// Does the same for a server that has exited, with the code it had.
    pub(crate) fn close_with(&self, reason: &str, code: Option<i64>) -> Vec<(Call, Exchange)> {
        let (pending, mut queued) = self.lock().close();
        queued.extend(self.dialect().take_waiting());
        self.outbox.abandon();
        self.questions.withdraw_all();
        self.calls.sooner.notify_one();
        self.lock_work().abort_all();
        self.show_death(reason, code);
        for pending in pending {
            let tool = pending.exchange.target().and_then(|target| target.tool.clone());
            pending.exchange.fail(self.died(tool, reason));
        }
        queued
    }

    pub(super) fn died(&self, tool: Option<String>, reason: &str) -> Fault {
        Fault::Died { server: self.id().to_owned(), tool, reason: reason.to_owned() }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.lock().in_flight() > 0
    }

    /// Waits until no call is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            let emptied = self.calls.emptied.notified();
            if !self.is_busy() {
                return;
            }
            emptied.await;
        }
    }

    /// Waits, for this long at least, until no call has been in flight for this long.
    pub(crate) async fn unused_for(&self, patience: Duration) {
        let begun = Instant::now();
        loop {
            self.idle().await;
            let Some(since) = self.lock().idle_since() else { continue };
            sleep_until(since.max(begun) + patience).await;
            if self.lock().idle_since() == Some(since) {
                return;
            }
        }
    }

    /// Takes no more calls, unless some are in flight. Returns whether it does.
    pub(crate) fn retire(&self) -> bool {
        self.lock().close_if_idle()
    }

    /// Takes a call out of the table and lets the next in the queue in. Its questions end with it.
    pub(super) fn take(&self, id: u64) -> Option<Pending> {
        let table = self.lock();
        self.take_from(table, id)
    }

    pub(super) fn take_unless_kept(&self, id: u64) -> Taken {
        let table = self.lock();
        match table.get(id) {
            Some(pending) if pending.kept.is_some() => Taken::Continuation,
            _ => self.take_from(table, id).map_or(Taken::Nothing, Taken::Pending),
        }
    }

    fn take_from(&self, mut table: MutexGuard<'_, Table>, id: u64) -> Option<Pending> {
        let pending = table.remove(id)?;
        self.refill(table);
        if pending.has_questions() {
            self.end_questions_of(id);
        }
        Some(pending)
    }

    /// Lets the next in the queue in, and tells if there is none.
    pub(super) fn refill(&self, mut table: MutexGuard<'_, Table>) {
        self.fill(&mut table);
        if table.in_flight() == 0 {
            self.calls.emptied.notify_waiters();
        }
    }

    fn fill(&self, table: &mut Table) {
        while table.admit() {
            let Some((call, exchange)) = table.queue.pop() else { return };
            if !exchange.is_cancelled() {
                self.write(table, call, exchange, Origin::Client);
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Table> {
        self.calls.table.locked()
    }
}

impl Cancel for Connection {
    fn cancel(&self, id: u64, reason: Option<Raw>) {
        let pending = {
            let mut table = self.lock();
            let pending = table.abandon(id);
            self.refill(table);
            pending
        };
        if let Some(pending) = pending {
            if pending.has_questions() {
                self.end_questions_of(id);
            }
            debug!(server = self.id(), "call cancelled by the client");
            self.dialect().cancel(self, id, &pending, reason);
        }
    }
}
