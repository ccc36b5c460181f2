//! Our own faults: the one place where messages and codes for them are chosen.

mod code;
mod data;
mod message;

use std::time::Duration;

use crate::model::Kind;
use crate::raw::{Raw, RawObject};
pub use code::CodeSet;
pub use message::login_command;

/// Something that went wrong on our side of a call. A server's own error is none of these and passes untouched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Parse,
    InvalidRequest(String),
    UnknownMethod(String),
    InvalidParams(String),
    MissingParameter(String),
    /// `data.issue` says what the schema says.
    ArgumentMismatch {
        tool: String,
        field: String,
        issue: String,
    },
    /// No known server prefixes the name.
    UnknownTool(String),
    /// The text before the advertised separator names no server.
    UnknownServer {
        server: String,
        tool: String,
    },
    /// The server is known, the tool is not.
    UnknownToolOf {
        server: String,
        tool: String,
    },
    UnknownPrompt(String),
    UnknownResource(String),
    UnknownNamespace {
        requested: String,
        exists: Vec<String>,
    },
    NamespaceNotChosen {
        exists: Vec<String>,
    },
    FailedToStart {
        server: String,
        reason: String,
    },
    NotRunning {
        server: String,
        reason: String,
    },
    /// More calls are waiting for the server than may; this one was not sent.
    Busy {
        server: String,
        reason: String,
    },
    TimedOut {
        server: String,
        tool: Option<String>,
        after: Duration,
    },
    /// The server went away with the call in flight; it may or may not have been carried out.
    Died {
        server: String,
        tool: Option<String>,
        reason: String,
    },
    /// The server would not take the call.
    Refused {
        server: String,
        tool: Option<String>,
        reason: String,
    },
    /// A message over the size limit.
    TooLarge {
        server: Option<String>,
        limit_bytes: usize,
    },
    /// So much is under way that no more is taken on.
    Overloaded {
        limit_bytes: usize,
    },
    /// The client has as much open as it may.
    OverLimit {
        what: String,
        limit: usize,
        /// Where the limit can be changed, below `limits`.
        setting: &'static str,
    },
    /// A rule of `limits.rate` is used up for now.
    RateLimited {
        /// What the rule counts by.
        per: &'static str,
        limit: u32,
        window: Duration,
        retry_after: Duration,
    },
    /// The server's answer was no valid message.
    Malformed {
        server: String,
        reason: String,
    },
    Authentication {
        server: String,
        variable: String,
    },
    /// The server wants to know who asks, and nobody is signed in.
    SignInNeeded {
        server: String,
        /// Which of several accounts, where it is not the usual one.
        account: Option<String>,
        /// How the sign-in stands, in the words of `status`.
        state: &'static str,
        /// What is known beyond that.
        reason: Option<String>,
    },
    /// The client cannot be asked this.
    ClientCannot {
        what: String,
    },
    /// A header does not say what the body says (2026-07-28).
    HeaderMismatch(String),
    /// A revision that is not spoken here.
    UnsupportedVersion {
        requested: String,
    },
    /// The call needs the client to be able to do more; `required` is a ClientCapabilities object.
    MissingCapability {
        required: Raw,
    },
    /// A server's question could not be put to the client, and the call cannot go on without.
    Unanswered {
        server: String,
        tool: Option<String>,
        reason: String,
    },
    /// The rules want somebody's consent first.
    NeedsConsent {
        kind: Kind,
        name: String,
    },
    /// The token of whoever asks lacks scopes; these are all that the call needs.
    NeedsScope {
        scopes: Vec<String>,
    },
    ShuttingDown,
    Internal(String),
}

impl Fault {
    /// Returns what kind of fault it is, in one word that stays the same.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::InvalidRequest(_) => "invalid-request",
            Self::UnknownMethod(_) => "unknown-method",
            Self::InvalidParams(_) | Self::MissingParameter(_) | Self::ArgumentMismatch { .. } => {
                "invalid-params"
            }
            Self::UnknownTool(_) | Self::UnknownServer { .. } | Self::UnknownToolOf { .. } => "unknown-tool",
            Self::UnknownPrompt(_) => "unknown-prompt",
            Self::UnknownResource(_) => "unknown-resource",
            Self::UnknownNamespace { .. } | Self::NamespaceNotChosen { .. } => "unknown-namespace",
            Self::FailedToStart { .. } => "failed-to-start",
            Self::NotRunning { .. } => "not-running",
            Self::Busy { .. } => "busy",
            Self::TimedOut { .. } => "timed-out",
            Self::Died { .. } => "died",
            Self::Refused { .. } => "refused",
            Self::TooLarge { .. } => "too-large",
            Self::Overloaded { .. } => "overloaded",
            Self::OverLimit { .. } => "over-limit",
            Self::RateLimited { .. } => "rate-limited",
            Self::Malformed { .. } => "malformed",
            Self::Authentication { .. } => "authentication",
            Self::SignInNeeded { .. } => "sign-in-needed",
            Self::ClientCannot { .. } => "client-cannot",
            Self::HeaderMismatch(_) => "header-mismatch",
            Self::UnsupportedVersion { .. } => "unsupported-version",
            Self::MissingCapability { .. } => "missing-capability",
            Self::Unanswered { .. } => "unanswered",
            Self::NeedsConsent { .. } => "needs-consent",
            Self::NeedsScope { .. } => "needs-scope",
            Self::ShuttingDown => "shutting-down",
            Self::Internal(_) => "internal",
        }
    }

    /// Changes what it repeats of a server's own words.
    pub fn map_reason(mut self, change: impl FnOnce(&str) -> String) -> Self {
        if let Self::FailedToStart { reason, .. }
        | Self::NotRunning { reason, .. }
        | Self::Died { reason, .. }
        | Self::Refused { reason, .. }
        | Self::Malformed { reason, .. }
        | Self::Unanswered { reason, .. } = &mut self
        {
            *reason = change(reason);
        }
        self
    }

    /// Returns whether the same may be asked again in a moment, for transports that say so beside it (429).
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::OverLimit { .. } | Self::RateLimited { .. })
    }

    /// Returns when the same may be asked again, in seconds, for transports that say so beside it (429).
    pub fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after, .. } => Some(retry_after.as_secs().max(1)),
            Self::Busy { .. } | Self::OverLimit { .. } => Some(1),
            _ => None,
        }
    }

    /// Returns the whole JSON-RPC error object.
    pub fn to_error(&self, codes: CodeSet) -> Raw {
        let mut error = RawObject::default();
        error.set("code", Raw::serialize(&self.code(codes)));
        error.set("message", Raw::string(&self.message()));
        if let Some(data) = self.data() {
            error.set("data", data);
        }
        error.into_raw()
    }
}

#[cfg(test)]
mod tests;
