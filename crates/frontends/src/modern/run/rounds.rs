//! The questions of a call: gathered, put to its client in a round, answered by whoever comes back.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Exchange;
use manifold_protocol::dialect::modern::rounds::InputRequired;
use manifold_protocol::{Answer, Call, Caller, Era, Fault, Mark, Method, Raw, RawObject};
use tokio::time::{Instant, sleep};

use super::{PendingRequest, Run, State, tell_progress, value_of};
use crate::parked::{self, Resumption};
use crate::questions;

/// Questions asked within this time are put to the client together.
const GATHER: Duration = Duration::from_millis(20);

pub(super) struct Question {
    pub(super) number: u64,
    pub(super) call: Call,
    pub(super) exchange: Exchange,
}

impl State {
    /// Returns whether the client cannot be asked this, and notes what it would have had to declare. Nothing is wanting
    /// where the config answers.
    pub(super) fn is_lacking_for(&mut self, question: &Call) -> bool {
        let lacking = questions::lacking(&self.caller.capabilities, question, Era::Modern);
        let is_lacking = lacking.is_some();
        if question.method != Method::ListRoots {
            self.lacking = lacking.or(self.lacking.take());
        }
        is_lacking
    }
}

impl Run {
    /// Takes a client that comes back: its answers go to the server, what follows goes to it.
    pub(in crate::modern) fn come_back(
        self: &Arc<Self>,
        pending: PendingRequest,
        caller: Arc<Caller>,
        round: u32,
        answers: &RawObject,
    ) -> Result<(), Fault> {
        let mut answered = Vec::new();
        let mut state = self.lock();
        if state.is_over {
            return Err(parked::refused("the call it belongs to is over; start the call again"));
        }
        // A round is answered once: whoever answers it again would hear what belongs to another request.
        if state.pending.is_some() || state.round != round {
            return Err(parked::refused("its questions have been answered already; start the call again"));
        }
        state.alone_since = None;
        state.caller = caller;
        if let (Some(untold), Some(token)) = (state.progress.untold.take(), &pending.token) {
            let value = value_of(&untold);
            tell_progress(&pending, untold, token);
            state.progress.told = value.or(state.progress.told);
        }
        if let Some(reply) = state.reply.take() {
            state.is_over = true;
            drop(state);
            self.vacate();
            self.conclude(pending, reply);
            return Ok(());
        }
        let (mut rest, mut declined) = (Vec::new(), Vec::new());
        for question in std::mem::take(&mut state.questions) {
            let answer = answers.get(&key(question.number));
            match answer.filter(|answer| questions::answers(&question.call, answer)) {
                Some(answer) => answered.push((question.exchange, answer)),
                // What this request can be asked counts, not what the last one could.
                None if state.is_lacking_for(&question.call) => declined.push(question),
                None => rest.push(question),
            }
        }
        state.questions = rest;
        state.pending = Some(pending);
        if !state.questions.is_empty() {
            self.gather(&mut state);
        }
        drop(state);
        for (exchange, answer) in answered {
            exchange.finish(Ok(answer));
        }
        for question in declined {
            self.gateway.decline(&question.call, question.exchange);
        }
        Ok(())
    }

    /// Puts the questions there are to the client, after a moment in which more may come.
    pub(super) fn gather(self: &Arc<Self>, state: &mut State) {
        if !std::mem::replace(&mut state.gathers, true) {
            let run = Arc::clone(self);
            self.modern.tasks.spawn(async move {
                sleep(GATHER).await;
                run.put_questions();
            });
        }
    }

    fn put_questions(self: &Arc<Self>) {
        {
            let mut state = self.lock();
            state.gathers = false;
            if state.is_over || state.pending.is_none() || state.questions.is_empty() {
                return;
            }
        }
        let place = self.place.get_or_init(|| self.modern.parked.add(self)).clone();
        if let Ok(place) = place {
            self.modern.parked.keep(place, self);
        }
        let mut state = self.lock();
        if state.is_over {
            drop(state);
            return self.vacate();
        }
        if state.questions.is_empty() {
            return;
        }
        let Some(pending) = state.pending.take() else { return };
        state.round += 1;
        state.alone_since = Some(Instant::now());
        let open = state.questions.iter();
        let questions = open.map(|open| (key(open.number), questions::for_retry(&open.call))).collect();
        let resumption = place.map(|place| Resumption::Parked { place, round: state.round });
        let no_randomness = || Fault::Internal("the system has no randomness to give".to_owned());
        match resumption.and_then(|resumption| self.seal(&resumption).ok_or_else(no_randomness)) {
            Ok(sealed) => {
                drop(state);
                let round = InputRequired { questions, state: Some(sealed) };
                self.deliver(pending, Ok(Answer::marked(round.encode(), Mark::InputRequired)));
            }
            Err(fault) => {
                self.end(state, None);
                self.deliver(pending, Err(fault.into()));
            }
        }
    }

    pub(super) fn seal(&self, resumption: &Resumption) -> Option<Raw> {
        self.modern.parked.seal.close(resumption, &self.original.digest())
    }
}

pub(super) fn key(number: u64) -> String {
    format!("q{number}")
}
