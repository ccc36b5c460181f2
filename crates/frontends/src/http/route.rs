//! From a request line to what answers it.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderValue, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode, Version};
use manifold_protocol::{Fault, Raw, RawObject, envelope};
use percent_encoding::percent_decode_str;
use tracing::debug;

use super::body::{Body, Unread, bare, json};
use super::door::Refused;
use super::{Shared, json_api, legacy_sse, litemcp, status, streamable};

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

/// Answers one request.
pub(super) async fn answer(request: Request<Incoming>, shared: &Arc<Shared>) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let origin = request.headers().get(ORIGIN).cloned();
    let door = &shared.site.door;
    // Its body would be taken for the next request (T31).
    let unbounded = request.version() == Version::HTTP_10
        && method == Method::POST
        && !request.headers().contains_key(CONTENT_LENGTH);
    let refused = unbounded.then_some(Refused::Unbounded);
    let mut response = match refused.or_else(|| door.refuses(&method, request.uri(), request.headers())) {
        Some(refused) => {
            debug!(%method, path, why = refused.message(), "refused at the door");
            let mut response = problem(refused.status(), refused.message());
            if refused.status() == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // The body was not read; what is left of it must not be taken for the next request.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        }
        None if method == Method::OPTIONS => bare(StatusCode::NO_CONTENT),
        None => dispatch(request, shared).await,
    };
    door.add_cors(origin.as_ref(), method == Method::OPTIONS, &mut response);
    debug!(%method, path, status = response.status().as_u16(), "request");
    response
}

async fn dispatch(request: Request<Incoming>, shared: &Arc<Shared>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    // Cut before decoding: an escaped slash is part of a name.
    let decode = |segment| percent_decode_str(segment).decode_utf8_lossy();
    let segments: Vec<Cow<'_, str>> = path.trim_matches('/').split('/').map(decode).collect();
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    let method = request.method().clone();
    match (segments.as_slice(), &method) {
        (["health"], &Method::GET | &Method::HEAD) => status::health(&shared.site),
        (["api", "status"], &Method::GET | &Method::HEAD) => status::status(&shared.site),
        (["api", namespace, "mcp"], &Method::POST) => json_api::call(request, namespace, shared).await,
        (["mcp"], _) => streamable::answer(request, None, shared).await,
        (["mcp", namespace], _) => streamable::answer(request, Some(namespace), shared).await,
        (["sse"], &Method::GET) => legacy_sse::open(None, shared),
        (["sse", namespace], &Method::GET) => legacy_sse::open(Some(namespace), shared),
        (["messages"], &Method::POST) => legacy_sse::post(request, shared).await,
        (["litemcp", namespace], &Method::GET | &Method::POST) => {
            litemcp::answer(request, namespace, None, shared).await
        }
        (["litemcp", namespace, tool], &Method::GET | &Method::POST) => {
            litemcp::answer(request, namespace, Some(tool), shared).await
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

/// Answers with a problem of HTTP's own.
pub(super) fn problem(status: StatusCode, what: &str) -> Response<Body> {
    let mut body = RawObject::default();
    body.set("error", Raw::string(what));
    json(status, body.into_raw().bytes())
}

/// Answers a body that was not read.
pub(super) fn unread(why: Unread, shared: &Shared) -> Response<Body> {
    let mut response = match why {
        Unread::TooLarge => {
            let fault = Fault::TooLarge { server: None, limit_bytes: shared.site.limit_bytes };
            let error = envelope::error(None, &fault.to_error(shared.site.codes));
            json(StatusCode::PAYLOAD_TOO_LARGE, error)
        }
        Unread::Overloaded => {
            let fault = Fault::Overloaded { limit_bytes: shared.site.budget.limit_bytes() };
            let error = envelope::error(None, &fault.to_error(shared.site.codes));
            let mut response = json(StatusCode::SERVICE_UNAVAILABLE, error);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        Unread::Stalled => problem(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
        Unread::Broken => problem(StatusCode::BAD_REQUEST, "the body could not be read"),
    };
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
