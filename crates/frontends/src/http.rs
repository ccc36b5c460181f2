//! HTTP: the simple JSON API, the standard MCP endpoint, the old SSE transport and LiteMCP, behind one front door.

mod attempts;
mod body;
mod connection;
mod door;
mod h1;
mod h2;
mod json_api;
mod legacy_sse;
mod litemcp;
mod modern;
mod peer;
mod rewound;
mod rooms;
mod route;
mod sessions;
mod status;
mod stream;
mod streamable;
mod tls;
mod websocket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::{ClientLimits, Profile};
use manifold_engine::{Budget, Tasks};
use manifold_protocol::CodeSet;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use crate::modern::Desk;
use attempts::Attempts;
pub use door::{Door, is_loopback};
use peer::Peer;
pub use rooms::{Plan, Rooms};
use sessions::Sessions;
pub use tls::{TlsError, tls_acceptor};
pub use tokio_rustls::TlsAcceptor;
use websocket::Sockets;

/// Connections served at once; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16_384;
/// How long we rest when the system has no descriptor left for a connection (F34).
const EXHAUSTED: Duration = Duration::from_millis(100);

/// How long those who waited in vain have to read that.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What HTTP serves.
pub struct Site {
    pub rooms: Arc<Rooms>,
    pub codes: CodeSet,
    pub profile: Profile,
    pub door: Door,
    pub limit_bytes: usize,
    /// What all messages under way may take up.
    pub budget: Budget,
    pub limits: ClientLimits,
    pub port: u16,
    /// How clients reach us.
    pub url: String,
    pub started: Instant,
}

/// One client may hold one part in so many of what all may hold.
const SHARES: usize = 4;

impl Site {
    /// Opens the share of one client: a session, or a connection that has none (M6).
    fn share_of_one(&self, most_bytes: usize) -> Budget {
        self.budget.part(most_bytes.min(self.budget.limit_bytes() / SHARES))
    }
}

/// What the handlers share.
struct Shared {
    site: Site,
    sessions: Sessions,
    desk: Arc<Desk>,
    sockets: Sockets,
    attempts: Attempts,
    /// Turns true when open streams must end.
    closing: watch::Receiver<bool>,
}

impl Shared {
    /// Ends what listens to namespaces that are no longer served, and their sessions once what they have in flight is
    /// done.
    async fn clear_closed_rooms(self: Arc<Self>, drain: Duration) {
        loop {
            self.site.rooms.changed().await;
            let plan = self.site.rooms.plan();
            self.desk.end_listening(|gateway| !plan.serves(gateway));
            for session in self.sessions.all() {
                if plan.serves(&session.gateway) {
                    continue;
                }
                info!("a session ends: its namespace is no longer served");
                session.session.stop_taking_calls();
                let _ = timeout(drain, session.session.settled()).await;
                self.sessions.remove(&session.id);
            }
        }
    }

    /// Resolves when open streams must end.
    fn closed(&self) -> impl Future<Output = ()> + Send + Sync + 'static {
        let mut closing = self.closing.clone();
        async move {
            let _ = closing.wait_for(|closing| *closing).await;
        }
    }
}

/// Serves until `stop` resolves; then accepts no more, lets calls in flight finish within `drain`, and ends streams.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    drain: Duration,
    stop: impl Future<Output = ()>,
    tasks: &Tasks,
) {
    let (close, closing) = watch::channel(false);
    let (sessions, sockets) = (Sessions::new(site.limits), Sockets::new(drain));
    let parked = site.limits.parked;
    let shared = Arc::new(Shared {
        site,
        sessions,
        desk: Desk::for_many(tasks, parked),
        sockets,
        attempts: Attempts::default(),
        closing,
    });
    let expiry = Arc::clone(&shared);
    tasks.spawn_background(async move { expiry.sessions.expire().await });
    let vacancy = Arc::clone(&shared);
    tasks.spawn_background(async move { vacancy.clear_closed_rooms(drain).await });

    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        while connections.try_join_next().is_some() {}
        let place = tokio::select! {
            () = &mut stop => break,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let (stream, address) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    rest_if_exhausted(&error).await;
                    continue;
                }
            },
        };
        // An answer is one write; waiting to fill a packet would only delay it.
        let _ = stream.set_nodelay(true);
        debug!(peer = %address, "connection");
        let (shared, tls) = (Arc::clone(&shared), tls.clone());
        connections.spawn(async move {
            let peer = Peer::new(address.ip(), &shared.site);
            connection::serve(stream, tls, peer, shared).await;
            drop(place);
        });
    }
    drop(listener);
    info!(connections = connections.len(), "no longer accepting connections");
    close.send_replace(true);
    shared.desk.stop();
    shared.site.rooms.plan().leave();
    if timeout(drain, all_ended(&mut connections)).await.is_err() {
        warn!("calls were still in flight at the end of the drain time; they are taken back");
    }
    // Whoever still waits is told so, and given a moment to hear it.
    shared.sessions.close_all();
    shared.desk.close();
    let _ = timeout(LAST_WORDS, all_ended(&mut connections)).await;
}

async fn all_ended(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

async fn rest_if_exhausted(error: &io::Error) {
    // A connection that broke before it was accepted is the peer's affair; anything else would spin.
    if error.kind() != io::ErrorKind::ConnectionAborted {
        warn!("accepting a connection failed: {error}");
        tokio::time::sleep(EXHAUSTED).await;
    }
}

#[cfg(test)]
mod tests;
