//! How serving ends: nothing new is taken, what is open is waited for or taken back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_engine::{Gateway, Requester};

use super::{ModernService, Open};

impl ModernService {
    /// Takes no more requests and ends those that only listen; calls in flight go on.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.end_listening(|_, _| true);
    }

    /// Ends, with their result, the requests that only listen and are `over`, by their gateway or by who sent them.
    pub(crate) fn end_listening(&self, over: impl Fn(&Arc<Gateway>, &Requester) -> bool) {
        let open: Vec<Open> = self.lock().values().cloned().collect();
        for open in open {
            if let Open::Listen(listener) = open
                && over(listener.gateway(), listener.requester())
            {
                listener.finish();
            }
        }
    }

    /// Waits until no call is without its answer; those that listen have no end.
    pub(crate) async fn calls_settled(&self) {
        self.settling.store(true, Ordering::Relaxed);
        loop {
            let idle = self.idle.notified();
            if !self.has_calls() {
                return;
            }
            idle.await;
        }
    }

    /// Waits until no request is without its answer.
    pub(crate) async fn settled(&self) {
        loop {
            let idle = self.idle.notified();
            if self.lock().is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Takes back all that is left: calls whose clients wait are answered so.
    pub(crate) fn close(&self) {
        self.stop();
        let open: Vec<(u64, Open)> = self.lock().drain().collect();
        for (number, open) in open {
            match open {
                Open::Call(run) => run.shut_down(number),
                Open::Listen(listener) => listener.finish(),
            }
        }
        self.parked.give_up_all();
        self.idle.notify_waiters();
    }

    /// Tells those who wait for the last answer. While only calls are waited for, each answer is a reason to look again.
    pub(super) fn tell_if_idle(&self) {
        if self.lock().is_empty() || self.settling.load(Ordering::Relaxed) {
            self.idle.notify_waiters();
        }
    }

    fn has_calls(&self) -> bool {
        self.lock().values().any(|open| matches!(open, Open::Call(_)))
    }
}
