//! What operators changed: one line for each change.

use serde::{Deserialize, Serialize};

/// The header by which a command that shares its route with others says which it is.
pub const VERB_HEADER: &str = "manifold-verb";

/// A change, or the attempt at one. Of what was passed there is a digest only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AuditLine {
    /// RFC 3339, in UTC.
    pub time: String,
    pub actor: Actor,
    /// The word of the command line for it, such as `stop`.
    pub verb: String,
    /// The id of the server or client it was done to; of a rule, the namespace and `server.item`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// SHA-256 of what was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The revision of the config before and after, where it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub outcome: AuditOutcome,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Who did it, as the kernel says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Actor {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The program that asked, where it can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// `cli`, `tui`, `web:…` or `mcp:…`, as it says itself.
    pub face: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AuditOutcome {
    Done,
    Refused,
    /// Whoever asked left before it was done; it may have been done.
    Interrupted,
    #[default]
    #[serde(other)]
    Other,
}
