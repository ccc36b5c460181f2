//! A call for somebody who only waits for its answer and cannot be asked anything.

use std::num::NonZeroU64;
use std::sync::Arc;

use manifold_engine::{CallHandle, ClientId, Exchange, Gateway, Requester, Sink};
use manifold_protocol::{Call, Caller, Fault, Raw, Reply};

/// Sends a call on its way at once; the future is its answer. Letting go of it takes the call back.
pub(crate) fn ask(
    gateway: &Arc<Gateway>,
    call: Call,
    client: Option<ClientId>,
    requester: &Arc<Requester>,
) -> impl Future<Output = Reply> + use<> {
    ask_as(gateway, call, client, requester, None)
}

/// Does the same under the number by which the call is watched already, if it is.
pub(crate) fn ask_as(
    gateway: &Arc<Gateway>,
    call: Call,
    client: Option<ClientId>,
    requester: &Arc<Requester>,
    number: Option<NonZeroU64>,
) -> impl Future<Output = Reply> + use<> {
    let (mut exchange, flight, reply) = Exchange::answered_for(client, requester, gateway);
    exchange.set_number(number);
    // Whoever hangs up has no other way to say that it no longer wants to know.
    let guard = CancelOnDrop(Some(flight));
    let call = call.by(Arc::new(nobody()));
    gateway.dispatch(call, exchange);
    async move {
        let reply = reply.await;
        guard.disarm();
        reply.unwrap_or_else(|_| Err(Fault::Internal("the answer was lost".to_owned()).into()))
    }
}

/// Returns who asks here: somebody who says nothing of itself.
fn nobody() -> Caller {
    Caller {
        capabilities: Raw::from_static("{}"),
        info: None,
        log_level: None,
        retries: false,
        is_retry: false,
        words: Default::default(),
    }
}

/// Takes the call back if nobody waits for its answer any more.
struct CancelOnDrop(Option<Arc<CallHandle<dyn Sink>>>);

impl CancelOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(flight) = self.0.take() {
            flight.cancel(None);
        }
    }
}
