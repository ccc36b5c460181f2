//! What is kept of a sign-in: everything a refresh needs, so that it needs no discovery and no config.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::secret::Secret;
use crate::settings::{DEFAULT_ACCOUNT, Grant, Server, Settings};
use crate::url::{BadUrl, Url};

/// By what a credential is found. The issuer is inside: one server has one at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CredentialKey {
    /// The server's id in the config, or `=NAME` where several share one on purpose.
    pub server: String,
    /// The server's canonical URL; empty where it is shared.
    pub url: String,
    pub account: String,
}

impl CredentialKey {
    /// Returns the key of a server's credential.
    pub fn of(server: &Server, settings: &Settings) -> Result<Self, BadUrl> {
        let account = settings.account.clone().unwrap_or_else(|| DEFAULT_ACCOUNT.to_owned());
        if let Some(name) = &settings.credential {
            return Ok(Self { server: format!("={name}"), url: String::new(), account });
        }
        Ok(Self { server: server.id.clone(), url: Url::parse(&server.url)?.canonical(), account })
    }
}

impl fmt::Display for CredentialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.server, self.account)
    }
}

/// A sign-in as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    pub key: CredentialKey,
    /// One more with every change of the tokens.
    pub generation: u64,
    /// The issuer all of this belongs to; nothing of it is ever sent to another.
    pub issuer: String,
    /// What is sent as `resource`, byte for byte; `None` where the config switches it off.
    pub resource: Option<String>,
    pub resource_metadata: Option<ResourceMetadata>,
    pub server_metadata: ServerMetadata,
    pub registration: Registration,
    /// `None` after a logout, or once a refresh was rejected: who we are there is still known.
    pub tokens: Option<Tokens>,
    /// Why there is nothing to refresh with any more.
    #[serde(default)]
    pub ended: Option<Ended>,
    pub grant: Grant,
    pub requested_scopes: Vec<String>,
    pub granted_scopes: Vec<String>,
    /// Scopes that a call was refused for; the next login asks for them too.
    #[serde(default)]
    pub wanted_scopes: Vec<String>,
    pub redirect_uri: Option<String>,
    /// When the metadata was last looked up, in seconds since 1970.
    pub looked_up: u64,
    /// When the tokens were last had, in seconds since 1970.
    pub refreshed: u64,
    /// Written before a refresh is asked for and removed with its outcome.
    #[serde(default)]
    pub marker: Option<Marker>,
}

/// The tokens of one generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    pub kind: TokenKind,
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// In seconds since 1970; `None` where nobody said.
    pub expires_at: Option<u64>,
    /// How long the access token lives, as it was told, in seconds.
    pub life: Option<u64>,
}

/// How a token is presented. Proofs of possession come later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    Bearer,
}

/// Who we are to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    pub source: ClientSource,
    pub client_id: String,
    pub client_secret: Option<Secret>,
    /// In seconds since 1970; `None` and 0 mean never.
    pub client_secret_expires_at: Option<u64>,
    /// What the answer to our registration says.
    pub token_endpoint_auth_method: Option<String>,
    pub registration_access_token: Option<Secret>,
    pub registration_client_uri: Option<String>,
    pub redirect_uris: Vec<String>,
    /// The whole answer to our registration, as it came.
    pub answer: Option<Secret>,
    /// The issuer does not know this client any more: the next login does not use it.
    #[serde(default)]
    pub is_refused: bool,
}

/// Where a client id is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientSource {
    Configured,
    MetadataDocument,
    Registered,
}

/// The end of a sign-in that nobody here asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// In seconds since 1970.
    pub since: u64,
    pub why: String,
}

/// Says that a refresh token may have been spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    pub generation: u64,
    /// SHA-256 of the refresh token that was sent.
    pub hash: String,
    /// In seconds since 1970.
    pub time: u64,
}
