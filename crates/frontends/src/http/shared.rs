//! What all connections share.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Requester;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{debug, info};

use super::sessions::{HttpSession, Sessions};
use super::site::Site;
use super::sockets::Sockets;
use super::token_failures::TokenFailures;
use crate::modern::ModernService;
use crate::replica::{News, Note};

/// How often is looked whether calls still wait for their clients, while we end.
const LOOK: Duration = Duration::from_millis(50);

/// What the handlers share.
pub(super) struct Shared {
    pub(super) site: Site,
    pub(super) sessions: Sessions,
    pub(super) modern: Arc<ModernService>,
    pub(super) sockets: Sockets,
    pub(super) token_failures: TokenFailures,
    pub(super) closing: watch::Receiver<Closing>,
}

/// How far we are with our end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    No,
    /// The next answer of each connection is its last.
    AfterNext,
    /// Connections that rest and open streams end.
    Now,
}

impl Shared {
    /// Lets an operator end a session.
    pub(super) fn let_be_ended(self: &Arc<Self>, session: &HttpSession) {
        let (shared, id, sid) = (Arc::downgrade(self), session.id.clone(), session.sid.clone());
        session.session.on_disconnect(move || {
            if let Some(shared) = shared.upgrade() {
                match &sid {
                    // Ended where it is known; the other replicas hear of it.
                    Some(sid) => shared.end_everywhere(sid),
                    None => shared.sessions.remove(&id),
                }
            }
        });
    }

    /// Ends a session here, and has the other replicas end it.
    fn end_everywhere(self: &Arc<Self>, sid: &str) {
        self.sessions.end_sid(sid);
        let Some(replica) = &self.site.replica else { return };
        let (shared, sid) = (Arc::clone(self), sid.to_owned());
        replica.tasks.spawn_background(async move { shared.tell_end(&sid).await });
    }

    /// Tells the other replicas that a session is over: now, or once that can be said.
    pub(super) async fn tell_end(&self, sid: &str) {
        if !self.has_told_end(sid).await {
            self.sessions.is_unsaid(sid);
        }
    }

    /// Tells them of ends that they could not be told of.
    pub(super) async fn tell_unsaid_ends(&self) {
        while let Some(sid) = self.sessions.first_unsaid() {
            if !self.has_told_end(&sid).await {
                return;
            }
            self.sessions.is_said(&sid);
        }
    }

    async fn has_told_end(&self, sid: &str) -> bool {
        let Some(replica) = &self.site.replica else { return true };
        let Some(link) = replica.link() else { return true };
        if let Err(away) = link.note(sid, Note::Over).await {
            debug!("the end of a session stays here for now: {away}");
            return false;
        }
        link.tell(News::Over { sid: sid.to_owned() }.encode(replica.number()));
        true
    }

    /// Ends sessions as the keys are taken away that their ids were sealed with.
    pub(super) async fn follow_keys(self: Arc<Self>) {
        let Some(replica) = self.site.replica.clone() else { return };
        let mut renewed = replica.keys_renewed();
        while renewed.changed().await.is_ok() {
            self.sessions.end_unsealed(&replica.keys());
        }
    }

    /// Waits, for this long at the most, until no call waits for what its client sends to another replica, which can bring
    /// it only for as long as we let others in.
    pub(super) async fn has_its_answers(&self, patience: Duration) {
        if self.site.replica.as_ref().is_none_or(|replica| replica.link().is_none()) {
            return;
        }
        let awaits = || {
            let asks = |session: &Arc<HttpSession>| session.session.awaits_client();
            self.modern.has_parked() || self.sessions.all().iter().any(asks)
        };
        let all = async {
            while awaits() {
                sleep(LOOK).await;
            }
        };
        let _ = timeout(patience, all).await;
    }

    /// Ends what listens to namespaces that are no longer served, and their sessions once what they have in flight is
    /// done.
    pub(super) async fn end_closed_namespaces(self: Arc<Self>, drain: Duration) {
        loop {
            self.site.namespaces.changed().await;
            let (served, accepted) = (self.site.namespaces.served(), self.site.admission.accepted());
            let is_known = |who: &Requester| accepted.still_knows(&who.principal);
            self.modern.end_listening(|gateway, who| !served.serves(gateway) || !is_known(who));
            let is_over = |session: &Arc<HttpSession>| {
                !served.serves(&session.gateway) || !is_known(session.requester())
            };
            let ending: Vec<_> = self.sessions.all().into_iter().filter(is_over).collect();
            // None of them calls on while another is waited for.
            for session in &ending {
                match is_known(session.requester()) {
                    true => info!("a session ends: its namespace is no longer served"),
                    false => info!("a session ends: what let its client in does so no longer"),
                }
                session.session.stop_taking_calls();
            }
            for session in ending {
                let shared = Arc::clone(&self);
                self.modern.tasks().spawn_background(async move {
                    let _ = timeout(drain, session.session.settled()).await;
                    shared.sessions.remove(&session.id);
                });
            }
        }
    }

    /// Returns whether an answer that is about to be given is the last of its connection.
    pub(super) fn is_closing(&self) -> bool {
        *self.closing.borrow() != Closing::No
    }

    /// Resolves when open streams must end.
    pub(super) fn closed(&self) -> impl Future<Output = ()> + Send + Sync + 'static {
        let mut closing = self.closing.clone();
        async move {
            let _ = closing.wait_for(|closing| *closing == Closing::Now).await;
        }
    }
}
