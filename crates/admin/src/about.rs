//! The gateway that answers, as it introduces itself.

use serde::{Deserialize, Serialize};

use crate::snapshot::Listener;

/// The version of the resources and of their JSON.
pub const API: u32 = 1;

/// What a client of the control API asks first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    pub api: ApiVersions,
    pub kind: GatewayKind,
    pub pid: u32,
    pub uptime_ms: u64,
    pub profile: String,
    /// `None`: what is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Of the config's text, as `If-Match` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Why the config could not be used, where nothing is served in its stead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Why the config as it now is was not taken over: an earlier one is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Another program is installed in the daemon's place and was not taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_upgraded: Option<NotUpgraded>,
    pub listeners: Vec<Listener>,
    /// The variables of the asker's that the config uses: servers it calls are started with them.
    pub needs: Vec<String>,
    /// A server wants the asker's whole environment.
    pub needs_everything: bool,
    /// Why changes are not written down, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_fault: Option<String>,
}

/// An installed program that the daemon found and did not make way for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NotUpgraded {
    /// Which it says it is, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApiVersions {
    pub min: u32,
    pub max: u32,
}

impl Default for ApiVersions {
    fn default() -> Self {
        Self { min: API, max: API }
    }
}

/// What kind of process it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GatewayKind {
    /// The one that all stdio clients of a user share.
    Daemon,
    /// `manifold http`.
    Http,
    /// One that a command runs for itself, and ends.
    Own,
    #[default]
    #[serde(other)]
    Other,
}

impl GatewayKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Http => "http",
            Self::Own => "own",
            Self::Other => "other",
        }
    }
}
