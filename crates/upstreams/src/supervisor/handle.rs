//! The handle to a server: what is asked of its supervisor, and what may be looked at without asking.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manifold_engine::{
    BoxFuture, CallTally, Exchange, InstanceReport, Listing, LoggedLine, Order, Status, Tasks, Upstream,
    Withheld,
};
use manifold_protocol::{Call, Fault, Raw};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::mailbox::{Command, Mailbox, mailbox};
use super::saved_listing::SavedListing;
use super::shown::Shown;
use super::suspend::{Begin, Suspended, Suspending};
use super::{Launcher, Supervisor};
use crate::connection::Connection;
use crate::logs::LogRing;

/// The handle to a supervised server.
pub(crate) struct Supervised {
    shared: Arc<Shared>,
    mailbox: Mailbox,
}

/// What others may look at without asking.
pub(super) struct Shared {
    pub(super) id: String,
    /// Set while calls can go straight out.
    pub(super) ready: ArcSwapOption<Connection>,
    pub(super) listing: ArcSwapOption<Listing>,
    pub(super) saved: SavedListing,
    pub(super) shown: Shown,
    pub(super) logs: Arc<LogRing>,
    /// The calls of the lives that are over.
    pub(super) past_calls: Mutex<CallTally>,
}

impl Supervised {
    /// Makes the server's handle and starts its supervisor; the server itself sleeps.
    pub(crate) fn new(launcher: impl Launcher, tasks: &Tasks) -> Arc<Self> {
        Self::begin(launcher, Begin::default(), tasks)
    }

    /// Makes the server's handle and starts its supervisor, from where another program stopped if one did.
    pub(crate) fn begin<L: Launcher>(launcher: L, begin: Begin<L::Life>, tasks: &Tasks) -> Arc<Self> {
        let (mailbox, commands) = mailbox();
        let running = begin.running.as_ref().map(|running| Arc::clone(&running.connection));
        let shared = Arc::new(Shared {
            id: launcher.server().key.id.clone(),
            ready: ArcSwapOption::new(running),
            listing: ArcSwapOption::new(begin.listing.clone()),
            saved: SavedListing::of(&launcher),
            shown: Shown::beginning(&begin),
            logs: Arc::clone(launcher.logs()),
            past_calls: Mutex::default(),
        });
        tasks.spawn(Supervisor::new(launcher, Arc::clone(&shared), commands).live(begin));
        Arc::new(Self { shared, mailbox })
    }

    /// Lets go of the server for the program that takes our place. Nothing is heard of this one again; `None` if there was
    /// nothing to be heard.
    pub(crate) async fn suspend(&self, is_carried: bool) -> Option<Suspended> {
        self.ask(|reply| Command::Suspend(Suspending { is_carried, reply })).await
    }

    fn ask<T: Send + 'static>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> BoxFuture<Option<T>> {
        let (sender, answer) = oneshot::channel();
        let (mailbox, command) = (self.mailbox.orders(), command(sender));
        Box::pin(async move {
            mailbox.send(command).await.ok()?;
            answer.await.ok()
        })
    }
}

impl Upstream for Supervised {
    fn send(&self, call: Call, exchange: Exchange) {
        let (call, exchange) = match &*self.shared.ready.load() {
            Some(connection) => match connection.send(call, exchange) {
                Ok(()) => return,
                Err(unsent) => unsent,
            },
            None => (call, exchange),
        };
        self.mailbox.call(&self.shared.id, call, exchange);
    }

    fn notify(&self, method: &'static str, params: Option<Raw>) {
        if let Some(connection) = &*self.shared.ready.load() {
            connection.notify(method, params.as_ref());
        }
    }

    fn listing(&self) -> Option<Arc<Listing>> {
        self.shared.listing.load_full()
    }

    fn introduced(&self) {
        let Some(listing) = self.shared.saved.anew() else { return };
        // What runs tells for itself.
        if self.shared.ready.load().is_none() {
            self.shared.listing.store(listing);
        }
    }

    fn widened(&self) {
        if let Some(connection) = &*self.shared.ready.load() {
            connection.widen();
        }
    }

    fn withheld(&self) -> Option<Arc<dyn Withheld>> {
        self.shared.saved.withheld()
    }

    fn listed_elsewhere(&self) {
        self.shared.saved.listed_elsewhere();
    }

    fn status(&self) -> Status {
        self.shared.shown.status()
    }

    fn reports(&self) -> Vec<InstanceReport> {
        vec![self.shared.report()]
    }

    fn is_unresponsive(&self) -> bool {
        self.shared.ready.load().as_ref().is_some_and(|connection| connection.is_unresponsive())
    }

    fn logs(&self, lines: usize) -> Vec<LoggedLine> {
        self.shared.logs.last(lines)
    }

    fn discover(&self) -> BoxFuture<()> {
        let asked = self.ask(Command::Discover);
        Box::pin(async move {
            asked.await;
        })
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        let asked = self.ask(|sender| Command::Order(order, sender));
        Box::pin(async move { asked.await.unwrap_or(Err(Fault::ShuttingDown)) })
    }

    fn close(&self, drain: Duration) -> BoxFuture<()> {
        let running = self.shared.ready.load_full();
        let asked = self.ask(Command::Close);
        Box::pin(async move {
            if let Some(connection) = running {
                let _ = timeout(drain, connection.idle()).await;
            }
            asked.await;
        })
    }
}
