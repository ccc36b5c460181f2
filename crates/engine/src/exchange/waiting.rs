//! Calls of our own: one whose answer is waited for, one whose answer nobody wants.

use std::sync::Mutex;

use manifold_protocol::Reply;
use tokio::sync::oneshot;
use tracing::debug;

use super::sink::Sink;
use crate::changes::ClientId;
use crate::sync::Lock as _;

pub(super) struct Waiting {
    pub(super) answer: Mutex<Option<oneshot::Sender<Reply>>>,
    pub(super) client: Option<ClientId>,
}

impl Sink for Waiting {
    fn reply(&self, reply: Reply) {
        let waiting = self.answer.locked().take();
        if let Some(waiting) = waiting {
            // Nobody waits any more.
            let _ = waiting.send(reply);
        }
    }

    fn client(&self) -> Option<ClientId> {
        self.client
    }
}

pub(super) struct DetachedSink;

impl Sink for DetachedSink {
    fn reply(&self, reply: Reply) {
        if let Err(failure) = reply {
            debug!(?failure, "a server refused a request nobody waits for");
        }
    }
}
