//! A call for somebody who only waits for its answer and cannot be asked anything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use manifold_engine::{CallHandle, ClientId, Exchange, Gateway, Sink};
use manifold_protocol::{Call, Caller, Fault, Raw, Reply};
use tokio::sync::oneshot;
use tracing::error;

/// Sends a call on its way at once; the future is its answer. Letting go of it takes the call back.
pub(crate) fn ask(
    gateway: &Arc<Gateway>,
    call: Call,
    client: Option<ClientId>,
) -> impl Future<Output = Reply> + use<> {
    let (sender, reply) = oneshot::channel();
    let waiting = Waiting { reply: Mutex::new(Some(sender)), gateway: Arc::clone(gateway), client };
    let (exchange, flight) = Exchange::open(waiting);
    // Whoever hangs up has no other way to say that it no longer wants to know.
    let guard = CancelOnDrop(Some(flight));
    let call = call.by(Arc::new(nobody()));
    if catch_unwind(AssertUnwindSafe(|| gateway.dispatch(call, exchange))).is_err() {
        // It broke this call alone: its exchange answered as it was dropped (F29).
        error!("a call panicked; it was answered with an internal error");
    }
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

struct Waiting {
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
    gateway: Arc<Gateway>,
    client: Option<ClientId>,
}

impl Sink for Waiting {
    fn ask(&self, call: Call, exchange: Exchange) {
        self.gateway.decline(&call, exchange);
    }

    fn reply(&self, reply: Reply) {
        let waiting = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            // The client hung up meanwhile.
            let _ = waiting.send(reply);
        }
    }

    fn client(&self) -> Option<ClientId> {
        self.client
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
