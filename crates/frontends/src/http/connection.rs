//! One connection: TLS if there is any, then the version of HTTP that the peer speaks.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tracing::debug;

use super::certificate;
use super::h1::{self, End};
use super::h2;
use super::peer::Peer;
use super::shared::Shared;
use super::tls::TlsAcceptor;

const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);

/// Serves one connection to its end.
pub(super) async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, peer: Arc<Peer>, shared: Arc<Shared>) {
    match tls {
        None => serve_on(stream, peer, shared).await,
        Some(acceptor) => match timeout(HANDSHAKE_PATIENCE, acceptor.accept(stream)).await {
            // Boxed, so that those without TLS do not carry its room along.
            Ok(Ok(stream)) => {
                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                if let Some(subject) = shown.and_then(|shown| certificate::subject(shown)) {
                    peer.showed(subject);
                }
                Box::pin(serve_on(stream, peer, shared)).await;
            }
            Ok(Err(error)) => debug!("TLS handshake failed: {error}"),
            Err(_) => debug!("TLS handshake took too long"),
        },
    }
}

pub(super) async fn serve_on<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: Arc<Peer>,
    shared: Arc<Shared>,
) {
    match h1::serve(stream, &peer, &shared).await {
        End::Preface(stream) => Box::pin(h2::serve(stream, Arc::clone(&peer), Arc::clone(&shared))).await,
        End::Upgraded(stream, upgrade) => upgrade(Box::new(stream)).await,
        End::TooSlow => debug!("connection closed: the peer was too slow"),
        End::Broken(error) => debug!("connection ended: {error}"),
        End::Done => {}
    }
    shared.site.namespaces.served().client_left(peer.client);
}
