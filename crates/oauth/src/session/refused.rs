//! What is done with a call that the server refused. A refused call was not carried out, so it may be sent again; no
//! call is sent more than twice.

use std::sync::Arc;

use super::flight::Want;
use super::memory::want;
use super::{Bearer, Inner, State, Verdict};
use crate::challenge::Challenge;
use crate::discovery::Discovery;
use crate::http::{HttpError, METADATA_TIMEOUT};
use crate::login::LoginError;
use crate::record::{ClientSource, Credential, Ended};
use crate::settings::Grant;
use crate::store::StoreLock;

/// How often a call was sent, and with what, when it was refused.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// `None`: without a token.
    pub bearer: Option<&'a Bearer>,
    /// Whether this was the second time; there is no third.
    pub is_second: bool,
}

impl Inner {
    pub(super) async fn refused(
        self: &Arc<Self>,
        sent: Sent<'_>,
        status: u16,
        challenge: Option<Challenge>,
    ) -> Verdict {
        let is_scope = challenge.as_ref().is_some_and(Challenge::is_insufficient_scope);
        match (status, challenge) {
            (403, Some(challenge)) if is_scope && sent.bearer.is_some() => {
                self.needs_scope(sent, challenge).await
            }
            (401, challenge) => self.not_let_in(sent, challenge).await,
            // Some say 403 to whoever has no token, or a bad one. To others it says that the token allows too little.
            (403, Some(challenge))
                if sent.bearer.is_none() || challenge.error.as_deref() == Some("invalid_token") =>
            {
                self.not_let_in(sent, Some(challenge)).await
            }
            _ => Verdict::Pass,
        }
    }

    async fn not_let_in(self: &Arc<Self>, sent: Sent<'_>, challenge: Option<Challenge>) -> Verdict {
        {
            let mut memory = self.memory();
            memory.asks_again = false;
            memory.is_open_to_all = false;
            memory.challenge = Some(challenge.clone().unwrap_or_default());
            self.show(&memory);
        }
        // Somebody has signed in or refreshed since this was sent.
        if let Some(other) =
            self.unexpired().filter(|other| sent.bearer.is_none_or(|sent| sent.header != other.header))
        {
            return if sent.is_second { Verdict::Pass } else { Verdict::Resend(other) };
        }
        let is_alone = self.parts.settings.grant == Grant::ClientCredentials;
        let has_refresh = {
            let memory = self.memory();
            let tokens = memory.credential.as_ref().and_then(|credential| credential.tokens.as_ref());
            tokens.is_some_and(|tokens| tokens.refresh.is_some())
        };
        match sent.bearer {
            None if is_alone && !sent.is_second => self.resend(Want::Good).await,
            None => Verdict::Failed(self.state.borrow().clone()),
            Some(_) if self.snapshot.load().is_none() => Verdict::Failed(self.state.borrow().clone()),
            Some(bearer) if !sent.is_second && (has_refresh || is_alone) => {
                self.resend(Want::Refused(bearer.header.clone())).await
            }
            Some(bearer) => self.look_up_again(bearer, sent.is_second, challenge).await,
        }
    }

    async fn resend(self: &Arc<Self>, want: Want) -> Verdict {
        match self.refreshed(want).await {
            Ok(bearer) => Verdict::Resend(bearer),
            Err(state) => Verdict::Failed(state),
        }
    }

    /// A token fresh from its issuer is refused: either the server has another issuer now, or the sign-in is over.
    async fn look_up_again(
        self: &Arc<Self>,
        refused: &Bearer,
        is_second: bool,
        challenge: Option<Challenge>,
    ) -> Verdict {
        let Ok(lock) = self.parts.store.lock(&self.key).await else {
            return Verdict::Failed(self.state.borrow().clone());
        };
        self.read_again().await;
        let known = self.memory().credential.clone();
        let current = self.snapshot.load_full();
        let known = match (known, current) {
            (Some(known), Some(current)) if current.header == refused.header => known,
            // Somebody was here before us.
            (_, Some(_)) if is_second => return Verdict::Pass,
            (_, Some(current)) => return Verdict::Resend(current),
            _ => return Verdict::Failed(self.state.borrow().clone()),
        };
        Verdict::Failed(self.end_or_move(&lock, known, challenge).await)
    }

    async fn end_or_move(&self, lock: &StoreLock, known: Credential, challenge: Option<Challenge>) -> State {
        let discovery = Discovery {
            http: self.parts.http.as_ref(),
            server: &self.url,
            settings: &self.parts.settings,
            challenge: challenge.as_ref(),
            known_issuer: Some(&known.issuer),
        };
        // The lock is held meanwhile, and others wait for it.
        let found = tokio::time::timeout(METADATA_TIMEOUT, discovery.find()).await;
        let late = |_| Err(LoginError::from(HttpError::TimedOut { host: self.url.authority() }));
        let found = found.unwrap_or_else(late);
        let expected = known.generation;
        let mut over = Credential { tokens: None, marker: None, generation: expected + 1, ..known };
        let is_configured = over.registration.source == ClientSource::Configured;
        let mut trouble = None;
        match found {
            // What is in the way says nothing of the sign-in.
            Err(error) if error.is_transient() || matches!(error, LoginError::Http(_)) => {
                return self.wait(&error);
            }
            Ok(found) if found.metadata.issuer == over.issuer => {
                over.ended = Some(self.ended("the server refuses a fresh token"))
            }
            Ok(found) if is_configured => trouble = Some((over.issuer.clone(), found.metadata.issuer)),
            // We register with the new one at the next login; nothing of the old is sent there.
            Ok(_) => over.ended = None,
            Err(LoginError::IssuerRefused { expected, got }) => trouble = Some((expected, got)),
            Err(error) => over.ended = Some(self.ended(&error.to_string())),
        }
        self.put(lock, over, expected).await;
        let mut memory = self.memory();
        if let Some((expected, got)) = trouble {
            memory.trouble = Some(State::IssuerRefused { expected, got: crate::text::shown(&got) });
        }
        self.show(&memory)
    }

    fn ended(&self, why: &str) -> Ended {
        Ended { since: self.parts.clock.wall(), why: why.to_owned() }
    }

    /// The token is good for other calls, which go on with it. What is missing is written down for the next login.
    async fn needs_scope(self: &Arc<Self>, sent: Sent<'_>, challenge: Challenge) -> Verdict {
        let other =
            self.unexpired().filter(|other| sent.bearer.is_some_and(|sent| sent.header != other.header));
        if let Some(other) = other {
            return if sent.is_second { Verdict::Pass } else { Verdict::Resend(other) };
        }
        let scopes = challenge.scopes();
        let is_new = {
            let mut memory = self.memory();
            memory.challenge = Some(challenge);
            let is_new = memory.credential.as_mut().is_some_and(|credential| want(credential, &scopes));
            self.show(&memory);
            is_new
        };
        if is_new && let Ok(lock) = self.parts.store.lock(&self.key).await {
            self.write_wanted(&lock, &scopes).await;
        }
        Verdict::Failed(State::NeedsScope { scopes })
    }

    /// Best effort: a login in this process knows them anyway.
    async fn write_wanted(&self, lock: &StoreLock, scopes: &[String]) {
        if let Ok(Some(mut found)) = self.parts.store.load(&self.key).await
            && want(&mut found, scopes)
        {
            let _ = self.parts.store.save(lock, &found, Some(found.generation)).await;
        }
    }
}
