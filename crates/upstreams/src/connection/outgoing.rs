//! What is sent to the server: calls of clients, requests of our own, notifications.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Exchange, Reach, Target};
use manifold_protocol::{Answer, Call, Failure, Fault, Method, Raw, RawObject, envelope};

use super::Connection;
use super::deadlines::{FOREVER, HARD_LIMIT};
use super::dialect::Written;
use super::table::{Origin, Pending, Table};

/// What a server may be owed before new calls are refused: one that never reads may cost 16 MiB in all (F4).
pub(super) const CROWDED_BYTES: usize = 8 << 20;
/// A call of at most this size is let through to a server that is owed too much, if its client has none there.
const SMALL_BYTES: usize = 16 << 10;

impl Connection {
    /// Sends a call, or gives it back unsent when this generation is over.
    pub(crate) fn send(&self, call: Call, exchange: Exchange) -> Result<(), (Call, Exchange)> {
        let Some((call, exchange)) = self.dialect().intercept(self, call, exchange) else { return Ok(()) };
        let crowded = self.outbox.crowded();
        let mut table = self.lock();
        if table.is_closed() {
            return Err((call, exchange));
        }
        if crowded && !is_first_and_small(&table, &call, &exchange) {
            drop(table);
            let reason = format!(
                "more than {} MiB of calls are waiting to be read by it; try again in a moment, restart it if it is stuck",
                CROWDED_BYTES >> 20
            );
            exchange.fail(Fault::Busy { server: self.id().to_owned(), reason });
            return Ok(());
        }
        if table.admit() {
            self.write(&mut table, call, exchange, Origin::Client);
        } else if let Some(refused) = table.queue.push(call, exchange) {
            drop(table);
            refused.tell(self.id());
        }
        Ok(())
    }

    /// Sends one of our own requests: past the queue, and no proof that the server does its work.
    pub(super) fn send_as(&self, call: Call, exchange: Exchange, origin: Origin) {
        if let Some(answer) = self.dialect().answer_own(&call) {
            return exchange.finish(Ok(answer));
        }
        let mut table = self.lock();
        if table.is_closed() {
            drop(table);
            return exchange.fail(Fault::Internal("the server is gone".to_owned()));
        }
        self.write(&mut table, call, exchange, origin);
    }

    /// Sends one of our own requests and waits for its answer.
    pub(crate) async fn request(
        &self,
        method: Method,
        params: Option<Raw>,
        timeout: Duration,
    ) -> Result<Raw, Failure> {
        self.request_call(Call::new(method, params), Origin::Ourselves, timeout).await
    }

    /// Sends a request in the course of a client's call, where that is known, and waits for its answer.
    pub(super) async fn request_call(
        &self,
        call: Call,
        origin: Origin,
        timeout: Duration,
    ) -> Result<Raw, Failure> {
        let (mut exchange, answer) = Exchange::answered();
        let target = Target { server: self.id().to_owned(), tool: None, timeout, reach: Reach::default() };
        exchange.set_target(Arc::new(target));
        self.send_as(call, exchange, origin);
        let lost = |_| Err(Fault::Internal("the answer was lost".to_owned()).into());
        answer.await.unwrap_or_else(lost).map(Answer::into_body)
    }

    /// Sends one of our own requests whose answer does not matter.
    pub(crate) fn order(&self, method: Method, params: Raw) {
        self.send_as(Call::new(method, Some(params)), Exchange::detached(), Origin::Ourselves);
    }

    /// Tells the server something, if it is of a kind to be told.
    pub(crate) fn notify(&self, method: &str, params: Option<&Raw>) {
        if self.dialect().takes_notifications() {
            self.push(envelope::notification(method, params));
        }
    }

    /// Tells a server that starts anew what was told before: the log level and the subscriptions.
    pub(crate) fn repeat_standing(&self, capabilities: &Raw) {
        self.repeat_level(capabilities);
        for uri in self.host.standing(&self.server.key).subscriptions {
            let mut params = RawObject::default();
            params.set("uri", Raw::string(&uri));
            self.order(Method::ResourcesSubscribe, params.into_raw());
        }
    }

    /// Tells a session that begins the log level that was set before.
    pub(crate) fn repeat_level(&self, capabilities: &Raw) {
        let level = self.host.standing(&self.server.key).log_level;
        if let Some(level) = level.filter(|_| capabilities.get("logging").is_some()) {
            self.order(Method::SetLevel, level);
        }
    }

    /// Writes a call that has been admitted. Called with the table locked, so that a cancellation cannot overtake it.
    pub(super) fn write(&self, table: &mut Table, call: Call, exchange: Exchange, origin: Origin) {
        let id = table.next_id();
        let Some(me) = self.me.upgrade() else { return };
        if !exchange.set_canceller(me, id) {
            return;
        }
        let timeout = match origin {
            Origin::Listening => FOREVER,
            _ => exchange.target().map_or(HARD_LIMIT, |target| target.timeout),
        };
        exchange.dispatched();
        self.write_as(table, id, call, Pending::new(exchange, origin, timeout, HARD_LIMIT));
    }

    /// Writes a call under its number, in the server's dialect.
    pub(super) fn write_as(&self, table: &mut Table, id: u64, call: Call, mut pending: Pending) {
        let post = match self.dialect().write(self, id, call, &mut pending) {
            Written::Message(message) => {
                self.show_call(table, &pending, &message);
                self.outbox.push(message);
                None
            }
            Written::Post(poster, post) => {
                self.show_post(table, &pending, &post);
                Some((poster, post))
            }
        };
        if table.insert(id, pending) {
            self.calls.sooner.notify_one();
        }
        // It looks for the call in the table.
        if let Some((poster, post)) = post {
            poster.post(post);
        }
    }
}

/// Returns whether a call may pass where one client has left the server too much to read: another's must (M9).
fn is_first_and_small(table: &Table, call: &Call, exchange: &Exchange) -> bool {
    call.params.as_ref().is_none_or(|params| params.as_bytes().len() <= SMALL_BYTES)
        && !table.has_calls_of(exchange.client())
}
