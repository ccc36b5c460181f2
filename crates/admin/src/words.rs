//! The words for states and kinds. Each list may grow: a reader takes what it does not know for `other`.

use serde::{Deserialize, Serialize};

/// How a server, or one instance of it, is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Never started, or ended in good order; the next call starts it.
    Idle,
    Starting,
    Ready,
    /// The last start failed, or it died.
    Failed,
    /// An operator stopped it.
    Stopped,
    /// The config says that it is not to be used.
    Disabled,
    /// It wants to know who asks, and nobody has signed in.
    NeedsLogin,
    #[default]
    #[serde(other)]
    Other,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Builtin,
    Stdio,
    Http,
    Sse,
    Litemcp,
    #[default]
    #[serde(other)]
    Other,
}

/// When a server may be started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    Eager,
    Lazy,
    Manual,
    #[default]
    #[serde(other)]
    Other,
}

/// Which family of revisions a peer speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// With `initialize` and a session, to 2025-11-25.
    Legacy,
    /// With everything said in each request, from 2026-07-28.
    Modern,
    /// Either.
    Dual,
    #[default]
    #[serde(other)]
    Other,
}

/// Which kind of file a config is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Format {
    /// There is no file: what is built in.
    Embedded,
    Schemas,
    Servers,
    /// The key of every MCP client's own file, spelt as there.
    McpServers,
    #[default]
    #[serde(other)]
    Other,
}

/// How a client has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClientTransport {
    Stdio,
    Http,
    Litemcp,
    #[default]
    #[serde(other)]
    Other,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Disabled => "disabled",
            Self::NeedsLogin => "needs-login",
            Self::Other => "other",
        }
    }
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Litemcp => "litemcp",
            Self::Other => "other",
        }
    }
}

impl Start {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Lazy => "lazy",
            Self::Manual => "manual",
            Self::Other => "other",
        }
    }
}

impl Era {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Dual => "dual",
            Self::Other => "other",
        }
    }
}

impl Format {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Schemas => "schemas",
            Self::Servers => "servers",
            Self::McpServers => "mcpServers",
            Self::Other => "other",
        }
    }
}
