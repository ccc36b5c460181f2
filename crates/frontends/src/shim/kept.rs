//! Calls that the process before us handed to servers: their answers come to us, and their askers come back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use manifold_engine::{
    CallHandle, Cancel, ClientId, Exchange, Gateway, Lock as _, Reopen, ReturnAddress, Sink,
};
use manifold_protocol::{Call, Raw, Reply};

/// The calls whose askers have not come back yet, by where their answers go.
#[derive(Default)]
pub struct KeptCalls {
    calls: Mutex<HashMap<String, Arc<KeptCall>>>,
}

/// One call, between its server and an asker that comes back.
pub struct KeptCall {
    /// Where its answer went when it was left to us, and what is to be done with it first.
    address: ReturnAddress,
    /// By which it is cancelled.
    handle: OnceLock<Arc<CallHandle<dyn Sink>>>,
    state: Mutex<State>,
    client: OnceLock<ClientId>,
}

enum State {
    /// The asker is not back yet: what its server asks of it waits.
    Away(Vec<(Call, Exchange)>),
    /// The answer came first.
    Answered(Reply),
    /// Both are there.
    Back(Exchange, Arc<Gateway>),
    Over,
}

impl KeptCalls {
    /// Returns the call whose answer goes there, once.
    pub(super) fn take(&self, address: &str) -> Option<Arc<KeptCall>> {
        self.lock().remove(address)
    }

    /// Takes the answers whose askers have not come back: another process takes our place, and has to bring them.
    pub fn take_answers(&self) -> Vec<(ReturnAddress, Reply)> {
        let taken = |call: &Arc<KeptCall>| {
            let mut state = call.lock();
            match std::mem::replace(&mut *state, State::Over) {
                State::Answered(reply) => Some((call.address.clone(), reply)),
                before => {
                    *state = before;
                    None
                }
            }
        };
        self.lock().values().filter_map(taken).collect()
    }

    /// Takes over answers that came to the process before us.
    pub fn restore_answers(&self, answers: Vec<(ReturnAddress, Reply)>) {
        let mut calls = self.lock();
        for (address, reply) in answers {
            let session = address.session.clone();
            calls.insert(session, Arc::new(KeptCall::new(address, State::Answered(reply))));
        }
    }

    /// Cancels the calls whose askers have not come back.
    pub fn give_up(&self) {
        let left = std::mem::take(&mut *self.lock());
        for call in left.into_values() {
            call.cancel(None);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<KeptCall>>> {
        self.calls.locked()
    }
}

impl Reopen for KeptCalls {
    fn reopen(&self, address: ReturnAddress) -> Option<Exchange> {
        let call = Arc::new(KeptCall::new(address.clone(), State::Away(Vec::new())));
        let (exchange, handle) = Exchange::open(KeptSink(Arc::clone(&call)));
        let _ = call.handle.set(handle);
        self.lock().insert(address.session, call);
        Some(exchange)
    }
}

impl KeptCall {
    fn new(address: ReturnAddress, state: State) -> Self {
        Self { address, handle: OnceLock::new(), state: Mutex::new(state), client: OnceLock::new() }
    }

    /// Lets the asker, who is back, have the answer: now if it is there, else when it comes.
    pub(crate) fn go_on(self: &Arc<Self>, exchange: Exchange, gateway: &Arc<Gateway>) {
        if let Some(client) = exchange.client() {
            let _ = self.client.set(client);
        }
        if !exchange.set_canceller(Arc::new(Canceller(Arc::clone(self))), 0) {
            return self.cancel(None);
        }
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Answered(reply) => {
                drop(state);
                self.finish(reply, exchange, gateway);
            }
            State::Away(questions) => {
                let asker = exchange.asker();
                *state = State::Back(exchange, Arc::clone(gateway));
                drop(state);
                questions.into_iter().for_each(|(call, question)| asker.ask(call, question));
            }
            State::Back(..) | State::Over => {}
        }
    }

    fn finish(&self, reply: Reply, exchange: Exchange, gateway: &Gateway) {
        let reply = gateway.finish_answer(&self.address.steps, exchange.principal(), reply);
        exchange.finish(reply);
    }

    fn cancel(&self, reason: Option<Raw>) {
        if let Some(handle) = self.handle.get() {
            handle.cancel(reason);
        }
    }

    /// Returns the asker, if it is back.
    fn asker(&self) -> Option<Arc<CallHandle<dyn Sink>>> {
        match &*self.lock() {
            State::Back(exchange, _) => Some(exchange.asker()),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// The end of the call that the server answers to.
struct KeptSink(Arc<KeptCall>);

impl Sink for KeptSink {
    fn reply(&self, reply: Reply) {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Away(_) => *state = State::Answered(reply),
            State::Back(exchange, gateway) => {
                drop(state);
                self.0.finish(reply, exchange, &gateway);
            }
            State::Answered(_) | State::Over => {}
        }
    }

    fn progress(&self, params: Raw) {
        if let Some(asker) = self.0.asker() {
            asker.progress(params);
        }
    }

    fn notice(&self, method: &str, params: Option<Raw>) {
        if let Some(asker) = self.0.asker() {
            asker.notice(method, params);
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        let mut state = self.0.lock();
        let asker = match &mut *state {
            // It is asked when it is back; who does not come back declines by that.
            State::Away(questions) => return questions.push((call, exchange)),
            State::Back(asked, _) => asked.asker(),
            State::Answered(_) | State::Over => return,
        };
        drop(state);
        asker.ask(call, exchange);
    }

    fn client(&self) -> Option<ClientId> {
        self.0.client.get().copied()
    }

    /// It may be left to yet another process, whether or not the asker has come back to this one.
    fn address(&self) -> Option<ReturnAddress> {
        let steps = self.0.address.steps.clone();
        match &*self.0.lock() {
            State::Away(_) => Some(self.0.address.clone()),
            State::Back(exchange, _) => Some(ReturnAddress { steps, ..exchange.address()? }),
            State::Answered(_) | State::Over => None,
        }
    }

    fn has_session(&self) -> bool {
        true
    }
}

/// Cancels the call at its server when the asker does.
struct Canceller(Arc<KeptCall>);

impl Cancel for Canceller {
    fn cancel(&self, _key: u64, reason: Option<Raw>) {
        self.0.cancel(reason);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]
    use manifold_engine::AnswerStep;

    use super::*;

    /// Two upgrades in a row: the call is left to a third process before its asker has come back to the second.
    #[test]
    fn a_kept_call_can_be_left_to_yet_another_process() {
        let kept = KeptCalls::default();
        let address = ReturnAddress {
            session: "s/7".to_owned(),
            id: Raw::number(1),
            steps: vec![AnswerStep::AllowAnyStructured],
        };
        let exchange = kept.reopen(address.clone()).unwrap();
        assert_eq!(exchange.address(), Some(address.clone()));
        assert!(kept.take_answers().is_empty());
        // It is answered before its asker is back, and the answer goes on too.
        exchange.finish(Ok(Raw::from_static("{}")));
        let answers = kept.take_answers();
        assert!(matches!(&answers[..], [(whose, Ok(_))] if *whose == address), "{answers:?}");
        assert!(kept.take_answers().is_empty(), "it is given away once");
        let next = KeptCalls::default();
        next.restore_answers(answers);
        next.take("s/7").unwrap();
    }
}
