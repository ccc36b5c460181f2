//! Where the answer of one client call goes.

use std::sync::Arc;

use manifold_engine::{ClientId, Exchange, Sink};
use manifold_protocol::{Call, Id, Raw, Reply, envelope, notification};

use super::{Batch, Session};

pub(super) struct CallSink {
    pub(super) session: Arc<Session>,
    pub(super) id: Id,
    pub(super) batch: Option<Arc<Batch>>,
}

impl Sink for CallSink {
    fn reply(&self, reply: Reply) {
        let message = self.session.encode(&self.id, reply);
        // Written before it counts as done: whoever waits for the session to settle finds every answer queued.
        self.session.put(message, self.batch.as_ref());
        self.session.finish(&self.id);
        let mut state = self.session.lock();
        self.session.confirm_shutdown(&mut state);
    }

    fn progress(&self, params: Raw) {
        self.session.outbox.push_droppable(envelope::notification(notification::PROGRESS, Some(&params)));
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        self.session.ask(call, exchange);
    }

    fn client(&self) -> Option<ClientId> {
        self.session.client.get().copied()
    }
}
