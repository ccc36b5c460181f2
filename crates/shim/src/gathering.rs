//! Whether more is waited for before the next look. Where many requests are under way and the client says them one by one,
//! each would cost a wake-up of ours and one of the daemon's; a moment later several are there.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// With so many requests under way more comes at once to whoever lets others go on first.
const BUSY: usize = 8;

/// With so many it is also worth a moment: beside what they take in all it is short.
const MANY: usize = 16;

/// How long that is; the kernel makes some of it twice as long.
pub(crate) const MOMENT: Duration = Duration::from_micros(60);

/// A moment that brings fewer messages was not worth it.
const WORTH: usize = 4;

/// For so many looks at the most nothing is waited for after moments that were not worth it.
const MAX_SKIPPED: u32 = 64;

/// What to do before the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// Let others run that are ready.
    Yield,
    /// Wait a moment.
    Wait,
}

/// What came of the moments that were waited.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    has_waited: bool,
    /// For how many looks more nothing is waited for.
    skipped: u32,
    /// For how many it is after the next moment that is not worth it.
    penalty: u32,
}

impl Gathering {
    /// Returns what to do, after a look that brought so many messages and with so many requests under way.
    pub(crate) fn before_next(&mut self, brought: usize, in_flight: usize) -> Before {
        if std::mem::take(&mut self.has_waited) {
            self.penalty = if brought >= WORTH { 0 } else { (self.penalty * 2 + 1).min(MAX_SKIPPED) };
            self.skipped = self.penalty;
        }
        if in_flight < BUSY {
            return Before::Nothing;
        }
        // Where as many come as are under way, they come together by themselves.
        if in_flight < MANY || brought >= in_flight {
            return Before::Yield;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return Before::Yield;
        }
        self.has_waited = true;
        Before::Wait
    }
}
