//! The real binary under strain. These tests measure, so each has the machine to itself: cargo runs this program alone,
//! and the tests take turns.

mod chaos;
mod crowd;
mod reload;
mod soak;

use std::sync::{Mutex, MutexGuard, PoisonError};

use manifold_testkit::http;

/// Waits for the machine.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
