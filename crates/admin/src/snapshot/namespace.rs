//! A namespace: which servers it shows, and what of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::server::{Lists, ServerId};

/// One toolset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// `None`: all servers, where no namespace is chosen.
    pub id: Option<String>,
    pub name: String,
    pub description: String,
    pub enabled: bool,
    /// Whether clients can come to it now.
    pub served: bool,
    pub servers: Vec<ServerId>,
    /// How much its clients see, once it is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<Lists>,
    /// How many are connected, once it is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<usize>,
    pub permissions: PermissionSummary,
}

/// What a namespace lets its clients use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionSummary {
    pub deny_by_default: bool,
    /// Servers of which something else holds by default: `true` denies.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub server_defaults: BTreeMap<String, bool>,
    pub tools: RuleCounts,
    pub prompts: RuleCounts,
    pub resources: RuleCounts,
}

/// How many rules allow, and how many deny.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RuleCounts {
    pub allow: usize,
    pub deny: usize,
}
