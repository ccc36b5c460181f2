//! Where the answer of one client call goes.

use std::sync::Arc;

use manifold_engine::{ClientId, Exchange, Sink};
use manifold_protocol::{Call, Id, Raw, Reply, Revision, envelope, notification};

use super::{Lane, Session};

pub(super) struct CallSink {
    pub(super) session: Arc<Session>,
    pub(super) id: Id,
    pub(super) lane: Lane,
}

impl Sink for CallSink {
    fn reply(&self, reply: Reply) {
        let message = self.session.encode(&self.id, reply);
        // Written before it counts as done: whoever waits for the session to settle finds every answer queued.
        self.lane.answer(message);
        self.session.finish(&self.id);
        let mut state = self.session.lock();
        self.session.confirm_shutdown(&mut state);
    }

    fn progress(&self, params: Raw) {
        self.lane.outlet.tell(envelope::notification(notification::PROGRESS, Some(&params)));
    }

    fn rest(&self) {
        if self.session.revision() >= Some(Revision::V2025_11_25) {
            self.lane.outlet.rest();
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        self.session.ask(call, exchange, &self.lane.outlet);
    }

    fn client(&self) -> Option<ClientId> {
        self.session.client.get().copied()
    }
}
