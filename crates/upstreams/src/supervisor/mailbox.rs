//! What a supervisor is told, by whom ever: orders in their order, and calls by the fair queue, so that the calls of one
//! client keep out neither orders nor the calls of others (M9).

use std::sync::{Arc, Mutex, MutexGuard};

use manifold_engine::{Exchange, Lock as _, Order};
use manifold_protocol::{Call, Fault};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{Notify, mpsc, oneshot};

use super::suspend::Suspending;
use crate::fair_queue::FairQueue;

/// Orders that may wait; whoever has another waits before the mailbox.
const MAX_ORDERS: usize = 64;

pub(super) enum Command {
    Call(Call, Exchange),
    Discover(oneshot::Sender<()>),
    Order(Order, oneshot::Sender<Result<(), Fault>>),
    Close(oneshot::Sender<()>),
    Suspend(Suspending),
    /// How the server is signed in to has changed; true: nothing stands in the way any more.
    SignIn(bool),
}

/// The end that is told.
pub(super) struct Commands {
    orders: mpsc::Receiver<Command>,
    calls: Arc<Calls>,
}

/// The end that tells.
pub(super) struct Mailbox {
    orders: mpsc::Sender<Command>,
    calls: Arc<Calls>,
}

#[derive(Default)]
struct Calls {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    queue: FairQueue,
    is_closed: bool,
}

pub(super) fn mailbox() -> (Mailbox, Commands) {
    let (sender, orders) = mpsc::channel(MAX_ORDERS);
    let calls = Arc::<Calls>::default();
    (Mailbox { orders: sender, calls: Arc::clone(&calls) }, Commands { orders, calls })
}

impl Mailbox {
    pub(super) fn orders(&self) -> mpsc::Sender<Command> {
        self.orders.clone()
    }

    /// Leaves a call for the supervisor of `server`; one there is no room for is told so.
    pub(super) fn call(&self, server: &str, call: Call, exchange: Exchange) {
        let refused = {
            let mut state = self.calls.lock();
            if state.is_closed {
                drop(state);
                let reason = "the gateway is shutting down".to_owned();
                return exchange.fail(Fault::NotRunning { server: server.to_owned(), reason });
            }
            state.queue.push(call, exchange)
        };
        self.calls.arrived.notify_one();
        if let Some(refused) = refused {
            refused.tell(server);
        }
    }
}

impl Commands {
    /// Waits for the next command; `None` once nobody can send another. Nothing is lost by dropping it.
    pub(super) async fn recv(&mut self) -> Option<Command> {
        loop {
            match self.orders.try_recv() {
                Ok(order) => return Some(order),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            let next = self.calls.lock().queue.pop();
            if let Some((call, exchange)) = next {
                return Some(Command::Call(call, exchange));
            }
            tokio::select! {
                order = self.orders.recv() => return order,
                () = self.calls.arrived.notified() => {}
            }
        }
    }

    /// Takes no more; what has come is still given out.
    pub(super) fn close(&mut self) {
        self.orders.close();
        self.calls.lock().is_closed = true;
    }
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}
