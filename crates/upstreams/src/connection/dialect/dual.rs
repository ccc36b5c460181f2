//! A server that speaks both eras: each call goes out in the era of its caller, all of them numbered in one table. What
//! has no caller, such as the lists, goes out in the newest revision.

use std::sync::{Mutex, OnceLock};

use manifold_engine::Exchange;
use manifold_engine::Lock as _;
use manifold_protocol::{Call, Method, Raw, notification};
use tokio::sync::Notify;

use super::modern::{self, Modern};
use super::{Dialect, Heard, Written, legacy};
use crate::connection::Connection;
use crate::connection::table::Pending;
use crate::fair_queue::FairQueue;

/// The newest revision, and beside it a session for callers that have one themselves.
pub(crate) struct Dual {
    modern: Modern,
    /// Whether there is a session; nobody knows before the first caller needed one.
    opened: OnceLock<bool>,
    /// Calls that wait to know; whoever opens the session, or cannot in time, lets them go.
    waiting: Mutex<FairQueue>,
    wanted: Notify,
}

impl Dual {
    pub(super) fn new(modern: Modern) -> Self {
        Self { modern, opened: OnceLock::new(), waiting: Mutex::default(), wanted: Notify::new() }
    }

    /// Goes on with a server of which it may be known whether there is a session.
    pub(super) fn resume(modern: Modern, session: Option<bool>) -> Self {
        // On a pipe nobody opens one later.
        Self { opened: OnceLock::from(session.unwrap_or(false)), ..Self::new(modern) }
    }

    /// Returns whether there is a session, if that is known.
    pub(super) fn opened(&self) -> Option<bool> {
        self.opened.get().copied()
    }

    pub(super) fn modern(&self) -> &Modern {
        &self.modern
    }

    pub(super) fn has_session(&self) -> bool {
        self.opened.get() == Some(&true)
    }

    pub(super) fn intercept(
        &self,
        connection: &Connection,
        call: Call,
        exchange: Exchange,
    ) -> Option<(Call, Exchange)> {
        let (call, exchange) = match is_of_session(&call) {
            true => self.wait(connection.id(), call, exchange)?,
            false => (call, exchange),
        };
        match self.goes_in_session(&call) {
            true => legacy::intercept(call, exchange),
            false => self.modern.intercept(connection, call, exchange),
        }
    }

    pub(super) fn write(
        &self,
        connection: &Connection,
        id: u64,
        call: Call,
        pending: &mut Pending,
    ) -> Written<'_> {
        match self.goes_in_session(&call) {
            true => legacy::write(connection, id, call, pending),
            false => self.modern.write(connection, id, call, pending),
        }
    }

    pub(super) fn hear_notification(
        &self,
        connection: &Connection,
        method: &str,
        params: Option<Raw>,
        within: Option<u64>,
    ) -> Heard {
        match method {
            notification::CANCELLED if self.has_session() => {
                match modern::end_listening(connection, params.as_ref()) {
                    true => Heard::Taken,
                    // In a session it takes back a question.
                    false => Heard::Left(params),
                }
            }
            _ => modern::hear_notification(connection, method, params, within),
        }
    }

    /// Returns whether the server may ask something by request: it does so in sessions only.
    pub(super) fn may_ask(&self, connection: &Connection, within: Option<u64>) -> bool {
        let of_session = |call| connection.lock().get(call).is_none_or(|pending| pending.in_session);
        self.has_session() && within.is_none_or(of_session)
    }

    pub(super) fn take_waiting(&self) -> Vec<(Call, Exchange)> {
        self.waiting.locked().take_all()
    }

    /// Keeps a call until it is known whether there is a session, or gives it back.
    fn wait(&self, server: &str, call: Call, exchange: Exchange) -> Option<(Call, Exchange)> {
        if self.opened.get().is_some() {
            return Some((call, exchange));
        }
        let mut waiting = self.waiting.locked();
        // Looked at again: who settles it takes what waits afterwards.
        if self.opened.get().is_some() {
            return Some((call, exchange));
        }
        let refused = waiting.push(call, exchange);
        drop(waiting);
        self.wanted.notify_one();
        if let Some(refused) = refused {
            refused.tell(server);
        }
        None
    }

    fn goes_in_session(&self, call: &Call) -> bool {
        self.has_session() && (is_of_session(call) || call.method == Method::SetLevel)
    }
}

impl Connection {
    /// Waits until a caller needs a session.
    pub(crate) async fn session_wanted(&self) {
        match self.dialect() {
            Dialect::Dual(dual) => dual.wanted.notified().await,
            _ => std::future::pending().await,
        }
    }

    /// Settles whether there is a session beside the newest revision, for good, and sends the calls that waited to know.
    /// Where there is none they are bridged.
    pub(crate) fn settle_session(&self, is_open: bool, capabilities: Option<&Raw>) {
        let Dialect::Dual(dual) = self.dialect() else { return };
        let _ = dual.opened.set(is_open);
        if let Some(capabilities) = capabilities {
            self.repeat_level(capabilities);
        }
        for (call, exchange) in dual.take_waiting() {
            // Given back only where all is over, and then its exchange answers as it is dropped.
            let _ = self.send(call, exchange);
        }
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
