//! Tokens by name, as the command line tells of them.

use serde::{Deserialize, Serialize};

/// `token create --json` and `token revoke --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TokenChanged {
    pub name: String,
    /// The token itself, which is told once: when it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whether it lets nobody in any more.
    pub revoked: bool,
    /// The namespaces it may use; `null`: all.
    pub namespaces: Option<Vec<String>>,
    /// The tools it may use, as patterns; `null`: all.
    pub tools: Option<Vec<String>>,
    /// Until when it is good; `null`: for good.
    pub expires: Option<String>,
}

/// A line of `token list --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TokenRow {
    pub name: String,
    /// `config`, or `command` for those that `token create` made.
    pub source: String,
    /// The namespaces it may use; `null`: all.
    pub namespaces: Option<Vec<String>>,
    /// The tools it may use, as patterns; `null`: all.
    pub tools: Option<Vec<String>>,
    pub created: Option<String>,
    /// Until when it is good; `null`: for good.
    pub expires: Option<String>,
    /// Whether that is over.
    pub expired: bool,
}
