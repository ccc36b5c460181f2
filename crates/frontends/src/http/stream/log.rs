//! The log of a stream: an event is written to it before its reader has it, so that whoever goes on elsewhere says nothing
//! twice and leaves nothing out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_engine::Tasks;
use tokio::time::sleep;
use tracing::debug;

use super::{State, Stream};
use crate::replica::{Appended, Entry, Link};

/// How soon an entry is written again that could not be.
const AGAIN: Duration = Duration::from_millis(100);
/// How often.
const MAX_MISSES: u32 = 50;

/// Where the log is.
#[derive(Clone)]
pub(in crate::http) struct StreamLog {
    pub(in crate::http) link: Arc<dyn Link>,
    pub(in crate::http) tasks: Tasks,
    /// The session, a colon and the stream.
    pub(in crate::http) name: String,
    /// The ids of the requests it answers, a JSON array.
    pub(in crate::http) answers: String,
}

/// How far the log is.
#[derive(Default)]
pub(super) struct Writing {
    /// Somebody writes.
    is_on: bool,
    /// It cannot be written now: nobody is made to wait for it.
    is_late: bool,
    /// Something is missing in it: the rest would be taken for all.
    is_broken: bool,
    /// It says that the stream is finished.
    is_ended: bool,
}

/// Events have numbers from 0 on, entries from 1 on.
pub(in crate::http) fn entry_of(event: u64) -> u64 {
    event + 1
}

impl Stream {
    /// Writes what is not in the log yet. Of the session's own stream only who has its reader writes.
    pub(super) fn write_on(&self, state: &mut State) {
        let Some(log) = &self.log else { return };
        let is_ours = self.number != 0 || state.attached;
        if state.writing.is_late || state.writing.is_broken {
            state.wake();
        }
        if state.writing.is_on || !is_ours || state.next_entry(self.number, log).is_none() {
            return;
        }
        let Some(me) = self.me.upgrade() else { return };
        state.writing.is_on = true;
        log.tasks.spawn_background(me.write());
    }

    async fn write(self: Arc<Self>) {
        let Some(log) = &self.log else { return };
        let mut misses = 0;
        loop {
            let (number, entry) = {
                let mut state = self.lock();
                let is_ours = self.number != 0 || state.attached;
                match state.next_entry(self.number, log).filter(|_| is_ours) {
                    Some(next) => next,
                    None => {
                        state.writing.is_on = false;
                        return;
                    }
                }
            };
            let is_end = entry == Entry::Finished;
            let appended = log.link.append(&log.name, number, entry).await;
            if appended.is_err() {
                misses += 1;
                self.missed(misses);
                sleep(AGAIN).await;
                continue;
            }
            let mut state = self.lock();
            // Its client listens at another replica by now. Of an answer we write alone: it was written when nobody said so.
            if self.number == 0 && appended == Ok(Appended::Conflict) && misses == 0 {
                debug!("the session's own stream is another replica's now");
                state.writing.is_on = false;
                state.reader += 1;
                state.attached = false;
                return state.wake();
            }
            misses = 0;
            state.writing.is_late = false;
            if is_end {
                state.writing.is_ended = true;
            } else {
                state.unwritten += 1;
            }
            state.wake();
        }
    }

    /// Lets what is said be heard though it could not be written; before long it is not tried any more.
    fn missed(&self, misses: u32) {
        let mut state = self.lock();
        state.writing.is_late = true;
        if misses > MAX_MISSES {
            match self.number {
                0 => state.unwritten = state.next(),
                _ => state.writing.is_broken = true,
            }
        }
        state.wake();
    }

    /// Returns the number of the last entry that we wrote of the session's own stream, or would have.
    pub(in crate::http) fn last_entry(&self) -> u64 {
        entry_of(self.lock().unwritten - 1)
    }

    /// Goes on where another replica stopped: its last entry was `last`, and `missed` are the events before it that the
    /// client has not seen.
    pub(in crate::http) fn go_on_after(&self, last: u64, missed: Vec<Bytes>) {
        let mut state = self.lock();
        let unwritten = (state.unwritten.max(state.first) - state.first) as usize;
        let ours: Vec<Bytes> = state.events.iter().skip(unwritten).cloned().collect();
        state.unwritten = last;
        state.first = last - missed.len() as u64;
        (state.begun, state.taken) = (state.first, state.first);
        state.events = missed.into_iter().map(|event| self.budget.hold(event)).chain(ours).collect();
        state.bytes = state.events.iter().map(Bytes::len).sum();
    }
}

impl State {
    /// Returns the number after the last event that may be heard: what is in the log, unless that is late.
    pub(super) fn audible(&self) -> u64 {
        let waits = !self.writing.is_late && !self.writing.is_broken;
        if waits { self.unwritten.min(self.next()) } else { self.next() }
    }

    /// Returns what is to be written next, under the number it has in the log.
    fn next_entry(&self, stream: u64, log: &StreamLog) -> Option<(u64, Entry)> {
        if self.writing.is_broken {
            return None;
        }
        let number = entry_of(self.unwritten);
        if stream != 0 && self.unwritten < self.begun {
            return Some((number, Entry::Opened(log.answers.clone())));
        }
        let at = usize::try_from(self.unwritten.checked_sub(self.first)?).ok()?;
        match self.events.get(at) {
            Some(event) => Some((number, Entry::Event(event.clone()))),
            None if self.finished.is_some() && stream != 0 && !self.writing.is_ended => {
                Some((number, Entry::Finished))
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests;
