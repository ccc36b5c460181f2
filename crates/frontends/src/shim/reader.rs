//! What a shim sends.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use manifold_engine::Outbox;
use manifold_protocol::dialect::litemcp::{self, CallResult, Word};
use manifold_protocol::framing::FrameError;
use manifold_protocol::{Fault, Id, Raw, envelope};
use manifold_rendezvous::frame::{self, Frame, Kind, REFUSED_BAD_HEADER, REFUSED_TOO_LONG};
use manifold_rendezvous::{Stage, Stages};
use tracing::warn;

use super::Continuation;
use super::outlet::{ShimOutlet, address};
use crate::litemcp::Conversation;
use crate::serve;
use crate::session::{Outlet, Received};
use crate::stdio::StreamClient;

/// What is said of a call that was with a server, and whose answer nobody will bring.
const LOST: &str = concat!(
    r#"{"code":-32603,"message":"The gateway was replaced while this call was under way, and its server went. It may have "#,
    r#"run: see what it did before you call again.","data":{"reason":"gateway restarted","mayHaveRun":true}}"#
);

/// The same for a LiteMCP client.
const LOST_WORDS: &str = "The gateway was replaced while this call was under way. It may have run: see what it did before \
                          you call again.";

/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// What was read of a shim, cut into frames.
#[derive(Default)]
struct Frames {
    read: BytesMut,
    is_broken: bool,
}

impl Frames {
    fn buffer(&mut self) -> &mut BytesMut {
        self.read.reserve(READ_BYTES);
        &mut self.read
    }

    /// Cuts off the next frame. Whoever breaks the format is left: nothing after that can be understood.
    fn next(&mut self) -> Option<Frame> {
        match frame::next(&mut self.read) {
            Ok(frame) => frame,
            Err(malformed) => {
                let was_broken = std::mem::replace(&mut self.is_broken, true);
                (!was_broken).then(|| {
                    warn!("{malformed}");
                    Frame { kind: Kind::Over, slot: 0, payload: Bytes::new() }
                })
            }
        }
    }
}

pub(super) struct Requests<'s> {
    client: &'s StreamClient,
    outbox: &'s Arc<Outbox>,
    /// For what belongs to no request.
    outlet: Arc<dyn Outlet>,
    stages: Arc<Stages>,
    continuation: Continuation,
    limit_bytes: usize,
    frames: Frames,
}

impl<'s> Requests<'s> {
    pub(super) fn new(
        client: &'s StreamClient,
        outbox: &'s Arc<Outbox>,
        outlet: Arc<dyn Outlet>,
        stages: Arc<Stages>,
        continuation: Continuation,
        limit_bytes: usize,
    ) -> Self {
        let frames = Frames::default();
        Self { client, outbox, outlet, stages, continuation, limit_bytes, frames }
    }

    /// Returns the way back for what came with this slot.
    fn outlet(&self, slot: u16) -> Arc<dyn Outlet> {
        match slot {
            0 => Arc::clone(&self.outlet),
            slot => Arc::new(self.shim_outlet(slot)),
        }
    }

    fn shim_outlet(&self, slot: u16) -> ShimOutlet {
        ShimOutlet::new(self.outbox, &self.stages, &self.continuation.session, slot)
    }

    /// Takes a request that is with a server already: only its answer is missing.
    fn receive_kept(&self, slot: u16, payload: Bytes) {
        let outlet = self.shim_outlet(slot);
        match self.continuation.kept.take(&address(&self.continuation.before, slot)) {
            Some(kept) => {
                self.stages.set(slot, Stage::Dispatched);
                let outlet: Arc<dyn Outlet> = Arc::new(outlet.of_kept(kept));
                let _ = self.client.receive(payload, &outlet);
            }
            None => {
                let id = envelope::peek_id(&payload);
                outlet.answer(envelope::error(id.as_ref(), &Raw::from_static(LOST)).into());
            }
        }
    }

    fn refuse(&self, payload: &Bytes) {
        let why = match payload.first() {
            Some(&REFUSED_TOO_LONG) => FrameError::TooLong,
            Some(&REFUSED_BAD_HEADER) => FrameError::BadHeader,
            _ => FrameError::Parse,
        };
        self.client.refuse(refused_id(payload), why, self.limit_bytes, &self.outlet);
    }
}

/// Returns the id that was seen of what was refused.
fn refused_id(payload: &Bytes) -> Option<Id> {
    Raw::parse(payload.slice(payload.len().min(1)..)).ok().and_then(|id| Id::from_raw(&id))
}

/// What the shim of a LiteMCP client sends.
pub(super) struct LiteMessages<'s> {
    conversation: &'s mut Conversation,
    outbox: &'s Arc<Outbox>,
    stages: Arc<Stages>,
    session: Arc<str>,
    limit_bytes: usize,
    frames: Frames,
}

impl<'s> LiteMessages<'s> {
    pub(super) fn new(
        conversation: &'s mut Conversation,
        outbox: &'s Arc<Outbox>,
        stages: Arc<Stages>,
        limit_bytes: usize,
    ) -> Self {
        // No call of theirs is kept, so the session needs no name.
        let session = Arc::from("");
        Self { conversation, outbox, stages, session, limit_bytes, frames: Frames::default() }
    }
}

impl serve::Reader for LiteMessages<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.frames.buffer()
    }

    fn next(&mut self, _ended: bool) -> Option<Frame> {
        self.frames.next()
    }

    fn room(&mut self) -> Option<impl Future<Output = ()>> {
        Some(self.conversation.room())
    }

    fn receive(&mut self, Frame { kind, slot, payload }: Frame) -> ControlFlow<()> {
        let outlet = Arc::new(ShimOutlet::new(self.outbox, &self.stages, &self.session, slot));
        match kind {
            Kind::Message => {
                // Whether it was with a server already cannot be told: it counts as if it had been.
                self.stages.set(slot, Stage::Dispatched);
                self.conversation.receive_on(payload, outlet);
            }
            Kind::Kept => match litemcp::Message::parse(payload.clone()) {
                Ok(message) if message.word == Word::Call => {
                    let data = CallResult::failure(None, LOST_WORDS).encode();
                    let lost = litemcp::Message::new(message.id, Word::Result, Some(data));
                    outlet.answer(lost.encode().bytes().into());
                }
                // What a tool is can be asked again.
                _ => self.conversation.receive_on(payload, outlet),
            },
            Kind::Over => return ControlFlow::Break(()),
            Kind::Refused => {
                let fault = Fault::TooLarge { server: None, limit_bytes: self.limit_bytes };
                self.conversation.refuse_on(refused_id(&payload), &fault, &*outlet);
            }
            Kind::Question | Kind::Hold | Kind::Stopping | Kind::Note => {}
        }
        ControlFlow::Continue(())
    }
}

impl serve::Reader for Requests<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.frames.buffer()
    }

    fn next(&mut self, _ended: bool) -> Option<Frame> {
        self.frames.next()
    }

    fn receive(&mut self, Frame { kind, slot, payload }: Frame) -> ControlFlow<()> {
        match kind {
            Kind::Message => {
                // From here on it is ours, and answered by us unless we die.
                self.stages.set(slot, Stage::Received);
                let outlet = self.outlet(slot);
                match self.client.receive(payload, &outlet) {
                    Received::Exit => return ControlFlow::Break(()),
                    Received::Done => {}
                    // What a shim sends is whole, or it never will be.
                    Received::Unfinished(_) => {
                        self.client.refuse(None, FrameError::Parse, self.limit_bytes, &outlet)
                    }
                }
            }
            Kind::Refused => self.refuse(&payload),
            Kind::Kept => self.receive_kept(slot, payload),
            Kind::Over => return ControlFlow::Break(()),
            // What a shim never says, or a newer one does.
            Kind::Question | Kind::Hold | Kind::Stopping | Kind::Note => {}
        }
        ControlFlow::Continue(())
    }
}
