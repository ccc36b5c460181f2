//! What a session shows of its messages to whoever watches. Where nobody does, each costs a look.

use std::num::NonZeroU64;
use std::sync::Arc;

use bytes::Bytes;
use manifold_admin::FrameClient;
use manifold_engine::{Direction, FrameStatus, Hop, Link, Party, Tap};
use manifold_protocol::{Fault, Id, Outgoing, Raw};

use super::{Destination, Session};

/// Returns where the messages of a client are seen.
pub(super) fn tap(destination: &Destination) -> Tap {
    match &destination.gateway {
        Ok(gateway) => {
            let namespace = gateway.namespace().map(str::to_owned);
            Tap::new(gateway.traffic(), Party { hop: Hop::Client, namespace, ..Party::default() })
        }
        Err(_) => Tap::unwatched(),
    }
}

impl Session {
    pub(crate) fn tap(&self) -> &Arc<Tap> {
        &self.tap
    }

    /// Shows a message that has come in.
    #[inline]
    pub(crate) fn show_heard(&self, message: &Bytes) {
        if self.tap.is_on() {
            self.tap.heard(message);
        }
    }

    /// Shows a message that is about to be written.
    #[inline]
    pub(super) fn shown(&self, message: impl Into<Outgoing>) -> Outgoing {
        let message = message.into();
        if self.tap.is_on() {
            self.tap.said(&message, Link::default());
        }
        message
    }

    /// Shows one that belongs to a call.
    #[inline]
    pub(super) fn show_within(&self, call: Option<&Id>, message: &Bytes) {
        if self.tap.is_on() {
            let link = call.and_then(|id| self.tap.link_of(Direction::In, id)).unwrap_or_default();
            self.tap.said(&message.clone().into(), link);
        }
    }

    /// Shows a question.
    pub(super) fn show_question(&self, number: Option<NonZeroU64>, parent: Option<&Id>, message: &Outgoing) {
        if self.tap.is_on() {
            let parent = parent.and_then(|id| self.tap.number_of(id));
            self.tap.said(message, Link { call: number, parent, client: None });
        }
    }

    /// Returns the number of a request that has come in, where it is watched.
    #[inline]
    pub(super) fn number_of(&self, id: &Id) -> Option<NonZeroU64> {
        if self.tap.is_on() { self.tap.number_of(id) } else { None }
    }

    /// Says how a call ends that is answered with an error of ours.
    #[cold]
    pub(super) fn note_fault(&self, id: &Id, fault: &Fault) {
        if self.tap.is_on() && matches!(fault, Fault::TimedOut { .. }) {
            self.tap.note(Direction::In, id, FrameStatus::Timeout);
        }
    }

    /// Says who the client is, as far as it is known.
    pub(super) fn introduce_to_tap(&self, info: Option<&Raw>) {
        let member = |key: &str| Some(info?.get(key)?.to_text()?.chars().take(200).collect());
        let id = self.client.get().map(|client| client.0);
        self.tap.introduce(FrameClient { id, name: member("name"), version: member("version") });
    }
}
