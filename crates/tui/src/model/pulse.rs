//! How many calls there were lately, second by second, and how long they took.

/// So many seconds are shown.
pub(crate) const SECONDS: usize = 60;

/// So many of the last calls are timed.
const TIMED: usize = 256;

#[derive(Debug, Clone)]
pub(crate) struct Pulse {
    /// A ring: the second `s` is at `s % SECONDS`.
    counts: [u32; SECONDS],
    slowest: [u64; SECONDS],
    /// The last second that is in it.
    second: u64,
    took_us: Vec<u64>,
    next: usize,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { counts: [0; SECONDS], slowest: [0; SECONDS], second: 0, took_us: Vec::new(), next: 0 }
    }
}

impl Pulse {
    /// Counts a call that ended at `now`, in milliseconds.
    pub(crate) fn beat(&mut self, now: u64, took_us: u64) {
        self.advance(now);
        let at = (self.second % SECONDS as u64) as usize;
        self.counts[at] += 1;
        self.slowest[at] = self.slowest[at].max(took_us);
        match self.took_us.get_mut(self.next) {
            Some(oldest) => *oldest = took_us,
            None => self.took_us.push(took_us),
        }
        self.next = (self.next + 1) % TIMED;
    }

    fn advance(&mut self, now: u64) {
        let second = now / 1000;
        let passed = second.saturating_sub(self.second).min(SECONDS as u64);
        for step in 1..=passed {
            let at = ((second - passed + step) % SECONDS as u64) as usize;
            (self.counts[at], self.slowest[at]) = (0, 0);
        }
        self.second = self.second.max(second);
    }

    /// Returns the calls of each second to `now`, the oldest first.
    pub(crate) fn counts(&self, now: u64) -> Vec<u64> {
        self.series(now, |pulse, at| u64::from(pulse.counts[at]))
    }

    /// Returns how long the slowest of each second took.
    pub(crate) fn slowest(&self, now: u64) -> Vec<u64> {
        self.series(now, |pulse, at| pulse.slowest[at])
    }

    fn series(&self, now: u64, of: impl Fn(&Self, usize) -> u64) -> Vec<u64> {
        let last = now / 1000;
        let seconds = (0..SECONDS as u64).rev().map(|ago| last.checked_sub(ago));
        let is_in = |second: u64| second <= self.second && second + SECONDS as u64 > self.second;
        seconds
            .map(|second| match second {
                Some(second) if is_in(second) => of(self, (second % SECONDS as u64) as usize),
                _ => 0,
            })
            .collect()
    }

    /// Returns how many calls there are in a second, over the last ten that are over.
    pub(crate) fn rate(&self, now: u64) -> f64 {
        let counts = self.counts(now);
        let recent = &counts[SECONDS - 11..SECONDS - 1];
        recent.iter().sum::<u64>() as f64 / recent.len() as f64
    }

    /// Returns whether anything of it is still to be seen.
    pub(crate) fn moves(&self, now: u64) -> bool {
        now / 1000 < self.second + SECONDS as u64
    }

    /// Returns how long nineteen of twenty of the last calls took at the most.
    pub(crate) fn p95_us(&self) -> Option<u64> {
        let mut sorted = self.took_us.clone();
        sorted.sort_unstable();
        sorted.get((sorted.len() * 95 / 100).min(sorted.len().checked_sub(1)?)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_the_second_and_forgotten_after_a_minute() {
        let mut pulse = Pulse::default();
        for (now, took) in [(1000, 10), (1500, 30), (3000, 20)] {
            pulse.beat(now, took);
        }
        let counts = pulse.counts(3000);
        assert_eq!(counts[SECONDS - 3..], [2, 0, 1]);
        assert_eq!(pulse.slowest(3000)[SECONDS - 3], 30);
        assert_eq!(pulse.counts(5000)[SECONDS - 5..], [2, 0, 1, 0, 0]);
        assert_eq!(pulse.counts(70_000).iter().sum::<u64>(), 0);
        assert!(pulse.moves(62_000) && !pulse.moves(63_000));
        assert_eq!(pulse.p95_us(), Some(30));
        assert!((pulse.rate(4000) - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_long_silence_leaves_nothing_behind() {
        let mut pulse = Pulse::default();
        pulse.beat(1000, 1);
        pulse.beat(500_000, 1);
        assert_eq!(pulse.counts(500_000).iter().sum::<u64>(), 1);
    }
}
