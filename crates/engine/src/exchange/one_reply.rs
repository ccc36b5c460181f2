//! The asker that only waits for the answer.

use std::sync::{Arc, Mutex};

use manifold_protocol::{Call, Reply};
use tokio::sync::oneshot;

use super::{CallHandle, Exchange, Sink, refuse_question};
use crate::changes::ClientId;
use crate::gateway::Gateway;
use crate::principal::Requester;
use crate::sync::Lock as _;

struct OneReply {
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
    client: Option<ClientId>,
    /// `None`: the gateway itself asks.
    requester: Option<Arc<Requester>>,
    /// Who answers the questions of servers in the asker's place.
    gateway: Option<Arc<Gateway>>,
}

impl Exchange {
    /// Opens an exchange whose answer can be waited for.
    pub fn answered() -> (Self, oneshot::Receiver<Reply>) {
        let (exchange, _flight, reply) = Self::one_reply(None, None, None);
        (exchange, reply)
    }

    /// Opens an exchange on behalf of a client, whose answer can be waited for.
    pub(crate) fn answered_to(client: ClientId) -> (Self, oneshot::Receiver<Reply>) {
        let (exchange, _flight, reply) = Self::one_reply(Some(client), None, None);
        (exchange, reply)
    }

    /// Opens an exchange for a requester that waits for the answer and cannot be asked anything: the gateway declines.
    pub fn answered_for(
        client: Option<ClientId>,
        requester: &Arc<Requester>,
        gateway: &Arc<Gateway>,
    ) -> (Self, Arc<CallHandle<dyn Sink>>, oneshot::Receiver<Reply>) {
        Self::one_reply(client, Some(Arc::clone(requester)), Some(Arc::clone(gateway)))
    }

    fn one_reply(
        client: Option<ClientId>,
        requester: Option<Arc<Requester>>,
        gateway: Option<Arc<Gateway>>,
    ) -> (Self, Arc<CallHandle<dyn Sink>>, oneshot::Receiver<Reply>) {
        let (sender, reply) = oneshot::channel();
        let sink = OneReply { reply: Mutex::new(Some(sender)), client, requester, gateway };
        let (exchange, flight) = Self::open(sink);
        (exchange, flight, reply)
    }
}

impl Sink for OneReply {
    fn reply(&self, reply: Reply) {
        let waiting = self.reply.locked().take();
        if let Some(waiting) = waiting {
            // Nobody waits any more, if this fails.
            let _ = waiting.send(reply);
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        match &self.gateway {
            Some(gateway) => gateway.decline(&call, exchange),
            None => refuse_question(exchange),
        }
    }

    fn client(&self) -> Option<ClientId> {
        self.client
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        self.requester.as_ref()
    }
}
