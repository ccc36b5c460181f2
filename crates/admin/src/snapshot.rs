//! Everything there is to see of a gateway at one moment.

pub(crate) mod client;
pub(crate) mod namespace;
pub(crate) mod server;
pub(crate) mod sign_in;

use serde::{Deserialize, Serialize};

use crate::error::Problem;
use crate::event::Cursor;
use crate::words::Format;
use client::Client;
use namespace::Namespace;
use server::Server;

/// A gateway with its servers, namespaces and clients, as of event `at`. Events after it bring it up to date; they say how
/// things are, not by how much they changed, so one that is seen twice does no harm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    pub at: Cursor,
    pub gateway: Gateway,
    pub config: ConfigSource,
    /// In the order of the config.
    pub servers: Vec<Server>,
    /// In the order of the config; the one of all servers, where it is served, comes last.
    pub namespaces: Vec<Namespace>,
    pub clients: Vec<Client>,
}

/// The program that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Gateway {
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// `None`: nothing runs, and this was read from files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_ms: Option<u64>,
    pub profile: String,
    pub listeners: Vec<Listener>,
    /// What works less well than it should, though everything is served.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<DegradedPart>,
}

/// A part that works less well than it should.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DegradedPart {
    /// `state`: what replicas share.
    pub part: String,
    pub why: String,
}

/// A place where clients can come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Listener {
    /// `stdio`, or the scheme of the address.
    pub transport: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether a token is asked for.
    pub needs_token: bool,
}

/// The config that is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigSource {
    /// `None`: what is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub format: Format,
    /// Whose file it is, if it is another program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_namespace: Option<String>,
    /// Of its text, as `If-Match` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    pub problems: Vec<Problem>,
    /// Why the file could not be used, where an empty config stands in for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Why the file as it now is was not taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
