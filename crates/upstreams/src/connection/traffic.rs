//! What the connection shows of its messages to whoever watches. Where nobody does, each costs a look.

use bytes::Bytes;
use manifold_engine::{Direction, Exchange, FrameStatus, Link};
use manifold_protocol::{Id, Outgoing, Raw};

use super::Connection;
use super::post::Post;
use super::table::{Origin, Pending, Table};

impl Connection {
    /// Sends a message that belongs to no call of a client's.
    pub(super) fn push(&self, message: impl Into<Outgoing>) {
        self.outbox.push(self.shown(message.into()));
    }

    /// Sends one that may be lost where the server is behind.
    pub(super) fn push_droppable(&self, message: impl Into<Outgoing>) {
        self.outbox.push_droppable(self.shown(message.into()));
    }

    fn shown(&self, message: Outgoing) -> Outgoing {
        if self.tap.is_on() {
            self.tap.said(&message, Link::default());
        }
        message
    }

    /// Shows a request that is about to be written. Called with the table locked.
    #[inline]
    pub(super) fn show_call(&self, table: &Table, pending: &Pending, message: &Outgoing) {
        if self.tap.is_on() {
            self.tap.said(message, link(table, pending));
        }
    }

    /// Shows a request that goes its own way.
    #[inline]
    pub(super) fn show_post(&self, table: &Table, pending: &Pending, post: &Post) {
        if !self.tap.is_on() {
            return;
        }
        if post.is_message() {
            return self.tap.said(&post.body, link(table, pending));
        }
        let tool = pending.exchange.target().and_then(|target| target.tool.as_deref());
        let about = (post.method.as_str(), tool);
        let body = post.body.clone().into_bytes();
        self.tap.asked(Direction::Out, &Id::number(post.call), about, &body, link(table, pending));
    }

    /// Shows what the server wrote; `call` is what it belongs to, where that is known.
    #[inline]
    pub(super) fn show_heard(&self, bytes: &Bytes, call: Option<u64>) {
        if self.tap.is_on() {
            let within = call.and_then(|call| Some(self.lock().get(call)?.exchange.number()));
            self.tap.heard_within(bytes, Link { parent: within.flatten(), ..Link::default() });
        }
    }

    /// Shows an answer that came without its id.
    pub(super) fn show_answer(&self, call: u64, is_error: bool, text: &Raw) {
        if self.tap.is_on() {
            self.tap.answered(Direction::In, &Id::number(call), is_error, &text.bytes());
        }
    }

    /// Shows an HTTP answer that has a status and nothing else to say.
    pub(crate) fn show_status(&self, call: u64, status: u16) {
        if self.tap.is_on() {
            self.tap.http(Direction::In, status, Some(&Id::number(call)));
        }
    }

    /// Shows that a call is taken back. The message that says so, if there is one, follows.
    pub(super) fn show_end(&self, id: u64, status: FrameStatus) {
        if self.tap.is_on() {
            self.tap.note(Direction::Out, &Id::number(id), status);
        }
    }

    /// Shows that a call is taken back by letting go of its connection.
    pub(super) fn show_let_go(&self, id: u64) {
        if self.tap.is_on() {
            self.tap.dropped(Direction::Out, &Id::number(id), FrameStatus::Cancelled);
        }
    }

    /// Gives a question the number under which it is watched, and says which call it is a part of.
    pub(super) fn number_question(&self, id: &Id, exchange: &mut Exchange, call: Option<u64>) {
        if self.tap.is_on() {
            exchange.set_number(self.tap.number_of(id));
            let parent = call.and_then(|call| self.lock().get(call)?.exchange.number());
            self.tap.join(id, parent);
        }
    }

    /// Shows that the server is gone.
    pub(super) fn show_death(&self, how: &str, code: Option<i64>) {
        if self.tap.is_on() {
            self.tap.life(how, code);
        }
    }
}

/// Returns what a request belongs to.
fn link(table: &Table, pending: &Pending) -> Link {
    let parent = match pending.origin {
        Origin::For(call) => table.get(call).and_then(|call| call.exchange.number()),
        _ => None,
    };
    let client = pending.exchange.client().map(|client| client.0);
    Link { call: pending.exchange.number(), parent, client }
}
