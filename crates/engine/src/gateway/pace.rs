//! How often the lists of servers are taken in: each time costs the work of all of them, so that a hundred servers that
//! start together would cost it a hundred times.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::sync::Lock as _;

/// What is done sooner may be done as often as there is news.
const CHEAP: Duration = Duration::from_millis(5);
/// The pause after it, by how long it took.
const PAUSE: u32 = 4;

/// When to do what costs.
#[derive(Default)]
pub(super) struct Pace(Mutex<State>);

#[derive(Default)]
struct State {
    free_at: Option<Instant>,
    /// Somebody will do it when the pause is over.
    is_awaited: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// When the pause is over, by whoever is told so.
    At(Instant),
    /// Somebody else was told to.
    Awaited,
}

impl Pace {
    /// Says when to do it.
    pub(super) fn next(&self) -> Turn {
        let mut state = self.0.locked();
        match state.free_at.filter(|free_at| *free_at > Instant::now()) {
            None => Turn::Now,
            Some(_) if state.is_awaited => Turn::Awaited,
            Some(free_at) => {
                state.is_awaited = true;
                Turn::At(free_at)
            }
        }
    }

    /// Notes that it is being done: who hears of something from now on is told anew.
    pub(super) fn begun(&self) {
        self.0.locked().is_awaited = false;
    }

    /// Notes how long the processor was at it.
    pub(super) fn took(&self, cost: Duration) {
        self.0.locked().free_at = (cost > CHEAP).then(|| Instant::now() + cost * PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_costs_little_is_done_at_once() {
        let pace = Pace::default();
        for _ in 0..3 {
            assert_eq!(pace.next(), Turn::Now);
            pace.begun();
            pace.took(Duration::from_millis(1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_costs_much_is_done_once_after_a_pause() {
        let pace = Pace::default();
        pace.took(Duration::from_millis(100));
        let due = Instant::now() + Duration::from_millis(400);
        assert_eq!(pace.next(), Turn::At(due));
        assert_eq!([pace.next(), pace.next()], [Turn::Awaited, Turn::Awaited]);
        tokio::time::sleep_until(due).await;
        pace.begun();
        pace.took(Duration::from_millis(100));
        assert_eq!(pace.next(), Turn::At(due + Duration::from_millis(400)), "the next has its own");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(pace.next(), Turn::Now);
    }
}
