//! What an operator may have done. None of these names a command line, a variable or an address.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Problem;
use crate::snapshot::server::{Server, ServerId};

/// An order of an operator's. It is done when it is answered, and doing it again does no harm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "command", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Command {
    Start {
        server: ServerId,
    },
    Stop {
        server: ServerId,
    },
    Restart {
        server: ServerId,
    },
    /// Reads a server's lists anew.
    Refresh {
        server: ServerId,
    },
    /// Lets a server be used, in the config.
    Enable {
        server: ServerId,
    },
    Disable {
        server: ServerId,
    },
    /// Reads the config file anew and takes it over.
    Reload,
    /// Allows or denies one item of a server in a namespace; `None` leaves it to the default.
    SetPermission {
        namespace: String,
        server: ServerId,
        item: ItemKind,
        /// As the server calls it.
        name: String,
        allow: Option<bool>,
    },
    /// Ends a client's session.
    Disconnect {
        client: u64,
    },
    #[default]
    #[serde(other)]
    Other,
}

/// What a permission can be for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ItemKind {
    Tool,
    Prompt,
    Resource,
    #[default]
    #[serde(other)]
    Other,
}

/// What came of a command that was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Outcome {
    Done,
    /// How the server is now.
    Server {
        server: Box<Server>,
    },
    Reloaded {
        report: ReloadReport,
    },
    #[default]
    #[serde(other)]
    Other,
}

/// What a new config changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ReloadReport {
    pub added: Vec<ServerId>,
    pub removed: Vec<ServerId>,
    pub restarted: Vec<ServerId>,
    pub unchanged: usize,
    pub problems: Vec<Problem>,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CommandError {
    pub code: ErrorCode,
    /// For people, without secrets.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    UnknownServer,
    /// Several schemas have a server of that id.
    AmbiguousServer,
    UnknownNamespace,
    /// There is no such tool, resource or prompt.
    UnknownItem,
    /// Several servers have one of that name.
    AmbiguousItem,
    UnknownClient,
    /// There is no such resource of the API, or nothing of the kind can be done to it.
    UnknownRoute,
    /// What was sent is not what is asked for.
    BadRequest,
    /// A rule of the config forbids it; the message names the rule.
    Denied,
    /// The config has changed since it was read.
    Stale,
    /// There is no change that could be taken back.
    NothingToUndo,
    TimedOut,
    /// The server answered with an error of its own.
    ServerError,
    /// The server cannot be brought up.
    FailedToStart,
    /// The server wants to know who asks.
    SignIn,
    /// A page has no session, or none any more.
    SessionEnded,
    /// The config file cannot be taken over.
    ConfigRefused,
    /// This gateway does not know how to do it.
    Unsupported,
    ShuttingDown,
    /// So much is under way that no more is taken on.
    Busy,
    Failed,
    #[default]
    #[serde(other)]
    Other,
}

/// An error as it is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorBody {
    pub error: CommandError,
}

impl ErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownServer => "unknown-server",
            Self::AmbiguousServer => "ambiguous-server",
            Self::UnknownNamespace => "unknown-namespace",
            Self::UnknownItem => "unknown-item",
            Self::AmbiguousItem => "ambiguous-item",
            Self::UnknownClient => "unknown-client",
            Self::UnknownRoute => "unknown-route",
            Self::BadRequest => "bad-request",
            Self::Denied => "denied",
            Self::Stale => "stale",
            Self::NothingToUndo => "nothing-to-undo",
            Self::TimedOut => "timed-out",
            Self::ServerError => "server-error",
            Self::FailedToStart => "failed-to-start",
            Self::SignIn => "sign-in",
            Self::SessionEnded => "session-ended",
            Self::ConfigRefused => "config-refused",
            Self::Unsupported => "unsupported",
            Self::ShuttingDown => "shutting-down",
            Self::Busy => "busy",
            Self::Failed => "failed",
            Self::Other => "other",
        }
    }
}

impl CommandError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..Self::default() }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hint {
            Some(hint) => write!(f, "{}; {hint}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for CommandError {}
