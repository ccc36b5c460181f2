//! A request as it is shown to whoever watches, with all that is said to it. Where nobody does there is none of this.

use std::num::NonZeroU64;
use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::{Direction, FrameStatus, Link, Tap};
use manifold_protocol::{Id, Outgoing};

use super::{Lane, Verdict};
use crate::shim::KeptCall;

/// A message that is watched, and where.
pub(crate) struct Seen {
    tap: Arc<Tap>,
    message: Bytes,
}

impl Seen {
    /// Keeps a message for those who watch, if anybody does.
    #[inline]
    pub(crate) fn if_watched(tap: &Arc<Tap>, message: &Bytes) -> Option<Self> {
        tap.is_on().then(|| Self { tap: Arc::clone(tap), message: message.clone() })
    }

    pub(crate) fn new(tap: Tap, message: Bytes) -> Self {
        Self { tap: Arc::new(tap), message }
    }

    /// Shows the request, which may be a part of a call that began before. Returns its number and a way back that shows
    /// what is said to it.
    pub(super) fn show(
        self,
        id: &Id,
        parent: Option<NonZeroU64>,
        lane: Arc<dyn Lane>,
    ) -> (Option<NonZeroU64>, Arc<dyn Lane>) {
        self.tap.heard_within(&self.message, Link { parent, ..Link::default() });
        let number = self.tap.number_of(id);
        (number, Arc::new(SeenLane { lane, tap: self.tap, id: id.clone(), number, parent }))
    }
}

struct SeenLane {
    lane: Arc<dyn Lane>,
    tap: Arc<Tap>,
    id: Id,
    number: Option<NonZeroU64>,
    parent: Option<NonZeroU64>,
}

impl SeenLane {
    fn show(&self, message: &Bytes) {
        let link = Link { call: self.number, parent: self.parent, client: None };
        self.tap.said(&message.clone().into(), link);
    }
}

impl Lane for SeenLane {
    fn answer(&self, verdict: Verdict, message: Outgoing) {
        self.tap.said(&message, Link::default());
        self.lane.answer(verdict, message);
    }

    fn say(&self, message: Bytes) {
        self.show(&message);
        self.lane.say(message);
    }

    fn tell(&self, message: Bytes) {
        self.show(&message);
        self.lane.tell(message);
    }

    fn abandon(&self) {
        // Where a message said so, that has ended it.
        self.tap.dropped(Direction::In, &self.id, FrameStatus::Cancelled);
        self.lane.abandon();
    }

    fn note_timeout(&self) {
        self.tap.note(Direction::In, &self.id, FrameStatus::Timeout);
    }

    fn dispatched(&self) {
        self.lane.dispatched();
    }

    fn address(&self) -> Option<String> {
        self.lane.address()
    }

    fn kept(&self) -> Option<Arc<KeptCall>> {
        self.lane.kept()
    }
}
