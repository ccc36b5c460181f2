//! Signing out: tokens are revoked where that can be done, and gone here in any case.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use crate::address::Reach;
use crate::http::{HttpError, Method, Request};
use crate::login::{Context, LoginError};
use crate::record::{Credential, CredentialKey};
use crate::secret::Secret;
use crate::store::{CredentialStore, StoreError, StoreLock};
use crate::token::Issuer;
use crate::url::Url;

/// When a logout is over, whatever the issuer does.
const PATIENCE: Duration = Duration::from_millis(4500);
/// How long whoever refreshes may hold the credential; its request may hang for as long as it likes.
const LOCK_PATIENCE: Duration = Duration::from_millis(1500);
/// How often a record that changes under us is read anew.
const TRIES: usize = 5;

/// What a logout did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedOut {
    /// Whether anything was stored.
    pub was_signed_in: bool,
    pub revoked: Revoked,
    /// Whether our registration was deleted at the issuer; `None`: nobody asked, or there was none.
    pub client_deleted: Option<bool>,
}

/// What became of the tokens at the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    Yes,
    /// The refresh token is; the issuer takes back no other (RFC 7009, 2.2.1), so the access token is good until it expires.
    RefreshOnly,
    /// There was nothing to revoke.
    Nothing,
    /// The issuer has no way to.
    NotOffered,
    /// It could not be asked, or did not want to.
    Failed(String),
}

/// Signs out of the server of `context`. With `forget_client` our registration is deleted too. Without it the record
/// keeps who we are there, so that the next login does not register once more.
pub async fn logout(
    context: &Context,
    store: &dyn CredentialStore,
    forget_client: bool,
) -> Result<LoggedOut, StoreError> {
    let key = CredentialKey::of(&context.server, &context.settings)
        .map_err(|error| StoreError::Unreadable(error.to_string()))?;
    let deadline = Instant::now() + PATIENCE;
    let lock = match timeout(LOCK_PATIENCE, store.lock(&key)).await {
        Ok(lock) => lock?,
        // The store itself lets nobody write over what is newer: whoever refreshes finds our record, and yields to it.
        Err(_) => StoreLock::new(key.clone(), ()),
    };
    let mut done = LoggedOut { was_signed_in: false, revoked: Revoked::Nothing, client_deleted: None };
    for tries_left in (0..TRIES).rev() {
        let Some(credential) = store.load(&key).await? else { return Ok(done) };
        if credential.tokens.is_some() {
            done.was_signed_in = true;
            done.revoked =
                timeout_at(deadline, revoke(context, &credential)).await.unwrap_or_else(|_| late());
        }
        if forget_client && done.client_deleted.is_none() {
            done.client_deleted =
                timeout_at(deadline, delete_client(context, &credential)).await.unwrap_or(Some(false));
        }
        match forget(store, &lock, credential, forget_client).await {
            Err(StoreError::Conflict { .. }) if tries_left > 0 => {}
            outcome => return outcome.map(|()| done),
        }
    }
    Ok(done)
}

fn late() -> Revoked {
    Revoked::Failed("the issuer did not answer in time".to_owned())
}

/// Has the store forget the tokens, or everything.
async fn forget(
    store: &dyn CredentialStore,
    lock: &StoreLock,
    credential: Credential,
    is_all: bool,
) -> Result<(), StoreError> {
    if is_all {
        return store.remove(lock).await.map(drop);
    }
    let expected = credential.generation;
    let blank =
        Credential { tokens: None, ended: None, marker: None, generation: expected + 1, ..credential };
    store.save(lock, &blank, Some(expected)).await
}

/// Revokes the refresh token, then the access token (RFC 7009).
async fn revoke(context: &Context, credential: &Credential) -> Revoked {
    let Some(tokens) = &credential.tokens else { return Revoked::Nothing };
    let Some(endpoint) = credential.server_metadata.revocation_endpoint.as_deref() else {
        return Revoked::NotOffered;
    };
    let issuer = Issuer {
        http: context.http.as_ref(),
        clock: context.clock.as_ref(),
        reach: reach(context),
        settings: &context.settings,
        metadata: &credential.server_metadata,
        registration: &credential.registration,
    };
    let refresh = tokens.refresh.as_ref().map(|token| (token, "refresh_token"));
    for (token, hint) in refresh.into_iter().chain([(&tokens.access, "access_token")]) {
        let asked = async {
            let url = issuer.endpoint(Some(endpoint), "revocation endpoint")?;
            issuer.post(url, &vec![("token", token.expose()), ("token_type_hint", hint)], "to revoke").await
        };
        match asked.await {
            Ok(_) => {}
            Err(error)
                if hint == "access_token"
                    && tokens.refresh.is_some()
                    && error.code() == Some("unsupported_token_type") =>
            {
                return Revoked::RefreshOnly;
            }
            Err(error) => return Revoked::Failed(error.to_string()),
        }
    }
    Revoked::Yes
}

/// Deletes our registration (RFC 7592). Only one that we made.
async fn delete_client(context: &Context, credential: &Credential) -> Option<bool> {
    let registration = &credential.registration;
    let uri = registration.registration_client_uri.as_deref()?;
    let token = registration.registration_access_token.as_ref()?;
    let asked = async {
        let url = Url::parse(uri)?;
        reach(context).permits_url(&url).map_err(HttpError::from)?;
        let request =
            Request { method: Method::Delete, ..Request::post(url, crate::http::Body::None, reach(context)) };
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        Ok::<_, LoginError>(context.http.send(request.header("authorization", bearer)).await?.is_success())
    };
    Some(asked.await.unwrap_or(false))
}

fn reach(context: &Context) -> Reach {
    let is_loopback = Url::parse(&context.server.url).is_ok_and(|url| url.is_loopback());
    Reach { loopback: is_loopback, private: context.settings.allow_private }
}

#[cfg(test)]
mod tests;
