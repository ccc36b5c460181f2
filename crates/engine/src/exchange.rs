//! One call in flight: answered exactly once, or cancelled, whatever happens to the parts that carry it.

mod address;
mod one_reply;
mod sink;
mod then;

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_config::{Transport, redact};
use manifold_protocol::{Answer, Call, Failure, Fault, Raw, Reply};
use tracing::debug;

use crate::catalog::Member;
use crate::changes::ClientId;
use crate::observe::{OpenRecord, Trace};
use crate::principal::{Grants, Principal, Requester};
use crate::sync::Lock as _;
pub use address::{AnswerStep, Reopen, ReturnAddress};
pub use sink::{Cancel, Sink};
use then::{Does, Then};

/// Whom a call is for and how long it may take; made once per route, shared by all its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The server's id, as errors name it.
    pub server: String,
    pub tool: Option<String>,
    pub timeout: Duration,
    pub reach: Reach,
}

/// How a server is reached, for whoever keeps records of calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
    /// It is part of the gateway.
    #[default]
    Inside,
    Pipe,
    /// Over the network, at this host.
    Network {
        host: String,
        port: u16,
    },
}

impl Reach {
    pub(crate) fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Builtin(_) => Self::Inside,
            Transport::Process(_) => Self::Pipe,
            Transport::Remote(remote) => {
                let origin = remote.origin();
                let (scheme, authority) = origin.split_once("://").unwrap_or_default();
                let port =
                    authority.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
                let by_default = if scheme == "https" { 443 } else { 80 };
                let (host, port) = port.unwrap_or((authority, by_default));
                Self::Network { host: host.to_owned(), port }
            }
        }
    }
}

/// What a request is called on its client's wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestWords {
    /// As it is written, without quotes.
    pub id: String,
    /// The revision of the protocol that is spoken.
    pub revision: &'static str,
}

/// The answering end of a call, held by whoever works on it. Dropping it unanswered answers with an error.
pub struct Exchange {
    flight: Arc<CallHandle<dyn Sink>>,
    target: Option<Arc<Target>>,
    /// The number under which it is watched, if it is.
    number: Option<NonZeroU64>,
}

/// The asking end's view of the same call.
pub struct CallHandle<S: ?Sized> {
    inner: Mutex<Inner>,
    sink: S,
}

struct Inner {
    state: State,
    /// Closed by the answer or the cancellation, whichever comes first.
    record: Option<Box<OpenRecord>>,
}

enum State {
    /// Not yet with anyone who could take it back.
    Loose,
    /// With `holder`, under this key.
    Held(Arc<dyn Cancel>, u64),
    Answered,
    Cancelled,
}

impl Exchange {
    /// Opens an exchange. The asker keeps the flight to cancel by.
    pub fn open<S: Sink + 'static>(sink: S) -> (Self, Arc<CallHandle<dyn Sink>>) {
        let flight: Arc<CallHandle<dyn Sink>> = Arc::new(CallHandle::new(sink));
        (Self { flight: Arc::clone(&flight), target: None, number: None }, flight)
    }

    /// Opens an exchange whose answer does not matter.
    pub fn detached() -> Self {
        Self::open(DetachedSink).0
    }

    /// Opens an exchange that takes the place of this one; its answer goes to `next`, which has the last word on
    /// the outer call. Progress and questions pass, and a cancellation reaches whoever holds the inner call.
    pub fn then(self, next: impl FnOnce(Reply, Exchange) + Send + 'static) -> Exchange {
        self.then_or_cancelled(|reply, outer| {
            if let Some(reply) = reply {
                next(reply, outer);
            }
        })
    }

    /// Does the same, and `next` hears of it too, by `None`, when the call is taken back.
    pub fn then_or_cancelled(self, next: impl FnOnce(Option<Reply>, Exchange) + Send + 'static) -> Exchange {
        self.before(Does::Anything, next)
    }

    /// Does the same where `step` says all that `next` does with the answer, so that another process could do it.
    pub(crate) fn then_step(
        self,
        step: AnswerStep,
        next: impl FnOnce(Reply, Exchange) + Send + 'static,
    ) -> Exchange {
        self.before(Does::Step(step), |reply, outer| {
            if let Some(reply) = reply {
                next(reply, outer);
            }
        })
    }

    /// Does the same where `next` gives the answer on as it is.
    pub(crate) fn then_unchanged(
        self,
        next: impl FnOnce(Option<Reply>, Exchange) + Send + 'static,
    ) -> Exchange {
        self.before(Does::Nothing, next)
    }

    fn before(self, does: Does, next: impl FnOnce(Option<Reply>, Exchange) + Send + 'static) -> Exchange {
        let outer = Arc::clone(&self.flight);
        let (target, number) = (self.target.clone(), self.number);
        let sink = Then { outer: Arc::clone(&outer), rest: Mutex::new(Some((self, Box::new(next)))), does };
        let flight = Arc::new(CallHandle::new(sink));
        if !outer.set_canceller(flight.clone(), 0) {
            // Cancelled meanwhile: whoever gets the inner call must find it so.
            flight.cancel(None);
        }
        Self { flight, target, number }
    }

    pub fn set_target(&mut self, target: Arc<Target>) {
        if self.number.is_some() {
            self.flight.set_target(&target);
        }
        self.target = Some(target);
    }

    /// Does the same with the call that is about to go there, which is told its trace where it has one.
    #[inline]
    pub(crate) fn set_target_of(&mut self, call: &mut Call, target: Arc<Target>, member: &Member) {
        if self.number.is_some() {
            self.note_target(call, &target, member);
        }
        self.target = Some(target);
    }

    #[cold]
    fn note_target(&self, call: &mut Call, target: &Arc<Target>, member: &Member) {
        if let Some(trace) = self.flight.set_target(target).filter(|_| member.is_told_traces()) {
            trace.tell(call);
        }
    }

    /// Keeps the record of this call, until it is answered or cancelled.
    pub(crate) fn keep_record(&mut self, record: Box<OpenRecord>) {
        self.number = Some(record.record.number);
        self.flight.lock().record = Some(record);
    }

    /// Notes in the record, where somebody keeps one, which rule turns the call away. Nobody looks for it otherwise.
    #[cold]
    pub(crate) fn note_refusal(&self, rule: impl FnOnce() -> Option<String>) {
        if self.number.is_some()
            && let Some(rule) = rule()
        {
            self.flight.note_refusal(&rule);
        }
    }

    /// Returns the number that the call was given where it came in, if it was.
    pub(crate) fn number_on_arrival(&self) -> Option<NonZeroU64> {
        self.number.or_else(|| self.flight.sink.number())
    }

    /// Has it watched under this number, where it is no call of a client's: a question of a server.
    pub fn set_number(&mut self, number: Option<NonZeroU64>) {
        self.number = number;
    }

    /// Returns the number under which the call is watched, on every hop, if it is.
    pub fn number(&self) -> Option<NonZeroU64> {
        self.number
    }

    /// Returns who asks.
    pub fn principal(&self) -> &Principal {
        self.requester().map_or(&Principal::Gateway, |requester| &requester.principal)
    }

    /// Returns what was granted to who asks, where that is not everything.
    #[inline]
    pub(crate) fn grants(&self) -> Option<Arc<Grants>> {
        self.requester().and_then(|requester| requester.grants())
    }

    pub(crate) fn requester(&self) -> Option<&Arc<Requester>> {
        self.flight.sink.requester()
    }

    pub fn target(&self) -> Option<&Arc<Target>> {
        self.target.as_ref()
    }

    /// Names who can take the call back from now on. Returns false if it was cancelled meanwhile.
    pub fn set_canceller(&self, holder: Arc<dyn Cancel>, key: u64) -> bool {
        self.flight.set_canceller(holder, key)
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self.flight.lock().state, State::Cancelled)
    }

    pub fn client(&self) -> Option<ClientId> {
        self.flight.sink.client()
    }

    pub fn wants_logs(&self) -> bool {
        self.flight.sink.wants_logs()
    }

    pub fn has_session(&self) -> bool {
        self.flight.sink.has_session()
    }

    pub(crate) fn words(&self) -> Option<RequestWords> {
        self.flight.sink.words()
    }

    /// Tells the asker that the call is about to be handed to a server.
    pub fn dispatched(&self) {
        self.flight.sink.dispatched();
    }

    /// Returns where the answer goes should another process take our place.
    pub fn address(&self) -> Option<ReturnAddress> {
        self.flight.sink.address()
    }

    /// Lets go of the call for good without a word to anybody: another process answers it, and this one is about to be
    /// replaced. What it holds is never freed.
    pub fn leave_to_another_process(self) {
        std::mem::forget(self);
    }

    /// Returns the asking end: to bring it progress and questions without holding the call itself.
    pub fn asker(&self) -> Arc<CallHandle<dyn Sink>> {
        Arc::clone(&self.flight)
    }

    pub fn finish(self, reply: Result<impl Into<Answer>, Failure>) {
        self.flight.answer(reply.map(Into::into).map_err(hide_secrets));
    }

    pub fn fail(self, fault: Fault) {
        self.flight.answer(Err(hide_secrets(fault.into())));
    }
}

fn refuse_question(exchange: Exchange) {
    exchange.fail(Fault::ClientCannot { what: "questions in the middle of this call".to_owned() });
}

/// Hides secrets in what an error of ours repeats of a server's words; its own error is its own (M11).
fn hide_secrets(failure: Failure) -> Failure {
    match failure {
        Failure::Fault(fault) => fault.map_reason(|reason| redact(reason).into_owned()).into(),
        Failure::Peer(error) => Failure::Peer(error),
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // A no-op after `finish`; otherwise some part broke with the call in its hands.
        self.flight
            .answer(Err(Fault::Internal("the call was dropped before it was answered".to_owned()).into()));
    }
}

impl<S: Sink + ?Sized> CallHandle<S> {
    pub fn progress(&self, params: Raw) {
        self.sink.progress(params);
    }

    pub fn notice(&self, method: &str, params: Option<Raw>) {
        self.sink.notice(method, params);
    }

    /// Tells the asker that its connection may rest until the answer comes.
    pub fn release_connection(&self) {
        self.sink.release_connection();
    }

    /// Brings a question of the server to the asker.
    pub fn ask(&self, call: Call, exchange: Exchange) {
        self.sink.ask(call, exchange);
    }

    /// Cancels the call: its holder is told, and no answer will be delivered.
    pub fn cancel(&self, reason: Option<Raw>) {
        let (before, record) = {
            let mut inner = self.lock();
            if matches!(inner.state, State::Answered) {
                return;
            }
            (std::mem::replace(&mut inner.state, State::Cancelled), inner.record.take())
        };
        if let State::Held(holder, key) = before {
            holder.cancel(key, reason);
        }
        self.sink.cancelled();
        if let Some(record) = record {
            let end = record.end(None);
            record.close(&end);
        }
    }

    fn set_canceller(&self, holder: Arc<dyn Cancel>, key: u64) -> bool {
        let mut inner = self.lock();
        match inner.state {
            State::Loose | State::Held(..) => {
                inner.state = State::Held(holder, key);
                true
            }
            State::Answered | State::Cancelled => false,
        }
    }

    /// Notes where the call goes in its record, which is this call's or that of the one it stands for. Returns its place in
    /// a trace, if it has one.
    fn set_target(&self, target: &Arc<Target>) -> Option<Arc<Trace>> {
        if let Some(record) = &mut self.lock().record {
            return record.sent_to(target);
        }
        self.sink.set_target(target)
    }

    pub(crate) fn note_refusal(&self, rule: &str) {
        if let Some(record) = &mut self.lock().record {
            record.refused_by = Some(rule.into());
            return;
        }
        self.sink.note_refusal(rule);
    }

    fn answer(&self, reply: Reply) {
        let record = {
            let mut inner = self.lock();
            match inner.state {
                State::Loose | State::Held(..) => inner.state = State::Answered,
                State::Answered | State::Cancelled => return,
            }
            inner.record.take()
        };
        match record {
            None => self.sink.reply(reply),
            Some(record) => {
                let end = record.end(Some(&reply));
                self.sink.reply(reply);
                record.close(&end);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.locked()
    }
}

impl<S: Sink> CallHandle<S> {
    fn new(sink: S) -> Self {
        Self { inner: Mutex::new(Inner { state: State::Loose, record: None }), sink }
    }
}

impl<S: Sink> Cancel for CallHandle<S> {
    fn cancel(&self, _key: u64, reason: Option<Raw>) {
        Self::cancel(self, reason);
    }
}

struct DetachedSink;

impl Sink for DetachedSink {
    fn reply(&self, reply: Reply) {
        if let Err(failure) = reply {
            debug!(?failure, "a server refused a request nobody waits for");
        }
    }
}

#[cfg(test)]
mod tests;
