//! How a session ends: no more calls are taken, those in flight are waited for or taken back.

use manifold_protocol::envelope;
use manifold_protocol::{Failure, Id, Raw};

use super::lane::Lane;
use super::{Phase, Session, State};

/// What is said of a call that is taken back as we end: its server may have done it.
pub(crate) const CUT_OFF: &str = concat!(
    r#"{"code":-32600,"message":"Invalid request: the server is shutting down","#,
    r#""data":{"reason":"the gateway ends or is replaced","mayHaveRun":true}}"#
);

impl Session {
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

    /// Says how the client can be made to go. This is said once.
    pub(crate) fn on_disconnect(&self, disconnect: impl Fn() + Send + Sync + 'static) {
        let _ = self.disconnect.set(Box::new(disconnect));
    }

    /// Makes the client go, and says whether that can be done.
    pub(crate) fn disconnect(&self) -> bool {
        self.disconnect.get().is_some_and(|disconnect| {
            disconnect();
            true
        })
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
            let answer = self.encode(&id, Err(Failure::Peer(Raw::from_static(CUT_OFF))));
            in_flight.lane.answer(self.shown(answer));
        }
        drop(questions);
        if let (Ok(gateway), Some(client)) = (&self.destination.gateway, self.client.get()) {
            gateway.detach(*client);
        }
        self.idle.notify_waiters();
    }

    pub(super) fn shut_down(&self, id: Id, lane: &Lane) {
        let mut state = self.lock();
        state.phase = Phase::ShuttingDown;
        state.shutdown = Some((id, lane.clone()));
        self.confirm_shutdown(&mut state);
    }

    /// Answers `shutdown` once nothing is in flight (decision 17).
    pub(super) fn confirm_shutdown(&self, state: &mut State) {
        if state.flights.is_empty()
            && let Some((id, lane)) = state.shutdown.take()
        {
            lane.answer(self.shown(envelope::result(&id, &Raw::from_static("{}"))));
        }
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
