//! The real binary under strain. These tests measure, so each has the machine to itself: cargo runs this program alone,
//! and the tests take turns.

mod chaos;
mod crowd;
mod fuzzed;
mod hang;
mod hangups;
mod large;
mod neighbours;
mod reload;
mod soak;

use manifold_engine::Lock as _;
use std::sync::{Mutex, MutexGuard};

use manifold_testkit::http;

/// The short figure by default, the whole one when there is time.
fn figure(short: usize, long: usize) -> usize {
    if std::env::var_os("MANIFOLD_LONG").is_some() { long } else { short }
}

/// Chance that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Waits for the machine.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.locked()
}
