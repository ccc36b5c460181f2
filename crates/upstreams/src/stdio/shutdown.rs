//! Starts that nobody wants any more, and processes on their way out, which may take them a moment. A server that is
//! killed in its start may leave a lock behind, as npx does, and the next start waits for it (D2).

use manifold_engine::Lock as _;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;
use tokio::task::JoinSet;

/// What of one server is being ended.
#[derive(Default)]
pub(crate) struct Shutdowns {
    processes: Mutex<JoinSet<()>>,
    /// Whether the start under way is to end.
    given_up: watch::Sender<bool>,
}

impl Shutdowns {
    /// Ends a process beside whatever goes on.
    pub(super) fn see_off(&self, end: impl Future<Output = ()> + Send + 'static) {
        self.lock().spawn(end);
    }

    /// Waits until all have gone.
    pub(super) async fn gone(&self) {
        // They stay here while we wait: to drop this wait must not end them sooner.
        while poll_fn(|context| self.lock().poll_join_next(context)).await.is_some() {}
    }

    /// Begins a start, which is wanted.
    pub(crate) fn begin(&self) {
        self.given_up.send_replace(false);
    }

    /// Tells the start under way to end in good order.
    pub(super) fn give_up(&self) {
        self.given_up.send_replace(true);
    }

    pub(super) fn is_given_up(&self) -> bool {
        *self.given_up.borrow()
    }

    /// Waits until the start is to end.
    pub(crate) async fn given_up(&self) {
        let _ = self.given_up.subscribe().wait_for(|given_up| *given_up).await;
    }

    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.processes.locked()
    }
}
