//! A word to the tasks of a server's pipes to let go of them, so that another program can go on.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use manifold_engine::Lock as _;
use manifold_protocol::framing::Unfinished;

use crate::process::{ServerInput, ServerOutput};

/// Told once. To look whether it was costs a task next to nothing each time it runs.
#[derive(Default)]
pub(crate) struct Release {
    is_told: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

/// What the task of a pipe gives back.
pub(crate) enum Released {
    /// It had come to its end by itself.
    Nothing,
    Input {
        stdin: ServerInput,
        unwritten: Vec<u8>,
    },
    Output {
        stdout: ServerOutput,
        unread: Unfinished,
    },
    Log {
        stderr: ServerOutput,
        unread: Unfinished,
    },
}

impl Release {
    /// Tells all tasks.
    pub(super) fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
        self.waiting.locked().drain(..).for_each(Waker::wake);
    }

    /// Does the work of a task until it is done or told to let go; returns whether it is done. The work is dropped where it
    /// waits.
    pub(crate) async fn until_told(&self, work: impl Future<Output = ()>) -> bool {
        let mut work = pin!(work);
        let mut is_known = false;
        poll_fn(|context| {
            if !is_known {
                // A task is woken by the same waker for as long as it lives.
                self.waiting.locked().push(context.waker().clone());
                is_known = true;
            }
            if self.is_told.load(Ordering::Acquire) {
                return Poll::Ready(false);
            }
            work.as_mut().poll(context).map(|()| true)
        })
        .await
    }
}
