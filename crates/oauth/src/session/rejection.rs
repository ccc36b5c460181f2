//! When a refresh is answered with no: which answers end a sign-in, and which only cost time.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Outcome;
use super::{Inner, State};
use crate::login::LoginError;
use crate::record::{ClientSource, Credential, Ended, Tokens};
use crate::secret::Secret;
use crate::store::StoreLock;

/// So many refusals in a row that say nothing of the login, over so long, end it: some issuers know one word for all.
const ODD_REFUSALS: u32 = 3;
const ODD_FOR: Duration = Duration::from_secs(600);

/// What was tried.
pub(super) struct Attempt {
    /// The refresh token.
    pub(super) sent: Secret,
    /// The server has refused the access token.
    pub(super) is_forced: bool,
    /// Somebody asked with the same token before, and never wrote what became of it.
    pub(super) was_interrupted: bool,
}

impl Inner {
    /// Judges what a refresh was answered with.
    pub(super) async fn rejected(
        self: &Arc<Self>,
        lock: &StoreLock,
        credential: Credential,
        attempt: &Attempt,
        error: LoginError,
    ) -> Outcome {
        let why = error.to_string();
        match error.code() {
            Some("invalid_grant") => self.grant_is_gone(lock, credential, attempt, why).await,
            _ if error.refuses_client() => Err(self.client_is_gone(lock, credential, why).await),
            _ if !error.is_said_by_issuer() => Err(self.wait(&error)),
            _ => {
                let is_over = {
                    let mut memory = self.memory();
                    let now = self.parts.clock.now();
                    let (count, since) = memory.odd.unwrap_or((0, now));
                    memory.odd = Some((count + 1, since));
                    count + 1 >= ODD_REFUSALS && now.saturating_sub(since) >= ODD_FOR
                };
                if is_over {
                    return Err(self.end(lock, credential, attempt, why).await);
                }
                Err(self.wait(&error))
            }
        }
    }

    /// The refresh token is worth nothing any more, unless somebody who did not ask for the lock has another.
    async fn grant_is_gone(
        self: &Arc<Self>,
        lock: &StoreLock,
        credential: Credential,
        attempt: &Attempt,
        why: String,
    ) -> Outcome {
        let is_unsaved = self.memory().unsaved.is_some();
        if !is_unsaved && let Ok(Some(found)) = self.parts.store.load(&self.key).await {
            let other =
                found.tokens.as_ref().is_some_and(|tokens| tokens.refresh.as_ref() != Some(&attempt.sent));
            if other && found.generation != credential.generation {
                let mut memory = self.memory();
                return self.publish(&mut memory, Some(found)).ok_or(State::NeedsLogin);
            }
        }
        let why = if attempt.was_interrupted {
            format!("{why}, after a refresh that was interrupted")
        } else {
            why
        };
        Err(self.end(lock, credential, attempt, why).await)
    }

    /// Ends the sign-in. Only tokens that were sent are dropped; an access token that nobody refused is used up.
    async fn end(&self, lock: &StoreLock, credential: Credential, attempt: &Attempt, why: String) -> State {
        let keeps = |tokens: &Tokens| tokens.refresh.as_ref() != Some(&attempt.sent);
        let is_good = self.unexpired().is_some() && !attempt.is_forced;
        let tokens = match credential.tokens.clone() {
            Some(tokens) if keeps(&tokens) => Some(tokens),
            Some(tokens) if is_good => Some(Tokens { refresh: None, ..tokens }),
            _ => None,
        };
        let ended = Some(Ended { since: self.parts.clock.wall(), why });
        let expected = credential.generation;
        let over = Credential { tokens, ended, marker: None, generation: expected + 1, ..credential };
        self.put(lock, over, expected).await
    }

    /// There is no refresh token, and the access token is over or refused.
    pub(super) async fn cannot_renew(
        &self,
        lock: &StoreLock,
        credential: Credential,
        is_forced: bool,
    ) -> State {
        let is_good = self.unexpired().is_some() && !is_forced;
        if is_good {
            return self.state.borrow().clone();
        }
        let why = "the token is over and there is none to renew it with".to_owned();
        let ended = credential.ended.clone().or(Some(Ended { since: self.parts.clock.wall(), why }));
        let expected = credential.generation;
        let over = Credential { tokens: None, ended, generation: expected + 1, ..credential };
        self.put(lock, over, expected).await
    }

    /// The issuer does not know us any more. One we registered is registered anew at the next login; one of the config
    /// is for the user to mend.
    async fn client_is_gone(&self, lock: &StoreLock, credential: Credential, why: String) -> State {
        let expected = credential.generation;
        let mut over = Credential { marker: None, generation: expected + 1, ..credential };
        over.registration.is_refused = true;
        over.tokens = None;
        if over.registration.source == ClientSource::Configured {
            over.ended = Some(Ended { since: self.parts.clock.wall(), why });
        }
        self.put(lock, over, expected).await
    }

    /// Saves and publishes what has ended. If it cannot be saved it is found again at the next try.
    pub(super) async fn put(&self, lock: &StoreLock, credential: Credential, expected: u64) -> State {
        let is_unsaved = self.memory().unsaved.take();
        let saved = self.parts.store.save(lock, &credential, Some(is_unsaved.unwrap_or(expected))).await;
        if let Err(error) = saved {
            tracing::warn!(server = %self.parts.server.id, %error, "the end of a sign-in is not in the store");
        }
        let mut memory = self.memory();
        self.publish(&mut memory, Some(credential));
        self.show(&memory)
    }

    /// The issuer may answer later: nobody is asked to sign in for that.
    pub(super) fn wait(&self, error: &LoginError) -> State {
        let mut memory = self.memory();
        let now = self.parts.clock.now();
        memory.back_off(now, error.retry_after());
        let good_until =
            memory.credential.as_ref().and_then(|credential| credential.tokens.as_ref()?.expires_at);
        let good_until = good_until.filter(|_| self.unexpired().is_some());
        memory.trouble = Some(match error {
            _ if error.refuses_client() => State::NeedsClientId { why: error.to_string() },
            LoginError::NeedsClientId { .. } => State::NeedsClientId { why: error.to_string() },
            LoginError::IssuerRefused { expected, got } => {
                State::IssuerRefused { expected: expected.clone(), got: got.clone() }
            }
            _ => State::Retrying { why: error.to_string(), good_until },
        });
        self.news.notify_one();
        self.show(&memory)
    }
}
