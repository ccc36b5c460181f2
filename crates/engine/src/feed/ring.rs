//! The last events of one kind of haste, for whoever comes back.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use manifold_admin::{Event, Happening};

/// How many events are kept, and how long they may be together.
pub(super) const MAX_EVENTS: usize = 4096;
pub(super) const MAX_BYTES: usize = 1 << 20;

/// What an event of a call takes up, about, and a line of a log beside its text.
const CALL_BYTES: usize = 512;
const LOG_BYTES: usize = 128;

#[derive(Default)]
pub(super) struct Ring {
    pub(super) events: VecDeque<(Arc<Event>, usize)>,
    bytes: usize,
    /// The number that everything up to is no longer here.
    lost: u64,
}

impl Ring {
    pub(super) fn push(&mut self, event: Event, bytes: usize) {
        self.events.push_back((Arc::new(event), bytes));
        self.bytes += bytes;
        while self.events.len() > MAX_EVENTS || (self.bytes > MAX_BYTES && self.events.len() > 1) {
            let Some((event, bytes)) = self.events.pop_front() else { return };
            (self.bytes, self.lost) = (self.bytes - bytes, event.seq);
        }
    }

    /// Forgets all but the last few.
    pub(super) fn keep_last(&mut self, count: usize) {
        while self.events.len() > count {
            let Some((event, bytes)) = self.events.pop_front() else { return };
            (self.bytes, self.lost) = (self.bytes - bytes, event.seq);
        }
    }

    /// Returns the first event after a number.
    pub(super) fn after(&self, seq: u64) -> Option<&Arc<Event>> {
        let at = self.events.partition_point(|(event, _)| event.seq <= seq);
        self.events.get(at).map(|(event, _)| event)
    }

    /// Returns whether something is missing for whoever knows all up to a number.
    pub(super) fn has_lost_after(&self, seq: u64) -> bool {
        seq < self.lost
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Forgets everything: whoever knows less than a number misses something.
    pub(super) fn lose(&mut self, seq: u64) {
        *self = Self { lost: seq, ..Self::default() };
    }
}

/// Events on their way to a ring, which has numbers and needs the feed for them.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) events: VecDeque<(Happening, usize)>,
    bytes: usize,
    /// More came than there was room for.
    pub(super) has_lost: bool,
}

impl Waiting {
    pub(super) fn push(&mut self, happening: Happening) {
        let bytes = size(&happening);
        self.events.push_back((happening, bytes));
        self.bytes += bytes;
        while self.events.len() > MAX_EVENTS || (self.bytes > MAX_BYTES && self.events.len() > 1) {
            let Some((_, bytes)) = self.events.pop_front() else { return };
            self.bytes -= bytes;
            self.has_lost = true;
        }
    }
}

/// Returns how long an event is in JSON, about.
pub(super) fn size(happening: &Happening) -> usize {
    match happening {
        Happening::Log { line } => LOG_BYTES + line.line.len(),
        Happening::Call { .. } => CALL_BYTES,
        _ => {
            let mut count = Count(0);
            let _ = serde_json::to_writer(&mut count, happening);
            count.0
        }
    }
}

/// Counts what is written.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
