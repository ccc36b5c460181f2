//! An answer on its way out over HTTP/2: no more of it is given to the connection than its peer takes.

use std::future::poll_fn;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use hyper::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use manifold_engine::Budget;
use tokio::time::sleep;

use crate::http::answers;
use crate::http::body::Body;
use crate::http::date::with_date;
use crate::http::peer::Peer;
use crate::http::shared::Shared;
use crate::http::timeouts::{UNREAD_PATIENCE, WRITE_PATIENCE, overdue};

/// What is asked for at once of what the peer may be sent.
const AT_ONCE_BYTES: usize = 64 << 10;

/// Why an answer was not written to its end.
#[derive(Debug)]
pub(super) enum Unwritten {
    /// The peer took it back, or is gone.
    Gone,
    /// The peer took nothing of it for too long, or leaves too much unread.
    TooSlow,
}

impl From<h2::Error> for Unwritten {
    fn from(_: h2::Error) -> Self {
        Self::Gone
    }
}

/// Counts an answer for its connection, or refuses it: the answers of one client must not take the room of all (M6).
pub(super) fn admit(response: Response<Body>, peer: &Peer, shared: &Shared) -> Response<Body> {
    // What is owed to a session counts there already, and a stream counts what it is given.
    if response.body().is_stream() || response.body().owed_to().is_some() {
        return response;
    }
    let (parts, body) = response.into_parts();
    match body.into_whole() {
        Ok(message) if peer.budget.grants(message.len(), UNREAD_PATIENCE) => {
            let message = message.map(|piece| peer.budget.hold(piece));
            Response::from_parts(parts, Body::whole(message))
        }
        Ok(_) => answers::overloaded(peer.budget.limit_bytes(), shared.site.codes),
        Err(body) => Response::from_parts(parts, body),
    }
}

/// Writes an answer to its end; where nobody takes it, ends its stream.
pub(super) async fn write(
    mut respond: SendResponse<Bytes>,
    response: Response<Body>,
    is_head: bool,
    budget: &Budget,
) -> Result<(), Unwritten> {
    let (mut parts, body) = response.into_parts();
    let owed = body.owed_to();
    let budget = owed.as_ref().unwrap_or(budget);
    match body.into_whole() {
        Ok(message) => {
            prepare(&mut parts, Some(message.len()));
            let is_all = is_head || message.len() == 0;
            let mut stream = respond.send_response(Response::from_parts(parts, ()), is_all)?;
            if is_all {
                return Ok(());
            }
            for piece in message.pieces() {
                send(&mut stream, piece.clone(), budget).await?;
            }
            stream.send_data(Bytes::new(), true)?;
        }
        Err(mut body) => {
            prepare(&mut parts, None);
            let mut stream = respond.send_response(Response::from_parts(parts, ()), is_head)?;
            if is_head {
                return Ok(());
            }
            loop {
                let part = tokio::select! {
                    biased;
                    part = poll_fn(|context| body.poll_bytes(context)) => part,
                    _ = poll_fn(|context| stream.poll_reset(context)) => return Err(Unwritten::Gone),
                };
                let Some(part) = part else { break };
                send(&mut stream, budget.hold(part), budget).await?;
            }
            stream.send_data(Bytes::new(), true)?;
        }
    }
    Ok(())
}

/// Sends a part as fast as the peer takes it. One that takes nothing is waited for only so long, and not long at all where
/// it has left too much unread already (M6, as F20).
async fn send(stream: &mut SendStream<Bytes>, mut part: Bytes, budget: &Budget) -> Result<(), Unwritten> {
    while !part.is_empty() {
        stream.reserve_capacity(part.len().min(AT_ONCE_BYTES));
        let capacity = match stream.capacity() {
            0 => tokio::select! {
                biased;
                capacity = capacity(stream) => capacity?,
                () = sleep(WRITE_PATIENCE) => 0,
                () = overdue(Some(budget)) => 0,
            },
            capacity => capacity,
        };
        if capacity == 0 {
            stream.send_reset(Reason::CANCEL);
            return Err(Unwritten::TooSlow);
        }
        stream.send_data(part.split_to(capacity.min(part.len())), false)?;
        budget.note_taken();
    }
    Ok(())
}

/// Waits until the peer may be sent something.
async fn capacity(stream: &mut SendStream<Bytes>) -> Result<usize, Unwritten> {
    loop {
        match poll_fn(|context| stream.poll_capacity(context)).await {
            Some(Ok(0)) => {}
            Some(Ok(capacity)) => return Ok(capacity),
            Some(Err(_)) | None => return Err(Unwritten::Gone),
        }
    }
}

/// Leaves out what HTTP/2 has no headers for, and says how long the answer is, and when.
fn prepare(parts: &mut Parts, length: Option<usize>) {
    let headers = &mut parts.headers;
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")] {
        headers.remove(name);
    }
    if let Some(length) = length.filter(|_| parts.status != StatusCode::NO_CONTENT) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    if let Ok(date) = with_date(HeaderValue::from_str) {
        headers.entry(DATE).or_insert(date);
    }
}
