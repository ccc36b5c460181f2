//! A server that speaks both eras: each call goes out in the era of its caller, all of them numbered in one table. What
//! has no caller, such as the lists, goes out in the newest revision.

use std::sync::{Mutex, OnceLock, PoisonError};

use manifold_engine::Exchange;
use manifold_protocol::{Call, Method, Raw};
use tokio::sync::Notify;

use super::Connection;
use super::modern::Modern;

/// The session beside the newest revision, for callers that have one themselves.
#[derive(Default)]
pub(super) struct Beside {
    /// Whether there is a session; nobody knows before the first caller needed one.
    opened: OnceLock<bool>,
    /// Calls that wait to know.
    waiting: Mutex<Vec<(Call, Exchange)>>,
    wanted: Notify,
}

impl Beside {
    fn is_open(&self) -> bool {
        self.opened.get() == Some(&true)
    }

    /// Keeps a call until it is known whether there is a session, or gives it back.
    fn wait(&self, call: Call, exchange: Exchange) -> Option<(Call, Exchange)> {
        if self.opened.get().is_some() {
            return Some((call, exchange));
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at again: who settles it takes what waits afterwards.
        if self.opened.get().is_some() {
            return Some((call, exchange));
        }
        waiting.push((call, exchange));
        self.wanted.notify_one();
        None
    }

    pub(super) fn take_waiting(&self) -> Vec<(Call, Exchange)> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Connection {
    /// Speaks the revisions with sessions too, once somebody has opened one.
    pub(crate) fn speak_both(&self) {
        if let Some(modern) = self.modern.get() {
            let _ = modern.beside.set(Beside::default());
        }
    }

    /// Waits until a caller needs a session.
    pub(crate) async fn session_wanted(&self) {
        match self.beside() {
            Some(beside) => beside.wanted.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Settles whether there is a session beside the newest revision, for good, and sends the calls that waited to know.
    /// Where there is none they are bridged.
    pub(crate) fn settle_session(&self, is_open: bool, capabilities: Option<&Raw>) {
        let Some(beside) = self.beside() else { return };
        let _ = beside.opened.set(is_open);
        if let Some(capabilities) = capabilities {
            self.repeat_level(capabilities);
        }
        for (call, exchange) in beside.take_waiting() {
            // Given back only where all is over, and then its exchange answers as it is dropped.
            let _ = self.send(call, exchange);
        }
    }

    pub(super) fn beside(&self) -> Option<&Beside> {
        self.modern.get()?.beside.get()
    }

    /// Returns whether a session is open beside the newest revision.
    pub(super) fn has_session_beside(&self) -> bool {
        self.beside().is_some_and(Beside::is_open)
    }

    /// Returns what is different with this call, which goes out in the newest revision; `None` if it does not.
    pub(super) fn modern_for(&self, call: &Call) -> Option<&Modern> {
        let modern = self.modern.get()?;
        let in_session = || is_of_session(call) || call.method == Method::SetLevel;
        let leaves = modern.beside.get().is_some_and(|beside| beside.is_open() && in_session());
        (!leaves).then_some(modern)
    }

    /// Keeps a call whose caller has a session until it is known whether there is one here, or gives it back.
    pub(super) fn await_session(&self, call: Call, exchange: Exchange) -> Option<(Call, Exchange)> {
        match self.beside() {
            Some(beside) if is_of_session(&call) => beside.wait(call, exchange),
            _ => Some((call, exchange)),
        }
    }

    /// Returns whether the server may ask something now: by request it does so in sessions only.
    pub(super) fn may_ask(&self, within: Option<u64>) -> bool {
        if self.modern.get().is_none() {
            return true;
        }
        let of_session = |call| self.lock().get(call).is_none_or(|pending| pending.in_session);
        self.has_session_beside() && within.is_none_or(of_session)
    }
}

/// Returns whether a call is of a client with a session. Whoever says nothing of itself has none, and what stands for all
/// callers (subscriptions, listening) is told one way.
fn is_of_session(call: &Call) -> bool {
    let has_session = call.caller.as_ref().is_some_and(|caller| !caller.retries && caller.info.is_some());
    has_session
        && !matches!(
            call.method,
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe | Method::Listen | Method::Ping
        )
}

#[cfg(test)]
mod tests;
