//! The answers of one batch (protocol revision 2025-03-26), sent together when the last is there.

use std::sync::{Arc, Mutex};

use bytes::{BufMut, BytesMut};
use manifold_engine::Lock as _;
use manifold_protocol::envelope::{self, Message, Refusal};
use manifold_protocol::{Fault, Outgoing, Revision};

use super::{Lane, Outlet, Received, Session};

/// Says that a batch would not fit at any time.
pub(crate) fn too_large(calls: usize, most: usize) -> Fault {
    Fault::InvalidRequest(format!(
        "the batch is too large: it has {calls} calls, and {most} at once are allowed (limits.callsPerClient); send fewer"
    ))
}

impl Session {
    /// Takes the messages of a batch, whose answers leave together.
    pub(super) fn receive_batch(
        self: &Arc<Self>,
        messages: Vec<Result<Message, Refusal>>,
        lane: &Lane,
    ) -> Received {
        let allowed = self.lock().revision.is_some_and(Revision::has_batches);
        if !allowed {
            let why = "batches exist in protocol revision 2025-03-26 only".to_owned();
            let error = Fault::InvalidRequest(why).to_error(self.destination.codes);
            lane.answer(self.shown(envelope::error(None, &error)));
            return Received::Done;
        }
        let calls = messages.iter().filter(|one| matches!(one, Ok(Message::Request { .. }))).count();
        if let Some((most, _)) = self.limit.as_ref().filter(|(most, _)| calls > *most) {
            let error = too_large(calls, *most).to_error(self.destination.codes);
            lane.answer(self.shown(envelope::error(None, &error)));
            return Received::Done;
        }
        let expected = messages
            .iter()
            .filter(|one| !matches!(one, Ok(Message::Notification { .. } | Message::Response { .. })));
        let lane = Lane { batch: Batch::new(expected.count(), &lane.outlet), ..lane.clone() };
        let mut received = Received::Done;
        for message in messages {
            match message.map(|message| self.accept(message, &lane)) {
                Ok(Received::Exit) => received = Received::Exit,
                Ok(Received::Done | Received::Unfinished(_)) => {}
                Err(refusal) => self.refuse(&refusal, &lane),
            }
        }
        received
    }
}

/// The answers that are there, and how many are still to come.
pub(super) struct Batch {
    state: Mutex<(usize, Vec<Outgoing>)>,
    outlet: Arc<dyn Outlet>,
}

impl Batch {
    /// Opens a batch that expects this many answers; one that expects none gets no answer at all.
    pub(super) fn new(expected: usize, outlet: &Arc<dyn Outlet>) -> Option<Arc<Self>> {
        let outlet = Arc::clone(outlet);
        (expected > 0).then(|| Arc::new(Self { state: Mutex::new((expected, Vec::new())), outlet }))
    }

    pub(super) fn add(&self, message: Outgoing) {
        self.settle(Some(message));
    }

    /// One answer will not come: its call was cancelled.
    pub(super) fn skip(&self) {
        self.settle(None);
    }

    fn settle(&self, message: Option<Outgoing>) {
        let mut state = self.state.locked();
        state.0 = state.0.saturating_sub(1);
        state.1.extend(message);
        if state.0 > 0 {
            return;
        }
        if state.1.is_empty() {
            return self.outlet.abandon();
        }
        let mut array = BytesMut::new();
        for (at, message) in state.1.drain(..).enumerate() {
            array.put_u8(if at == 0 { b'[' } else { b',' });
            message.pieces().for_each(|piece| array.put_slice(piece));
        }
        array.put_u8(b']');
        self.outlet.answer(array.freeze().into());
    }
}
