//! When the next picture is drawn: thirty a second in the long run, and at once for a key, which takes the place of the
//! picture that would have come after it.
#![allow(clippy::disallowed_types, reason = "no runtime runs here")]

use std::time::{Duration, Instant};

/// What is between two pictures in the long run.
const FRAME: Duration = Duration::from_millis(33);

#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When a picture is due again.
    due: Option<Instant>,
}

impl Pace {
    /// Returns how long there is to wait for the next picture. Somebody who typed waits for one less than others.
    pub(crate) fn wait(&self, is_typed: bool, now: Instant) -> Duration {
        let wait = self.due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        if is_typed { wait.saturating_sub(FRAME) } else { wait }
    }

    /// Notes that one was drawn.
    pub(crate) fn drawn(&mut self, now: Instant) {
        self.due = Some(self.due.map_or(now, |due| due.max(now)) + FRAME);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_wait_for_their_picture_and_a_key_does_not() {
        let mut pace = Pace::default();
        let now = Instant::now();
        assert_eq!(pace.wait(false, now), Duration::ZERO);
        pace.drawn(now);
        assert_eq!(pace.wait(false, now), FRAME);
        assert_eq!(pace.wait(true, now), Duration::ZERO);
        // The next key waits for the place that this one has taken.
        pace.drawn(now);
        assert_eq!((pace.wait(true, now), pace.wait(false, now)), (FRAME, 2 * FRAME));
    }

    #[test]
    fn whatever_is_typed_there_are_thirty_a_second() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        let drawn = (0..10_000).filter(|ms| {
            let now = begun + Duration::from_millis(*ms);
            let is_due = pace.wait(true, now).is_zero();
            if is_due {
                pace.drawn(now);
            }
            is_due
        });
        assert!(drawn.count() <= 305, "a second has thirty, and the first two come at once");
    }
}
