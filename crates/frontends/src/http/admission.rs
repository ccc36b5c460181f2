//! Who may come in, and who it is, decided before a body is read (T1 to T5, decisions 24 and 31).

mod credentials;
mod protection;
mod refused;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, AUTHORIZATION,
    CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING, VARY,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, Uri};
use manifold_config::Cors;
use manifold_engine::{Principal, Requester};
use manifold_oauth::door::Unverified;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::debug;

use super::body::Body;
use super::callback::is_callback;
use super::endpoint::segments;
use super::headers::wants_websocket;
pub(super) use credentials::AUTHENTICATION;
pub use credentials::{Accepted, Token, Until};
use credentials::{Brought, Known, brought};
pub use protection::Protection;
pub(super) use protection::WELL_KNOWN;
pub(super) use refused::Refused;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rules by which requests are let in.
#[derive(Debug, Default)]
pub struct Admission {
    /// Names beside this machine's own under which we may be addressed.
    pub(super) allowed_hosts: Vec<String>,
    pub(super) cors: Option<Cors>,
    /// Bound to an address other machines can reach; something lets in there, or nobody comes.
    pub(super) public: bool,
    /// Served over TLS.
    pub(super) secure: bool,
    accepted: ArcSwap<Accepted>,
    /// Counts how often that was replaced.
    generation: AtomicU64,
    /// Tells those who have something open.
    changed: watch::Sender<()>,
}

/// Who was let in, and for how long that stands.
#[derive(Debug, Clone)]
pub(super) struct Admitted {
    pub(super) requester: Arc<Requester>,
    /// Then it is to be judged again.
    until: Option<Until>,
    /// Then its credential is over, whatever else is known.
    expires: Option<Until>,
    generation: u64,
}

impl Admitted {
    /// Lets somebody in to what is for all.
    pub(super) fn without_token(address: IpAddr) -> Self {
        Self {
            requester: Arc::new(Requester::new(Principal::Local, Some(address))),
            until: None,
            expires: None,
            generation: 0,
        }
    }

    /// Returns for how long it stands if what lets in stays as it is; `None`: for as long as one likes.
    pub(super) fn lasts(&self) -> Option<Duration> {
        self.until.map(Until::left)
    }

    /// Lets it stand a while longer, if its credential is not over. Returns whether it does.
    pub(super) fn put_off(&mut self, time: Duration) -> bool {
        let left = self.expires.map_or(time, Until::left);
        self.until = Some(Until::At(Instant::now() + time.min(left)));
        !left.is_zero()
    }

    /// Returns whether it still stands; else the request is to be judged again.
    pub(super) fn stands(&self, admission: &Admission) -> bool {
        self.generation == admission.generation.load(Ordering::Relaxed)
            && self.until.is_none_or(|until| !until.is_past())
    }
}

/// What is known of a request by its head.
#[derive(Debug)]
pub(super) enum Entry {
    In(Admitted),
    /// It brings a token that has to be checked first.
    Unverified(Accepting),
}

/// A token that is not known yet, and what was accepted when it came.
pub(super) struct Accepting {
    accepted: Arc<Accepted>,
    generation: u64,
    token: String,
    is_forwarded: bool,
}

impl fmt::Debug for Accepting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Accepting(***)")
    }
}

/// Who comes: where from, and by which certificate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comer<'c> {
    pub(super) address: IpAddr,
    pub(super) certificate: Option<&'c Arc<str>>,
    /// Somebody stands between, and says so.
    pub(super) is_forwarded: bool,
}

impl Admission {
    /// Lets in whoever asks on this machine, by the names and for the pages that are named.
    pub fn new(allowed_hosts: Vec<String>, cors: Option<Cors>) -> Self {
        Self { allowed_hosts, cors, ..Self::default() }
    }

    /// Says whether other machines can come.
    #[must_use]
    pub fn public(self, public: bool) -> Self {
        Self { public, ..self }
    }

    /// Says whether they come over TLS.
    #[must_use]
    pub fn secure(self, secure: bool) -> Self {
        Self { secure, ..self }
    }

    /// Lets in by this from now on, and by nothing else.
    pub fn accept(&self, accepted: Accepted) {
        self.accepted.store(Arc::new(accepted));
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.changed.send_replace(());
    }

    /// Returns where changes of what lets in are seen.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns one that lets in by this.
    #[must_use]
    pub fn accepting(self, accepted: Accepted) -> Self {
        self.accept(accepted);
        self
    }

    /// Returns whether whoever comes must show something.
    pub fn needs_token(&self) -> bool {
        self.accepted.load().is_closed()
    }

    pub(super) fn accepted(&self) -> Arc<Accepted> {
        self.accepted.load_full()
    }

    /// Returns who asks, or why it may not come in.
    pub(super) fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        comer: Comer<'_>,
    ) -> Result<Entry, Refused> {
        let path = uri.path();
        let is_forwarded = comer.address.to_canonical().is_loopback() && is_passed_on(headers);
        let comer = Comer { is_forwarded, ..comer };
        let is_metadata = path.starts_with(WELL_KNOWN) && matches!(*method, Method::GET | Method::OPTIONS);
        // Whoever somebody signed in at sends the browser there.
        let is_callback = is_callback(path) && *method == Method::GET;
        match is_metadata || is_callback {
            // For every page of every origin: it says where tokens come from, and nothing else.
            true => self.check_address(uri, headers).map(drop)?,
            false => self.check_origin(method, uri, headers)?,
        }
        let is_for_all = *method == Method::OPTIONS || path == "/health" || is_metadata || is_callback;
        // Read before what is accepted: what is replaced meanwhile is asked again.
        let generation = self.generation.load(Ordering::Relaxed);
        let accepted = self.accepted.load();
        let known = match authenticate(&accepted, uri.query(), headers, comer) {
            Ok(Judged::Known(known)) => known,
            Ok(Judged::Unverified(token)) if !is_for_all => {
                let accepted = Arc::clone(&accepted);
                return match *method == Method::POST && !is_json(headers) {
                    true => Err(Refused::ContentType),
                    false => Ok(Entry::Unverified(Accepting {
                        accepted,
                        generation,
                        token: token.to_owned(),
                        is_forwarded,
                    })),
                };
            }
            Ok(Judged::Unverified(_)) | Err(_) if is_for_all => nobody(),
            Ok(Judged::Unverified(_)) => return Err(Refused::Token),
            Err(refused) => return Err(refused),
        };
        if *method == Method::POST && !is_json(headers) {
            return Err(Refused::ContentType);
        }
        Ok(Entry::In(admitted(known, comer, generation)))
    }

    /// Checks a token that is not known yet.
    pub(super) async fn verify(
        entering: Accepting,
        path: &str,
        comer: Comer<'_>,
    ) -> Result<Admitted, Refused> {
        let Accepting { accepted, generation, token, is_forwarded } = entering;
        let comer = Comer { is_forwarded, ..comer };
        let Some(protection) = &accepted.protection else { return Err(Refused::Token) };
        let verified = protection.verifier().verify(&token).await.map_err(|why| match why {
            Unverified::Invalid(why) => {
                debug!(why, "a token was refused");
                Refused::InvalidToken
            }
            Unverified::Wrong(why) => {
                debug!(why, "a token was refused");
                Refused::WrongToken
            }
            Unverified::Unavailable => Refused::Unavailable,
        })?;
        Ok(admitted(protection.known(&verified, path)?, comer, generation))
    }

    /// Judges once more what let somebody in who has something open.
    pub(super) async fn admit_again(
        &self,
        credential: &HeaderMap,
        path: &str,
        comer: Comer<'_>,
    ) -> Result<Admitted, Refused> {
        let generation = self.generation.load(Ordering::Relaxed);
        let accepted = self.accepted.load_full();
        let entering = match authenticate(&accepted, None, credential, comer)? {
            Judged::Known(known) => return Ok(admitted(known, comer, generation)),
            Judged::Unverified(token) => token.to_owned(),
        };
        let entering = Accepting { accepted, generation, token: entering, is_forwarded: comer.is_forwarded };
        Self::verify(entering, path, comer).await
    }

    /// Returns what to say to those who are refused for their token.
    pub(super) fn challenge(&self, head: &Parts, refused: Refused) -> String {
        let error = match refused {
            Refused::InvalidToken | Refused::WrongToken => Some("invalid_token"),
            Refused::Token if has_bearer(&head.headers) => Some("invalid_token"),
            Refused::Scope => Some("insufficient_scope"),
            Refused::TokenElsewhere => Some("invalid_request"),
            _ => None,
        };
        match &self.accepted.load().protection {
            Some(protection) => protection.challenge(head.uri.path(), asked_host(head), error, None),
            // Without a word of where tokens come from: a client would begin a dance that cannot end.
            None if refused == Refused::TokenElsewhere => "Bearer error=\"invalid_request\"".to_owned(),
            None => "Bearer".to_owned(),
        }
    }

    /// Returns what to say to those who need further scopes.
    pub(super) fn scope_challenge(&self, head: &Parts, scopes: &[Arc<str>]) -> Option<String> {
        let accepted = self.accepted.load();
        let protection = accepted.protection.as_ref()?;
        Some(protection.challenge(
            head.uri.path(),
            asked_host(head),
            Some("insufficient_scope"),
            Some(scopes),
        ))
    }

    /// Returns the host that a request for the page is addressed to, where it is one of ours.
    pub(super) fn check_host<'h>(&self, head: &'h Parts) -> Result<&'h str, Refused> {
        self.check_origin(&head.method, &head.uri, &head.headers)?;
        let host = text(&head.headers, &HOST);
        host.or_else(|| head.uri.authority().map(|authority| authority.as_str())).ok_or(Refused::Host)
    }

    /// Returns who a page is, by a token that an operator has.
    pub(super) fn admit_page(&self, headers: &HeaderMap, address: IpAddr) -> Option<Admitted> {
        let generation = self.generation.load(Ordering::Relaxed);
        let Brought::Bearer(given) = brought(headers) else { return None };
        let known = self.accepted.load().by_token(&given).filter(|known| known.is_operators)?;
        Some(admitted(known, Comer { address, certificate: None, is_forwarded: false }, generation))
    }

    /// Lets in another gateway, which has judged whoever asks.
    pub(super) fn admit_gateway(&self, address: IpAddr) -> Admitted {
        let generation = self.generation.load(Ordering::Relaxed);
        admitted(
            Known { principal: Principal::Gateway, ..nobody() },
            Comer { address, certificate: None, is_forwarded: false },
            generation,
        )
    }

    /// Returns whether there is a token that lets a page in.
    pub(super) fn has_operators_token(&self) -> bool {
        self.accepted.load().tokens.iter().any(|token| token.is_operators)
    }

    /// Checks that a request is meant for us and that no page of somebody else's sent it.
    fn check_origin(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let host = self.check_address(uri, headers)?;
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

    /// Checks that a request is meant for us, and can be read in one way only. Returns the host it is meant for.
    fn check_address<'h>(&self, uri: &'h Uri, headers: &'h HeaderMap) -> Result<&'h str, Refused> {
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
        match self.knows_host(host) {
            true => Ok(host),
            false => Err(Refused::Host),
        }
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
        (any && self.accepted.load().is_closed() && origin != "null")
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
        self.accepted.load().has_several_principals()
    }

    /// Returns whether a request brings a credential, right or wrong.
    pub(super) fn is_guess(headers: &HeaderMap) -> bool {
        headers.contains_key(AUTHORIZATION) || headers.contains_key(AUTHENTICATION)
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

/// What can be said of a request by what it brings.
enum Judged<'h> {
    Known(Known),
    Unverified(&'h str),
}

/// Returns who asks by the credential it brings.
fn authenticate<'h>(
    accepted: &Accepted,
    query: Option<&str>,
    headers: &'h HeaderMap,
    comer: Comer<'_>,
) -> Result<Judged<'h>, Refused> {
    if !accepted.is_closed() {
        return Ok(Judged::Known(nobody()));
    }
    // One in an address ends up in logs and histories (RFC 6750, 5.3).
    let has_in_query = |query: &str| query.split('&').any(|pair| pair.starts_with("access_token="));
    if query.is_some_and(has_in_query) {
        return Err(Refused::TokenElsewhere);
    }
    let given = match brought(headers) {
        Brought::Several => return Err(Refused::TokenElsewhere),
        Brought::Bearer(given) => given,
        Brought::Nothing => {
            let certificate = comer.certificate.filter(|_| accepted.certificates).ok_or(Refused::Token)?;
            let principal = Principal::Certificate(Arc::clone(certificate));
            return Ok(Judged::Known(Known { principal, ..nobody() }));
        }
    };
    if let Some(known) = accepted.by_token(&given) {
        return Ok(Judged::Known(known));
    }
    match given.into_iter().flatten().next().filter(|_| accepted.protection.is_some()) {
        Some(token) => Ok(Judged::Unverified(token)),
        None => Err(Refused::Token),
    }
}

fn nobody() -> Known {
    Known { principal: Principal::Local, until: None, expires: None, grants: None, is_operators: false }
}

fn admitted(known: Known, comer: Comer<'_>, generation: u64) -> Admitted {
    let requester = Requester::granted(known.principal, Some(comer.address), known.grants);
    let requester = requester.forwarded(comer.is_forwarded);
    Admitted { requester: Arc::new(requester), until: known.until, expires: known.expires, generation }
}

/// Returns whether a request says that somebody has passed it on: it may come from anywhere.
fn is_passed_on(headers: &HeaderMap) -> bool {
    let names = |name: &HeaderName| {
        matches!(name.as_str(), "forwarded" | "via" | "x-real-ip")
            || name.as_str().starts_with("x-forwarded-")
    };
    headers.keys().any(names)
}

/// Returns the host that a request is addressed to.
fn asked_host(head: &Parts) -> Option<&str> {
    text(&head.headers, &HOST).or_else(|| head.uri.authority().map(|authority| authority.as_str()))
}

/// Returns whether a token is brought, right or wrong.
fn has_bearer(headers: &HeaderMap) -> bool {
    match brought(headers) {
        Brought::Bearer(tokens) => tokens.iter().any(Option::is_some),
        Brought::Several => true,
        Brought::Nothing => false,
    }
}

/// Returns whether a page could read the answer though no preflight asked us first: a WebSocket, or the old transport's
/// stream.
fn is_readable_without_preflight(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    wants_websocket(headers)
        || (*method == Method::GET && segments(uri.path()).first().is_some_and(|first| first == "sse"))
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
