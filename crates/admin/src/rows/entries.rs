//! What the commands write that change which servers the config has.

use serde::{Deserialize, Serialize};

use crate::error::Problem;

/// `add --json`, `add-json --json`, `remove --json`, `rename --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct EntriesChanged {
    /// The config file.
    pub file: String,
    /// Whether it is another than before, or would be.
    pub changed: bool,
    /// Nothing was written: it was asked what would be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    pub added: Vec<String>,
    /// Of these there was another entry before.
    pub replaced: Vec<String>,
    /// Of these there was this very entry.
    pub same: Vec<String>,
    pub removed: Vec<String>,
    /// What is wrong with what was written, such as a program that is not installed.
    pub problems: Vec<Problem>,
    /// Who made the change: `daemon`, `http` or `files`.
    pub answered_by: String,
}

/// `import --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ImportReport {
    /// All there is in other programs' files.
    pub found: Vec<FoundEntry>,
    /// The ids of those that are in the config now, and were not.
    pub added: Vec<String>,
    /// The ids of those that the config had already, under whatever name.
    pub same: Vec<String>,
    pub skipped: Vec<SkippedEntry>,
    /// Files that are there and could not be read; not there where all could.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<UnreadFile>,
}

/// A file that is there and could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UnreadFile {
    pub file: String,
    pub why: String,
}

/// A server in another program's file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FoundEntry {
    /// Whose file it is; `null` where that cannot be told.
    pub client: Option<String>,
    pub file: String,
    /// As it is called there.
    pub id: String,
}

/// A server that was found and left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SkippedEntry {
    pub id: String,
    pub why: String,
}
