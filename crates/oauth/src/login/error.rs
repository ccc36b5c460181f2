//! Why a login fails, in words for the one who signs in. No text has more of an answer in it than its error code and
//! a short description.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::http::HttpError;
use crate::url::BadUrl;

/// Why there is no credential.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// The callback is none of this login's; it stays open.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    #[error("the login was not finished in time")]
    Expired,
    #[error("the login is over already")]
    Spent,
    #[error("{0}")]
    Url(#[from] BadUrl),
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The issuer may answer later.
    #[error("{host} answers {status}")]
    Unavailable { host: String, status: u16, retry_after: Option<Duration> },
    #[error("{host} has no usable metadata at {path}: {why}")]
    Metadata { host: String, path: String, why: String },
    #[error("the server names no authorization server, and has no metadata of one itself")]
    NoAuthorizationServer,
    #[error("the server's metadata is for {got}, which is not {expected}; it is not signed in to")]
    WrongResource { expected: String, got: String },
    #[error(
        "the authorization server should be {expected} but calls itself {got}; set `oauth.issuer` to the one you trust"
    )]
    IssuerRefused { expected: String, got: String },
    #[error(
        "{issuer} sends the browser elsewhere and does not say who answers; set `oauth.issuer` to \"{issuer}\" if you \
         trust it"
    )]
    EndpointsElsewhere { issuer: String },
    #[error("{issuer} does not list S256; set `oauth.pkce` to \"assume\" if it knows it all the same")]
    NoPkce { issuer: String },
    #[error("{issuer} has no {what}")]
    NoEndpoint { issuer: String, what: &'static str },
    #[error("{issuer} knows us by no client id: {why}; register a client there and set `oauth.clientId`")]
    NeedsClientId { issuer: String, why: String },
    /// The issuer has said no.
    #[error("{0}")]
    Refused(Refusal),
    #[error("{host} gives a token we cannot use: {why}")]
    UnusableToken { host: String, why: &'static str },
    #[error("the private key cannot be used: {0}")]
    PrivateKey(&'static str),
    #[error("the system has no random numbers")]
    NoRandomness,
}

impl LoginError {
    /// Tells whether the same may succeed later without anybody's doing.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } => true,
            Self::Http(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Tells whether it is the issuer that says no. A portal before the network, a name that leads elsewhere, a proxy or a
    /// page in place of an answer say nothing of what we are worth there.
    pub fn is_said_by_issuer(&self) -> bool {
        let Self::Refused(refusal) = self else { return false };
        match refusal.status {
            400 | 401 => true,
            402..=499 => refusal.code.is_some(),
            _ => false,
        }
    }

    /// Returns how long the issuer wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Tells whether the login goes on: the callback was somebody else's.
    pub fn leaves_open(&self) -> bool {
        matches!(self, Self::Callback(_))
    }

    /// Tells whether it is us the issuer does not know.
    pub fn refuses_client(&self) -> bool {
        matches!(self.code(), Some("invalid_client" | "unauthorized_client"))
    }

    /// Returns the code of an issuer's refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.code.as_deref(),
            _ => None,
        }
    }
}

/// What an issuer said when it refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub host: String,
    /// What was asked of it.
    pub what: &'static str,
    /// 0 where it came with a callback.
    pub status: u16,
    pub code: Option<String>,
    /// One short, printable line.
    pub description: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refuses {}", self.host, self.what)?;
        match (&self.code, self.status) {
            (Some(code), _) => write!(f, ": {code}")?,
            (None, 0) => {}
            (None, status) => write!(f, ": {status}")?,
        }
        self.description.as_ref().map_or(Ok(()), |description| write!(f, " ({description})"))
    }
}

/// Why a callback is refused. Nothing of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CallbackError {
    #[error("this is no callback of a login")]
    Malformed,
    #[error("the callback belongs to another login")]
    WrongState,
    #[error("the callback is from another issuer")]
    WrongIssuer,
    #[error("the callback does not say which issuer it is from, and this one always does")]
    MissingIssuer,
}
