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
