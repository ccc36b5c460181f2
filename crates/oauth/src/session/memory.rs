//! What a sign-in remembers between calls, and how it is shown.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Bearer, Inner, Shown, State};
use crate::challenge::Challenge;
use crate::random;
use crate::record::{ClientSource, Credential};
use crate::scope;

/// The shortest and the longest wait between two tries.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How often a login is offered for the same scopes.
const STEP_UP_EVERY: Duration = Duration::from_secs(3600);
/// More sets of scopes than this are not told apart.
const MAX_STEP_UPS: usize = 32;

/// Scopes that a server may have us want, in all: it names them, call by call.
const MAX_WANTED: usize = 64;
const MAX_WANTED_BYTES: usize = 4 << 10;

pub(super) type Outcome = Result<Arc<Bearer>, State>;

#[derive(Default)]
pub(super) struct Memory {
    /// As it is on disk, or newer where the store refused it.
    pub(super) credential: Option<Credential>,
    /// Set while `credential` is not on disk: the generation it replaces there.
    pub(super) unsaved: Option<u64>,
    /// A refresh that is under way, and where its outcome is told.
    pub(super) flight: Option<watch::Receiver<Option<Outcome>>>,
    /// What went wrong last, if it still does.
    pub(super) trouble: Option<State>,
    pub(super) failures: u32,
    /// By the clock that only goes forward: nobody is asked before.
    pub(super) not_before: Option<Duration>,
    /// Refusals in a row that say nothing of the login, and when they began.
    pub(super) odd: Option<(u32, Duration)>,
    pub(super) challenge: Option<Challenge>,
    /// A request may go without a token, to see what the server says to it now.
    pub(super) asks_again: bool,
    /// The last one that went without was let in.
    pub(super) is_open_to_all: bool,
    pub(super) login_open: Option<u64>,
    step_ups: Vec<(Vec<String>, Duration)>,
}

impl Memory {
    /// Counts a failure; returns how long is waited now.
    pub(super) fn back_off(&mut self, now: Duration, asked: Option<Duration>) -> Duration {
        let doubled = FIRST_WAIT * 2_u32.saturating_pow(self.failures.min(10));
        self.failures = self.failures.saturating_add(1);
        let wait = doubled.min(LONGEST_WAIT).mul_f64(random::jitter(0.2)).min(LONGEST_WAIT);
        // An issuer may ask for more patience, but not for a day of it.
        let wait = wait.max(asked.unwrap_or_default().min(LONGEST_WAIT * 10));
        self.not_before = Some(now + wait);
        wait
    }

    pub(super) fn calm_down(&mut self) {
        self.failures = 0;
        self.not_before = None;
        self.odd = None;
        self.trouble = None;
    }

    pub(super) fn may_step_up(&mut self, scopes: &[String], now: Duration) -> bool {
        let mut scopes = scopes.to_vec();
        scopes.sort();
        self.step_ups.retain(|(_, at)| now.saturating_sub(*at) < STEP_UP_EVERY);
        if self.step_ups.len() >= MAX_STEP_UPS || self.step_ups.iter().any(|(known, _)| *known == scopes) {
            return false;
        }
        self.step_ups.push((scopes, now));
        true
    }

    fn generation(&self) -> Option<u64> {
        self.credential.as_ref().map(|credential| credential.generation)
    }

    pub(super) fn has_tokens(&self) -> bool {
        self.credential.as_ref().is_some_and(|credential| credential.tokens.is_some())
    }

    /// Returns what the sign-in comes to.
    fn state(&self) -> State {
        if let Some(until) = self.login_open {
            return State::LoginOpen { until };
        }
        if let Some(trouble) = &self.trouble {
            return trouble.clone();
        }
        if self.is_open_to_all && !self.has_tokens() {
            return State::Unknown;
        }
        let Some(credential) = &self.credential else {
            return if self.challenge.is_some() { State::NeedsLogin } else { State::Unknown };
        };
        match (&credential.ended, &credential.tokens) {
            _ if credential.registration.is_refused
                && credential.registration.source == ClientSource::Configured =>
            {
                State::NeedsClientId {
                    why: format!("{} refuses the client of the config", credential.issuer),
                }
            }
            (Some(ended), _) => State::LoginExpired { since: ended.since, why: ended.why.clone() },
            (None, None) => State::NeedsLogin,
            (None, Some(_)) if !credential.wanted_scopes.is_empty() => {
                State::NeedsScope { scopes: credential.wanted_scopes.clone() }
            }
            (None, Some(_)) => State::Ready,
        }
    }
}

impl Inner {
    /// Shows the state if it is another. One line in the log for each change, none for each call.
    pub(super) fn show(&self, memory: &Memory) -> State {
        let state = memory.state();
        self.state.send_if_modified(|shown| {
            let is_new = *shown != state;
            if is_new {
                tracing::info!(server = %self.parts.server.id, account = %self.key.account, state = %state, "sign-in");
                *shown = state.clone();
            }
            is_new
        });
        state
    }

    /// Makes a credential the one in use, and its token the one that is sent.
    pub(super) fn publish(&self, memory: &mut Memory, credential: Option<Credential>) -> Option<Arc<Bearer>> {
        let tokens = credential.as_ref().and_then(|credential| credential.tokens.as_ref());
        let generation = credential.as_ref().map_or(0, |credential| credential.generation);
        let bearer = tokens.map(|tokens| Arc::new(Bearer::of(tokens, generation, self.parts.clock.as_ref())));
        self.snapshot.store(bearer.clone());
        self.is_used.store(false, std::sync::atomic::Ordering::Relaxed);
        memory.credential = credential;
        memory.is_open_to_all = false;
        memory.asks_again &= bearer.is_none();
        memory.flight = None;
        memory.calm_down();
        self.show(memory);
        self.news.notify_one();
        bearer
    }

    /// What was asked for before is asked for no more.
    pub(super) fn let_in(&self) {
        // Nearly always nothing else was ever said.
        if *self.state.borrow() == State::Unknown {
            return;
        }
        let mut memory = self.memory();
        memory.challenge = None;
        memory.asks_again = false;
        memory.is_open_to_all = true;
        self.show(&memory);
    }

    pub(super) fn shown(&self) -> Shown {
        let memory = self.memory();
        let credential = memory.credential.as_ref();
        let tokens = credential.and_then(|credential| credential.tokens.as_ref());
        let good_until = tokens.and_then(|tokens| tokens.expires_at);
        let is_over = good_until.is_some_and(|until| until <= self.parts.clock.wall());
        let state = match (memory.state(), credential.and_then(|credential| credential.marker.as_ref())) {
            // Somebody began to renew it, and nothing has come of that.
            (State::Ready, Some(_)) if is_over => {
                let why = "the last renewal has brought nothing".to_owned();
                State::Retrying { why, good_until: None }
            }
            (state, _) => state,
        };
        Shown {
            state,
            account: self.key.account.clone(),
            issuer: credential.map(|credential| credential.issuer.clone()),
            granted_scopes: credential
                .map(|credential| credential.granted_scopes.clone())
                .unwrap_or_default(),
            good_until,
            last_refresh: credential.map(|credential| credential.refreshed),
            has_refresh_token: tokens.is_some_and(|tokens| tokens.refresh.is_some()),
            is_unsaved: memory.unsaved.is_some(),
        }
    }

    /// Reads the store and takes over what is another there. What only we have is kept.
    pub(super) async fn read_again(self: &Arc<Self>) {
        let (loaded, mut memory) = loop {
            let before = self.memory().generation();
            let loaded = self.parts.store.load(&self.key).await;
            let memory = self.memory();
            // Whoever refreshes reads the store itself, under the lock.
            if memory.flight.is_some() || memory.unsaved.is_some() {
                return;
            }
            // What was read may be older than what was published while it was.
            if memory.generation() == before {
                break (loaded, memory);
            }
        };
        match loaded {
            Ok(found) if is_same(found.as_ref(), memory.credential.as_ref()) => {
                if matches!(memory.trouble, Some(State::StoreFailed { .. })) {
                    memory.trouble = None;
                }
                self.show(&memory);
            }
            Ok(found) => {
                self.take_over(&mut memory, found);
            }
            Err(error) => {
                memory.trouble = Some(State::StoreFailed { why: error.to_string() });
                self.show(&memory);
            }
        }
    }

    /// Publishes what was found in the store, unless it was issued for another server: a shared one may be another's.
    pub(super) fn take_over(&self, memory: &mut Memory, found: Option<Credential>) -> Option<Arc<Bearer>> {
        // A credential that went was there: from then on a login is needed, whatever the server says.
        if found.is_none() && memory.credential.is_some() {
            memory.challenge.get_or_insert_default();
        }
        let found = found.filter(|found| {
            let Some(metadata) = &found.resource_metadata else { return true };
            let fits =
                crate::url::Url::parse(&metadata.resource).is_ok_and(|url| url.is_same_origin(&self.url));
            fits || self.parts.settings.resource
                == crate::settings::ResourceChoice::Given(metadata.resource.clone())
        });
        self.publish(memory, found)
    }
}

/// Tells whether two records say the same of what we send and show.
pub(super) fn is_same(one: Option<&Credential>, other: Option<&Credential>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.generation == other.generation
                && one.tokens == other.tokens
                && one.ended == other.ended
                && one.issuer == other.issuer
                && one.wanted_scopes == other.wanted_scopes
        }
        _ => false,
    }
}

/// Adds to the scopes that the next login asks for.
pub(super) fn want(credential: &mut Credential, scopes: &[String]) -> bool {
    let before = credential.wanted_scopes.len();
    for scope in scopes {
        let bytes: usize = credential.wanted_scopes.iter().map(String::len).sum();
        if credential.wanted_scopes.len() < MAX_WANTED && bytes + scope.len() <= MAX_WANTED_BYTES {
            scope::add(&mut credential.wanted_scopes, [scope.as_str()]);
        }
    }
    credential.wanted_scopes.len() != before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_makes_us_want_only_so_much() {
        let mut credential = crate::fakes::credential();
        for n in 0..1000 {
            want(&mut credential, &[format!("scope-{n}")]);
        }
        assert_eq!(credential.wanted_scopes.len(), MAX_WANTED);
        let mut credential = crate::fakes::credential();
        assert!(want(&mut credential, &["a".to_owned()]));
        assert!(!want(&mut credential, &["x".repeat(MAX_WANTED_BYTES)]), "too long for what is left");
        assert!(want(&mut credential, &["b".to_owned()]) && !want(&mut credential, &["b".to_owned()]));
    }
}
