//! Where tokens for our addresses come from, for clients that have none yet (RFC 9728).

use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use super::admission::WELL_KNOWN;
use super::answers::json;
use super::body::Body;
use super::endpoint::Endpoint;
use super::site::Site;

/// Returns the document that a request is for, if its address is protected.
pub(super) fn document(head: &Parts, site: &Site) -> Option<Response<Body>> {
    let path = head.uri.path().strip_prefix(WELL_KNOWN)?.trim_end_matches('/');
    let accepted = site.admission.accepted();
    let protection = accepted.protection.as_ref()?;
    let served = site.namespaces.served();
    let described = match path {
        // The root is nobody's where there are several.
        "" => (served.config.namespaces.len() <= 1).then_some("/mcp")?,
        // What only begins like it is another address.
        _ if !path.starts_with('/') => return None,
        // Whoever is refused there is sent here, and hears which namespaces there are once it is let in.
        _ => Endpoint::described(path).filter(|described| *described == path)?,
    };
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| head.uri.authority().map(|authority| authority.as_str()));
    let mut response = json(StatusCode::OK, protection.document(described, host).bytes());
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(response)
}
