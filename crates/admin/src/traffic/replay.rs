//! What commands say of recordings: the calls in one, what came of repeating them, and what differs between two.

use serde::{Deserialize, Serialize};

use super::Recording;

/// A recording with what was asked in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RecordingDetail {
    #[serde(flatten)]
    pub recording: Recording,
    /// The version of the program that made it.
    pub manifold: String,
    /// What clients asked, in its order.
    pub calls: Vec<RecordedCall>,
}

/// One request of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RecordedCall {
    /// Our number of the call, by which it can be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    pub method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// `ok`, `error`, or `none` where no whole answer was recorded.
    pub outcome: String,
    /// Nanoseconds.
    pub took: u64,
}

/// What came of repeating the calls of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ReplayReport {
    /// Whether every call that was repeated gave the same.
    pub same: bool,
    pub calls: Vec<ReplayedCall>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ReplayedCall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    pub tool: String,
    /// Why it was not repeated; not there where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    pub differences: Vec<ResultDifference>,
}

/// One place where a result is not what it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ResultDifference {
    /// A JSON path, as in `$.content[0].text`.
    pub path: String,
    /// As JSON; not there where nothing stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What differs between two recordings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RecordingDiff {
    pub tools_added: Vec<String>,
    pub tools_removed: Vec<String>,
    pub tools_changed: Vec<ToolChange>,
    /// Calls with the same tool and arguments, whose results differ.
    pub calls: Vec<CallDifference>,
    /// Calls that only one of them has, as `tool arguments`.
    pub only_in_first: Vec<String>,
    pub only_in_second: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ToolChange {
    pub tool: String,
    /// The members that are not alike.
    pub parts: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CallDifference {
    pub tool: String,
    /// As JSON, members in order.
    pub arguments: String,
    /// JSON paths within the result.
    pub paths: Vec<String>,
}

impl RecordingDiff {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
