//! What the config says of signing in to one server, as plain types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// The key `oauth` of a server. Everything may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// A client that was registered by hand; then none is ever registered by us.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// The name we register under; some providers allow only those they know.
    pub client_name: Option<String>,
    /// Where our client metadata document lies, if the provider takes such a URL for a client id.
    pub client_metadata_url: Option<String>,
    /// The one other issuer that is trusted, where metadata names one it should not.
    pub issuer: Option<String>,
    pub resource: ResourceChoice,
    /// Empty: what the server asks for.
    pub scopes: Vec<String>,
    /// More parameters of the authorization request.
    pub params: BTreeMap<String, String>,
    pub callback_port: Option<u16>,
    pub callback_url: Option<String>,
    pub pkce: Pkce,
    /// Allows authorization servers in private networks.
    pub allow_private: bool,
    /// Allows `/authorize`, `/token` and `/register` of the server's origin where there is no metadata at all.
    pub assume_endpoints: bool,
    /// The name of a credential that several servers share on purpose.
    pub credential: Option<String>,
    pub grant: Grant,
    /// A private key in PEM, for client credentials without a secret.
    pub private_key: Option<Secret>,
    /// Which account is meant; `default` if none is named.
    pub account: Option<String>,
}

/// What is sent as `resource`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ResourceChoice {
    /// What the server's metadata says, else its URL.
    #[default]
    Discovered,
    /// This, byte for byte.
    Given(String),
    /// Nothing: some providers refuse the parameter.
    Omitted,
}

/// Whether a provider must say that it knows S256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pkce {
    #[default]
    Required,
    /// S256 is used though the metadata does not list it.
    Assume,
}

/// How tokens are had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// A user signs in with a browser.
    #[default]
    Code,
    /// The gateway signs in by itself.
    ClientCredentials,
    /// A user signs in with another device.
    Device,
}

/// The account that is meant where none is named.
pub const DEFAULT_ACCOUNT: &str = "default";

/// Which server is signed in to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its id in the config.
    pub id: String,
    /// Its URL as configured.
    pub url: String,
}
