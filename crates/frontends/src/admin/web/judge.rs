//! What a request over TCP must look like, judged by its head: no body is read of one that is refused. Any page of any site
//! can have a browser send requests here; none of theirs has our origin, our word in `Sec-Fetch-Site` and our token at once.

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use manifold_admin::{CommandError, ErrorCode};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Where a door is, as those name it who come to it.
#[derive(Debug, Clone)]
pub(super) struct Own {
    scheme: &'static str,
    /// With their port. Empty: whatever the door before this one has let through.
    hosts: Vec<String>,
}

impl Own {
    /// Returns the names of a port of this machine.
    pub(super) fn at(port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).to_vec();
        Self { scheme: "http", hosts }
    }

    /// Checks that a request is meant for us.
    pub(super) fn check_host<'h>(&self, head: &'h Parts) -> Result<&'h str, CommandError> {
        let host = one(head, &HOST)?.or_else(|| head.uri.authority().map(|authority| authority.as_str()));
        let is_ours = |host: &str| self.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host));
        let named = head.uri.authority().is_none_or(|authority| is_ours(authority.as_str()));
        host.filter(|host| named && is_ours(host)).ok_or_else(|| {
            denied("this Host is not the page's; its address is what `manifold open --print` says")
        })
    }

    /// Checks that a request for `/v1` is meant for us, is none of another page's, and says what its body is.
    pub(super) fn check(&self, head: &Parts, has_body: bool) -> Result<(), CommandError> {
        let host = self.check_host(head)?;
        check_page(head, self.scheme, host, has_body)
    }
}

/// Checks that no page but ours has sent a request that came to this host, and that it says what its body is.
pub(in crate::admin) fn check_page(
    head: &Parts,
    scheme: &str,
    host: &str,
    has_body: bool,
) -> Result<(), CommandError> {
    if let Some(origin) = one(head, &ORIGIN)? {
        let is_ours = origin
            .split_once("://")
            .is_some_and(|(named, at)| named == scheme && at.eq_ignore_ascii_case(host));
        if !is_ours {
            return Err(denied("this Origin is not the page's own"));
        }
    }
    if !matches!(one(head, &SEC_FETCH_SITE)?, None | Some("same-origin" | "none")) {
        return Err(denied("a request of another site is not answered"));
    }
    if has_body && !is_json(head) {
        let message = "a body must be JSON, with `Content-Type: application/json`";
        return Err(CommandError::new(ErrorCode::BadRequest, message));
    }
    Ok(())
}

/// Returns the token that a request brings.
pub(in crate::admin) fn bearer(head: &Parts) -> Result<Option<&str>, CommandError> {
    let token = one(head, &AUTHORIZATION)?.and_then(|given| given.split_once(' '));
    Ok(token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim()))
}

/// Returns a header. A second one would be judged by nobody, nor would one that is no text.
fn one<'h>(head: &'h Parts, name: &HeaderName) -> Result<Option<&'h str>, CommandError> {
    let mut all = head.headers.get_all(name).iter();
    let Some(first) = all.next() else { return Ok(None) };
    match (first.to_str(), all.next()) {
        (Ok(first), None) => Ok(Some(first)),
        _ => Err(denied(&format!("`{name}` must be there once, and be plain"))),
    }
}

fn is_json(head: &Parts) -> bool {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

fn denied(message: &str) -> CommandError {
    CommandError::new(ErrorCode::Denied, message)
}
