//! What is known of a sign-in, and what is shown of it.

use std::fmt;
use std::sync::Arc;

use super::Bearer;

/// How a server's sign-in stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum State {
    /// Nothing was refused yet, or the server asks for none.
    #[default]
    Unknown,
    Ready,
    NeedsLogin,
    /// Somebody is at it; `until` is in seconds since 1970.
    LoginOpen {
        until: u64,
    },
    /// A refresh was rejected; `since` is in seconds since 1970.
    LoginExpired {
        since: u64,
        why: String,
    },
    NeedsScope {
        scopes: Vec<String>,
    },
    NeedsClientId {
        why: String,
    },
    IssuerRefused {
        expected: String,
        got: String,
    },
    /// The authorization server cannot be asked; the token we have is good until then, in seconds since 1970.
    Retrying {
        why: String,
        good_until: Option<u64>,
    },
    /// The store cannot be read: nothing is known and nothing may be overwritten.
    StoreFailed {
        why: String,
    },
}

impl State {
    /// Returns the word `status` and errors use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Ready => "ready",
            Self::NeedsLogin => "needs login",
            Self::LoginOpen { .. } => "login open",
            Self::LoginExpired { .. } => "login expired",
            Self::NeedsScope { .. } => "needs scope",
            Self::NeedsClientId { .. } => "needs client id",
            Self::IssuerRefused { .. } => "issuer refused",
            Self::Retrying { .. } => "retrying",
            Self::StoreFailed { .. } => "store failed",
        }
    }

    /// Tells whether `manifold login` is what helps.
    pub fn needs_login(&self) -> bool {
        matches!(
            self,
            Self::NeedsLogin | Self::LoginOpen { .. } | Self::LoginExpired { .. } | Self::NeedsScope { .. }
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::LoginExpired { why, .. } | Self::NeedsClientId { why } | Self::Retrying { why, .. } => {
                write!(f, ": {why}")
            }
            Self::StoreFailed { why } => write!(f, ": {why}"),
            Self::NeedsScope { scopes } => write!(f, ": {}", scopes.join(" ")),
            Self::IssuerRefused { expected, got } => write!(f, ": expected {expected}, got {got}"),
            _ => Ok(()),
        }
    }
}

/// What `status` shows of a sign-in; nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub state: State,
    pub account: String,
    pub issuer: Option<String>,
    pub granted_scopes: Vec<String>,
    /// In seconds since 1970.
    pub good_until: Option<u64>,
    pub last_refresh: Option<u64>,
    pub has_refresh_token: bool,
    /// Whether a new token waits to be written, because the store refused it.
    pub is_unsaved: bool,
}

/// What is to be done with a call that the server refused.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Send it once more, with this.
    Resend(Arc<Bearer>),
    /// Fail it; the state says why and what helps.
    Failed(State),
    /// It has nothing to do with signing in: give the answer to the caller as it is.
    Pass,
}
