//! Clients without sessions (2026-07-28): each request says who asks, and nothing is remembered from one to the next
//! but calls whose questions wait for answers.

mod ending;
mod listen;
mod run;
mod seen;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use foldhash::HashMap;
use manifold_engine::{ClientFacts, ClientId, Exchange, Gateway, Level, Lock as _, Requester, Tasks};
use manifold_protocol::dialect::modern::rounds::{self, Return};
use manifold_protocol::dialect::modern::{self, DiscoverReply};
use manifold_protocol::{
    Answer, Call, Caller, CodeSet, Failure, Fault, Id, Kind, Method, Outgoing, Raw, RawObject, Reply,
    Revision, envelope,
};
use tokio::sync::Notify;
use tracing::debug;

use crate::parked::{self, Parked, Resumption, Seal};
use crate::replica::Replica;
use crate::shim::KeptCall;
use listen::Listener;
pub(crate) use run::Run;
use run::{Asker, OriginalRequest, PendingRequest};
pub(crate) use seen::Seen;

/// What servers are told that clients can do, where each request says it anew: all that some client may be able to.
const CAPABILITIES: &str =
    r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}"#;

/// Returns what servers with sessions are told where no single client speaks for all calls (decision 29).
pub fn facts_of_anyone(info: Option<Raw>) -> ClientFacts {
    let ours = concat!(r#"{"name":"manifold","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);
    ClientFacts {
        capabilities: Raw::from_static(CAPABILITIES),
        info: info.unwrap_or_else(|| Raw::from_static(ours)),
        revision: Revision::LATEST,
    }
}

/// What kind of answer a message is, for transports that say so beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A result, or an error that came of working on the request.
    Served,
    /// The request itself is at fault.
    BadRequest,
    UnknownMethod,
    /// The same may be asked again after so many seconds.
    Busy(u64),
}

/// The way back to whoever sent one request. None of these may block.
pub(crate) trait Lane: Send + Sync {
    /// Takes the one answer.
    fn answer(&self, verdict: Verdict, message: Outgoing);

    /// Takes a message the client must see.
    fn say(&self, message: Bytes);

    /// Takes a message that may be lost where the client is behind.
    fn tell(&self, message: Bytes);

    /// No answer will come: the client took its request back.
    fn abandon(&self) {}

    /// The answer will be that the call took too long.
    fn note_timeout(&self) {}

    /// The call is about to be handed to a server.
    fn dispatched(&self) {}

    /// Returns where the answer goes should another process take our place.
    fn address(&self) -> Option<String> {
        None
    }

    /// Takes the call, if another process has handed it to a server already.
    fn kept(&self) -> Option<Arc<KeptCall>> {
        None
    }
}

/// A request as its front end read it.
pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: Method,
    pub(crate) params: Option<Raw>,
    pub(crate) requester: Arc<Requester>,
    /// Where it came in and by which credential: states given out are good for no other.
    pub(crate) entrance: Vec<u8>,
    pub(crate) client: ClientId,
    /// Its message, where anybody watches.
    pub(crate) seen: Option<Seen>,
}

/// Where requests of this era are served.
pub(crate) struct ModernService {
    tasks: Tasks,
    parked: Parked,
    /// Requests without an answer yet.
    open: Mutex<HashMap<u64, Open>>,
    next_number: AtomicU64,
    stopping: AtomicBool,
    /// Someone waits for the last call alone, whoever still listens.
    settling: AtomicBool,
    /// Told when the last request is answered.
    idle: Notify,
}

#[derive(Clone)]
enum Open {
    Call(Arc<Run>),
    Listen(Arc<Listener>),
}

/// The asker's hold on a request: to take it back by.
pub(crate) struct RequestHandle {
    modern: Arc<ModernService>,
    number: Option<u64>,
}

impl RequestHandle {
    /// Ends, with its result, a request that only listens.
    pub(crate) fn finish(&self) {
        let open = self.number.and_then(|number| self.modern.lock().get(&number).cloned());
        if let Some(Open::Listen(listener)) = open {
            listener.finish();
        }
    }

    /// Takes the request back, with everything that hangs on it; without effect once it is answered.
    pub(crate) fn cancel(&self, reason: Option<Raw>) {
        let Some(number) = self.number else { return };
        let open = self.modern.lock().remove(&number);
        match open {
            Some(Open::Call(run)) => run.leave(number, reason),
            Some(Open::Listen(listener)) => listener.leave(),
            None => return,
        }
        self.modern.tell_if_idle();
    }
}

impl ModernService {
    /// Returns the service of one client.
    pub(crate) fn new(tasks: &Tasks) -> Arc<Self> {
        Self::for_many(tasks, usize::MAX, None)
    }

    /// Returns the service of clients of which each may leave only so many calls waiting. Those of a replica may come back
    /// to another one.
    pub(crate) fn for_many(
        tasks: &Tasks,
        parked_per_client: usize,
        replica: Option<Arc<Replica>>,
    ) -> Arc<Self> {
        let seal = replica.map_or_else(Seal::new, Seal::Shared);
        let modern = Arc::new(Self {
            tasks: tasks.clone(),
            parked: Parked::new(parked_per_client, seal),
            open: Mutex::default(),
            next_number: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            settling: AtomicBool::new(false),
            idle: Notify::new(),
        });
        let expiry = Arc::clone(&modern);
        tasks.spawn_background(async move { expiry.parked.expire().await });
        modern
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Serves a request; whatever follows from it goes to `lane`, in time.
    pub(crate) fn serve(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        request: Request,
        lane: Arc<dyn Lane>,
    ) -> RequestHandle {
        let Request { id, method, params, requester, entrance, client, seen } = request;
        debug!(method = method.as_str(), "request");
        let opened = modern::open(params);
        let (watched, lane) = match seen {
            None => (None, lane),
            Some(seen) => {
                let params = opened.as_ref().ok().and_then(|(params, _)| params.as_ref());
                let parent = self.operation(params, |params| {
                    parked::digest(&requester.principal, &entrance, &method, params)
                });
                seen.show(&id, parent, lane)
            }
        };
        let refuse = |fault: Fault, verdict| {
            refuse(&*lane, Some(&id), &fault, verdict);
            RequestHandle { modern: Arc::clone(self), number: None }
        };
        let (params, caller) = match opened {
            Ok(opened) => opened,
            Err(fault) => return refuse(fault, Verdict::BadRequest),
        };
        if !modern::knows(&method) {
            return refuse(Fault::UnknownMethod(method.as_str().to_owned()), Verdict::UnknownMethod);
        }
        if self.stopping.load(Ordering::Relaxed) {
            return refuse(Fault::ShuttingDown, Verdict::BadRequest);
        }
        if is_list(&method) && params.as_ref().is_some_and(|params| params.get("cursor").is_some()) {
            let why = "`cursor`: lists are given whole here, so there is no page to go on with".to_owned();
            return refuse(Fault::InvalidParams(why), Verdict::Served);
        }
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let handle = RequestHandle { modern: Arc::clone(self), number: Some(number) };
        match method {
            Method::Discover => {
                gateway.expect(|| facts_of_anyone(caller.info.clone()));
                let (verdict, message) = encode(&id, Ok(discovery(gateway)), &method, gateway);
                lane.answer(verdict, message);
            }
            Method::Listen => {
                gateway.admit(|| facts_of_anyone(caller.info.clone()));
                let Some(filter) = modern::listen::Filter::read(params.as_ref()) else {
                    let why = "`notifications` must say what to listen for".to_owned();
                    return refuse(Fault::InvalidParams(why), Verdict::Served);
                };
                if let Err(fault) = listen::check(&filter) {
                    return refuse(fault, Verdict::Served);
                }
                let listener = Listener::new(self, gateway, number, id, (client, requester), filter, lane);
                self.lock().insert(number, Open::Listen(Arc::clone(&listener)));
                self.tasks.spawn(listener.open());
            }
            _ => {
                gateway.admit(|| facts_of_anyone(caller.info.clone()));
                let token = params.as_ref().and_then(|params| params.path(&["_meta", "progressToken"]));
                let level = caller.log_level.as_ref().and_then(|level| Level::parse(&level.to_text()?));
                let pending = PendingRequest {
                    number,
                    watched,
                    id,
                    lane,
                    token: token.map(|token| token.detached()),
                    level,
                };
                let original = OriginalRequest { method, params, requester, entrance, client };
                self.call(gateway, original, caller, pending);
            }
        }
        handle
    }

    /// Begins a call, or goes on with the one the client comes back for.
    fn call(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        original: OriginalRequest,
        mut caller: Caller,
        pending: PendingRequest,
    ) {
        if !caller.is_retry || !may_return(&original.method) {
            return self.begin(gateway, original, caller, pending);
        }
        let (first, brought) = rounds::take_return(original.params.clone());
        let ours = brought.state.as_deref().filter(|state| state.starts_with(parked::PREFIX));
        let Some(state) = ours else {
            // The server's own affair.
            return self.begin(gateway, original, caller, pending);
        };
        match self.parked.seal.open(state, &original.digest()) {
            Err(fault) => refuse(&*pending.lane, Some(&pending.id), &fault, Verdict::Served),
            Ok(Resumption::Parked { place, round }) => self.resume(&place, round, brought, caller, pending),
            Ok(Resumption::Elsewhere { .. }) => {
                let fault = parked::refused("its call waits at another replica; start the call again");
                refuse(&*pending.lane, Some(&pending.id), &fault, Verdict::Served);
            }
            Ok(Resumption::Again) => {
                caller.is_retry = false;
                self.begin(gateway, OriginalRequest { params: first, ..original }, caller, pending);
            }
            Ok(Resumption::Foreign(state)) => {
                let answers = original.params.as_ref().and_then(|params| params.get("inputResponses"));
                let mut params = first.and_then(|params| params.object()).unwrap_or_default();
                if let Some(answers) = answers {
                    params.set("inputResponses", answers);
                }
                params.set("requestState", Raw::string(&state));
                self.begin(
                    gateway,
                    OriginalRequest { params: Some(params.into_raw()), ..original },
                    caller,
                    pending,
                );
            }
        }
    }

    /// Returns whether calls wait for their clients to come back.
    pub(crate) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Returns the replica at which the call waits that a client comes back for, if that is another.
    pub(crate) fn elsewhere(&self, params: Option<&Raw>) -> Option<u32> {
        let state = params?.get("requestState")?;
        let state = state.to_text().filter(|state| state.starts_with(parked::PREFIX))?;
        self.parked.seal.elsewhere(&state)
    }

    /// Returns the number of the call that a client comes back for, where that is watched.
    fn operation(
        &self,
        params: Option<&Raw>,
        digest: impl FnOnce(Option<&Raw>) -> parked::Digest,
    ) -> Option<NonZeroU64> {
        let state = params?.get("requestState")?;
        let state = state.to_text().filter(|state| state.starts_with(parked::PREFIX))?;
        match self.parked.seal.open(&state, &digest(params)) {
            Ok(Resumption::Parked { place, .. }) => self.parked.find(&place).ok()?.watched(),
            _ => None,
        }
    }

    fn begin(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        original: OriginalRequest,
        caller: Caller,
        pending: PendingRequest,
    ) {
        let caller = Arc::new(caller);
        let call = Call::new(original.method.clone(), original.params.clone()).by(Arc::clone(&caller));
        let (number, kept) = (pending.number, pending.lane.kept());
        let run = Run::new(self, gateway, original, caller, pending);
        self.lock().insert(number, Open::Call(Arc::clone(&run)));
        let (exchange, flight) = Exchange::open(Asker(Arc::clone(&run)));
        run.takes_off(flight);
        match kept {
            None => gateway.dispatch(call, exchange),
            Some(kept) => kept.go_on(exchange, gateway),
        }
    }

    fn resume(
        self: &Arc<Self>,
        place: &parked::PlaceId,
        round: u32,
        brought: Return,
        caller: Caller,
        pending: PendingRequest,
    ) {
        let (number, id, lane) = (pending.number, pending.id.clone(), Arc::clone(&pending.lane));
        let resumed = self.parked.find(place).and_then(|run| {
            self.lock().insert(number, Open::Call(Arc::clone(&run)));
            run.come_back(pending, Arc::new(caller), round, &brought.answers)
        });
        if let Err(fault) = resumed {
            refuse(&*lane, Some(&id), &fault, Verdict::Served);
            self.answered(number);
        }
    }

    /// Notes that a request is answered: whoever waits for the last answer may go then.
    fn answered(&self, number: u64) {
        self.lock().remove(&number);
        self.tell_if_idle();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.locked()
    }
}

/// Returns whether a client may be sent away from such a request with something to answer, and come back.
fn may_return(method: &Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}

pub(crate) fn is_list(method: &Method) -> bool {
    Kind::ALL.iter().any(|kind| kind.list_method() == *method)
}

/// Answers a request that came to nothing; without an id where none could be read.
pub(crate) fn refuse(lane: &dyn Lane, id: Option<&Id>, fault: &Fault, verdict: Verdict) {
    lane.answer(verdict, refusal(id, fault).into());
}

pub(crate) fn refusal(id: Option<&Id>, fault: &Fault) -> Bytes {
    debug!(fault = fault.message(), "answered with an error");
    let error = fault.to_error(CodeSet::Modern);
    match id {
        Some(id) => envelope::error(Some(id), &error),
        None => envelope::error_without_id(&error),
    }
}

/// Says what there is, from what is known: nothing is started to find out.
fn discovery(gateway: &Arc<Gateway>) -> Answer {
    let introduction = gateway.introduction();
    let reply = DiscoverReply {
        instructions: introduction.instructions.as_deref(),
        extensions: introduction.extensions.clone(),
    };
    reply.encode().into()
}

fn encode(id: &Id, reply: Reply, method: &Method, gateway: &Gateway) -> (Verdict, Outgoing) {
    match reply {
        Ok(answer) => {
            (Verdict::Served, envelope::result(id, &modern::result(&answer, method, &server_info(gateway))))
        }
        Err(Failure::Peer(error)) => {
            let error = modern::error(&error);
            let code = error.get("code").and_then(|code| code.as_str().parse().ok());
            (verdict_of(code.unwrap_or_default()), envelope::error(Some(id), &error).into())
        }
        Err(Failure::Fault(fault)) => {
            // Parameters are the handler's to judge: what was wrong with the request itself was said before.
            let verdict = match fault.code(CodeSet::Modern) {
                _ if fault.is_busy() => Verdict::Busy(fault.retry_after_secs().unwrap_or(1)),
                -32600 => Verdict::BadRequest,
                code => verdict_of(code),
            };
            (verdict, refusal(Some(id), &fault).into())
        }
    }
}

fn verdict_of(code: i32) -> Verdict {
    match code {
        -32601 => Verdict::UnknownMethod,
        -32022..=-32020 => Verdict::BadRequest,
        _ => Verdict::Served,
    }
}

fn server_info(gateway: &Gateway) -> Raw {
    let config = gateway.config();
    let version = config.settings.server_version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
    let mut info = RawObject::default();
    info.set("name", Raw::string(&config.settings.server_name));
    info.set("version", Raw::string(version));
    info.into_raw()
}
