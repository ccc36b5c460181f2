//! Why a request does not come in, and what it is told.

use hyper::StatusCode;

/// Why a request does not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Refused {
    Host,
    Origin,
    CrossSite,
    /// There is none, or none that counts here.
    Token,
    /// An authorization server's token that is no good.
    InvalidToken,
    /// One that nobody gave out, as far as can be told.
    WrongToken,
    /// A token that lacks what every token needs.
    Scope,
    /// It is in the address, or there are several.
    TokenElsewhere,
    /// Whether it is good cannot be found out now.
    Unavailable,
    /// Its address has brought too many wrong tokens.
    Guessed,
    ContentType,
    Smuggled,
    Unbounded,
}

impl Refused {
    pub(in crate::http) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin | Self::CrossSite => StatusCode::FORBIDDEN,
            Self::Token | Self::InvalidToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::Scope => StatusCode::FORBIDDEN,
            Self::TokenElsewhere => StatusCode::BAD_REQUEST,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Guessed => StatusCode::TOO_MANY_REQUESTS,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Smuggled | Self::Unbounded => StatusCode::BAD_REQUEST,
        }
    }

    pub(in crate::http) fn message(self) -> &'static str {
        match self {
            Self::Host => "this Host is not allowed; name it in server.allowedHosts or --allowed-host",
            Self::Origin => "this Origin is not allowed; name it in server.cors.origins",
            Self::CrossSite => "cross-site requests are not allowed",
            Self::Token => "a valid token is needed: Authorization: Bearer <token>",
            Self::InvalidToken | Self::WrongToken => "the token is not valid here, or no longer",
            Self::Scope => "the token lacks a scope that is needed here",
            Self::TokenElsewhere => "send one token, and in a header: Authorization: Bearer <token>",
            Self::Unavailable => "whether the token is valid cannot be found out now; try again in a moment",
            Self::Guessed => "too many wrong tokens came from this address; try again in a second",
            Self::ContentType => "Content-Type must be application/json",
            Self::Smuggled => "one Host, one Origin, and either Content-Length or Transfer-Encoding",
            Self::Unbounded => "a body over HTTP/1.0 needs a Content-Length",
        }
    }
}
