//! Answers that need nothing but words: problems, refusals, and the heads of others.

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use manifold_protocol::{CodeSet, Fault, Outgoing, Raw, RawObject, envelope};
use tracing::debug;

use super::body::Body;
use super::stream::EventBody;

/// Makes a JSON response.
pub(super) fn json(status: StatusCode, body: impl Into<Outgoing>) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    response
}

/// Makes a response that is its status.
pub(super) fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Answers with a problem of HTTP's own.
pub(super) fn problem(status: StatusCode, what: &str) -> Response<Body> {
    let mut body = RawObject::default();
    body.set("error", Raw::string(what));
    json(status, body.into_raw().bytes())
}

/// Answers with one word.
pub(super) fn word(status: StatusCode, word: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::from_static(word.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers a client that has as much open as it may.
pub(super) fn over_limit(fault: &Fault, codes: CodeSet) -> Response<Body> {
    debug!(fault = fault.message(), "answered with 429");
    busy(envelope::error(None, &fault.to_error(codes)), fault.retry_after_secs().unwrap_or(1))
}

/// Answers that the same may be asked again after so many seconds.
pub(super) fn busy(answer: impl Into<Outgoing>, retry_after_secs: u64) -> Response<Body> {
    let mut response = json(StatusCode::TOO_MANY_REQUESTS, answer);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after_secs));
    response
}

/// Answers that too much is under way already.
pub(super) fn overloaded(limit_bytes: usize, codes: CodeSet) -> Response<Body> {
    let fault = Fault::Overloaded { limit_bytes };
    let error = envelope::error(None, &fault.to_error(codes));
    let mut response = json(StatusCode::SERVICE_UNAVAILABLE, error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Answers with the events of a session's stream.
pub(super) fn events(body: EventBody) -> Response<Body> {
    streaming(Body::events(body))
}

/// Makes a response that is a stream, and stays one through every proxy.
pub(super) fn streaming(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
