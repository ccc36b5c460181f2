//! HTTP: the simple JSON API, the standard MCP endpoint, the old SSE transport and LiteMCP, behind one admission.

mod accepts;
mod admission;
mod answers;
mod body;
mod callback;
mod certificate;
mod connection;
mod date;
mod endpoint;
mod for_replicas;
mod forward;
mod granted;
mod h1;
mod h2;
mod headers;
mod json_api;
mod legacy_sse;
mod litemcp;
mod metadata;
mod modern;
mod modern_lane;
mod namespaces;
mod news;
mod page;
mod peer;
mod resume;
mod rewind;
mod route;
mod sealed;
mod sessions;
mod shared;
mod site;
mod sockets;
mod standing;
mod status;
mod stream;
mod streamable;
mod tally;
mod timeouts;
mod tls;
mod token_failures;
mod websocket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Tasks;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use crate::modern::ModernService;
pub use admission::{Accepted, Admission, Protection, Token, Until, is_loopback};
pub use callback::{CALLBACK, Callbacks, Page};
pub use namespaces::{Namespaces, Served};
use peer::Peer;
use sessions::Sessions;
use shared::{Closing, Shared};
pub use site::Site;
use sockets::Sockets;
pub use tls::{TlsAcceptor, TlsError, tls_acceptor};
use token_failures::TokenFailures;

/// Connections served at once; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16_384;
/// How long we rest when the system has no descriptor left for a connection (F34).
const EXHAUSTED: Duration = Duration::from_millis(100);

/// How long those who waited in vain have to read that.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until `stop` resolves; from when its health says that it drains on, each answer is the last of its connection,
/// so that a balancer makes new ones elsewhere. Calls that wait for what their client sends to another replica may get it for
/// as long as `drain` says. Then accepts no more, lets calls in flight finish within what is left of it, and ends streams.
/// Before that connections that rest may, for as long as `stop` says, make one more request and hear that it was the last.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    drain: Duration,
    stop: impl Future<Output = Duration>,
    tasks: &Tasks,
) {
    let (close, closing) = watch::channel(Closing::No);
    let (sessions, sockets) = (Sessions::new(site.limits), Sockets::new(drain));
    let modern = ModernService::for_many(tasks, site.limits.parked, site.replica.clone());
    let shared = Arc::new(Shared {
        site,
        sessions,
        modern,
        sockets,
        token_failures: TokenFailures::default(),
        closing,
    });
    let expiry = Arc::clone(&shared);
    tasks.spawn_background(async move { expiry.sessions.expire().await });
    tasks.spawn_background(news::keep(Arc::clone(&shared)));
    tasks.spawn_background(Arc::clone(&shared).follow_keys());
    let vacancy = Arc::clone(&shared);
    tasks.spawn_background(async move { vacancy.end_closed_namespaces(drain).await });

    let answered = Arc::clone(&shared);
    let stop = async move {
        let rest_patience = stop.await;
        let asked = Instant::now();
        answered.has_its_answers(drain).await;
        (rest_patience, drain.saturating_sub(asked.elapsed()))
    };
    let draining = shared.site.health.draining();
    tokio::pin!(draining);
    let mut is_draining = false;
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    let (rest_patience, drain) = loop {
        while connections.try_join_next().is_some() {}
        let place = tokio::select! {
            patiences = &mut stop => break patiences,
            () = &mut draining, if !is_draining => {
                is_draining = true;
                close.send_replace(Closing::AfterNext);
                continue;
            }
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let Ok(place) = place else { break (Duration::ZERO, drain) };
        let (stream, address) = tokio::select! {
            patiences = &mut stop => break patiences,
            () = &mut draining, if !is_draining => {
                is_draining = true;
                close.send_replace(Closing::AfterNext);
                continue;
            }
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause_if_exhausted(&error).await;
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
    };
    drop(listener);
    info!(connections = connections.len(), "no longer accepting connections");
    if !rest_patience.is_zero() {
        close.send_replace(Closing::AfterNext);
        let _ = timeout(rest_patience, all_ended(&mut connections)).await;
    }
    close.send_replace(Closing::Now);
    shared.modern.stop();
    shared.site.namespaces.served().leave();
    if timeout(drain, all_ended(&mut connections)).await.is_err() {
        warn!("drain timeout: the calls still in flight are cancelled");
    }
    // Whoever still waits is told so, and given a moment to hear it.
    shared.sessions.close_all();
    shared.modern.close();
    let _ = timeout(LAST_WORDS, all_ended(&mut connections)).await;
}

async fn all_ended(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

async fn pause_if_exhausted(error: &io::Error) {
    // A connection that broke before it was accepted is the peer's affair; anything else would spin.
    if error.kind() != io::ErrorKind::ConnectionAborted {
        warn!("accepting a connection failed: {error}");
        tokio::time::sleep(EXHAUSTED).await;
    }
}

#[cfg(test)]
mod tests;
