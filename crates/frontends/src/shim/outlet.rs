//! The way back to one request of a shim.

use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::Outbox;
use manifold_protocol::Outgoing;
use manifold_rendezvous::frame::{self, Kind};
use manifold_rendezvous::{Stage, Stages};

use crate::session::Outlet;

pub(super) struct ShimOutlet {
    outbox: Arc<Outbox>,
    stages: Arc<Stages>,
    /// The place of the request in the shim's table; zero for what belongs to none.
    slot: u16,
}

impl ShimOutlet {
    pub(super) fn new(outbox: &Arc<Outbox>, stages: &Arc<Stages>, slot: u16) -> Self {
        Self { outbox: Arc::clone(outbox), stages: Arc::clone(stages), slot }
    }
}

impl Outlet for ShimOutlet {
    fn answer(&self, message: Outgoing) {
        if let Some(head) = frame::head(Kind::Message, self.slot, message.len()) {
            self.outbox.push(message.behind(&head));
        }
    }

    fn ask(&self, message: Bytes) {
        self.outbox.push(framed(Kind::Question, 0, &message));
    }

    fn tell(&self, message: Bytes) {
        self.outbox.push_droppable(framed(Kind::Message, 0, &message));
    }

    fn abandon(&self) {
        if self.slot != 0 {
            self.outbox.push(framed(Kind::Message, self.slot, b""));
        }
    }

    fn dispatched(&self) {
        self.stages.set(self.slot, Stage::Dispatched);
    }
}

/// Returns a whole frame in one piece.
pub(super) fn framed(kind: Kind, slot: u16, payload: &[u8]) -> Bytes {
    match frame::head(kind, slot, payload.len()) {
        Some(head) => [&head[..], payload].concat().into(),
        None => Bytes::new(),
    }
}
