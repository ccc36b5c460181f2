//! How long a server rests before it is started again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use manifold_config::{RemoteKind, Server, Transport};

use super::{FIRST_BACKOFF, Launcher};

/// Counts a failure and returns how long to rest after it: at most eight starts a minute come to nothing (F1).
pub(super) fn back_off(failures: &mut u32, launcher: &impl Launcher) -> Duration {
    let pause = launcher.longest_rest().min(FIRST_BACKOFF * 2u32.pow((*failures).min(16)));
    *failures += 1;
    jittered(pause, &launcher.server().key.id, *failures)
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
