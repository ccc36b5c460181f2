//! The page's own files. They hold nothing of anybody's, so that no token is needed for them; what they may do in a browser
//! is said with each.

use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use manifold_dashboard::{Asset, asset, file};

use super::super::answer::Answer;

/// Scripts of ours alone, no text made into markup, nothing sent or fetched elsewhere, nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

/// Returns whether a path is for the page's files.
pub(in crate::admin) fn is_ui(path: &str) -> bool {
    path == "/" || path == "/ui" || path.starts_with("/ui/")
}

/// Answers with a file, from a folder where one is given.
pub(in crate::admin) fn answer(head: &Parts, dev: Option<&Path>) -> Answer {
    let mut answer = found(head, dev);
    let headers = answer.headers_mut();
    let mut set = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    answer
}

fn found(head: &Parts, dev: Option<&Path>) -> Answer {
    let path = head.uri.path();
    if head.method != Method::GET && head.method != Method::HEAD {
        let mut answer = bare(StatusCode::METHOD_NOT_ALLOWED);
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    if matches!(path, "/" | "/ui") {
        let mut answer = bare(StatusCode::TEMPORARY_REDIRECT);
        answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/ui/"));
        return answer;
    }
    match (asset(path), dev) {
        (Some(_), Some(folder)) => from_folder(path, folder),
        (Some(asset), None) => embedded(head, asset),
        (None, _) => bare(StatusCode::NOT_FOUND),
    }
}

fn embedded(head: &Parts, asset: Asset) -> Answer {
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_known = header(IF_NONE_MATCH).split(',').any(|tag| tag.trim() == asset.etag);
    let is_packed = header(ACCEPT_ENCODING).split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00"))
    });
    let mut answer = match (is_known, is_packed) {
        (true, _) => bare(StatusCode::NOT_MODIFIED),
        (false, true) => whole(asset.gzip),
        (false, false) => whole(asset.bytes),
    };
    let headers = answer.headers_mut();
    if !is_known {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
        if is_packed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(ETAG, HeaderValue::from_static(asset.etag));
    // A file that is asked for by its own hash is never another one.
    let version = head.uri.query().and_then(|query| query.strip_prefix("v="));
    let lasts = version.is_some_and(|version| version == asset.etag.trim_matches('"'));
    let caching = if lasts { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    answer
}

/// Reads a file anew each time, for those who work on it.
fn from_folder(path: &str, folder: &Path) -> Answer {
    let read = file(path).and_then(|(name, kind)| Some((std::fs::read(folder.join(name)).ok()?, kind)));
    let Some((bytes, kind)) = read else { return bare(StatusCode::NOT_FOUND) };
    let mut answer = Response::new(Full::new(Bytes::from(bytes)).boxed_unsync());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn whole(bytes: &'static [u8]) -> Answer {
    Response::new(Full::new(Bytes::from_static(bytes)).boxed_unsync())
}

fn bare(status: StatusCode) -> Answer {
    let mut answer = whole(b"");
    *answer.status_mut() = status;
    answer
}
