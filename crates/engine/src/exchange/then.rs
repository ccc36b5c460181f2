//! An exchange that stands before another: its answer goes through a function first.

use std::sync::{Arc, Mutex};

use manifold_protocol::{Call, Raw, Reply};

use super::sink::Sink;
use super::{AnswerStep, CallHandle, Exchange, ReturnAddress, Target};
use crate::changes::ClientId;
use crate::observe::Trace;
use crate::principal::Requester;
use crate::sync::Lock as _;

type Next = Box<dyn FnOnce(Option<Reply>, Exchange) + Send>;

/// The sink of an exchange that stands before another.
pub(super) struct Then {
    pub(super) outer: Arc<CallHandle<dyn Sink>>,
    pub(super) rest: Mutex<Option<(Exchange, Next)>>,
    pub(super) does: Does,
}

/// What the function does with an answer.
pub(super) enum Does {
    /// Nobody can say.
    Anything,
    /// This, and nothing else.
    Step(AnswerStep),
    /// It passes on what it is given.
    Nothing,
}

impl Then {
    fn go_on(&self, reply: Option<Reply>) {
        let rest = self.rest.locked().take();
        if let Some((outer, next)) = rest {
            next(reply, outer);
        }
    }
}

impl Sink for Then {
    fn reply(&self, reply: Reply) {
        self.go_on(Some(reply));
    }

    fn cancelled(&self) {
        self.go_on(None);
    }

    fn progress(&self, params: Raw) {
        self.outer.sink.progress(params);
    }

    fn notice(&self, method: &str, params: Option<Raw>) {
        self.outer.sink.notice(method, params);
    }

    fn release_connection(&self) {
        self.outer.sink.release_connection();
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        self.outer.sink.ask(call, exchange);
    }

    fn client(&self) -> Option<ClientId> {
        self.outer.sink.client()
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        self.outer.sink.requester()
    }

    fn set_target(&self, target: &Arc<Target>) -> Option<Arc<Trace>> {
        self.outer.set_target(target)
    }

    fn note_refusal(&self, rule: &str) {
        self.outer.note_refusal(rule);
    }

    fn dispatched(&self) {
        self.outer.sink.dispatched();
    }

    /// Where nobody can say what is still to be done with the answer, it has no way back.
    fn address(&self) -> Option<ReturnAddress> {
        let mut address = self.outer.sink.address()?;
        match &self.does {
            Does::Anything => return None,
            Does::Step(step) => address.steps.insert(0, step.clone()),
            Does::Nothing => {}
        }
        Some(address)
    }

    fn wants_logs(&self) -> bool {
        self.outer.sink.wants_logs()
    }

    fn has_session(&self) -> bool {
        self.outer.sink.has_session()
    }
}
