//! What only another replica can go on with is handed to it, and its answer back.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_LENGTH, DATE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use manifold_protocol::Fault;
use manifold_protocol::envelope::{self, Incoming, Message};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tracing::debug;

use super::answers;
use super::body::Body;
use super::shared::Shared;
use crate::replica::{Replica, WORD};

const REPLICA: HeaderName = HeaderName::from_static(WORD);
const CONNECTING: Duration = Duration::from_secs(1);
/// How long a replica may take to say whether it takes an answer, or has a stream.
const TAKING: Duration = Duration::from_secs(5);

/// Why nothing came back.
enum Failed {
    /// It was not sent.
    Unsent(String),
    /// It was sent; what became of it is not known.
    Unknown(String),
}

/// Hands a request to the replica that it belongs to: the answer to its question, or a retry for a call that waits there.
/// `None` where it is ours, or that replica cannot be reached.
pub(super) async fn elsewhere(
    head: &Parts,
    body: &Bytes,
    incoming: &Incoming,
    shared: &Shared,
) -> Option<Response<Body>> {
    let (replica, address) = place_of(head, owner_of(incoming, shared)?, shared).await?;
    // An answer is taken or refused at once; a call may take as long as it likes.
    let (patience, id) = match incoming {
        Incoming::One(Message::Request { id, .. }) => (None, Some(id)),
        _ => (Some(TAKING), None),
    };
    match hand_on(head, body.clone(), &address, patience, replica).await {
        Ok(response) => Some(response),
        Err(Failed::Unsent(why)) => {
            debug!(address, "a replica cannot be reached: {why}");
            None
        }
        Err(Failed::Unknown(why)) => {
            debug!(address, "a replica was given a message and did not answer: {why}");
            let what = "the replica that it belongs to did not answer; it may have been carried out";
            Some(match id {
                Some(id) => {
                    let error = Fault::Internal(what.to_owned()).to_error(shared.site.codes);
                    answers::json(StatusCode::OK, envelope::error(Some(id), &error))
                }
                None => answers::problem(StatusCode::GATEWAY_TIMEOUT, what),
            })
        }
    }
}

/// Hands a client that comes back for a stream to the replica that says it. `None` where that is ours, cannot be reached, or
/// does not know it any more.
pub(super) async fn stream_elsewhere(head: &Parts, number: u64, shared: &Shared) -> Option<Response<Body>> {
    let (replica, address) = place_of(head, Replica::of_number(number)?, shared).await?;
    match hand_on(head, Bytes::new(), &address, Some(TAKING), replica).await {
        Ok(response) => Some(response).filter(|response| response.status() == StatusCode::OK),
        Err(Failed::Unsent(why) | Failed::Unknown(why)) => {
            debug!(address, "a stream cannot be had of its replica: {why}");
            None
        }
    }
}

/// Returns where another replica is reached. What was handed on already stays where it is.
async fn place_of<'s>(head: &Parts, owner: u32, shared: &'s Shared) -> Option<(&'s Replica, String)> {
    let replica = shared.site.replica.as_deref()?;
    if owner == replica.number() || is_by_replica(&head.headers, replica) {
        return None;
    }
    Some((replica, replica.find_address_of(owner).await?))
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
    patience: Option<Duration>,
    replica: &Replica,
) -> Result<Response<Body>, Failed> {
    let (mut sender, request) = prepare(head, body, address, replica).await.map_err(Failed::Unsent)?;
    let sent = async {
        sender.ready().await.map_err(|error| Failed::Unsent(error.to_string()))?;
        sender.send_request(request).await.map_err(|error| match error.is_canceled() {
            true => Failed::Unsent(error.to_string()),
            false => Failed::Unknown(error.to_string()),
        })
    };
    let answer = match patience {
        None => sent.await?,
        Some(patience) => {
            timeout(patience, sent).await.map_err(|_| Failed::Unknown("no answer in time".to_owned()))??
        }
    };
    let (mut head, body) = answer.into_parts();
    for hop in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, DATE] {
        head.headers.remove(hop);
    }
    Ok(Response::from_parts(head, Body::forwarded(body)))
}

/// Connects with another replica, and makes the request for it.
async fn prepare(
    head: &Parts,
    body: Bytes,
    address: &str,
    replica: &Replica,
) -> Result<(http1::SendRequest<Full<Bytes>>, Request<Full<Bytes>>), String> {
    let place = address.strip_prefix("http://").ok_or("replicas are reached by plain HTTP")?;
    let connected = timeout(CONNECTING, TcpStream::connect(place)).await;
    let stream = connected.map_err(|_| "no connection in time")?.map_err(|error| error.to_string())?;
    let _ = stream.set_nodelay(true);
    let shook = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shook.map_err(|error| error.to_string())?;
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
    Ok((sender, request))
}
