//! Signing in: what is opened in a browser, and what comes back.

mod callback;
mod client_credentials;
mod device;
mod error;
mod flow;
mod pending;

use std::sync::Arc;

use crate::challenge::Challenge;
use crate::clock::Clock;
use crate::http::Http;
use crate::record::Credential;
use crate::secret::Secret;
use crate::settings::{Grant, Server, Settings};
use crate::store::{CredentialStore, StoreError};
use crate::url::Url;

pub use client_credentials::client_credentials;
pub use device::DeviceLogin;
pub use error::{CallbackError, LoginError, Refusal};
pub use pending::{Pending, begin};

pub(crate) use flow::Flow;

/// What a login works with.
#[derive(Clone)]
pub struct Context {
    pub server: Server,
    pub settings: Settings,
    pub http: Arc<dyn Http>,
    pub clock: Arc<dyn Clock>,
}

/// How a login begins.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// What the server said when it refused a call.
    pub challenge: Option<Challenge>,
    /// Where the provider sends the browser: the listener is open already. See [`redirect_uri`].
    pub redirect_uri: String,
    /// What is stored, so that a registration is used again.
    pub known: Option<Credential>,
    /// Scopes the user asks for by hand; empty: as configured, challenged or offered.
    pub scopes: Vec<String>,
    /// Registers us even where our document would do: the login before was refused for it
    /// ([`LoginError::refuses_client`]).
    pub without_document: bool,
}

/// Returns the port a listener should try first: the configured one, else the one that was registered.
pub fn preferred_port(settings: &Settings, known: Option<&Credential>) -> Option<u16> {
    let registered =
        || Url::parse(known?.redirect_uri.as_deref()?).ok().filter(Url::is_loopback).map(|url| url.port());
    settings.callback_port.or_else(registered)
}

/// Returns the redirect URI for a listener on `port`. Where we register ourselves each server has a path of its own,
/// so that one issuer's callback cannot be taken for another's.
pub fn redirect_uri(server: &Server, settings: &Settings, port: u16) -> String {
    if let Some(url) = &settings.callback_url {
        return url.clone();
    }
    if settings.client_id.is_some() || settings.client_metadata_url.is_some() {
        return format!("http://127.0.0.1:{port}/callback");
    }
    redirect_uri_below(server, &format!("http://127.0.0.1:{port}/callback"))
}

/// Returns the redirect URI of a server below an address of ours that several share.
pub fn redirect_uri_below(server: &Server, home: &str) -> String {
    let mark = Secret::new(format!("{} {}", server.id, server.url)).fingerprint();
    format!("{home}/{mark}")
}

/// Keeps what a login has brought, in place of whatever is stored under its key. Returns it with its generation.
pub async fn keep(store: &dyn CredentialStore, credential: Credential) -> Result<Credential, StoreError> {
    let lock = store.lock(&credential.key).await?;
    let found = store.load(&credential.key).await?.map(|found| found.generation);
    let credential = Credential { generation: found.unwrap_or(0) + 1, ..credential };
    store.save(&lock, &credential, found).await?;
    Ok(credential)
}

#[cfg(test)]
mod tests;
