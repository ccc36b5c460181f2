//! What the commands write that change users' files and stores, or look into them.

use serde::{Deserialize, Serialize};

use super::entries::{ImportReport, SkippedEntry};

/// `install CLIENT --json` and `uninstall CLIENT --json`; a list of these where several clients are named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct InstalledRow {
    pub client: String,
    /// The client's file.
    pub file: String,
    /// The folder of the record that `undo` goes by; `null` where nothing was written.
    pub backup: Option<String>,
    pub changed: bool,
    /// Servers that moved behind us (`--take-over`); not there where none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<String>,
    /// Servers that were to move and stay in the file; not there where none do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<SkippedEntry>,
}

/// `init --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct InitReport {
    /// The config that is ours.
    pub config: String,
    pub import: ImportReport,
    pub clients: Vec<InstalledRow>,
    /// Clients whose files were not written.
    pub failed: Vec<FailedClient>,
    /// Those checks of `doctor` that start no server; none with `--dry-run`.
    pub checks: Vec<DoctorCheck>,
    /// The folder of the record that `undo` goes by; `null` where nothing was written.
    pub backup: Option<String>,
}

/// A client that we are not in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FailedClient {
    pub client: String,
    pub why: String,
}

/// `undo --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UndoReport {
    pub restored: Vec<String>,
    pub removed: Vec<String>,
    pub left: Vec<LeftFile>,
    /// The ids of commands that came later, changed the same files and stay; not there where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<String>,
}

/// A file that is as it was before the undo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LeftFile {
    pub file: String,
    pub why: String,
}

/// A line of `undo --list --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UndoRow {
    pub id: String,
    /// When it was done.
    pub at: String,
    pub command: String,
    pub files: Vec<String>,
    pub undone: bool,
}

/// `doctor --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DoctorReport {
    pub checks: Vec<DoctorCheck>,
}

/// What was found of one thing that is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DoctorCheck {
    /// What scripts know it by: it never changes.
    pub id: String,
    pub status: DoctorStatus,
    pub message: String,
    /// The next command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DoctorStatus {
    #[default]
    Ok,
    Warn,
    Fail,
}

/// `secret set --json` and `secret rm --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SecretChanged {
    pub name: String,
    /// How often a value was stored under this name; `null` once it is removed.
    pub generation: Option<u64>,
    /// What the store is kept with: `keyring`, `file`, `variable`, `systemd`, `beside` or `plain`.
    pub key: String,
    /// The servers and settings of this config that use it.
    pub used_by: Vec<String>,
    /// The servers that were started anew for it; `null` where nothing runs.
    pub restarted: Option<Vec<String>>,
}

/// `secret list --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SecretsReport {
    pub folder: String,
    /// What the store is kept with: `keyring`, `file`, `variable`, `systemd`, `beside` or `plain`; empty where there is
    /// none yet.
    pub key: String,
    /// False where whoever can read the files can read the values as well.
    pub protected: bool,
    /// How many logins are stored beside them.
    pub logins: usize,
    pub secrets: Vec<SecretRow>,
}

/// A secret that is stored, without its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SecretRow {
    pub name: String,
    pub generation: Option<u64>,
    /// When it was stored.
    pub changed: Option<String>,
    pub used_by: Vec<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// `secret rekey --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StoreRekeyed {
    /// What the store was kept with; `null` where nothing is stored.
    pub from: Option<String>,
    pub to: Option<String>,
    /// How many files were written anew.
    pub files: usize,
}

/// `secret export --json` and `secret import --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StoreCopied {
    pub file: String,
    pub credentials: Vec<CopiedCredential>,
    /// The servers that were started anew for it; absent where nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarted: Option<Vec<String>>,
}

/// A credential in a backup, without its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CopiedCredential {
    /// `secret` or `login`.
    pub kind: String,
    /// The name of a secret; of a login the id of its server, or the name by which servers share it.
    pub name: String,
    /// Of a login, which account it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Of a login, the host of the authorization server that gave it, where it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// `added`, `replaced`, `unchanged` or `kept`; absent from an export.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub became: Option<String>,
}

/// A line of `search --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryRow {
    pub name: String,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    /// `active` or `deprecated`.
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The ways to have it, in its publisher's order.
    pub ways: Vec<RegistryWay>,
}

/// One way to have a server of the registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryWay {
    pub source: String,
    pub identifier: String,
    /// Why it cannot be taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// `login SERVER --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LoginReport {
    pub server: String,
    pub account: String,
    /// The host one is signed in at.
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// How long the token is good, if that is known; RFC 3339, in UTC.
    pub until: Option<String>,
    /// What kind of store it is kept in.
    pub store: Option<String>,
    /// How many the server has; `null`: it could not be asked.
    pub tools: Option<usize>,
}

/// `logout SERVER --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LogoutReport {
    pub server: String,
    pub was_signed_in: bool,
    /// Whether its tokens are worth nothing any more; see `accessTokenGood`.
    pub revoked: bool,
    /// The issuer takes back refresh tokens only: the access token is good until it expires.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub access_token_good: bool,
    /// Why they are not revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether what we were registered as is deleted there; `null`: nobody asked for it, or there was none.
    pub client_deleted: Option<bool>,
}
