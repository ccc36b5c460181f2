//! What became of each call, for whoever watches: traffic, metrics, audit. Where nobody does, a call costs one look.

mod trace;

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use manifold_protocol::{Answer, Call, CodeSet, Failure, Method, Raw, Reply};
use tokio::time::Instant;

use crate::changes::ClientId;
use crate::exchange::{Exchange, RequestWords, Target};
use crate::principal::{MAX_NAME, Principal, Requester};
use crate::sync::Lock as _;
pub use trace::{SpanContext, SpanId, Trace, TraceId, TraceOptions, Tracer, add_transport};

/// Is told of calls. None of these may block: they run where the call does.
pub trait Observer: Send + Sync {
    /// Takes a call that has just come in; it has no target yet.
    fn began(&self, _record: &CallRecord) {}

    /// Takes a call that is answered or cancelled.
    fn ended(&self, record: &CallRecord, end: &CallEnd);
}

/// One call of a client's, from its entrance to its end.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// Goes with the call through both hops.
    pub number: NonZeroU64,
    pub principal: Principal,
    pub client: Option<ClientId>,
    pub address: Option<IpAddr>,
    /// What the client calls itself, as far as is known.
    pub client_name: Option<String>,
    /// `None`: all servers.
    pub namespace: Option<String>,
    pub method: Method,
    /// The server it went to, and the tool; `None` where it was answered here.
    pub target: Option<Arc<Target>>,
    pub request_bytes: usize,
    /// What it was called with, as the client wrote it.
    pub params: Option<Raw>,
    pub began: Instant,
    /// When it was given to the server, at the first time.
    pub sent: Option<Instant>,
    /// Whether it belongs to a session.
    pub has_session: bool,
    /// What the session is called where it is known elsewhere, too: the same in every gateway that serves it.
    pub session: Option<Arc<str>>,
    /// What the request is called on its client's wire; kept only for traces.
    pub words: Option<RequestWords>,
    /// Its place in a trace, where there are any.
    pub trace: Option<Arc<Trace>>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEnd {
    pub took: Duration,
    pub response_bytes: usize,
    pub outcome: Outcome,
    /// The JSON-RPC code of an error.
    pub code: Option<i32>,
    /// What it came to: a result that is no list of ours, or a server's error.
    pub body: Option<Raw>,
    /// The rule that turned it away, in words for whoever wrote the rules.
    pub refused_by: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Result,
    /// A tool's own failure, told by a result.
    ToolError,
    /// The server's own error.
    ServerError,
    /// An error of ours, by its kind.
    Fault(&'static str),
    Cancelled,
}

/// Whether anybody watches, which is one look on the way of a call, and the number of the next.
#[derive(Default)]
pub(crate) struct Watch {
    who: AtomicU8,
    last_number: AtomicU64,
}

impl Watch {
    /// Calls are told to observers.
    const CALLS: u8 = 1;
    /// Messages are seen by whoever watches traffic.
    pub(crate) const TRAFFIC: u8 = 2;
    /// Calls are counted, and some turned away.
    pub(crate) const RATES: u8 = 4;
    /// Calls belong to traces.
    const TRACES: u8 = 8;

    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.who.load(Ordering::Relaxed) != 0
    }

    #[inline]
    pub(crate) fn is_on(&self, who: u8) -> bool {
        self.who.load(Ordering::Relaxed) & who != 0
    }

    /// Returns whether anybody wants a record of a call.
    pub(crate) fn keeps_records(&self) -> bool {
        self.who.load(Ordering::Relaxed) & !Self::RATES != 0
    }

    pub(crate) fn set(&self, who: u8, is_on: bool) {
        match is_on {
            true => self.who.fetch_or(who, Ordering::Relaxed),
            false => self.who.fetch_and(!who, Ordering::Relaxed),
        };
    }

    /// Returns the number that was given last; 0: none was.
    pub(crate) fn last_number(&self) -> u64 {
        self.last_number.load(Ordering::Relaxed)
    }

    /// Has the next number be above this one.
    pub(crate) fn begin_after(&self, number: u64) {
        self.last_number.fetch_max(number, Ordering::Relaxed);
    }

    pub(crate) fn next_number(&self) -> NonZeroU64 {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
    }
}

/// Those who watch, and the number of the next call.
#[derive(Default)]
pub struct Observers {
    watch: Arc<Watch>,
    observers: ArcSwap<Vec<Arc<dyn Observer>>>,
    tracer: ArcSwapOption<Tracer>,
    /// Held while somebody comes or goes, so that the look always agrees with the list.
    changing: Mutex<()>,
}

impl Observers {
    /// Lets somebody watch every call that begins from now on.
    pub fn add(&self, observer: Arc<dyn Observer>) {
        let _changing = self.changing.locked();
        self.observers.rcu(|observers| {
            let mut observers = Vec::clone(observers);
            observers.push(Arc::clone(&observer));
            observers
        });
        self.watch.set(Watch::CALLS, true);
    }

    /// Lets somebody watch no longer. Calls that began before are still told to it.
    pub fn remove(&self, observer: &Arc<dyn Observer>) {
        let _changing = self.changing.locked();
        let left = |observers: &Arc<Vec<Arc<dyn Observer>>>| {
            let others = observers.iter().filter(|one| !Arc::ptr_eq(one, observer));
            others.cloned().collect::<Vec<_>>()
        };
        self.observers.rcu(left);
        self.watch.set(Watch::CALLS, !self.observers.load().is_empty());
    }

    /// Has calls belong to traces from now on.
    pub fn trace_by(&self, tracer: Option<Tracer>) {
        let is_on = tracer.is_some();
        self.tracer.store(tracer.map(Arc::new));
        self.watch.set(Watch::TRACES, is_on);
    }

    /// Returns whether calls belong to traces.
    pub fn is_tracing(&self) -> bool {
        self.watch.is_on(Watch::TRACES)
    }

    /// Returns what those who watch traffic are counted by, too.
    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_any()
    }

    /// Opens the record of a call that begins now, under the number that it has already, if it does.
    pub(crate) fn open(
        &self,
        call: &mut Call,
        namespace: Option<&str>,
        exchange: &Exchange,
    ) -> Box<OpenRecord> {
        let trace = self.tracer.load().as_ref().map(|tracer| tracer.begin(call));
        let (client, requester) = (exchange.client(), exchange.requester());
        let record = CallRecord {
            number: exchange.number_on_arrival().unwrap_or_else(|| self.watch.next_number()),
            principal: requester.map_or(Principal::Gateway, |requester| requester.principal.clone()),
            client,
            address: requester.and_then(|requester| requester.address),
            client_name: client_name(call, requester),
            namespace: namespace.map(str::to_owned),
            method: call.method.clone(),
            target: None,
            request_bytes: call.params.as_ref().map_or(0, |params| params.as_bytes().len()),
            params: call.params.clone(),
            began: Instant::now(),
            sent: None,
            has_session: exchange.has_session(),
            session: requester.and_then(|requester| requester.session().cloned()),
            words: trace.as_ref().and_then(|_| exchange.words()),
            trace,
        };
        let observers = self.observers.load_full();
        observers.iter().for_each(|observer| observer.began(&record));
        Box::new(OpenRecord { record, refused_by: None, observers })
    }
}

/// A record that has no end yet, and those who wait for it.
pub(crate) struct OpenRecord {
    pub(crate) record: CallRecord,
    pub(crate) refused_by: Option<Box<str>>,
    observers: Arc<Vec<Arc<dyn Observer>>>,
}

impl OpenRecord {
    /// Returns how the call ends now; without a reply it was cancelled.
    pub(crate) fn end(&self, reply: Option<&Reply>) -> CallEnd {
        CallEnd {
            took: self.record.began.elapsed(),
            response_bytes: reply.map_or(0, response_bytes),
            outcome: reply.map_or(Outcome::Cancelled, outcome),
            code: reply.and_then(code),
            body: reply.and_then(body),
            refused_by: self.refused_by.clone(),
        }
    }

    /// Notes where the call goes. Returns its place in a trace.
    pub(crate) fn sent_to(&mut self, target: &Arc<Target>) -> Option<Arc<Trace>> {
        self.record.target = Some(Arc::clone(target));
        self.record.sent.get_or_insert_with(Instant::now);
        self.record.trace.clone()
    }

    /// Tells those who watch.
    pub(crate) fn close(&self, end: &CallEnd) {
        self.observers.iter().for_each(|observer| observer.ended(&self.record, end));
    }
}

/// Returns what a client calls itself: with this call, or when it introduced itself.
fn client_name(call: &Call, requester: Option<&Arc<Requester>>) -> Option<String> {
    let info = call.caller.as_ref().and_then(|caller| caller.info.as_ref());
    // What it said when it introduced itself is kept short; what it says now is as long as it likes.
    let introduced = requester.and_then(|requester| requester.name()).map(str::to_owned);
    introduced.or_else(|| Some(info?.get("name")?.to_text()?.chars().take(MAX_NAME).collect()))
}

fn response_bytes(reply: &Reply) -> usize {
    match reply {
        Ok(answer) => answer.size_bytes(),
        Err(Failure::Peer(error)) => error.as_bytes().len(),
        Err(Failure::Fault(_)) => 0,
    }
}

fn code(reply: &Reply) -> Option<i32> {
    match reply {
        Ok(_) => None,
        Err(Failure::Peer(error)) => error.get("code").and_then(|code| code.as_str().parse().ok()),
        Err(Failure::Fault(fault)) => Some(fault.code(CodeSet::Own)),
    }
}

fn body(reply: &Reply) -> Option<Raw> {
    match reply {
        Ok(Answer::Result { body, .. }) => Some(body.clone()),
        Ok(Answer::List(_)) | Err(Failure::Fault(_)) => None,
        Err(Failure::Peer(error)) => Some(error.clone()),
    }
}

fn outcome(reply: &Reply) -> Outcome {
    match reply {
        Ok(answer) if answer.is_tool_error() => Outcome::ToolError,
        Ok(_) => Outcome::Result,
        Err(Failure::Peer(_)) => Outcome::ServerError,
        Err(Failure::Fault(fault)) => Outcome::Fault(fault.kind()),
    }
}

#[cfg(test)]
mod tests;
