//! One refresh: lock, read again, mark, ask, save, publish.

use std::sync::Arc;

use super::flight::Want;
use super::memory::{Memory, Outcome, is_same};
use super::rejection::Attempt;
use super::{Bearer, Inner, State};
use crate::discovery::Discovery;
use crate::http::METADATA_TIMEOUT;
use crate::login::{LoginError, Start, client_credentials};
use crate::record::{Credential, Marker};
use crate::scope;
use crate::secret::Secret;
use crate::settings::Grant;
use crate::store::{StoreError, StoreLock};
use crate::token::{Answer, Issuer};

/// How old metadata may become, in seconds.
const LOOK_UP_EVERY: u64 = 24 * 3600;

impl Inner {
    /// Gets the token that is wanted. The lock between processes is held over the request and the save.
    pub(super) async fn refresh(self: &Arc<Self>, want: Want) -> Outcome {
        let lock = match self.parts.store.lock(&self.key).await {
            Ok(lock) => lock,
            Err(error) => return Err(self.store_failed(&error)),
        };
        let found = match self.parts.store.load(&self.key).await {
            Ok(found) => found,
            Err(error) => return Err(self.store_failed(&error)),
        };
        let credential = {
            let mut memory = self.memory();
            match self.newest(&mut memory, found, &want) {
                Newest::Good(outcome) => return outcome,
                Newest::Stale(credential) => credential.map(|credential| *credential),
            }
        };
        if self.parts.settings.grant == Grant::ClientCredentials {
            return self.sign_in_alone(&lock, credential).await;
        }
        match credential {
            Some(credential) => self.renew(&lock, credential, want.is_forced()).await,
            None => Err(self.state.borrow().clone()),
        }
    }

    /// Compares what is stored with what we have. What another process has refreshed is taken over without a request.
    fn newest(&self, memory: &mut Memory, found: Option<Credential>, want: &Want) -> Newest {
        if memory.unsaved.is_some() {
            // The store holds less than we know.
            return Newest::Stale(memory.credential.clone().map(Box::new));
        }
        let bearer = if is_same(found.as_ref(), memory.credential.as_ref()) {
            self.snapshot.load_full()
        } else {
            let flight = memory.flight.take();
            let bearer = self.take_over(memory, found.clone());
            memory.flight = flight;
            bearer
        };
        let has_tokens = memory.credential.as_ref().is_some_and(|credential| credential.tokens.is_some());
        let now = self.parts.clock.now();
        let is_wanted = |bearer: &Arc<Bearer>| {
            want.not_this() != Some(&bearer.header) && bearer.good_until.is_none_or(|until| now < until)
        };
        match bearer.filter(is_wanted) {
            Some(bearer) => {
                memory.flight = None;
                Newest::Good(Ok(bearer))
            }
            None if !has_tokens && self.parts.settings.grant != Grant::ClientCredentials => {
                Newest::Good(Err(self.show(memory)))
            }
            None => Newest::Stale(found.map(Box::new)),
        }
    }

    async fn renew(self: &Arc<Self>, lock: &StoreLock, credential: Credential, is_forced: bool) -> Outcome {
        let refresh = credential.tokens.as_ref().and_then(|tokens| tokens.refresh.clone());
        let Some(refresh) = refresh else {
            return Err(self.cannot_renew(lock, credential, is_forced).await);
        };
        let marked = credential.marker.as_ref();
        let was_interrupted = marked.is_some_and(|marker| marker.hash == refresh.hash());
        let credential = self.look_up_daily(credential).await;
        let credential = self.mark(lock, credential, &refresh).await;
        match self.ask(&credential, &refresh).await {
            Ok(answer) => Ok(self.keep(lock, credential, &answer, refresh).await?),
            Err(error) => {
                let attempt = Attempt { sent: refresh, is_forced, was_interrupted };
                self.rejected(lock, credential, &attempt, error).await
            }
        }
    }

    /// Reads the issuer's metadata anew once a day, so that endpoints may move. What is not to be had, or is another
    /// issuer's, changes nothing here: the server says so itself when it matters.
    async fn look_up_daily(&self, mut credential: Credential) -> Credential {
        let now = self.parts.clock.wall();
        if now.abs_diff(credential.looked_up) < LOOK_UP_EVERY {
            return credential;
        }
        let discovery = Discovery {
            http: self.parts.http.as_ref(),
            server: &self.url,
            settings: &self.parts.settings,
            challenge: None,
            known_issuer: Some(&credential.issuer),
        };
        let found = tokio::time::timeout(METADATA_TIMEOUT, discovery.find()).await;
        if let Ok(Ok(found)) = found
            && found.metadata.issuer == credential.issuer
        {
            credential.server_metadata = found.metadata;
        }
        credential.looked_up = now;
        credential
    }

    /// Writes down that this token may be spent soon. A store that is full does not keep us from asking.
    async fn mark(&self, lock: &StoreLock, credential: Credential, refresh: &Secret) -> Credential {
        if let Some(marker) = &credential.marker {
            tracing::warn!(server = %self.parts.server.id, since = marker.time, "a refresh was interrupted, trying again");
        }
        let marker =
            Marker { generation: credential.generation, hash: refresh.hash(), time: self.parts.clock.wall() };
        let marked = Credential { marker: Some(marker), ..credential };
        if self.memory().unsaved.is_none()
            && let Err(error) = self.parts.store.save(lock, &marked, Some(marked.generation)).await
        {
            tracing::warn!(server = %self.parts.server.id, %error, "a refresh is not marked in the store");
        }
        marked
    }

    /// Sends the refresh token with what was asked for and given at login. Some refuse scopes here: then once without.
    async fn ask(&self, credential: &Credential, refresh: &Secret) -> Result<Answer, LoginError> {
        let issuer = Issuer {
            http: self.parts.http.as_ref(),
            clock: self.parts.clock.as_ref(),
            reach: self.reach(),
            settings: &self.parts.settings,
            metadata: &credential.server_metadata,
            registration: &credential.registration,
        };
        let scope = scope::to_renew(&credential.requested_scopes, &credential.granted_scopes).join(" ");
        let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        fields.extend(credential.resource.as_deref().map(|resource| ("resource", resource)));
        let without = fields.clone();
        fields.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        match issuer.token(fields).await {
            Err(error)
                if !scope.is_empty() && matches!(error.code(), Some("invalid_scope" | "invalid_target")) =>
            {
                issuer.token(without).await
            }
            outcome => outcome,
        }
    }

    /// Saves the new tokens, then sends them. If they cannot be saved they are used all the same, and saved later:
    /// the old ones may be worth nothing any more.
    async fn keep(&self, lock: &StoreLock, old: Credential, answer: &Answer, refresh: Secret) -> Outcome {
        let now = self.parts.clock.wall();
        let replaced = self.memory().unsaved.unwrap_or(old.generation);
        let new = Credential {
            generation: old.generation + 1,
            tokens: Some(answer.tokens(Some(refresh), now)),
            granted_scopes: answer.scopes.clone().unwrap_or_else(|| old.granted_scopes.clone()),
            refreshed: now,
            ended: None,
            marker: None,
            ..old
        };
        self.save_and_publish(lock, new, Some(replaced)).await
    }

    async fn save_and_publish(&self, lock: &StoreLock, new: Credential, replaced: Option<u64>) -> Outcome {
        let saved = self.parts.store.save(lock, &new, replaced).await;
        let mut memory = self.memory();
        memory.unsaved = match &saved {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(server = %self.parts.server.id, %error, "a new token is kept in memory, the store refuses it");
                Some(replaced.unwrap_or(0))
            }
        };
        let token = new.tokens.as_ref().map(|tokens| tokens.access.fingerprint()).unwrap_or_default();
        tracing::debug!(server = %self.parts.server.id, generation = new.generation, token, "signed in anew");
        self.publish(&mut memory, Some(new)).ok_or(State::NeedsLogin)
    }

    /// Gets a token without a user. There is nothing to rotate, so nothing is marked.
    async fn sign_in_alone(&self, lock: &StoreLock, known: Option<Credential>) -> Outcome {
        let challenge = self.memory().challenge.clone();
        let replaced = known.as_ref().map(|known| known.generation);
        let start = Start { challenge, known, ..Start::default() };
        match client_credentials(&self.context(), start).await {
            Ok(new) => {
                let new = Credential { generation: replaced.unwrap_or(0) + 1, ..new };
                self.save_and_publish(lock, new, replaced).await
            }
            Err(error) => Err(self.wait(&error)),
        }
    }

    /// Notes that the store cannot be used; what we send goes on being sent.
    pub(super) fn store_failed(&self, error: &StoreError) -> State {
        let mut memory = self.memory();
        let now = self.parts.clock.now();
        memory.back_off(now, None);
        memory.trouble = Some(State::StoreFailed { why: error.to_string() });
        self.news.notify_one();
        self.show(&memory)
    }
}

enum Newest {
    /// There is nothing to ask for.
    Good(Outcome),
    Stale(Option<Box<Credential>>),
}
