//! A legacy client's session: its handshake, its calls in flight, the questions it has been asked. It knows
//! messages, not streams: whoever owns those feeds `receive` and empties the outbox.

mod about;
mod asking;
mod batch;
mod calls;
mod dispatch;
mod ending;
mod engine_client;
mod handshake;
mod lane;
mod notifications;
mod outlet;
mod recall;
mod traffic;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use bytes::Bytes;
use foldhash::HashMap;
use manifold_config::Profile;
use manifold_engine::{Audience, CallHandle, ClientId, Exchange, Gateway, Lock as _, Requester, Sink, Tap};
use manifold_protocol::dialect::legacy;
use manifold_protocol::envelope::{self, Incoming, Refusal, RefusalKind};
use manifold_protocol::members::Flaw;
use manifold_protocol::{Caller, CodeSet, Failure, Fault, Id, Mark, Outgoing, Raw, Reply, Revision};
use tokio::sync::Notify;
use tracing::debug;

pub(crate) use batch::too_large as batch_too_large;
pub(crate) use ending::CUT_OFF;
use engine_client::Handle;
use lane::Lane;
pub use outlet::Outlet;

/// What a client gets to: a namespace, or the reason why there is none.
pub struct Destination {
    pub gateway: Result<Arc<Gateway>, Fault>,
    pub codes: CodeSet,
    pub profile: Profile,
    /// Whether the client is the only one of its gateway.
    pub audience: Audience,
    /// Who is at the other end.
    pub requester: Arc<Requester>,
}

/// One legacy client.
pub struct Session {
    me: Weak<Session>,
    destination: Destination,
    /// Where messages go that belong to no request of the client's.
    outlet: Arc<dyn Outlet>,
    /// Where the client's messages are seen.
    tap: Arc<Tap>,
    state: Mutex<State>,
    client: OnceLock<ClientId>,
    /// Ends whatever carries it, where an operator wants its client gone.
    disconnect: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// What is said to a call beyond so many in flight.
    limit: Option<(usize, Fault)>,
    /// Its client has initialized it with another process, whose place we took.
    goes_on: AtomicBool,
    /// Told when the last call in flight is done.
    idle: Notify,
}

/// What follows from a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Done,
    /// The client wants us gone.
    Exit,
    /// The text is the beginning of a message; more must come.
    Unfinished(Bytes),
}

#[derive(Default)]
struct State {
    phase: Phase,
    revision: Option<Revision>,
    /// What a client without a session said of itself with its first request, and the revision it speaks.
    passing: Option<(Raw, String)>,
    /// Who asks, once it has said so.
    caller: Option<Arc<Caller>>,
    flights: HashMap<Id, InFlight>,
    questions: HashMap<u64, Exchange>,
    next_question: u64,
    /// What it is subscribed to, where other replicas must know.
    subscribed: std::collections::HashSet<String>,
    /// The `shutdown` request that waits for the calls in flight.
    shutdown: Option<(Id, Lane)>,
}

struct InFlight {
    flight: Arc<CallHandle<dyn Sink>>,
    lane: Lane,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    New,
    Open,
    ShuttingDown,
}

impl Session {
    pub fn new(destination: Destination, outlet: Arc<dyn Outlet>) -> Arc<Self> {
        Self::limited(destination, outlet, None)
    }

    /// Opens a session that may have only so many calls in flight, and says what those beyond it are told.
    pub(crate) fn limited(
        destination: Destination,
        outlet: Arc<dyn Outlet>,
        limit: Option<(usize, Fault)>,
    ) -> Arc<Self> {
        let session = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            tap: Arc::new(traffic::tap(&destination)),
            destination,
            outlet,
            state: Mutex::default(),
            client: OnceLock::new(),
            disconnect: OnceLock::new(),
            limit,
            goes_on: AtomicBool::new(false),
            idle: Notify::new(),
        });
        if let Ok(gateway) = &session.destination.gateway {
            let _ = session.client.set(gateway.attach(Arc::new(Handle(session.me.clone()))));
            session.introduce_to_tap(None);
        }
        session
    }

    /// Tells that its client has initialized it already, with a process that is gone, and was asked so many questions by it:
    /// a late answer to one of those must not be taken for the answer to one of ours.
    pub(crate) fn go_on_after(&self, questions: u64) {
        self.goes_on.store(true, Ordering::Relaxed);
        self.lock().next_question = questions;
    }

    /// Says after which number questions are numbered: late answers to those of another process are none of ours.
    pub(crate) fn number_questions_after(&self, number: u64) {
        self.lock().next_question = number;
    }

    /// Returns whether the client has yet to answer a question with this id.
    pub(crate) fn is_asked(&self, id: &Id) -> bool {
        id.as_u64().is_some_and(|number| self.lock().questions.contains_key(&number))
    }

    /// Takes a message of the client. Answers go to the session's outlet, in time.
    pub fn receive(self: &Arc<Self>, bytes: Bytes) -> Received {
        match envelope::parse(bytes.clone()) {
            Ok(incoming) => {
                self.show_heard(&bytes);
                self.take(incoming, &Lane::of(&self.outlet))
            }
            Err(Refusal { kind: RefusalKind::Unfinished, .. }) => Received::Unfinished(bytes),
            Err(refusal) => {
                self.refuse(&refusal, &Lane::of(&self.outlet));
                Received::Done
            }
        }
    }

    /// Takes what was read already; answers and whatever belongs to these requests go to `outlet`.
    pub fn receive_on(self: &Arc<Self>, incoming: Incoming, outlet: &Arc<dyn Outlet>) -> Received {
        self.take(incoming, &Lane::of(outlet))
    }

    pub(crate) fn is_in_flight(&self, id: &Id) -> bool {
        self.lock().flights.contains_key(id)
    }

    /// Returns whether somebody waits for anything here: the client for an answer, or a server for one of its.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.lock();
        !state.flights.is_empty() || !state.questions.is_empty()
    }

    /// Returns whether a server waits for an answer of the client's.
    pub(crate) fn awaits_client(&self) -> bool {
        !self.lock().questions.is_empty()
    }

    /// Returns what a further call would be told, if there is no room for it.
    pub(crate) fn is_full(&self) -> Option<Fault> {
        let (most, fault) = self.limit.as_ref()?;
        (self.lock().flights.len() >= *most).then(|| fault.clone())
    }

    /// Returns the revision agreed on, once it is.
    pub fn revision(&self) -> Option<Revision> {
        self.lock().revision
    }

    fn take(self: &Arc<Self>, incoming: Incoming, lane: &Lane) -> Received {
        match incoming {
            Incoming::One(message) => self.accept(message, lane),
            Incoming::Batch(messages) => self.receive_batch(messages, lane),
        }
    }

    /// Answers something that never became a message.
    pub fn reject(&self, id: Option<&Id>, fault: &Fault) {
        self.reject_on(&self.outlet, id, fault);
    }

    /// Answers what is no message by the way it came.
    pub(crate) fn refuse_on(&self, outlet: &Arc<dyn Outlet>, refusal: &Refusal) {
        self.refuse(refusal, &Lane::of(outlet));
    }

    pub(crate) fn reject_on(&self, outlet: &Arc<dyn Outlet>, id: Option<&Id>, fault: &Fault) {
        outlet.answer(self.shown(envelope::error(id, &fault.to_error(self.destination.codes))));
    }

    fn refuse(&self, refusal: &Refusal, lane: &Lane) {
        let error = refusal_fault(refusal).to_error(self.destination.codes);
        lane.answer(self.shown(envelope::error(refusal.id.as_ref(), &error)));
    }

    /// Takes a call out of flight, if it was.
    fn forget(&self, id: &Id) -> Option<InFlight> {
        self.lock().flights.remove(id)
    }

    /// Notes that a call is over and its answer said.
    fn one_done(&self) {
        let mut state = self.lock();
        if state.flights.is_empty() {
            self.idle.notify_waiters();
        }
        self.confirm_shutdown(&mut state);
    }

    fn encode(&self, id: &Id, reply: Reply) -> Outgoing {
        match reply {
            // Such a client would take it for a result with nothing in it.
            Ok(answer) if answer.mark() == Mark::InputRequired => {
                let fault =
                    Fault::Internal("a request for input reached a client that cannot return".to_owned());
                self.encode(id, Err(fault.into()))
            }
            Ok(answer) => legacy::answer(id, &answer),
            Err(Failure::Peer(error)) => envelope::error(Some(id), &legacy::error(&error)).into(),
            Err(Failure::Fault(fault)) => {
                debug!(fault = fault.message(), "answered with an error");
                self.note_fault(id, &fault);
                envelope::error(Some(id), &fault.to_error(self.destination.codes)).into()
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// Returns what is wrong with a text that is no message.
pub(crate) fn refusal_fault(refusal: &Refusal) -> Fault {
    match refusal.kind {
        RefusalKind::Parse | RefusalKind::Unfinished => Fault::Parse,
        RefusalKind::Invalid(why) => Fault::InvalidRequest(why.to_owned()),
        RefusalKind::Variant { of, in_params: true } => {
            Fault::InvalidParams(Flaw::Variant { of }.to_string())
        }
        RefusalKind::Variant { of, in_params: false } => {
            Fault::InvalidRequest(Flaw::Variant { of }.to_string())
        }
    }
}

#[cfg(test)]
mod tests;
