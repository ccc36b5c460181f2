//! A client that is connected.

use serde::{Deserialize, Serialize};

use super::server::Protocol;
use crate::words::ClientTransport;

/// One client. Those that make single requests without a session are not kept, so they are not seen here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Client {
    /// Tells clients of one run apart, and means nothing else.
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// What it calls itself, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<ClientTransport>,
    /// `None`: all servers.
    pub namespace: Option<String>,
    /// Its process, where that can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The folder it was started in, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The version of the shim that it reaches the daemon by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shim: Option<String>,
    /// For how long it has been connected.
    pub connected_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_in_flight: Option<u64>,
}

/// Who asks, as admission found out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Principal {
    /// Somebody on this machine, where nothing is asked for.
    Local,
    /// The holder of a token, by the token's name.
    Token {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Somebody who signed in.
    Subject { issuer: String, subject: String },
    #[default]
    #[serde(other)]
    Other,
}
