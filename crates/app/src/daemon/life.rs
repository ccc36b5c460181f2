//! How long a daemon lives: as long as it has clients, and a while after.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_engine::Lock as _;
use manifold_frontends::shim::Leaving;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::Started;

#[cfg(test)]
mod tests;

/// How long is waited once the time is up, for those who were at the door already: we may have been held up ourselves.
const LAST_LOOK: Duration = Duration::from_millis(20);

/// How long the first client is waited for at the least: whoever has started us for itself may have been held up.
const FIRST_CLIENT: Duration = Duration::from_secs(10);

pub(crate) struct Life {
    state: Mutex<State>,
    changed: Notify,
    finished: watch::Sender<bool>,
}

struct State {
    clients: usize,
    had_clients: bool,
    linger: Duration,
    started: Started,
    /// Whether clients may come at any time that are not counted, as those of HTTP do.
    is_open_to_all: bool,
    /// Since when there has been nobody.
    idle_since: Instant,
    /// Until when is waited though the time is up.
    last_look: Option<Instant>,
    is_over: bool,
    /// What clients are told, once the end was ordered.
    leaving: Option<Leaving>,
}

/// A client that counts for as long as this lives.
pub(crate) struct Presence(Arc<Life>);

impl Life {
    pub(crate) fn new(linger: Duration, started: Started) -> Arc<Self> {
        let state = State {
            clients: 0,
            had_clients: false,
            linger,
            started,
            is_open_to_all: false,
            idle_since: Instant::now(),
            last_look: None,
            is_over: false,
            leaving: None,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            finished: watch::Sender::new(false),
        })
    }

    /// Counts a client in; none once the end has been decided, which is never decided while one is.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Presence> {
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        state.clients += 1;
        state.had_clients = true;
        state.last_look = None;
        drop(state);
        self.changed.notify_waiters();
        Some(Presence(Arc::clone(self)))
    }

    pub(crate) fn started(&self) -> Started {
        self.lock().started
    }

    /// Returns whether it lives on without clients.
    pub(crate) fn stays(&self) -> bool {
        self.lock().stays()
    }

    /// Tells whether clients may come at any time that are not counted. The last of them may just have gone.
    pub(crate) fn set_open_to_all(&self, is_open: bool) {
        let mut state = self.lock();
        state.is_open_to_all = is_open;
        state.idle_since = Instant::now();
        drop(state);
        self.changed.notify_waiters();
    }

    /// Resolves when nobody has been there for long enough, or the end was ordered. From then on nobody is let in.
    pub(crate) async fn over(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let until = match self.judge(Instant::now()) {
                Judged::Over => return,
                Judged::LooksAgainAt(at) => Some(at),
                Judged::Stays => None,
            };
            match until {
                Some(at) => tokio::select! {
                    () = sleep_until(at) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    fn judge(&self, now: Instant) -> Judged {
        let mut state = self.lock();
        if state.is_over {
            return Judged::Over;
        }
        if state.clients > 0 || state.stays() {
            return Judged::Stays;
        }
        let end = state.idle_since + state.patience();
        if end > now {
            return Judged::LooksAgainAt(end);
        }
        let last_look = *state.last_look.get_or_insert(now + LAST_LOOK);
        if last_look > now {
            return Judged::LooksAgainAt(last_look);
        }
        state.is_over = true;
        Judged::Over
    }

    /// Waits for no more clients: others are served elsewhere.
    pub(crate) fn end_with_the_last(&self) {
        let mut state = self.lock();
        state.started = Started::ForClients;
        state.is_open_to_all = false;
        state.had_clients = true;
        state.linger = Duration::ZERO;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Orders the end: by a signal, or by somebody who asked for it.
    pub(crate) fn end(&self) {
        self.end_as(Leaving::Stopping);
    }

    pub(crate) fn end_as(&self, leaving: Leaving) {
        let mut state = self.lock();
        state.leaving.get_or_insert(leaving);
        state.is_over = true;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Returns what clients are told.
    pub(crate) fn leaving(&self) -> Leaving {
        self.lock().leaving.unwrap_or(Leaving::Stopping)
    }

    /// Tells whoever waits for the end that all is gone.
    pub(crate) fn finished(&self) {
        self.finished.send_replace(true);
    }

    /// Resolves when all servers are gone.
    pub(crate) async fn until_finished(&self) {
        let _ = self.finished.subscribe().wait_for(|finished| *finished).await;
    }

    fn leave(&self) {
        let mut state = self.lock();
        state.clients -= 1;
        state.idle_since = Instant::now();
        drop(state);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl State {
    fn patience(&self) -> Duration {
        if self.had_clients { self.linger } else { self.linger.max(FIRST_CLIENT) }
    }

    fn stays(&self) -> bool {
        self.started == Started::ByOrder || self.is_open_to_all
    }
}

enum Judged {
    Over,
    LooksAgainAt(Instant),
    Stays,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.leave();
    }
}
