//! How we say who we are at a token endpoint.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::metadata::ServerMetadata;
use crate::record::{ClientSource, Registration};
use crate::secret::Secret;
use crate::text;

/// One way, and never two at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAuth {
    /// The id in the form.
    None,
    /// Id and secret in a header.
    Basic,
    /// Id and secret in the form.
    Post,
    /// A signed statement in the form.
    PrivateKey,
}

impl ClientAuth {
    /// Chooses: what the answer to our registration says, then what the issuer lists, then Basic. Who has no secret has
    /// no choice.
    pub(super) fn choose(registration: &Registration, metadata: &ServerMetadata, has_key: bool) -> Self {
        let has_secret = registration.client_secret.as_ref().is_some_and(|secret| !secret.is_empty());
        // The key of the config is the key of the client of the config.
        if has_key && !has_secret && registration.source == ClientSource::Configured {
            return Self::PrivateKey;
        }
        if !has_secret {
            return Self::None;
        }
        let named = registration.token_endpoint_auth_method.as_deref().and_then(Self::named);
        let listed = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let lists = |wanted: &str| listed.iter().any(|method| method == wanted);
        named.unwrap_or(if lists("client_secret_post") && !lists("client_secret_basic") {
            Self::Post
        } else {
            Self::Basic
        })
    }

    fn named(method: &str) -> Option<Self> {
        match method {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::Basic),
            "client_secret_post" => Some(Self::Post),
            _ => None,
        }
    }
}

/// Returns the header; both parts are form-encoded first (RFC 6749, section 2.3.1).
pub(super) fn basic(id: &str, secret: &str) -> Secret {
    let pair = Secret::new(format!("{}:{}", text::encode(id), text::encode(secret)));
    Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
}
