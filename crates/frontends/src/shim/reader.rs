//! What a shim sends.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use manifold_engine::Outbox;
use manifold_protocol::framing::FrameError;
use manifold_protocol::{Id, Raw};
use manifold_rendezvous::frame::{self, Frame, Kind};
use manifold_rendezvous::{Stage, Stages};
use tracing::warn;

use super::outlet::ShimOutlet;
use crate::litemcp::Conversation;
use crate::serve;
use crate::session::{Outlet, Received};
use crate::stdio::StreamClient;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;

pub(super) struct Requests<'s> {
    client: &'s StreamClient,
    outbox: &'s Arc<Outbox>,
    /// For what belongs to no request.
    outlet: Arc<dyn Outlet>,
    stages: Arc<Stages>,
    limit_bytes: usize,
    read: BytesMut,
    is_broken: bool,
}

impl<'s> Requests<'s> {
    pub(super) fn new(
        client: &'s StreamClient,
        outbox: &'s Arc<Outbox>,
        outlet: Arc<dyn Outlet>,
        stages: Arc<Stages>,
        limit_bytes: usize,
    ) -> Self {
        Self { client, outbox, outlet, stages, limit_bytes, read: BytesMut::new(), is_broken: false }
    }

    /// Returns the way back for what came with this slot.
    fn outlet(&self, slot: u16) -> Arc<dyn Outlet> {
        match slot {
            0 => Arc::clone(&self.outlet),
            slot => Arc::new(ShimOutlet::new(self.outbox, &self.stages, slot)),
        }
    }

    fn refuse(&self, payload: &Bytes) {
        let why = match payload.first() {
            Some(1) => FrameError::TooLong,
            Some(2) => FrameError::BadHeader,
            _ => FrameError::Parse,
        };
        let id = Raw::parse(payload.slice(payload.len().min(1)..)).ok().and_then(|id| Id::from_raw(&id));
        self.client.refuse(id, why, self.limit_bytes, &self.outlet);
    }
}

/// What the shim of a LiteMCP client sends.
pub(super) struct LiteMessages<'s> {
    conversation: &'s mut Conversation,
    outbox: &'s Arc<Outbox>,
    stages: Arc<Stages>,
    read: BytesMut,
    is_broken: bool,
}

impl<'s> LiteMessages<'s> {
    pub(super) fn new(
        conversation: &'s mut Conversation,
        outbox: &'s Arc<Outbox>,
        stages: Arc<Stages>,
    ) -> Self {
        Self { conversation, outbox, stages, read: BytesMut::new(), is_broken: false }
    }
}

impl serve::Reader for LiteMessages<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.read.reserve(READ_BYTES);
        &mut self.read
    }

    fn next(&mut self, _ended: bool) -> Option<Frame> {
        next(&mut self.read, &mut self.is_broken)
    }

    fn room(&mut self) -> Option<impl Future<Output = ()>> {
        Some(self.conversation.room())
    }

    fn receive(&mut self, Frame { kind, slot, payload }: Frame) -> ControlFlow<()> {
        if kind == Kind::Message {
            // Whether it was with a server already cannot be told: it counts as if it had been.
            self.stages.set(slot, Stage::Dispatched);
            let outlet = Arc::new(ShimOutlet::new(self.outbox, &self.stages, slot));
            self.conversation.receive_on(payload, outlet);
        }
        ControlFlow::Continue(())
    }
}

/// Cuts off the next frame. Whoever breaks the format is not understood any more.
fn next(read: &mut BytesMut, is_broken: &mut bool) -> Option<Frame> {
    match frame::next(read) {
        Ok(frame) => frame,
        Err(malformed) => {
            if !std::mem::replace(is_broken, true) {
                warn!("{malformed}");
            }
            None
        }
    }
}

impl serve::Reader for Requests<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.read.reserve(READ_BYTES);
        &mut self.read
    }

    fn next(&mut self, _ended: bool) -> Option<Frame> {
        next(&mut self.read, &mut self.is_broken)
    }

    fn receive(&mut self, Frame { kind, slot, payload }: Frame) -> ControlFlow<()> {
        match kind {
            Kind::Message => {
                // From here on it is ours, and answered by us unless we die.
                self.stages.set(slot, Stage::Received);
                match self.client.receive(payload, &self.outlet(slot)) {
                    Received::Exit => return ControlFlow::Break(()),
                    Received::Done | Received::Unfinished(_) => {}
                }
            }
            Kind::Refused => self.refuse(&payload),
            // What a shim never says, or a newer one does.
            Kind::Question | Kind::Hold | Kind::Stopping | Kind::Over | Kind::Note => {}
        }
        ControlFlow::Continue(())
    }
}
