//! How a server is signed in to.

use serde::{Deserialize, Serialize};

/// A sign-in, as far as it may be shown: no token is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SignIn {
    /// `ready`, `needs login`, `login open`, `login expired`, `needs scope`, `needs client id`, `issuer refused`, `retrying`,
    /// `store failed`, or `unknown` while the server has not asked. The list may grow.
    pub state: String,
    /// What is known beyond the state: which scopes, why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub account: String,
    /// The host one signs in at.
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// How long the token is good; RFC 3339, in UTC.
    pub until: Option<String>,
    /// When it was last renewed; RFC 3339, in UTC.
    pub last_refresh: Option<String>,
    /// What kind of store it is kept in.
    pub store: Option<String>,
}

/// Where a login that has begun is finished: `POST /v1/servers/{id}/login`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LoginLink {
    /// To be opened in a browser on the machine of the gateway.
    pub url: String,
    /// The host of that, which is worth a look before.
    pub host: String,
    /// Until when it can be finished; RFC 3339, in UTC.
    pub until: String,
}
