//! What time it is: one clock that only goes forward, and the one on the wall.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time. Tests have one that follows tokio's paused clock.
pub trait Clock: Send + Sync {
    /// Returns the time since some fixed moment of this boot; the time the machine slept counts.
    fn now(&self) -> Duration;

    /// Returns the seconds since 1970, for what is stored and for nothing else: this clock may jump.
    fn wall(&self) -> u64;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        boot_time()
    }

    fn wall(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

/// CLOCK_MONOTONIC stands still while a Linux machine sleeps, and a token does not: CLOCK_BOOTTIME goes on.
#[cfg(target_os = "linux")]
fn boot_time() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}

/// Elsewhere the monotonic clock counts the time asleep.
#[cfg(not(target_os = "linux"))]
fn boot_time() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}
