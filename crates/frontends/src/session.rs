//! A legacy client's session: its handshake, its calls in flight, the questions it has been asked. It knows
//! messages, not streams: whoever owns those feeds `receive` and empties the outbox.

mod about;
mod asking;
mod batch;
mod calls;
mod outlet;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use bytes::Bytes;
use manifold_config::Profile;
use manifold_engine::{
    Audience, CallHandle, Cancel, Client, ClientAbout, ClientFacts, ClientId, Exchange, Gateway, Lock as _,
    Requester, Sink,
};
use manifold_protocol::dialect::legacy::{self, InitializeReply};
use manifold_protocol::envelope::{self, Incoming, Message, MethodName, Refusal, RefusalKind};
use manifold_protocol::members::Flaw;
use manifold_protocol::{
    Answer, Call, Caller, CodeSet, Failure, Fault, Id, Mark, Method, Outgoing, Raw, Reply, Revision,
    notification,
};
use tokio::sync::Notify;
use tracing::debug;

use batch::Batch;
pub(crate) use batch::too_large as batch_too_large;
use calls::CallSink;
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
    state: Mutex<State>,
    client: OnceLock<ClientId>,
    /// What is said to a call beyond so many in flight.
    limit: Option<(usize, Fault)>,
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
    /// Who asks, once it has said so.
    caller: Option<Arc<Caller>>,
    flights: HashMap<Id, InFlight>,
    questions: HashMap<u64, Exchange>,
    next_question: u64,
    /// The `shutdown` request that waits for the calls in flight.
    shutdown: Option<(Id, Lane)>,
}

struct InFlight {
    flight: Arc<CallHandle<dyn Sink>>,
    lane: Lane,
}

/// Where what belongs to one message of the client goes.
#[derive(Clone)]
struct Lane {
    outlet: Arc<dyn Outlet>,
    /// The batch it came in, whose answers leave together.
    batch: Option<Arc<Batch>>,
}

impl Lane {
    fn of(outlet: &Arc<dyn Outlet>) -> Self {
        Self { outlet: Arc::clone(outlet), batch: None }
    }

    fn answer(&self, message: impl Into<Outgoing>) {
        let message = message.into();
        match &self.batch {
            Some(batch) => batch.add(message),
            None => self.outlet.answer(message),
        }
    }

    /// Answers that the same may be asked again in a moment.
    fn turn_away(&self, message: Outgoing) {
        match &self.batch {
            Some(batch) => batch.add(message),
            None => self.outlet.turn_away(message),
        }
    }

    /// Tells that no answer will come.
    fn skip(&self) {
        match &self.batch {
            Some(batch) => batch.skip(),
            None => self.outlet.abandon(),
        }
    }
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
            destination,
            outlet,
            state: Mutex::default(),
            client: OnceLock::new(),
            limit,
            idle: Notify::new(),
        });
        if let Ok(gateway) = &session.destination.gateway {
            let _ = session.client.set(gateway.attach(Arc::new(Handle(session.me.clone()))));
        }
        session
    }

    /// Takes a message of the client. Answers go to the session's outlet, in time.
    pub fn receive(self: &Arc<Self>, bytes: Bytes) -> Received {
        match envelope::parse(bytes.clone()) {
            Ok(incoming) => self.take(incoming, &Lane::of(&self.outlet)),
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
        self.outlet.answer(envelope::error(id, &fault.to_error(self.destination.codes)).into());
    }

    /// Waits until no call is in flight.
    pub async fn settled(&self) {
        loop {
            let idle = self.idle.notified();
            if self.lock().flights.is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Takes no more requests; what is in flight goes on.
    pub fn stop_taking_calls(&self) {
        self.lock().phase = Phase::ShuttingDown;
    }

    /// Ends the session: what is still in flight is taken back and answered so, open questions are dropped.
    pub fn close(&self) {
        let (flights, questions) = {
            let mut state = self.lock();
            state.phase = Phase::ShuttingDown;
            (std::mem::take(&mut state.flights), std::mem::take(&mut state.questions))
        };
        for (id, in_flight) in flights {
            in_flight.flight.cancel(Some(Raw::from_static(r#""the session is over""#)));
            let answer = self.encode(&id, Err(Fault::ShuttingDown.into()));
            in_flight.lane.answer(answer);
        }
        drop(questions);
        if let (Ok(gateway), Some(client)) = (&self.destination.gateway, self.client.get()) {
            gateway.detach(*client);
        }
        self.idle.notify_waiters();
    }

    fn receive_batch(self: &Arc<Self>, messages: Vec<Result<Message, Refusal>>, lane: &Lane) -> Received {
        let allowed = self.lock().revision.is_some_and(Revision::has_batches);
        if !allowed {
            let why = "batches exist in protocol revision 2025-03-26 only".to_owned();
            let error = Fault::InvalidRequest(why).to_error(self.destination.codes);
            lane.answer(envelope::error(None, &error));
            return Received::Done;
        }
        let calls = messages.iter().filter(|one| matches!(one, Ok(Message::Request { .. }))).count();
        if let Some((most, _)) = self.limit.as_ref().filter(|(most, _)| calls > *most) {
            let error = batch_too_large(calls, *most).to_error(self.destination.codes);
            lane.answer(envelope::error(None, &error));
            return Received::Done;
        }
        let expected = messages
            .iter()
            .filter(|one| !matches!(one, Ok(Message::Notification { .. } | Message::Response { .. })));
        let lane = Lane { batch: Batch::new(expected.count(), &lane.outlet), ..lane.clone() };
        let mut received = Received::Done;
        for message in messages {
            match message.map(|message| self.accept(message, &lane)) {
                Ok(Received::Exit) => received = Received::Exit,
                Ok(Received::Done | Received::Unfinished(_)) => {}
                Err(refusal) => self.refuse(&refusal, &lane),
            }
        }
        received
    }

    fn refuse(&self, refusal: &Refusal, lane: &Lane) {
        let error = refusal_fault(refusal).to_error(self.destination.codes);
        lane.answer(envelope::error(refusal.id.as_ref(), &error));
    }

    fn accept(self: &Arc<Self>, message: Message, lane: &Lane) -> Received {
        match message {
            Message::Request { id, method, params } => {
                debug!(method = method.as_str(), "request");
                self.request(id, method, params, lane);
                Received::Done
            }
            Message::Notification { method, params } => self.notification(method.as_str(), params),
            Message::Response { id, outcome } => {
                self.answered(&id, outcome);
                Received::Done
            }
        }
    }

    fn request(self: &Arc<Self>, id: Id, method: MethodName, params: Option<Raw>, lane: &Lane) {
        let call = Call::new(method.into(), params);
        let phase = self.lock().phase;
        let is_answered_here = match call.method {
            Method::Initialize | Method::Ping => true,
            Method::Shutdown => self.destination.audience == Audience::One,
            _ => phase != Phase::Open,
        };
        let reply: Reply = match (&call.method, phase) {
            // Answering it would answer the first one (F24). Calls find out as they are entered.
            _ if is_answered_here && self.is_in_flight(&id) => {
                Err(Fault::InvalidRequest("a call with this id is in flight".to_owned()).into())
            }
            (Method::Initialize, Phase::New) => {
                self.initialize(&call).map(Answer::from).map_err(Failure::from)
            }
            (Method::Initialize, _) => {
                Err(Fault::InvalidRequest("the session is initialized already".to_owned()).into())
            }
            (_, Phase::ShuttingDown) => Err(Fault::ShuttingDown.into()),
            (Method::Ping, _) => Ok(Raw::from_static("{}").into()),
            (Method::Shutdown, _) if self.destination.audience == Audience::One => {
                return self.shut_down(id, lane);
            }
            // So that the probe of a client of a later revision gets the answer it looks for.
            (Method::Other(name), Phase::New) => Err(Fault::UnknownMethod(name.as_str().to_owned()).into()),
            (_, Phase::New) => {
                Err(Fault::InvalidRequest("the first request must be `initialize`".to_owned()).into())
            }
            (_, Phase::Open) => return self.call(id, self.signed(call, lane), lane),
        };
        lane.answer(self.encode(&id, reply));
    }

    fn initialize(self: &Arc<Self>, call: &Call) -> Result<Raw, Fault> {
        let gateway = self.destination.gateway.as_ref().map_err(Clone::clone)?;
        let Some(requested) = call.text_param("protocolVersion") else {
            return Err(Fault::InvalidParams("`protocolVersion` is missing".to_owned()));
        };
        let member =
            |key: &str| call.params.as_ref().and_then(|params| params.get(key)).map(|raw| raw.detached());
        let capabilities = member("capabilities").unwrap_or_else(|| Raw::from_static("{}"));
        let info =
            member("clientInfo").unwrap_or_else(|| Raw::from_static(r#"{"name":"manifold","version":"0"}"#));
        let revision = Revision::negotiate(&requested);
        if let Some(name) = info.get("name").as_ref().and_then(Raw::to_text) {
            self.destination.requester.set_name(&name);
        }
        {
            let mut state = self.lock();
            state.phase = Phase::Open;
            state.revision = Some(revision);
            state.caller = Some(Arc::new(Caller {
                capabilities: capabilities.clone(),
                info: Some(info.clone()),
                log_level: None,
                retries: false,
                is_retry: false,
                words: Default::default(),
            }));
        }
        self.tell_who_it_is();
        let echoes = self.destination.profile == Profile::McpAllInOne;
        let echoed: Vec<&str> = ["roots", "sampling"]
            .into_iter()
            .filter(|capability| echoes && capabilities.get(capability).is_some())
            .collect();
        let introduction = match self.destination.audience {
            Audience::One => gateway.introduce(ClientFacts { capabilities, info, revision }),
            // Servers shared by many are told nothing of any one client (decision 29).
            Audience::Shared => gateway.introduction(),
        };
        let reply = InitializeReply {
            revision,
            name: &introduction.name,
            version: &introduction.version,
            instructions: introduction.instructions.as_deref(),
            echoed: &echoed,
        };
        Ok(reply.encode())
    }

    /// Says who asks.
    fn signed(&self, call: Call, lane: &Lane) -> Call {
        let mut state = self.lock();
        if call.method == Method::SetLevel
            && let Some(caller) = &mut state.caller
        {
            // Servers without sessions are told with each call.
            let log_level =
                call.params.as_ref().and_then(|params| params.get("level")).map(|level| level.detached());
            *caller = Arc::new(Caller { log_level, ..(**caller).clone() });
        }
        let caller = state.caller.clone();
        drop(state);
        // A list is the same whichever way it is asked for.
        if lane.outlet.can_ask() || crate::modern::is_list(&call.method) {
            return Call { caller, ..call };
        }
        // Servers are not told of more than can be done on this way.
        let mute = |caller: Arc<Caller>| {
            Arc::new(Caller { capabilities: Raw::from_static("{}"), ..(*caller).clone() })
        };
        Call { caller: caller.map(mute), ..call }
    }

    fn call(self: &Arc<Self>, id: Id, call: Call, lane: &Lane) {
        let Ok(gateway) = &self.destination.gateway else { return };
        let wants_logs = call.caller.as_ref().is_some_and(|caller| caller.log_level.is_some());
        let sink = CallSink { session: Arc::clone(self), id: id.clone(), lane: lane.clone(), wants_logs };
        let (exchange, flight) = Exchange::open(sink);
        {
            let mut state = self.lock();
            if let Some((_, fault)) = self.limit.as_ref().filter(|(most, _)| state.flights.len() >= *most) {
                drop(state);
                flight.cancel(None);
                let error = fault.to_error(self.destination.codes);
                return lane.turn_away(envelope::error(Some(&id), &error).into());
            }
            match state.flights.entry(id) {
                Entry::Vacant(place) => {
                    place.insert(InFlight { flight, lane: lane.clone() });
                }
                Entry::Occupied(first) => {
                    let id = first.key().clone();
                    drop(state);
                    // Two at once; the sink must stay silent, its id belongs to the first.
                    flight.cancel(None);
                    let fault = Fault::InvalidRequest("a call with this id is in flight".to_owned());
                    return lane.answer(envelope::error(Some(&id), &fault.to_error(self.destination.codes)));
                }
            }
        }
        gateway.dispatch(call, exchange);
    }

    fn notification(&self, method: &str, params: Option<Raw>) -> Received {
        debug!(method, "notification");
        match method {
            notification::EXIT | "exit" => return Received::Exit,
            notification::CANCELLED => self.cancelled(params.as_ref()),
            notification::ROOTS_CHANGED => {
                if let Ok(gateway) = &self.destination.gateway {
                    gateway.tell_servers(notification::ROOTS_CHANGED, params);
                }
            }
            _ => {}
        }
        Received::Done
    }

    fn cancelled(&self, params: Option<&Raw>) {
        let id = params.and_then(|params| Id::from_raw(&params.get("requestId")?));
        let Some(in_flight) = id.and_then(|id| self.forget(&id)) else { return };
        in_flight.flight.cancel(params.and_then(|params| params.get("reason")));
        in_flight.lane.skip();
        self.one_done();
    }

    fn shut_down(&self, id: Id, lane: &Lane) {
        let mut state = self.lock();
        state.phase = Phase::ShuttingDown;
        state.shutdown = Some((id, lane.clone()));
        self.confirm_shutdown(&mut state);
    }

    /// Answers `shutdown` once nothing is in flight (decision 17).
    fn confirm_shutdown(&self, state: &mut State) {
        if state.flights.is_empty()
            && let Some((id, lane)) = state.shutdown.take()
        {
            lane.answer(envelope::result(&id, &Raw::from_static("{}")));
        }
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
                envelope::error(Some(id), &fault.to_error(self.destination.codes)).into()
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A session that was never closed must not stay known as a client; one that was is not known any more.
        if let (Ok(gateway), Some(client)) = (&self.destination.gateway, self.client.get()) {
            gateway.detach(*client);
        }
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

/// The session as the engine holds it; weak, so that a client that left is let go.
struct Handle(Weak<Session>);

impl Client for Handle {
    fn notify(&self, method: &str, params: Option<Raw>) {
        if let Some(session) = self.0.upgrade()
            && session.lock().phase != Phase::New
        {
            let message = envelope::notification(method, params.as_ref());
            match method {
                // Said once per change, and never again if it is lost.
                notification::TOOLS_CHANGED
                | notification::RESOURCES_CHANGED
                | notification::PROMPTS_CHANGED => session.outlet.ask(message),
                // Where it is said matters to a client that listens on the answer to its call.
                notification::MESSAGE => session.lane_in_use().tell(message),
                _ => session.outlet.tell(message),
            }
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        match self.0.upgrade() {
            Some(session) => session.ask(call, exchange, &session.outlet),
            None => exchange.fail(Fault::ClientCannot { what: "questions any more; it is gone".to_owned() }),
        }
    }

    fn about(&self) -> ClientAbout {
        self.0.upgrade().map(|session| session.about()).unwrap_or_default()
    }
}

impl Cancel for Handle {
    fn cancel(&self, number: u64, reason: Option<Raw>) {
        if let Some(session) = self.0.upgrade() {
            session.withdraw(number, reason);
        }
    }
}

#[cfg(test)]
mod tests;
