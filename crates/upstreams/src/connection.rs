//! One generation of a server: calls numbered, matched with their answers, timed and taken back. It knows
//! messages, not pipes: whoever owns the streams feeds `receive` and empties the outbox. How the server is spoken to is
//! its `Dialect`'s affair; README.md beside these files tells how a call passes through both.

mod attribution;
mod calls;
mod continuation;
mod deadlines;
mod dialect;
mod handover;
mod health;
mod incoming;
mod inflow;
mod lists;
mod notifications;
mod outgoing;
mod post;
mod question;
mod stale_lists;
mod table;
mod traffic;
mod url_elicitations;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use manifold_config::Server;
use manifold_engine::{Audience, Host, Lock as _, Outbox, Tap};
use manifold_protocol::Fault;
use tokio::task::JoinSet;

use crate::logs::LogRing;
use calls::Calls;
pub(crate) use dialect::{Dialect, ToolFacts, Way};
use inflow::Inflow;
use lists::Lists;
pub(crate) use post::{Post, Poster};
use question::Questions;
use table::Table;

pub(crate) struct Connection {
    me: Weak<Connection>,
    server: Arc<Server>,
    host: Arc<dyn Host>,
    logs: Arc<LogRing>,
    /// Set by the handshake; before, and where it is not, the server has sessions.
    dialect: OnceLock<Dialect>,
    pub(crate) outbox: Outbox,
    /// Where its messages are seen.
    tap: Tap,
    inflow: Inflow,
    calls: Calls,
    questions: Questions,
    pub(crate) lists: Lists,
    /// Another client came to share the server while it ran: what it says may be either's from then on.
    widened: AtomicBool,
    /// What goes on beside calls: rounds of questions, tasks, listening.
    work: Mutex<JoinSet<()>>,
}

impl Connection {
    pub(crate) fn new(
        server: Arc<Server>,
        host: Arc<dyn Host>,
        logs: Arc<LogRing>,
        limit_bytes: usize,
    ) -> Arc<Self> {
        let table = Table::new(server.max_concurrency, host.audience());
        let outbox = Outbox::new(outgoing::CROWDED_BYTES);
        // The one client is not read while all that is under way takes up too much; what waits for a server is part of
        // that (F35).
        let outbox = match host.only_client().as_ref().and_then(|client| client.budget()) {
            Some(budget) => outbox.within(budget),
            None => outbox,
        };
        let tap = host.tap();
        if tap.is_on() {
            tap.life("started", None);
        }
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            tap,
            server,
            host,
            logs,
            dialect: OnceLock::new(),
            outbox,
            inflow: Inflow::new(limit_bytes),
            calls: Calls::new(table),
            questions: Questions::default(),
            lists: Lists::default(),
            widened: AtomicBool::new(false),
            work: Mutex::default(),
        })
    }

    /// Notes that another client has come to share the server (H3).
    pub(crate) fn widen(&self) {
        self.widened.store(true, Ordering::Release);
        self.lock().widen();
    }

    /// Does so where it happened while the server was being started.
    pub(crate) fn widen_if_shared(&self) {
        if self.host.audience() == Audience::Shared {
            self.widen();
        }
    }

    /// Returns whose what the server says may be.
    fn audience(&self) -> Audience {
        if self.widened.load(Ordering::Acquire) { Audience::Shared } else { self.host.audience() }
    }

    /// Speaks this dialect from now on, and for good.
    pub(crate) fn speak(&self, dialect: Dialect) {
        if self.dialect.set(dialect).is_ok() {
            self.dialect().begin(self);
        }
    }

    pub(crate) fn dialect(&self) -> &Dialect {
        self.dialect.get().unwrap_or(&Dialect::DEFAULT)
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    pub(crate) fn id(&self) -> &str {
        &self.server.key.id
    }

    fn malformed(&self, reason: &str) -> Fault {
        Fault::Malformed { server: self.id().to_owned(), reason: reason.to_owned() }
    }

    fn too_large(&self) -> Fault {
        Fault::TooLarge { server: Some(self.id().to_owned()), limit_bytes: self.inflow.limit_bytes }
    }

    /// Starts something that ends with this generation at the latest.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.lock_work();
        while running.try_join_next().is_some() {}
        running.spawn(work);
    }

    fn lock_work(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.work.locked()
    }
}

#[cfg(test)]
mod tests;
