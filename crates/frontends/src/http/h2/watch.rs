//! The deadlines of a connection that carries many requests at once.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;

use manifold_engine::delegate_io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

use crate::http::timeouts::{KEEP_ALIVE, REQUEST_PATIENCE, WRITE_PATIENCE};

/// What the deadlines of a connection depend on. Times are milliseconds since it was made.
pub(super) struct Watch {
    made: Instant,
    /// Requests whose answer is not written to its end.
    busy: AtomicUsize,
    /// When the last answer was done; before the first, `NEVER`.
    rested_since: AtomicU64,
    /// When a write first found the peer's buffers full, and none has gone through since.
    blocked_since: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            made: Instant::now(),
            busy: AtomicUsize::new(0),
            rested_since: AtomicU64::new(NEVER),
            blocked_since: AtomicU64::new(NEVER),
        }
    }

    fn now(&self) -> u64 {
        self.made.elapsed().as_millis() as u64
    }

    /// Resolves when a deadline has passed. Polled with the connection, so that one timer serves all deadlines and
    /// is set anew only when the next one is sooner.
    pub(super) async fn expired(&self) {
        let sleep = sleep_until(self.made + REQUEST_PATIENCE);
        tokio::pin!(sleep);
        poll_fn(|context| {
            loop {
                let deadline = self.deadline();
                if let Some(deadline) = deadline.filter(|deadline| *deadline < sleep.deadline()) {
                    sleep.as_mut().reset(deadline);
                }
                ready!(sleep.as_mut().poll(context));
                match deadline {
                    Some(deadline) if deadline <= Instant::now() => return Poll::Ready(()),
                    Some(deadline) => sleep.as_mut().reset(deadline),
                    None => sleep.as_mut().reset(Instant::now() + KEEP_ALIVE),
                }
            }
        })
        .await;
    }

    /// Returns when the peer will have been too slow, as things stand. A call may take as long as it takes.
    fn deadline(&self) -> Option<Instant> {
        let at = |since: u64, patience: Duration| self.made + Duration::from_millis(since) + patience;
        let read = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|time| *time != NEVER);
        if let Some(since) = read(&self.blocked_since) {
            return Some(at(since, WRITE_PATIENCE));
        }
        if self.busy.load(Ordering::Relaxed) > 0 {
            return None;
        }
        match read(&self.rested_since) {
            Some(since) => Some(at(since, KEEP_ALIVE)),
            // The first request is owed from the start.
            None => Some(at(0, REQUEST_PATIENCE)),
        }
    }

    fn wrote(&self, blocked: bool) {
        let since = self.blocked_since.load(Ordering::Relaxed);
        match (blocked, since) {
            (true, NEVER) => self.blocked_since.store(self.now(), Ordering::Relaxed),
            (false, since) if since != NEVER => self.blocked_since.store(NEVER, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// Counts a request as being answered for as long as it is held.
pub(super) struct Busy(Arc<Watch>);

impl Busy {
    pub(super) fn new(watch: &Arc<Watch>) -> Self {
        watch.busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(watch))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rested_since.store(self.0.now(), Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that tells its watch what happens on it.
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) watch: Arc<Watch>,
}

impl<S> Watched<S> {
    fn wrote(&self, write: &Poll<io::Result<usize>>) {
        self.watch.wrote(write.is_pending());
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    delegate_io!(read: stream);
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    delegate_io!(write: stream, wrote);
}
