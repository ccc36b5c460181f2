//! The last messages, for all readers.

use std::collections::VecDeque;
use std::sync::Arc;

use super::captured::Captured;

/// What a message counts for at the least, so that many small ones have a bound, too.
pub(super) const MIN_FRAME_BYTES: usize = 512;

/// Numbered without a hole: the first that is here is `first`, and the next will have the number after the last.
pub(super) struct Ring {
    frames: VecDeque<Arc<Captured>>,
    first: u64,
    bytes: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self { frames: VecDeque::new(), first: 1, bytes: 0 }
    }
}

impl Ring {
    /// Takes a message in, and returns those it has pushed out.
    pub(super) fn push(&mut self, captured: Captured, capacity_bytes: usize) -> Vec<Arc<Captured>> {
        self.bytes += captured.size_bytes();
        self.frames.push_back(Arc::new(captured));
        let mut pushed_out = Vec::new();
        let max_frames = capacity_bytes / MIN_FRAME_BYTES;
        while self.frames.len() > max_frames.max(1) || (self.bytes > capacity_bytes && self.frames.len() > 1)
        {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.size_bytes();
            self.first += 1;
            pushed_out.push(oldest);
        }
        pushed_out
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<Captured>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.frames.get(at).cloned()
    }

    /// Returns the number of the oldest, or what the next will have.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the newest.
    pub(super) fn last(&self) -> u64 {
        self.first + self.frames.len() as u64 - 1
    }

    /// Has the next message have the number after this one. Of one that has seen messages nothing is changed.
    pub(super) fn begin_after(&mut self, number: u64) {
        if self.frames.is_empty() {
            self.first = self.first.max(number + 1);
        }
    }

    /// Forgets everything; the numbers go on.
    pub(super) fn clear(&mut self) {
        *self = Self { first: self.last() + 1, ..Self::default() };
    }
}
