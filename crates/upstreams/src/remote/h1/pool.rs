//! Connections at rest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use manifold_engine::{Lock as _, Tasks};
use tokio::time::{Instant, sleep};

use super::wire::Wire;

/// Connections kept for reuse; more come and go with the load.
const MAX_IDLE: usize = 256;
/// A connection that rested longer may be closed by the server as we write: many close after five seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// The connections to one server that nobody uses.
pub(in crate::remote) struct Pool {
    resting: Mutex<Idle>,
    tasks: Tasks,
}

#[derive(Default)]
struct Idle {
    /// Each with the moment its rest began, the longest first.
    wires: VecDeque<(Box<Wire>, Instant)>,
    /// Whether somebody closes what has rested too long.
    is_watched: bool,
}

impl Pool {
    pub(in crate::remote) fn new(tasks: Tasks) -> Arc<Self> {
        Arc::new(Self { resting: Mutex::default(), tasks })
    }

    /// Takes a connection that seems to be alive.
    pub(in crate::remote) fn take(&self) -> Option<Box<Wire>> {
        let mut resting = self.lock();
        // The one used last is the one most likely alive.
        while let Some((mut wire, since)) = resting.wires.pop_back() {
            if since.elapsed() < IDLE_TIMEOUT && wire.stream.is_quiet() {
                return Some(wire);
            }
        }
        None
    }

    /// Takes back a connection whose answer has been read.
    pub(in crate::remote) fn put(self: &Arc<Self>, wire: Box<Wire>) {
        let mut resting = self.lock();
        if resting.wires.len() >= MAX_IDLE {
            return;
        }
        resting.wires.push_back((wire, Instant::now()));
        if !std::mem::replace(&mut resting.is_watched, true) {
            self.tasks.spawn_background(watch(Arc::downgrade(self)));
        }
    }

    #[cfg(test)]
    pub(super) fn idle(&self) -> usize {
        self.lock().wires.len()
    }

    /// Closes what has rested too long. Returns whether anything is left.
    fn sweep(&self) -> bool {
        let mut resting = self.lock();
        let rested = resting.wires.iter().take_while(|(_, since)| since.elapsed() >= IDLE_TIMEOUT).count();
        resting.wires.drain(..rested);
        resting.is_watched = !resting.wires.is_empty();
        resting.is_watched
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.resting.locked()
    }
}

/// Nobody reads a connection at rest, so nobody would see it closed by the server.
async fn watch(pool: Weak<Pool>) {
    loop {
        sleep(IDLE_TIMEOUT).await;
        match pool.upgrade() {
            Some(pool) if pool.sweep() => {}
            Some(_) | None => return,
        }
    }
}
