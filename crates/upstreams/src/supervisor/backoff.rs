//! How long a server rests before it is started again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use manifold_config::{RemoteKind, Server, Transport};
use tokio::time::Instant;

use super::{FIRST_BACKOFF, LONGEST_BACKOFF};

/// Counts a failure and returns how long to rest after it: at most eight starts a minute come to nothing (F1).
pub(super) fn back_off(failures: &mut u32, server: &str) -> Duration {
    let pause = LONGEST_BACKOFF.min(FIRST_BACKOFF * 2u32.pow((*failures).min(16)));
    *failures += 1;
    jittered(pause, server, *failures)
}

/// Shortens a pause by up to a quarter, for each server and each time by another part: those that failed together do
/// not all come back together.
pub(super) fn jittered(pause: Duration, server: &str, failures: u32) -> Duration {
    let mut hasher = DefaultHasher::new();
    (server, failures, std::process::id()).hash(&mut hasher);
    pause - pause.mul_f64((hasher.finish() % 256) as f64 / 1024.0)
}

/// Returns how long a server rests that ended by itself, `None` if it is not to be started again.
pub(super) fn restart_delay(server: &Server) -> Option<Duration> {
    match &server.transport {
        Transport::Process(spec) => spec.restart.then(|| spec.restart_delay.unwrap_or_default()),
        // Its stream is its session; taking it up again is a new start.
        Transport::Remote(spec) if spec.kind == RemoteKind::Sse => Some(spec.reconnect_interval),
        Transport::Builtin(_) | Transport::Remote(_) => Some(Duration::ZERO),
    }
}

/// How many starts calls may cause one after the other.
const AT_ONCE: u32 = 3;

/// The starts of a failing server that calls may cause: a few at once, and then one in a while.
pub(super) struct Attempts {
    left: u32,
    /// When `left` was last right.
    since: Instant,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { left: AT_ONCE, since: Instant::now() }
    }
}

impl Attempts {
    /// Takes one, where there is one; another comes `every` so often.
    pub(super) fn take(&mut self, every: Duration) -> bool {
        let now = Instant::now();
        let more = (now - self.since).as_nanos() / every.as_nanos().max(1);
        if more > 0 {
            self.left = AT_ONCE.min(self.left.saturating_add(u32::try_from(more).unwrap_or(AT_ONCE)));
            self.since = now;
        }
        let taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        taken
    }
}

/// What was last complained of: the same again is no news (D4).
#[derive(Default)]
pub(super) struct Complaint(Option<String>);

impl Complaint {
    /// Takes a reason and returns whether it is another than before. Numbers make no other reason: process ids, times and
    /// counts differ each time.
    pub(super) fn is_new(&mut self, reason: &str) -> bool {
        let reason: String = reason.chars().filter(|one| !one.is_ascii_digit()).collect();
        self.0.replace(reason.clone()) != Some(reason)
    }

    /// Whatever comes next is news.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}
