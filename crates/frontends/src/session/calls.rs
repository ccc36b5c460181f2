//! Where the answer of one client call goes.

use std::num::NonZeroU64;
use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::{ClientId, Exchange, RequestWords, Requester, ReturnAddress, Sink};
use manifold_protocol::{Call, Failure, Id, Raw, Reply, Revision, envelope, notification};

use super::{Lane, Session};

pub(super) struct CallSink {
    pub(super) session: Arc<Session>,
    pub(super) id: Id,
    pub(super) lane: Lane,
    /// Whether the client has asked for log messages.
    pub(super) wants_logs: bool,
}

impl CallSink {
    fn tell(&self, message: Bytes) {
        self.session.show_within(Some(&self.id), &message);
        self.lane.outlet.tell(message);
    }
}

impl Sink for CallSink {
    fn reply(&self, reply: Reply) {
        let retry_after = match &reply {
            Err(Failure::Fault(fault)) => fault.retry_after_secs(),
            _ => None,
        };
        let message = self.session.shown(self.session.encode(&self.id, reply));
        // Its id is free before the client can know; whoever waits for the session to settle is told after.
        self.session.forget(&self.id);
        match retry_after {
            Some(seconds) => self.lane.answer_busy(message, seconds),
            None => self.lane.answer(message),
        }
        self.session.one_done();
    }

    fn notice(&self, method: &str, params: Option<Raw>) {
        self.tell(envelope::notification(method, params.as_ref()));
    }

    fn progress(&self, params: Raw) {
        self.tell(envelope::notification(notification::PROGRESS, Some(&params)));
    }

    fn release_connection(&self) {
        if self.session.revision() >= Some(Revision::V2025_11_25) {
            self.lane.outlet.release_connection();
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        self.session.ask(call, exchange, &self.lane.outlet, Some(&self.id));
    }

    fn client(&self) -> Option<ClientId> {
        self.session.client.get().copied()
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        Some(&self.session.destination.requester)
    }

    fn number(&self) -> Option<NonZeroU64> {
        self.session.number_of(&self.id)
    }

    fn wants_logs(&self) -> bool {
        self.wants_logs
    }

    fn has_session(&self) -> bool {
        true
    }

    fn words(&self) -> Option<RequestWords> {
        Some(RequestWords { id: self.id.to_string(), revision: self.session.revision()?.as_str() })
    }

    fn dispatched(&self) {
        self.lane.outlet.dispatched();
    }

    fn address(&self) -> Option<ReturnAddress> {
        let session = self.lane.outlet.address().filter(|_| self.lane.batch.is_none())?;
        Some(ReturnAddress { session, id: self.id.to_raw(), steps: Vec::new() })
    }
}
