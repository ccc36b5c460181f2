//! Where messages for a client go.

use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::Outbox;
use manifold_protocol::Outgoing;

use crate::shim::KeptCall;

/// A way to a client. None of these may block.
pub trait Outlet: Send + Sync {
    /// Takes the answer to what came in by this way.
    fn answer(&self, message: Outgoing);

    /// Takes an answer that says to ask again after so many seconds.
    fn answer_busy(&self, message: Outgoing, _retry_after_secs: u64) {
        self.answer(message);
    }

    /// Takes a message the client must see.
    fn ask(&self, message: Bytes);

    /// Takes a message that may be lost where the client is behind.
    fn tell(&self, message: Bytes);

    /// Returns whether a question to the client would find its way.
    fn can_ask(&self) -> bool {
        true
    }

    /// The answer is a while off; a client that can come back for it may be let go (SEP-1699).
    fn release_connection(&self) {}

    /// No answer will come: its call was cancelled.
    fn abandon(&self) {}

    /// Returns where the answer goes should another process take our place.
    fn address(&self) -> Option<String> {
        None
    }

    /// Returns the call that came in by this way, if another process has handed it to a server already and only its answer
    /// is to be waited for.
    fn kept(&self) -> Option<Arc<KeptCall>> {
        None
    }

    /// The call that came in by this way is about to be handed to a server.
    fn dispatched(&self) {}
}

impl Outlet for Outbox {
    fn answer(&self, message: Outgoing) {
        self.push(message);
    }

    fn ask(&self, message: Bytes) {
        self.push(message);
    }

    fn tell(&self, message: Bytes) {
        self.push_droppable(message);
    }
}
