//! Where a browser comes back to that signed in to one of our servers: at our own address, where the config says what that
//! is. It brings no token of ours; what it is worth is for whoever waits for it to judge. Nothing of it is shown again.

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use manifold_engine::BoxFuture;

use super::body::Body;

/// Where browsers come back to; each login may have a place of its own below.
pub const CALLBACK: &str = "/oauth/callback";

/// Takes what browsers come back with.
pub trait Callbacks: Send + Sync {
    /// Takes the query of a request for a path; `None`: nobody waits there.
    fn take(&self, path: &str, query: &str) -> BoxFuture<Option<Page>>;
}

/// What the browser is shown.
pub struct Page {
    pub status: u16,
    pub html: String,
}

/// Returns whether a path is one that browsers come back to.
pub(super) fn is_callback(path: &str) -> bool {
    path.strip_prefix(CALLBACK).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Answers a browser that came back; none where nobody waits for one.
pub(super) async fn answer(head: &Parts, callbacks: &dyn Callbacks) -> Option<Response<Body>> {
    let query = head.uri.query()?;
    let page = callbacks.take(head.uri.path(), query).await?;
    let mut response = Response::new(Body::whole(Bytes::from(page.html)));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::BAD_REQUEST);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}
