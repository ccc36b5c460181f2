//! Questions for the client: asked where it can hear them, answered once, withdrawn with their call.

use std::sync::Arc;

use manifold_engine::Exchange;
use manifold_protocol::envelope::{self, Outcome};
use manifold_protocol::{Call, Era, Failure, Fault, Id, Raw, RawObject, Revision, notification};
use tracing::debug;

use super::{Handle, Outlet, Phase, Session};
use crate::questions;

impl Session {
    /// Asks the client, in the course of the call of `within` if it is known.
    pub(super) fn ask(
        self: &Arc<Self>,
        call: Call,
        exchange: Exchange,
        outlet: &Arc<dyn Outlet>,
        within: Option<&Id>,
    ) {
        let mut state = self.lock();
        let lacking = match &state.caller {
            Some(caller) => questions::lacking(&caller.capabilities, &call, Era::Legacy).is_some(),
            None => true,
        };
        if lacking || state.phase == Phase::New {
            drop(state);
            return match &self.destination.gateway {
                Ok(gateway) => gateway.decline(&call, exchange),
                Err(fault) => exchange.fail(fault.clone()),
            };
        }
        if questions::is_by_url(&call) && state.revision < Some(Revision::V2025_11_25) {
            drop(state);
            let what = "`elicitation/create` by URL in its revision of the protocol".to_owned();
            return exchange.fail(Fault::ClientCannot { what });
        }
        if !outlet.can_ask() {
            drop(state);
            let what = format!("`{}` without a stream to be asked on", call.method);
            return exchange.fail(Fault::ClientCannot { what });
        }
        let call = questions::for_session(call);
        state.next_question += 1;
        let number = state.next_question;
        if !exchange.set_canceller(Arc::new(Handle(self.me.clone())), number) {
            return;
        }
        let watched = exchange.number();
        state.questions.insert(number, exchange);
        drop(state);
        let question = envelope::request(&Id::number(number), call.method.as_str(), call.params.as_ref());
        self.show_question(watched, within, &question);
        outlet.ask(question.into_bytes());
    }

    pub(super) fn answered(&self, id: &Id, outcome: Outcome) {
        let exchange = id.as_u64().and_then(|number| self.lock().questions.remove(&number));
        let Some(exchange) = exchange else { return debug!("an answer to no question of ours") };
        exchange.finish(match outcome {
            Outcome::Result(result) => Ok(result),
            Outcome::Error(error) => Err(Failure::Peer(error)),
        });
    }

    /// Returns where something goes that most likely belongs to a call in flight.
    pub(super) fn lane_in_use(&self) -> Arc<dyn Outlet> {
        let state = self.lock();
        let lane = state.flights.values().next().map(|in_flight| Arc::clone(&in_flight.lane.outlet));
        lane.unwrap_or_else(|| Arc::clone(&self.outlet))
    }

    pub(super) fn withdraw(&self, number: u64, reason: Option<Raw>) {
        let withdrawn = self.lock().questions.remove(&number);
        if withdrawn.is_none() {
            return;
        }
        let mut params = RawObject::default();
        params.set("requestId", Raw::number(number));
        if let Some(reason) = reason {
            params.set("reason", reason);
        }
        let message = envelope::notification(notification::CANCELLED, Some(&params.into_raw()));
        self.show_within(None, &message);
        self.outlet.ask(message);
    }
}
