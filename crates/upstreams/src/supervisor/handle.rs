//! The handle to a server: what is asked of its supervisor, and what may be looked at without asking.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manifold_engine::{
    BoxFuture, CallTally, Exchange, InstanceReport, Listing, LoggedLine, Order, SignInReport, Status, Tasks,
    Upstream, Withheld,
};
use manifold_oauth::{SignIn, State};
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
use crate::remote::SignIns;

/// The handle to a supervised server.
pub(crate) struct Supervised {
    shared: Arc<Shared>,
    pub(super) mailbox: Mailbox,
    /// How the server is signed in to, where one does.
    sign_in: OnceLock<FollowedSignIn>,
}

/// A sign-in among those of this process.
pub(crate) struct FollowedSignIn {
    pub(crate) sign_in: SignIn,
    pub(crate) sign_ins: Arc<SignIns>,
}

/// Returns whether nothing can be asked of a server before somebody has signed in.
fn is_in_the_way(state: &State) -> bool {
    !matches!(state, State::Unknown | State::Ready | State::Retrying { .. })
}

impl FollowedSignIn {
    pub(crate) fn report(&self) -> SignInReport {
        let shown = self.sign_in.shown();
        let detail = match &shown.state {
            State::LoginExpired { why, .. }
            | State::NeedsClientId { why }
            | State::Retrying { why, .. }
            | State::StoreFailed { why } => Some(why.clone()),
            State::NeedsScope { scopes } => Some(scopes.join(" ")),
            State::IssuerRefused { expected, got } => Some(format!("expected {expected}, got {got}")),
            State::Unknown | State::Ready | State::NeedsLogin | State::LoginOpen { .. } => None,
        };
        SignInReport {
            state: shown.state.name(),
            // A server that lacks a scope for one call serves the others.
            is_in_the_way: is_in_the_way(&shown.state) && !matches!(shown.state, State::NeedsScope { .. }),
            needs_login: shown.state.needs_login(),
            detail,
            account: shown.account,
            issuer: shown.issuer,
            scopes: shown.granted_scopes,
            until: shown.good_until,
            last_refresh: shown.last_refresh,
            store: self.sign_ins.store_kind(),
        }
    }
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
        Arc::new(Self { shared, mailbox, sign_in: OnceLock::new() })
    }

    /// Wakes the server when somebody has signed in, and tells of it.
    pub(crate) fn follow_sign_in(&self, followed: FollowedSignIn, tasks: &Tasks) {
        let orders = self.mailbox.orders().downgrade();
        let mut states = followed.sign_in.watch();
        tasks.spawn_background(async move {
            let mut was_in_the_way = is_in_the_way(&states.borrow_and_update());
            while states.changed().await.is_ok() {
                let is_in_the_way = is_in_the_way(&states.borrow_and_update());
                let Some(orders) = orders.upgrade() else { return };
                let is_freed = was_in_the_way && !is_in_the_way;
                was_in_the_way = is_in_the_way;
                if orders.send(Command::SignIn(is_freed)).await.is_err() {
                    return;
                }
            }
        });
        let _ = self.sign_in.set(followed);
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

    fn sign_in(&self) -> Option<SignInReport> {
        self.sign_in.get().map(FollowedSignIn::report)
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
        // Whoever has it looked at anew wants to know what it says now, also of signing in.
        if let Some(followed) = self.sign_in.get()
            && matches!(order, Order::Start | Order::Restart | Order::Refresh)
        {
            followed.sign_in.ask_again();
        }
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
