//! The way back to one request of a shim.

use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::Outbox;
use manifold_protocol::Outgoing;
use manifold_rendezvous::frame::{self, Kind};
use manifold_rendezvous::{Stage, Stages};

use super::kept::KeptCall;
use crate::session::Outlet;

pub(super) struct ShimOutlet {
    outbox: Arc<Outbox>,
    stages: Arc<Stages>,
    /// The place of the request in the shim's table; zero for what belongs to none.
    slot: u16,
    /// The name by which the session is taken up again.
    session: Arc<str>,
    kept: Option<Arc<KeptCall>>,
}

/// Where the answer of one request goes, as another process finds it.
pub(super) fn address(session: &str, slot: u16) -> String {
    format!("{session}/{slot}")
}

impl ShimOutlet {
    pub(super) fn new(outbox: &Arc<Outbox>, stages: &Arc<Stages>, session: &Arc<str>, slot: u16) -> Self {
        let (outbox, stages, session) = (Arc::clone(outbox), Arc::clone(stages), Arc::clone(session));
        Self { outbox, stages, slot, session, kept: None }
    }

    /// Makes it the way back of a call that was kept.
    pub(super) fn of_kept(self, kept: Arc<KeptCall>) -> Self {
        Self { kept: Some(kept), ..self }
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

    fn address(&self) -> Option<String> {
        (self.slot != 0).then(|| address(&self.session, self.slot))
    }

    fn kept(&self) -> Option<Arc<KeptCall>> {
        self.kept.clone()
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
