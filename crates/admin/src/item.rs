//! Tools, resources and prompts as the clients of a namespace see them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A part of a list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ItemPage {
    pub items: Vec<ListedItem>,
    /// Asks for what follows; `None`: this was the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Servers of which nothing is known yet, because they still start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starting: Vec<String>,
    /// Servers that offer nothing because they do not work, with what is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedServer>,
}

/// One item.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedItem {
    /// As clients call it: a name, a URI or a template of URIs.
    pub name: String,
    /// The id of the server it belongs to.
    pub server: String,
    /// As the server itself calls it.
    pub original: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long its definition is, as clients get it.
    pub bytes: usize,
    /// The definition itself, byte for byte; only where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FailedServer {
    pub server: String,
    pub message: String,
}
