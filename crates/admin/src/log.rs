//! What servers write beside the protocol.

use serde::{Deserialize, Serialize};

/// One line, without its end and without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LogLine {
    /// RFC 3339, in UTC.
    pub time: String,
    /// The server that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Which of its instances, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    pub line: String,
}
