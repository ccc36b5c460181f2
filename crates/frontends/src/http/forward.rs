//! What only another replica can go on with is handed to it, and its answer back.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_LENGTH, DATE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use manifold_protocol::envelope::{Incoming, Message};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tracing::debug;

use super::body::Body;
use super::shared::Shared;
use crate::replica::{Replica, WORD};

const REPLICA: HeaderName = HeaderName::from_static(WORD);
const CONNECTING: Duration = Duration::from_secs(1);

/// Hands a request to the replica that it belongs to: the answer to its question, or a retry for a call that waits there.
/// `None` where it is ours, or that replica cannot be reached.
pub(super) async fn elsewhere(
    head: &Parts,
    body: &Bytes,
    incoming: &Incoming,
    shared: &Shared,
) -> Option<Response<Body>> {
    let replica = shared.site.replica.as_ref()?;
    let owner = owner_of(incoming, shared).filter(|owner| *owner != replica.number())?;
    // One that was handed on already stays where it is.
    if is_by_replica(&head.headers, replica) {
        return None;
    }
    let address = replica.address_of(owner)?;
    match hand_on(head, body.clone(), &address, replica).await {
        Ok(response) => Some(response),
        Err(why) => {
            debug!(address, "a replica cannot be reached: {why}");
            None
        }
    }
}

/// Returns whether a request bears the word that replicas know each other by.
pub(super) fn is_by_replica(headers: &HeaderMap, replica: &Replica) -> bool {
    headers.get(REPLICA).is_some_and(|token| replica.keys().knows_replica(token.as_bytes()))
}

fn owner_of(incoming: &Incoming, shared: &Shared) -> Option<u32> {
    match incoming {
        Incoming::One(Message::Request { params, .. }) => shared.modern.elsewhere(params.as_ref()),
        Incoming::One(Message::Response { id, .. }) => Replica::of_number(id.as_u64()?),
        _ => None,
    }
}

async fn hand_on(
    head: &Parts,
    body: Bytes,
    address: &str,
    replica: &Replica,
) -> Result<Response<Body>, String> {
    let place = address.strip_prefix("http://").ok_or("replicas are reached by plain HTTP")?;
    let connected = timeout(CONNECTING, TcpStream::connect(place)).await;
    let stream = connected.map_err(|_| "no connection in time")?.map_err(|error| error.to_string())?;
    let _ = stream.set_nodelay(true);
    let shook = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shook.map_err(|error| error.to_string())?;
    replica.tasks.spawn_background(async move {
        let _ = connection.await;
    });
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = path.parse().map_err(|_| "its path cannot be sent")?;
    *request.headers_mut() = head.headers.clone();
    let headers = request.headers_mut();
    for hop in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(hop);
    }
    if let Some(authority) = head.uri.authority().filter(|_| !headers.contains_key(HOST)) {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|error| error.to_string())?;
        headers.insert(HOST, host);
    }
    let token = HeaderValue::from_str(&replica.keys().replica_token()).map_err(|error| error.to_string())?;
    headers.insert(REPLICA, token);
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let (mut head, body) = answer.into_parts();
    for hop in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, DATE] {
        head.headers.remove(hop);
    }
    Ok(Response::from_parts(head, Body::forwarded(body)))
}
