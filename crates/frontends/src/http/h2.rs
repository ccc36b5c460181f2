//! HTTP/2, for those who ask for it: the h2 crate speaks it; its streams, their deadlines and what may be held for them
//! are ours.

mod respond;
#[cfg(test)]
mod tests;
mod watch;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use hyper::header::CONTENT_LENGTH;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use manifold_http1::MAX_HEAD_BYTES;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::debug;

use super::admission::Entry;
use super::body::{Body, Read, Unread};
use super::peer::{Origin, Peer};
use super::route;
use super::shared::{Closing, Shared};
use super::site::Site;
use super::timeouts::{REQUEST_PATIENCE, SLOWEST_BYTES_PER_MS};
use watch::{Busy, Watch, Watched};

/// What a peer may send before we have read it, on one stream and on all of a connection.
const WINDOW_BYTES: u32 = 1 << 20;
/// What is given to a connection to be written at once.
const SEND_BUFFER_BYTES: usize = 400 << 10;
const MAX_STREAMS: u32 = 100;
/// Requests that were taken back before we saw them; past it the peer only wants us to work (T33).
const MAX_RESET_STREAMS: usize = 20;

/// Serves a connection.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: Arc<Peer>,
    shared: Arc<Shared>,
) {
    let watch = Arc::new(Watch::new());
    let expired = watch.expired();
    tokio::pin!(expired);
    let handshake = Builder::new()
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_send_buffer_size(SEND_BUFFER_BYTES)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .handshake::<_, Bytes>(Watched { stream, watch: Arc::clone(&watch) });
    let connection = tokio::select! {
        biased;
        connection = handshake => connection,
        () = expired.as_mut() => return debug!("connection closed: the peer was too slow"),
    };
    let mut connection = match connection {
        Ok(connection) => connection,
        Err(error) => return debug!("connection ended: {error}"),
    };
    let mut closing = shared.closing.clone();
    let mut is_ending = false;
    // Dropped with the connection: whatever its requests wait for is let go.
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            // In this order: what the connection did in this turn moves the deadline looked at next.
            biased;
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    let one = OneRequest { busy: Busy::new(&watch), peer: Arc::clone(&peer), shared: Arc::clone(&shared) };
                    streams.spawn(one.serve(request, respond));
                }
                Some(Err(error)) => return debug!("connection ended: {error}"),
                None => return,
            },
            Some(_) = streams.join_next() => {}
            () = expired.as_mut() => return debug!("connection closed: the peer was too slow"),
            _ = closing.wait_for(|closing| *closing != Closing::No), if !is_ending => {
                is_ending = true;
                connection.graceful_shutdown();
            }
        }
    }
}

/// One request and its answer.
struct OneRequest {
    /// The connection counts as busy until the last byte of the answer has been taken.
    busy: Busy,
    peer: Arc<Peer>,
    shared: Arc<Shared>,
}

impl OneRequest {
    async fn serve(self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let Self { busy, peer, shared } = self;
        let is_head = request.method() == Method::HEAD;
        let response = {
            let (head, body) = request.into_parts();
            // Boxed, so that it is gone once the answer begins: a stream may rest for hours (F37).
            let mut answering = Box::pin(answer(head, body, &peer, &shared));
            tokio::select! {
                biased;
                response = &mut answering => response,
                // Dropping the future takes the call back.
                _ = poll_fn(|context| respond.poll_reset(context)) => return,
            }
        };
        let response = respond::admit(response, &peer, &shared);
        drop(shared);
        if let Err(why) = respond::write(respond, response, is_head, &peer.budget).await {
            debug!(?why, "an answer was not written to its end");
        }
        drop(busy);
    }
}

async fn answer(head: Parts, body: RecvStream, peer: &Arc<Peer>, shared: &Arc<Shared>) -> Response<Body> {
    let admitted = match route::admit(&head, peer, shared) {
        Ok(Entry::In(admitted)) => admitted,
        Ok(Entry::Unverified(entering)) => match route::verify(&head, entering, peer, shared).await {
            Ok(admitted) => admitted,
            Err(response) => return *response,
        },
        Err(response) => return *response,
    };
    let origin = Origin::new(peer, &admitted);
    let body = read(&head.headers, body, peer, &shared.site).await;
    route::answer(&head, body, origin, shared).await
}

/// Reads a request body, giving up as soon as it is too large or too slow, or too much is under way with it.
async fn read(headers: &HeaderMap, mut body: RecvStream, peer: &Peer, site: &Site) -> Result<Bytes, Unread> {
    let (limit_bytes, budget) = (site.limit_bytes, &peer.budget);
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > limit_bytes) {
        return Err(Unread::TooLarge);
    }
    if !budget.admits(declared.unwrap_or(0)) {
        return Err(Unread::Overloaded);
    }
    let mut read = Read::default();
    // What is only announced counts for nothing: a client could keep others out with it.
    let mut share = budget.share();
    let began = Instant::now();
    loop {
        // Each byte buys a little more time, so that a body that only trickles is not waited for (T30); what was bought
        // does not help one that has stopped coming.
        let bought = Duration::from_millis(read.len() as u64 / SLOWEST_BYTES_PER_MS);
        let deadline = (began + REQUEST_PATIENCE + bought).min(Instant::now() + REQUEST_PATIENCE);
        let data = match timeout_at(deadline, body.data()).await {
            Err(_) => return Err(Unread::Stalled),
            Ok(Some(Err(_))) => return Err(Unread::Broken),
            Ok(Some(Ok(data))) => data,
            Ok(None) => return Ok(budget.hold(read.finish())),
        };
        // It has been taken, so more may come.
        let _ = body.flow_control().release_capacity(data.len());
        if read.len() + data.len() > limit_bytes {
            return Err(Unread::TooLarge);
        }
        if !share.admits(data.len()) {
            return Err(Unread::Overloaded);
        }
        share.grow(data.len());
        read.push(data, declared);
    }
}
