//! What let a client in, for as long as something of it stays open: a WebSocket or a stream outlives the request that it
//! began with, but not the rights of who opened it.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use manifold_engine::{Access, Gateway, Principal, Requester, Wish};
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;
use tracing::info;

use super::admission::{AUTHENTICATION, Admitted, Refused};
use super::peer::{Origin, Peer};
use super::shared::Shared;

/// How long it is let be where nobody can tell now whether it still stands.
const UNKNOWN_FOR: Duration = Duration::from_secs(5);

/// How long nobody looks at the clock.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// What let somebody in, to be judged again when it may stand no longer.
pub(super) struct Standing {
    /// What was brought, without the rest of the head.
    credential: HeaderMap,
    path: Box<str>,
    peer: Arc<Peer>,
    /// Who speaks: what is granted later is granted to it.
    requester: Arc<Requester>,
    gateway: Arc<Gateway>,
    admitted: Admitted,
    changes: watch::Receiver<()>,
    shared: Arc<Shared>,
}

impl Standing {
    pub(super) fn of(
        headers: &HeaderMap,
        path: &str,
        origin: Origin<'_>,
        (gateway, requester): (&Arc<Gateway>, &Arc<Requester>),
        shared: &Arc<Shared>,
    ) -> Self {
        let mut credential = HeaderMap::new();
        for name in [AUTHORIZATION, AUTHENTICATION] {
            // A copy: the head it came in may be long.
            let brought = headers.get(&name).and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
            if let Some(mut value) = brought {
                value.set_sensitive(true);
                credential.insert(name, value);
            }
        }
        Self {
            credential,
            path: path.into(),
            peer: Arc::clone(origin.peer),
            requester: Arc::clone(requester),
            gateway: Arc::clone(gateway),
            admitted: origin.admitted.clone(),
            changes: shared.site.admission.changes(),
            shared: Arc::clone(shared),
        }
    }

    /// Returns whether it stands, after another look if need be. What is granted now counts from now on.
    pub(super) async fn stands(&mut self) -> bool {
        if self.admitted.stands(&self.shared.site.admission) {
            return true;
        }
        // Another gateway has judged whoever asks, and does so again.
        if self.requester.principal == Principal::Gateway {
            return true;
        }
        let again = self.shared.site.admission.admit_again(&self.credential, &self.path, self.peer.comer());
        match again.await {
            Ok(admitted) => {
                let is_same = admitted.requester.principal == self.requester.principal;
                let is_open = is_same
                    && self.requester.regrant(admitted.requester.grants())
                    && self.gateway.access(&self.requester, Wish::Enter) == Access::Granted;
                self.admitted = admitted;
                is_open
            }
            // Nobody is sent away because an issuer is; a token has its end all the same.
            Err(Refused::Unavailable) => self.admitted.put_off(UNKNOWN_FOR),
            Err(_) => false,
        }
    }

    /// Resolves when it may stand no longer.
    pub(super) async fn doubted(&mut self) {
        // A date comes though no timer counts while the machine sleeps.
        let lasts = self.admitted.lasts().map(|lasts| lasts.min(LONGEST_LOOK));
        let over = async move {
            match lasts {
                Some(lasts) => sleep(lasts).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => {}
            changed = self.changes.changed() => {
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// Returns what resolves once it stands no longer; none where only a change of what lets in could end it, for which
    /// others look.
    pub(super) fn over(mut self) -> Option<impl Future<Output = ()> + Send + Sync + 'static> {
        self.admitted.lasts()?;
        let (mut tell, told) = oneshot::channel::<()>();
        let modern = Arc::clone(&self.shared.modern);
        modern.tasks().spawn_background(async move {
            loop {
                tokio::select! {
                    () = tell.closed() => return,
                    () = self.doubted() => {}
                }
                if !self.stands().await {
                    info!(principal = %self.requester.principal, "a stream ends: what let its client in does so no longer");
                    let _ = tell.send(());
                    return;
                }
            }
        });
        Some(async move {
            let _ = told.await;
        })
    }
}

/// Resolves when streams must end, or this one because of who reads it.
pub(super) fn closed_or_over(
    shared: &Shared,
    standing: Standing,
) -> impl Future<Output = ()> + Send + Sync + 'static {
    let (closed, over) = (shared.closed(), standing.over());
    async move {
        match over {
            None => closed.await,
            Some(over) => tokio::select! {
                () = closed => {}
                () = over => {}
            },
        }
    }
}
