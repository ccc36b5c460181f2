//! The sign-in of one server as the remote leg sees it: a token to send, and what to do when it is refused.

mod bearer;
mod flight;
mod keeper;
mod memory;
mod refresh;
mod refused;
mod rejection;
mod state;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};

use crate::address::Reach;
use crate::challenge::Challenge;
use crate::clock::Clock;
use crate::http::Http;
use crate::login::Context;
use crate::record::{Credential, CredentialKey};
use crate::settings::{Grant, Server, Settings};
use crate::spawn::Spawn;
use crate::store::CredentialStore;
use crate::url::{BadUrl, Url};

use flight::Want;
use memory::Memory;

pub use bearer::Bearer;
pub use refused::Sent;
pub use state::{Shown, State, Verdict};

/// What a sign-in works with.
#[derive(Clone)]
pub struct Parts {
    pub server: Server,
    pub settings: Settings,
    pub http: Arc<dyn Http>,
    pub store: Arc<dyn CredentialStore>,
    pub clock: Arc<dyn Clock>,
    pub tasks: Arc<dyn Spawn>,
}

/// The sign-in of one server and account. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct SignIn {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    parts: Parts,
    key: CredentialKey,
    url: Url,
    /// What is sent: read by every call, written by whoever publishes while it holds `memory`.
    snapshot: ArcSwapOption<Bearer>,
    /// Whether a token was taken since the last refresh.
    is_used: AtomicBool,
    state: watch::Sender<State>,
    memory: Mutex<Memory>,
    /// Wakes the keeper when there is something new to wait for.
    news: Arc<Notify>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.news.notify_one();
    }
}

impl SignIn {
    /// Makes the sign-in of a server. Nothing is read before [`SignIn::open`].
    pub fn new(parts: Parts) -> Result<Self, BadUrl> {
        let key = CredentialKey::of(&parts.server, &parts.settings)?;
        let url = Url::parse(&parts.server.url)?;
        let inner = Arc::new(Inner {
            parts,
            key,
            url,
            snapshot: ArcSwapOption::empty(),
            is_used: AtomicBool::new(false),
            state: watch::Sender::new(State::Unknown),
            memory: Mutex::new(Memory::default()),
            news: Arc::new(Notify::new()),
        });
        keeper::start(&inner);
        Ok(Self { inner })
    }

    /// Reads what is stored. Opens no connection.
    pub async fn open(&self) {
        self.inner.read_again().await;
    }

    /// Reads the store again: somebody else has signed in, refreshed, or signed out.
    pub async fn changed_on_disk(&self) {
        self.inner.read_again().await;
    }

    /// Returns by what the credential is found.
    pub fn key(&self) -> &CredentialKey {
        &self.inner.key
    }

    /// Returns the token to send, if there is one that is good: an atomic look, no lock, no task.
    pub fn current(&self) -> Option<Arc<Bearer>> {
        self.inner.current()
    }

    /// Returns the token to send, after a refresh if need be. `Ok(None)`: send without one, nobody asked for any yet.
    pub async fn bearer(&self) -> Result<Option<Arc<Bearer>>, State> {
        match self.inner.current() {
            Some(bearer) => Ok(Some(bearer)),
            None => self.inner.bearer().await,
        }
    }

    /// Judges an answer 401 or 403 to a call; `challenge` is [`Challenge::parse`]d from its headers.
    pub async fn refused(&self, sent: Sent<'_>, status: u16, challenge: Option<Challenge>) -> Verdict {
        self.inner.refused(sent, status, challenge).await
    }

    /// Says that a request without a token was let in: nobody need sign in, whatever was said before.
    pub fn let_in(&self) {
        self.inner.let_in();
    }

    /// Lets the next request be sent without a token where there is none: the server may have stopped asking for one.
    /// It stands until the server has said what it wants now.
    pub fn ask_again(&self) {
        let mut memory = self.inner.memory();
        memory.asks_again = !memory.has_tokens();
    }

    /// Returns how the sign-in stands.
    pub fn state(&self) -> State {
        self.inner.state.borrow().clone()
    }

    /// Returns where changes of the state are seen.
    pub fn watch(&self) -> watch::Receiver<State> {
        self.inner.state.subscribe()
    }

    /// Returns what may be shown of it.
    pub fn shown(&self) -> Shown {
        self.inner.shown()
    }

    /// Returns the last challenge the server gave, for a login that this process begins.
    pub fn challenge(&self) -> Option<Challenge> {
        self.inner.memory().challenge.clone()
    }

    /// Tells whether a login for these scopes may be offered without the user's asking: once an hour.
    pub fn may_step_up(&self, scopes: &[String]) -> bool {
        let now = self.inner.parts.clock.now();
        self.inner.memory().may_step_up(scopes, now)
    }

    /// Says that somebody is signing in, until then (seconds since 1970); `None`: not any more.
    pub fn login_open(&self, until: Option<u64>) {
        let mut memory = self.inner.memory();
        memory.login_open = until;
        self.inner.show(&memory);
    }

    /// Returns what a login for this server works with.
    pub fn context(&self) -> Context {
        self.inner.context()
    }

    /// Returns the credential that is in use, for a login that takes it up again.
    pub fn credential(&self) -> Option<Credential> {
        self.inner.memory().credential.clone()
    }
}

impl Inner {
    /// No lock is held over an await; whoever breaks while holding it leaves values that are whole.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Option<Arc<Bearer>> {
        let bearer = self.snapshot.load_full()?;
        let is_good = bearer.good_until.is_none_or(|until| self.parts.clock.now() < until);
        if !is_good {
            return None;
        }
        // Read first: a line of memory that nobody writes is not passed around.
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        Some(bearer)
    }

    /// Returns the token there is, good or in its last minute.
    fn unexpired(&self) -> Option<Arc<Bearer>> {
        let bearer = self.snapshot.load_full()?;
        let now = self.parts.clock.now();
        bearer.expires.is_none_or(|end| now < end).then_some(bearer)
    }

    async fn bearer(self: &Arc<Self>) -> Result<Option<Arc<Bearer>>, State> {
        self.is_used.store(true, Ordering::Relaxed);
        let is_alone = self.parts.settings.grant == Grant::ClientCredentials;
        let wants_token = is_alone || self.memory().has_tokens();
        if !wants_token {
            let state = self.state.borrow().clone();
            let may_ask = state == State::Unknown || self.memory().asks_again;
            return if may_ask { Ok(None) } else { Err(state) };
        }
        match self.refreshed(Want::Good).await {
            Ok(bearer) => Ok(Some(bearer)),
            Err(state) => self.unexpired().map(Some).ok_or(state),
        }
    }

    fn context(&self) -> Context {
        Context {
            server: self.parts.server.clone(),
            settings: self.parts.settings.clone(),
            http: self.parts.http.clone(),
            clock: self.parts.clock.clone(),
        }
    }

    fn reach(&self) -> Reach {
        Reach::of_server(&self.url, self.parts.settings.allow_private)
    }
}

#[cfg(test)]
mod tests;
