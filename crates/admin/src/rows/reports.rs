//! Documents that the command line writes with `--json` and that are no rows.

use serde::{Deserialize, Serialize};

use super::NamespaceRow;
use crate::about::NotUpgraded;
use crate::error::Problem;
use crate::permission::NamespacePermissions;
use crate::snapshot::namespace::PermissionSummary;
use crate::words::State;

/// `ns show NAME --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NamespaceDetail {
    #[serde(flatten)]
    pub row: NamespaceRow,
    pub permissions: PermissionSummary,
    /// The rules themselves, where a gateway tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<NamespacePermissions>,
    /// Who said so: `daemon`, `http`, `own`, or `files` where nothing runs.
    pub answered_by: String,
}

/// `clients disconnect ID --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Disconnected {
    pub id: u64,
    /// Who has it done: `daemon` or `http`.
    pub answered_by: String,
}

/// `config check --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigReport {
    /// Whether all of it can be used.
    pub valid: bool,
    pub servers: usize,
    pub namespaces: usize,
    /// Whose file it is, if it is another program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub problems: Vec<Problem>,
}

/// `config show --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ShownConfig {
    pub path: String,
    /// Without comments, and with every value hidden that may be a secret.
    pub text: String,
}

/// `daemon status --json`, and `GET /v1/daemon`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum DaemonStatus {
    Running(Box<RunningDaemon>),
    NotRunning(NoDaemon),
}

/// No daemon runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoDaemon {
    /// `false`.
    pub running: bool,
}

/// A daemon that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunningDaemon {
    /// `true`.
    pub running: bool,
    pub pid: u32,
    pub version: String,
    /// Another for every daemon.
    pub epoch: String,
    /// The config it serves.
    pub config: String,
    /// Why the config could not be used, where nothing is served in its stead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Why the config as it now is was not taken over: an earlier one is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Another program is installed in the daemon's place and was not taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_upgraded: Option<NotUpgraded>,
    /// Where clients come to.
    pub socket: String,
    /// Where operators come to.
    pub control: String,
    pub since_ms: u64,
    /// Whether it stays when its last client has left.
    pub stays: bool,
    /// `null`: it does not serve over HTTP.
    pub http: Option<DaemonHttp>,
    /// Operators are none.
    pub clients: usize,
    pub servers: Vec<DaemonServer>,
}

/// What `daemon start`, `stop`, `restart` and `upgrade` write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonOrdered {
    /// The daemon that runs now, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Whether it was not so before.
    pub changed: bool,
}

/// Where a daemon serves over HTTP, or why it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonHttp {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonServer {
    pub id: String,
    /// Where it is named in the config, if it has schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub state: State,
    pub instances: Vec<DaemonInstance>,
}

/// A process of a server, and for whom it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonInstance {
    pub key: Option<String>,
    pub pid: Option<u32>,
    pub clients: Option<usize>,
    /// The names of what it was started with that others were not.
    pub differs: Vec<String>,
}
