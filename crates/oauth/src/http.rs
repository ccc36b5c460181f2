//! The HTTP this crate needs, as a trait: what to send, and everything an implementation must respect.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use thiserror::Error;

use crate::address::Reach;
use crate::secret::Secret;
use crate::url::Url;

/// A future that can be sent to another thread and is told apart by nobody.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The longest metadata document that is read.
pub const MAX_METADATA_BYTES: usize = 1 << 20;
/// The longest answer of a token, registration or revocation endpoint that is read.
pub const MAX_ANSWER_BYTES: usize = 256 << 10;
/// How long a metadata document may take.
pub const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a token request may take.
pub const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends requests to authorization servers.
///
/// An implementation
/// - has `request.url` judged by [`Reach::permits_url`] before it resolves, every resolved address by
///   [`Reach::permits_address`], and connects to an address that was judged, not to the name again;
/// - does the same for every redirect it follows, and follows none but those [`Redirects`] allows;
/// - sends no header that is not in the request, but `Host`, `Content-Length`, `Content-Type` and `User-Agent`: what
///   the config of a server adds to its requests is none of the authorization server's business;
/// - reads at the most `max_body_bytes` and then says [`HttpError::TooLarge`];
/// - is done within `timeout`, or says [`HttpError::TimedOut`];
/// - logs neither headers nor bodies.
pub trait Http: Send + Sync {
    /// Sends a request and reads the whole answer. A status of any kind is an answer.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, HttpError>>;
}

/// A request and the limits of its answer.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    /// Names in lower case; a value may be a secret.
    pub headers: Vec<(&'static str, Secret)>,
    pub body: Body,
    pub redirects: Redirects,
    pub max_body_bytes: usize,
    pub timeout: Duration,
    /// Which addresses may be connected to.
    pub reach: Reach,
}

impl Request {
    /// Makes the request for a metadata document.
    pub fn metadata(url: Url, reach: Reach) -> Self {
        Self {
            method: Method::Get,
            url,
            headers: vec![("accept", Secret::new("application/json"))],
            body: Body::None,
            redirects: Redirects::SameOrigin(3),
            max_body_bytes: MAX_METADATA_BYTES,
            timeout: METADATA_TIMEOUT,
            reach,
        }
    }

    /// Makes a request to a token, registration or revocation endpoint, which may not be redirected.
    pub fn post(url: Url, body: Body, reach: Reach) -> Self {
        Self {
            method: Method::Post,
            url,
            headers: vec![("accept", Secret::new("application/json"))],
            body,
            redirects: Redirects::None,
            max_body_bytes: MAX_ANSWER_BYTES,
            timeout: TOKEN_TIMEOUT,
            reach,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<Secret>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// What is sent; the kind decides the `Content-Type`.
#[derive(Debug, Clone)]
pub enum Body {
    None,
    /// `application/x-www-form-urlencoded`, encoded already.
    Form(Secret),
    /// `application/json`.
    Json(Secret),
}

impl Body {
    /// Returns the content type and the bytes, if there is anything to send.
    pub fn parts(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::None => None,
            Self::Form(text) => Some(("application/x-www-form-urlencoded", text.expose())),
            Self::Json(text) => Some(("application/json", text.expose())),
        }
    }
}

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// None: a redirect is an answer like any other.
    None,
    /// So many, each to the origin of the request; another is [`HttpError::Redirected`].
    SameOrigin(u8),
}

/// An answer. Its `Debug` shows the status alone: a body may echo what was sent.
#[derive(Clone, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(at, _)| at.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({})", self.status)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HttpError {
    /// The address is none that may be asked; nothing was sent.
    #[error("{0}")]
    Refused(#[from] crate::address::Refused),
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("{host} did not answer in time")]
    TimedOut { host: String },
    #[error("{host} answers with more than {limit} bytes")]
    TooLarge { host: String, limit: usize },
    #[error("{host} redirects where we do not follow")]
    Redirected { host: String },
    #[error("{host} does not speak HTTP")]
    Malformed { host: String },
}

impl HttpError {
    /// Tells whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Malformed { .. })
    }
}
