//! Each message of the client, to where it belongs: requests are answered here or go to the gateway.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_engine::{Audience, Exchange};
use manifold_protocol::envelope::{self, Message, MethodName};
use manifold_protocol::{Answer, Call, Caller, Failure, Fault, Id, Method, Raw, Reply};
use tracing::debug;

use super::calls::CallSink;
use super::lane::Lane;
use super::{InFlight, Phase, Received, Session};

impl Session {
    pub(super) fn accept(self: &Arc<Self>, message: Message, lane: &Lane) -> Received {
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
            // A shim has initialized the session for its client, who was told that it is.
            (_, Phase::New) if self.goes_on.load(Ordering::Relaxed) && self.destination.gateway.is_err() => {
                Err(self.destination.gateway.as_ref().err().cloned().unwrap_or(Fault::ShuttingDown).into())
            }
            (_, Phase::New) => {
                Err(Fault::InvalidRequest("the first request must be `initialize`".to_owned()).into())
            }
            (_, Phase::Open) => return self.call(id, self.signed(call, lane), lane),
        };
        lane.answer(self.shown(self.encode(&id, reply)));
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
                return lane.answer_busy(self.shown(envelope::error(Some(&id), &error)), 1);
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
                    let error = fault.to_error(self.destination.codes);
                    return lane.answer(self.shown(envelope::error(Some(&id), &error)));
                }
            }
        }
        match lane.outlet.kept() {
            None => gateway.dispatch(call, exchange),
            Some(kept) => kept.go_on(exchange, gateway),
        }
    }
}
