//! What a namespace lets its clients use, rule by rule.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command::ItemKind;

/// A namespace of `GET /v1/permissions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NamespacePermissions {
    pub namespace: String,
    pub deny_by_default: bool,
    /// Servers of which something else holds by default: `true` denies.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub server_defaults: BTreeMap<String, bool>,
    pub rules: Vec<PermissionRule>,
    /// What the rules come to for each tool that its servers are known to have; where one namespace is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolPermission>,
}

/// What holds for one tool, and what decided that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ToolPermission {
    /// The server's id within the namespace.
    pub server: String,
    /// As the server calls it.
    pub name: String,
    pub allow: bool,
    pub by: DecidedBy,
    /// The name or pattern of the rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// What decides about a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DecidedBy {
    /// `deniedTools` of the server's entry.
    DeniedTools,
    /// `allowedTools` of the server's entry, which does not name it.
    AllowedTools,
    /// The most telling rule of the namespace.
    Rule,
    ServerDefault,
    NamespaceDefault,
    #[default]
    #[serde(other)]
    Other,
}

/// What holds for one item, whatever the default is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionRule {
    /// The server's id within the namespace.
    pub server: String,
    pub item: ItemKind,
    /// As the server calls it.
    pub name: String,
    pub allow: bool,
}

/// `PUT /v1/permissions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionChange {
    pub namespace: String,
    pub server: String,
    pub item: ItemKind,
    /// As the server calls it.
    pub name: String,
    /// `null` takes the rule away: the default holds.
    pub allow: Option<bool>,
}
