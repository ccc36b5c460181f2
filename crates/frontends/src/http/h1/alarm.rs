//! The one timer of a connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is set for every request and hardly ever rings: it is moved only when it must ring sooner, or when it
/// rang too early.
pub(super) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    deadline: Instant,
}

impl Alarm {
    pub(super) fn new(deadline: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(deadline)), deadline }
    }

    pub(super) fn set(&mut self, deadline: Instant) {
        self.deadline = deadline;
        if deadline < self.sleep.deadline() {
            self.sleep.as_mut().reset(deadline);
        }
    }

    /// Resolves when the deadline set last has passed.
    pub(super) async fn rings(&mut self) {
        poll_fn(|context| {
            loop {
                ready!(self.sleep.as_mut().poll(context));
                if self.deadline <= Instant::now() {
                    return Poll::Ready(());
                }
                self.sleep.as_mut().reset(self.deadline);
            }
        })
        .await;
    }
}
