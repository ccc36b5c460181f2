//! How many calls an instance has had, and how long they take. Of most calls only the end is counted: looking at the clock
//! costs more than that.

use std::time::Duration;

/// So many calls are timed each, and one in so many of those after them.
const ALL_OF_FIRST: u64 = 64;
const ONE_IN: u64 = 16;

/// Every doubling of the time has so many buckets.
const PER_DOUBLING: usize = 4;
/// Up to about half an hour; what takes longer counts as that.
const DOUBLINGS: usize = 29;
const BUCKETS: usize = PER_DOUBLING * (DOUBLINGS + 1);

/// The calls of clients to one instance.
#[derive(Debug, Clone)]
pub struct CallTally {
    pub in_flight: u64,
    /// Answered, failed or cancelled.
    pub ended: u64,
    /// Answered with an error of the server's or of ours. A tool's own failure is a result.
    pub failed: u64,
    /// How many took about so long, of those that were timed.
    times: [u32; BUCKETS],
}

impl Default for CallTally {
    fn default() -> Self {
        Self { in_flight: 0, ended: 0, failed: 0, times: [0; BUCKETS] }
    }
}

impl CallTally {
    /// Counts a call that is over. Returns whether it is to be timed.
    #[inline]
    pub fn end(&mut self) -> bool {
        self.ended += 1;
        self.ended <= ALL_OF_FIRST || self.ended.is_multiple_of(ONE_IN)
    }

    /// Notes how long a call took.
    pub fn time(&mut self, took: Duration) {
        let bucket = &mut self.times[bucket(micros(took))];
        *bucket = bucket.saturating_add(1);
    }

    /// Adds what another life or another instance had.
    pub fn add(&mut self, other: &Self) {
        self.in_flight += other.in_flight;
        self.ended += other.ended;
        self.failed += other.failed;
        for (count, more) in self.times.iter_mut().zip(&other.times) {
            *count = count.saturating_add(*more);
        }
    }

    /// Returns how many microseconds so many percent of the timed calls take at the most, about.
    pub fn percentile_us(&self, percent: u64) -> Option<u64> {
        let timed: u64 = self.times.iter().map(|count| u64::from(*count)).sum();
        let wanted = (timed * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let found = self.times.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        found.map(upper_end)
    }
}

/// Returns the bucket of a time: exact below the first doubling, then ever coarser.
fn bucket(micros: u64) -> usize {
    let Some(doubling) = micros.checked_ilog2().filter(|doubling| *doubling >= 2) else {
        return micros as usize;
    };
    let within = (micros >> (doubling - 2)) as usize % PER_DOUBLING;
    (PER_DOUBLING * (doubling as usize - 1) + within).min(BUCKETS - 1)
}

/// Returns the longest time that belongs into a bucket.
fn upper_end(bucket: usize) -> u64 {
    if bucket < PER_DOUBLING {
        return bucket as u64;
    }
    let (doubling, within) = (bucket / PER_DOUBLING + 1, bucket % PER_DOUBLING);
    let width = 1 << (doubling - 2);
    (PER_DOUBLING + within + 1) as u64 * width - 1
}

fn micros(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000 + u64::from(duration.subsec_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for at in 0..BUCKETS - 1 {
            let end = upper_end(at);
            assert_eq!((bucket(end), bucket(end + 1)), (at, at + 1), "{end}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert!(upper_end(BUCKETS - 1) >= 30 * 60 * 1_000_000, "half an hour");
    }

    #[test]
    fn times_are_told_within_a_quarter() {
        let mut tally = CallTally::default();
        assert_eq!(tally.percentile_us(50), None);
        for micros in 1..=1000 {
            tally.time(Duration::from_micros(micros));
        }
        for (percent, exact) in [(50, 500), (95, 950)] {
            let told = tally.percentile_us(percent).unwrap();
            assert!((exact..=exact * 5 / 4).contains(&told), "{percent}: {told}");
        }
    }

    #[test]
    fn the_first_are_all_timed_and_few_of_the_rest() {
        let mut tally = CallTally::default();
        let timed = (0..10_000).filter(|_| tally.end()).count() as u64;
        assert_eq!((tally.ended, timed), (10_000, ALL_OF_FIRST + (10_000 - ALL_OF_FIRST) / ONE_IN));
        let mut both = tally.clone();
        both.add(&tally);
        assert_eq!(both.ended, 20_000);
    }
}
