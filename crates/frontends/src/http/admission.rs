//! Who may come in, and who it is, decided before a body is read (T1 to T5, decisions 24 and 31).

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, AUTHORIZATION,
    CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING, VARY,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode, Uri};
use manifold_config::{Cors, Secret};
use manifold_engine::{Principal, Requester};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use super::body::Body;
use super::headers::wants_websocket;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The samples of LiteMCP spell it so.
const AUTHENTICATION: HeaderName = HeaderName::from_static("authentication");

/// The rules by which requests are let in.
#[derive(Debug, Default)]
pub struct Admission {
    /// Names beside this machine's own under which we may be addressed.
    pub allowed_hosts: Vec<String>,
    /// Without any, whoever reaches us is let in.
    pub tokens: Vec<Token>,
    pub cors: Option<Cors>,
    /// Bound to an address other machines can reach; a token is set then.
    pub public: bool,
    /// Served over TLS.
    pub secure: bool,
}

/// A credential and what it makes of who brings it.
#[derive(Debug, Clone)]
pub struct Token {
    pub name: Arc<str>,
    pub secret: Secret,
    /// Until when it is good, if not for good.
    pub until: Option<Instant>,
}

/// Who was let in, and for how long that stands.
#[derive(Debug, Clone)]
pub(super) struct Admitted {
    pub(super) requester: Arc<Requester>,
    until: Option<Instant>,
}

impl Admitted {
    /// Lets somebody in to what is for all.
    pub(super) fn without_token(address: IpAddr) -> Self {
        Self { requester: Arc::new(Requester::new(Principal::Local, Some(address))), until: None }
    }

    /// Returns whether it still stands; else the request is to be judged again.
    pub(super) fn stands(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// Why a request does not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Host,
    Origin,
    CrossSite,
    Token,
    /// Its address has brought too many wrong tokens.
    Guessed,
    ContentType,
    Smuggled,
    Unbounded,
}

impl Refused {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin | Self::CrossSite => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Guessed => StatusCode::TOO_MANY_REQUESTS,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Smuggled | Self::Unbounded => StatusCode::BAD_REQUEST,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Host => "this Host is not allowed; name it in server.allowedHosts or --allowed-host",
            Self::Origin => "this Origin is not allowed; name it in server.cors.origins",
            Self::CrossSite => "cross-site requests are not allowed",
            Self::Token => "a valid token is needed: Authorization: Bearer <token>",
            Self::Guessed => "too many wrong tokens came from this address; try again in a second",
            Self::ContentType => "Content-Type must be application/json",
            Self::Smuggled => "one Host, one Origin, and either Content-Length or Transfer-Encoding",
            Self::Unbounded => "a body over HTTP/1.0 needs a Content-Length",
        }
    }
}

impl Admission {
    /// Returns who asks, or why it may not come in.
    pub(super) fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Admitted, Refused> {
        self.check_origin(method, uri, headers)?;
        let is_for_all = *method == Method::OPTIONS || uri.path() == "/health";
        let (principal, until) = match self.authenticate(headers) {
            Some(known) => known,
            None if is_for_all => (Principal::Local, None),
            None => return Err(Refused::Token),
        };
        if *method == Method::POST && !is_json(headers) {
            return Err(Refused::ContentType);
        }
        Ok(Admitted { requester: Arc::new(Requester::new(principal, Some(address))), until })
    }

    /// Returns the host that a request for the page is addressed to, where it is one of ours.
    pub(super) fn check_host<'h>(&self, head: &'h Parts) -> Result<&'h str, Refused> {
        self.check_origin(&head.method, &head.uri, &head.headers)?;
        let host = text(&head.headers, &HOST);
        host.or_else(|| head.uri.authority().map(|authority| authority.as_str())).ok_or(Refused::Host)
    }

    /// Returns who a page is, by its token.
    pub(super) fn admit_page(&self, headers: &HeaderMap, address: IpAddr) -> Option<Admitted> {
        let (principal, until) = self.authenticate(headers)?;
        Some(Admitted { requester: Arc::new(Requester::new(principal, Some(address))), until })
    }

    /// Checks that a request is meant for us and that no page of somebody else's sent it.
    fn check_origin(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        if headers.contains_key(CONTENT_LENGTH) && headers.contains_key(TRANSFER_ENCODING) {
            return Err(Refused::Smuggled);
        }
        // A second one would be judged by nobody.
        if headers.get_all(HOST).iter().count() > 1 || headers.get_all(ORIGIN).iter().count() > 1 {
            return Err(Refused::Smuggled);
        }
        if uri.authority().is_some_and(|authority| !self.knows_host(authority.as_str())) {
            return Err(Refused::Host);
        }
        let host = text(headers, &HOST).or_else(|| uri.authority().map(|authority| authority.as_str()));
        let host = host.unwrap_or("");
        if !self.knows_host(host) {
            return Err(Refused::Host);
        }
        if headers.get(ORIGIN).is_some() {
            let origin = text(headers, &ORIGIN).filter(|origin| self.knows_origin(origin));
            let origin = origin.ok_or(Refused::Origin)?;
            // What no preflight stands before, any page of this machine could open, and read (decision 24, L14).
            let is_open = is_readable_without_preflight(method, uri, headers);
            if is_open
                && !self.is_own(origin, host)
                && !self.cors.as_ref().is_some_and(|cors| self.may_read(cors, origin))
            {
                return Err(Refused::Origin);
            }
        }
        let from_elsewhere = headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site");
        if from_elsewhere && headers.get(ORIGIN).is_none() {
            return Err(Refused::CrossSite);
        }
        Ok(())
    }

    fn knows_host(&self, authority: &str) -> bool {
        let host = host_of(authority).unwrap_or("");
        let named =
            |allowed: &String| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(authority);
        if self.allowed_hosts.iter().any(named) {
            return true;
        }
        if self.public {
            // The token guards a public address; which names lead to it we cannot know.
            return self.allowed_hosts.is_empty() || is_loopback(host);
        }
        is_loopback(host)
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let local = |(scheme, authority): (&str, &str)| {
            matches!(scheme, "http" | "https") && host_of(authority).is_some_and(is_loopback)
        };
        if origin.split_once("://").is_some_and(local) {
            return true;
        }
        let Some(cors) = &self.cors else { return false };
        let any = cors.origins.iter().any(|allowed| allowed == "*");
        (any && !self.tokens.is_empty() && origin != "null")
            || cors.origins.iter().any(|allowed| allowed.trim_end_matches('/').eq_ignore_ascii_case(origin))
    }

    /// Returns whether an origin is the one that a request is addressed to.
    fn is_own(&self, origin: &str, host: &str) -> bool {
        let scheme = if self.secure { "https" } else { "http" };
        let usual = if self.secure { "443" } else { "80" };
        let place = |authority| {
            let host = host_of(authority)?;
            let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|_| !authority.ends_with(']'));
            Some((
                host.to_ascii_lowercase(),
                port.filter(|port| !port.is_empty()).unwrap_or(usual).to_owned(),
            ))
        };
        let named = origin.split_once("://").filter(|(named, _)| named.eq_ignore_ascii_case(scheme));
        named.is_some_and(|(_, authority)| place(authority).is_some_and(|ours| Some(ours) == place(host)))
    }

    /// Returns whether those who come in may be different principals. One token, or none, makes all of them one.
    pub(super) fn has_several_principals(&self) -> bool {
        self.tokens.len() > 1
    }

    /// Returns whether a request brings a credential, right or wrong.
    pub(super) fn is_guess(headers: &HeaderMap) -> bool {
        headers.contains_key(AUTHORIZATION) || headers.contains_key(AUTHENTICATION)
    }

    /// Returns who asks by the credential it brings, and until when that stands.
    fn authenticate(&self, headers: &HeaderMap) -> Option<(Principal, Option<Instant>)> {
        if self.tokens.is_empty() {
            return Some((Principal::Local, None));
        }
        let given = [AUTHORIZATION, AUTHENTICATION].map(|name| {
            let (scheme, token) = text(headers, &name)?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let is_given = |token: &&Token| {
            let same = |given: &str| bool::from(given.as_bytes().ct_eq(token.secret.expose().as_bytes()));
            token.until.is_none_or(|until| Instant::now() < until)
                && given.iter().flatten().any(|given| same(given))
        };
        let token = self.tokens.iter().find(is_given)?;
        Some((Principal::Token(Arc::clone(&token.name)), token.until))
    }

    /// Answers a preflight, or lets the browser read an answer, where CORS is configured.
    pub(super) fn add_cors(
        &self,
        origin: Option<&HeaderValue>,
        preflight: bool,
        response: &mut Response<Body>,
    ) {
        let (Some(cors), Some(origin)) = (&self.cors, origin) else { return };
        let known = origin.to_str().is_ok_and(|origin| self.may_read(cors, origin));
        let headers = response.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        if !known {
            return;
        }
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version"),
        );
        if cors.credentials {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        if preflight {
            let list = |items: &[String]| HeaderValue::from_str(&items.join(", ")).ok();
            if let Some(methods) = list(&cors.methods) {
                headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            }
            if let Some(allowed) = list(&cors.allowed_headers) {
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
            }
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }

    /// A loopback origin may always ask; its page may read the answer only where the config says so.
    fn may_read(&self, cors: &Cors, origin: &str) -> bool {
        let any = cors.origins.iter().any(|allowed| allowed == "*");
        let named =
            cors.origins.iter().any(|allowed| allowed.trim_end_matches('/').eq_ignore_ascii_case(origin));
        named || (any && self.knows_origin(origin))
    }
}

/// Returns whether a page could read the answer though no preflight asked us first: a WebSocket, or the old transport's
/// stream.
fn is_readable_without_preflight(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let first = || uri.path().trim_matches('/').split('/').next().unwrap_or("");
    wants_websocket(headers) || (*method == Method::GET && percent_decode_str(first()).eq("sse".bytes()))
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
}

/// Returns the host of an authority; `None` where anything but a port follows it.
fn host_of(authority: &str) -> Option<&str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = if rest.is_empty() { rest } else { rest.strip_prefix(':')? };
    port.bytes().all(|byte| byte.is_ascii_digit()).then_some(host)
}

/// Returns whether a host name or address means this machine alone.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
