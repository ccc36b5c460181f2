//! From a request line to what answers it.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderValue, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use manifold_protocol::{Fault, Raw, RawObject, envelope};
use tracing::debug;

use super::admission::{Accepting, Admission, Admitted, Entry, Refused, WELL_KNOWN};
use super::answers::{bare, json, overloaded, problem};
use super::body::{Body, Unread};
use super::endpoint::segments;
use super::peer::{Origin, Peer};
use super::shared::Shared;
use super::{callback, for_replicas, json_api, legacy_sse, litemcp, metadata, page, status, streamable};
use crate::replica::SERVERS;

const ENDPOINTS: [&str; 11] = [
    "GET /health",
    "GET /api/status",
    "POST /api/{schema}/mcp",
    "POST /mcp",
    "POST /mcp/{namespace}",
    "GET /sse",
    "GET /sse/{namespace}",
    "POST /messages?sessionId={id}",
    "GET /litemcp/{namespace} (WebSocket)",
    "GET /litemcp/{namespace}/{tool}",
    "POST /litemcp/{namespace}/{tool}",
];

/// Judges a head: returns who asks, or the answer where it is not let in or needs nothing but its head. Only a token that
/// has to be checked elsewhere takes any time.
pub(super) fn admit(head: &Parts, peer: &Peer, shared: &Shared) -> Result<Entry, Box<Response<Body>>> {
    if let Some(page) = page::wanted(head, shared) {
        return page::admit(head, page, peer, shared).map(Entry::In);
    }
    if let Some(entry) = for_replicas::admit(head, peer, shared) {
        return Ok(entry);
    }
    // Its body would be taken for the next request (T31).
    let unbounded = head.version == Version::HTTP_10
        && head.method == Method::POST
        && !head.headers.contains_key(CONTENT_LENGTH);
    let judged = match unbounded {
        true => Err(Refused::Unbounded),
        false => shared.site.admission.admit(&head.method, &head.uri, &head.headers, peer.comer()),
    };
    let mut response = match judged {
        Err(refused) => refusal(head, refused, peer, shared),
        Ok(_) if head.method == Method::OPTIONS => bare(StatusCode::NO_CONTENT),
        Ok(entry) => return Ok(entry),
    };
    finish(head, &mut response, shared);
    Err(Box::new(response))
}

/// Finds out whether a token is good, and whose.
pub(super) async fn verify(
    head: &Parts,
    entering: Accepting,
    peer: &Peer,
    shared: &Shared,
) -> Result<Admitted, Box<Response<Body>>> {
    let refused = match Admission::verify(entering, head.uri.path(), peer.comer()).await {
        Ok(admitted) => return Ok(admitted),
        Err(refused) => refused,
    };
    let mut response = refusal(head, refused, peer, shared);
    finish(head, &mut response, shared);
    Err(Box::new(response))
}

fn refusal(head: &Parts, mut refused: Refused, peer: &Peer, shared: &Shared) -> Response<Body> {
    // Balancers have no token and know us by an address; looked for here, they cost others nothing.
    if let Some(mut response) = status::probe(&head.method, head.uri.path(), &shared.site) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    // Only who fails is counted: a right token is never made to wait (L17).
    let is_wrong = match refused {
        Refused::Token => Admission::is_guess(&head.headers),
        refused => refused == Refused::WrongToken,
    };
    if is_wrong && !shared.token_failures.may_fail(peer.address) {
        refused = Refused::Guessed;
    }
    let mut response = problem(refused.status(), refused.message());
    match refused {
        Refused::Token
        | Refused::InvalidToken
        | Refused::WrongToken
        | Refused::Scope
        | Refused::TokenElsewhere => {
            let challenge = shared.site.admission.challenge(head, refused);
            let challenge = HeaderValue::from_str(&challenge);
            let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        Refused::Unavailable => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        Refused::Guessed => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    debug!(method = %head.method, path = head.uri.path(), why = refused.message(), "not admitted");
    // The body was not read; what is left of it must not be taken for the next request.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Answers a request that was let in.
pub(super) async fn answer(
    head: &Parts,
    body: Result<Bytes, Unread>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    if let (Some(page), Ok(body)) = (page::wanted(head, shared), &body) {
        return page::answer(head, page, body.clone()).await;
    }
    let mut response = match body {
        Ok(body) => dispatch(head, body, origin, shared).await,
        Err(why) => unread(why, shared),
    };
    finish(head, &mut response, shared);
    response
}

fn finish(head: &Parts, response: &mut Response<Body>, shared: &Shared) {
    shared.site.admission.add_cors(head.headers.get(ORIGIN), head.method == Method::OPTIONS, response);
    debug!(method = %head.method, path = head.uri.path(), status = response.status().as_u16(), "request");
}

async fn dispatch(head: &Parts, body: Bytes, origin: Origin<'_>, shared: &Arc<Shared>) -> Response<Body> {
    let path = head.uri.path();
    // The way that nearly all take.
    if path == "/mcp" {
        return streamable::answer(head, body, None, origin, shared).await;
    }
    if path.starts_with(WELL_KNOWN)
        && matches!(head.method, Method::GET | Method::HEAD)
        && let Some(response) = metadata::document(head, &shared.site)
    {
        return response;
    }
    if callback::is_callback(path)
        && head.method == Method::GET
        && let Some(callbacks) = &shared.site.callbacks
        && let Some(response) = callback::answer(head, &**callbacks).await
    {
        return response;
    }
    if path.starts_with(SERVERS)
        && let Some(response) = for_replicas::answer(head, body.clone(), origin, shared).await
    {
        return response;
    }
    let segments = segments(path);
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    match (segments.as_slice(), &head.method) {
        (["health"], &Method::GET | &Method::HEAD) => status::health(&shared.site),
        (["livez" | "readyz"], method) => status::probe(method, path, &shared.site)
            .unwrap_or_else(|| endpoints(StatusCode::METHOD_NOT_ALLOWED, Some("Method not allowed"))),
        (["api", "status"], &Method::GET | &Method::HEAD) => status::status(&shared.site, origin.requester),
        (["api", namespace, "mcp"], &Method::POST) => {
            json_api::call(head, body, namespace, origin, shared).await
        }
        (["mcp"], _) => streamable::answer(head, body, None, origin, shared).await,
        (["mcp", namespace], _) => streamable::answer(head, body, Some(namespace), origin, shared).await,
        (["sse"], &Method::GET) => legacy_sse::open(head, None, origin, shared),
        (["sse", namespace], &Method::GET) => legacy_sse::open(head, Some(namespace), origin, shared),
        (["messages"], &Method::POST) => legacy_sse::post(head, body, origin, shared),
        (["litemcp", namespace], &Method::GET | &Method::POST) => {
            litemcp::answer(head, body, namespace, None, origin, shared).await
        }
        (["litemcp", namespace, tool], &Method::GET | &Method::POST) => {
            litemcp::answer(head, body, namespace, Some(tool), origin, shared).await
        }
        ([""], &Method::GET) => endpoints(StatusCode::OK, None),
        (["health"] | ["api", "status"] | ["api", _, "mcp"] | ["sse"] | ["sse", _] | ["messages"], _)
        | (["litemcp", _] | ["litemcp", _, _], _) => {
            endpoints(StatusCode::METHOD_NOT_ALLOWED, Some("Method not allowed"))
        }
        _ => endpoints(StatusCode::NOT_FOUND, Some("Not found")),
    }
}

/// Says what there is.
fn endpoints(status: StatusCode, error: Option<&str>) -> Response<Body> {
    let mut body = RawObject::default();
    if let Some(error) = error {
        body.set("error", Raw::string(error));
    }
    body.set("availableEndpoints", Raw::serialize(&ENDPOINTS));
    json(status, body.into_raw().bytes())
}

/// Answers a body that was not read.
fn unread(why: Unread, shared: &Shared) -> Response<Body> {
    let mut response = match why {
        Unread::TooLarge => {
            let fault = Fault::TooLarge { server: None, limit_bytes: shared.site.limit_bytes };
            let error = envelope::error(None, &fault.to_error(shared.site.codes));
            json(StatusCode::PAYLOAD_TOO_LARGE, error)
        }
        Unread::Overloaded => overloaded(shared.site.budget.limit_bytes(), shared.site.codes),
        Unread::Stalled => problem(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
        Unread::Broken => problem(StatusCode::BAD_REQUEST, "the body could not be read"),
    };
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
