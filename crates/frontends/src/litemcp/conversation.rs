use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::{Link, Outbox};
use manifold_protocol::dialect::litemcp::{CallResult, Message, Word};
use manifold_protocol::raw::Kind;
use manifold_protocol::{Fault, Id, Outgoing};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use super::Service;
use super::recent_ids::RecentIds;
use crate::session::Outlet;

/// How many messages of one client are worked on at once; further ones wait in its pipe.
const MAX_IN_FLIGHT: usize = 1024;

/// One client that sends message after message, on a pipe or a WebSocket. Each is answered when it is done, whole
/// and under its own id, by way of the outbox.
pub(crate) struct Conversation {
    service: Arc<Service>,
    outbox: Arc<Outbox>,
    seen: RecentIds,
    in_flight: JoinSet<()>,
    /// Turns true when what is in flight is no longer waited for.
    over: watch::Sender<bool>,
}

impl Conversation {
    pub(crate) fn new(service: Service, outbox: Arc<Outbox>) -> Self {
        let over = watch::Sender::new(false);
        Self {
            service: Arc::new(service),
            outbox,
            seen: RecentIds::default(),
            in_flight: JoinSet::new(),
            over,
        }
    }

    /// Waits until one more message may be worked on.
    pub(crate) async fn room(&mut self) {
        while self.in_flight.try_join_next().is_some() {}
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            self.in_flight.join_next().await;
        }
    }

    /// Takes a message, for which there must be `room`.
    pub(crate) fn receive(&mut self, message: Bytes) {
        let outlet = Arc::clone(&self.outbox) as Arc<dyn Outlet>;
        self.receive_on(message, outlet);
    }

    /// Takes a message whose answer goes by the outlet.
    pub(crate) fn receive_on(&mut self, message: Bytes, outlet: Arc<dyn Outlet>) {
        if let Some(tap) = self.service.watched() {
            tap.heard(&message);
        }
        let message = match Message::parse(message) {
            Ok(message) => message,
            Err(why) => {
                warn!("a LiteMCP message was ignored: {why}");
                return outlet.abandon();
            }
        };
        // An id is used once; its second request is ignored (S4-10).
        if !self.seen.note(&message.id) {
            debug!(id = %message.id, "a message with an id that was used before was ignored");
            return outlet.abandon();
        }
        let (service, mut over) = (Arc::clone(&self.service), self.over.subscribe());
        self.in_flight.spawn(async move {
            let id = message.id.clone();
            let answer = tokio::select! {
                answer = service.answer(message) => answer,
                _ = over.wait_for(|over| *over) => Some(failure(id, &Fault::ShuttingDown)),
            };
            match answer {
                Some(answer) => {
                    let answer: Outgoing = answer.encode().bytes().into();
                    if let Some(tap) = service.watched() {
                        tap.said(&answer, Link::default());
                    }
                    outlet.answer(answer);
                }
                None => outlet.abandon(),
            }
        });
    }

    /// Answers what never became a message.
    pub(crate) fn refuse(&mut self, id: Option<Id>, fault: &Fault) {
        let outlet = Arc::clone(&self.outbox);
        self.refuse_on(id, fault, &*outlet);
    }

    /// Does the same by the outlet.
    pub(crate) fn refuse_on(&mut self, id: Option<Id>, fault: &Fault, outlet: &dyn Outlet) {
        match id.filter(|id| id.to_raw().kind() == Kind::Number) {
            Some(id) if self.seen.note(&id) => outlet.answer(failure(id, fault).encode().bytes().into()),
            Some(_) => {}
            None => warn!("a LiteMCP message was ignored: {}", fault.message()),
        }
    }

    /// Tells that its client, or we, are leaving: no list waits for servers any more.
    pub(crate) fn leave(&self) {
        self.service.leave();
    }

    /// Waits until every message is answered.
    pub(crate) async fn settled(&mut self) {
        while self.in_flight.join_next().await.is_some() {}
    }

    /// Takes back what is still in flight, and answers it so.
    pub(crate) async fn close(&mut self) {
        self.over.send_replace(true);
        self.settled().await;
    }
}

fn failure(id: Id, fault: &Fault) -> Message {
    let data = CallResult::failure(None, &fault.message()).encode();
    Message::new(id, Word::Result, Some(data))
}
