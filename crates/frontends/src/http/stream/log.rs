//! The log of a stream: an event is written to it before its reader has it, so that whoever goes on elsewhere says nothing
//! twice and leaves nothing out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_engine::Tasks;
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::{State, Stream};
use crate::replica::{Appended, Entry, Link};

/// How soon an entry is written again that could not be.
const AGAIN: Duration = Duration::from_millis(100);
/// How often.
const MAX_MISSES: u32 = 50;
/// A larger event is not written.
const MAX_EVENT: usize = 64 << 10;
/// Of an answer no more than this is written, and of the session's own stream the last half of it at least is kept.
const MAX_LOG: usize = 1 << 20;
/// That something is missing is said for so long; by then nobody comes back.
const SAID_FOR: Duration = Duration::from_secs(15 * 60);

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
    /// It says that the stream is finished, or that something is missing.
    is_ended: bool,
    /// What was written so far, or since `mark`.
    bytes: usize,
    /// Of the session's own stream: the entry up to which `bytes` counts from, and the one before which all may go.
    mark: u64,
    keep_from: u64,
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
        if state.writing.is_on || state.writing.is_ended || !is_ours {
            return;
        }
        if state.next_entry(self.number, log).is_none() && !state.writing.is_broken {
            return;
        }
        let Some(me) = self.me.upgrade() else { return };
        state.writing.is_on = true;
        log.tasks.spawn_background(me.write());
    }

    async fn write(self: Arc<Self>) {
        let Some(log) = self.log.clone() else { return };
        let broken_at = self.write_entries(&log).await;
        // Nobody has to keep the stream for that.
        drop(self);
        if let Some(number) = broken_at {
            log.say_broken(number).await;
        }
    }

    /// Writes until there is nothing to write; returns the number under which is to be said that something is missing.
    async fn write_entries(&self, log: &StreamLog) -> Option<u64> {
        let mut misses = 0;
        loop {
            let (number, entry, keep_from) = {
                let mut state = self.lock();
                let is_ours = self.number != 0 || state.attached;
                match state.next_entry(self.number, log).filter(|_| is_ours) {
                    Some((number, entry)) => (number, entry, state.writing.keep_from),
                    None => {
                        state.writing.is_on = false;
                        state.wake();
                        return state.take_break();
                    }
                }
            };
            let bytes = if let Entry::Event(event) = &entry { event.len() } else { 0 };
            let is_end = entry == Entry::Finished;
            let appended = log.link.append(&log.name, number, keep_from, entry).await;
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
                state.wake();
                return None;
            }
            misses = 0;
            state.writing.is_late = false;
            state.writing.count(bytes, number, self.number == 0);
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
        state.writing.restart();
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
    fn next_entry(&mut self, stream: u64, log: &StreamLog) -> Option<(u64, Entry)> {
        if self.writing.is_broken {
            return None;
        }
        if stream != 0 && self.unwritten < self.begun {
            return Some((entry_of(self.unwritten), Entry::Opened(log.answers.clone())));
        }
        if self.unwritten < self.first {
            // It was forgotten before it could be written.
            if stream != 0 {
                self.writing.is_broken = true;
                return None;
            }
            self.unwritten = self.first;
        }
        loop {
            let at = usize::try_from(self.unwritten - self.first).ok()?;
            let number = entry_of(self.unwritten);
            match self.events.get(at) {
                Some(event) if event.len() <= MAX_EVENT && self.writing.has_room(event.len(), stream) => {
                    return Some((number, Entry::Event(event.clone())));
                }
                Some(_) if stream != 0 => {
                    self.writing.is_broken = true;
                    return None;
                }
                // Whoever listens hears it, and only they.
                Some(_) => self.unwritten += 1,
                None if self.finished.is_some() && stream != 0 && !self.writing.is_ended => {
                    return Some((number, Entry::Finished));
                }
                None => return None,
            }
        }
    }

    /// Returns the number under which is to be said, once, that something is missing. A log that was not begun says so by not
    /// being there.
    fn take_break(&mut self) -> Option<u64> {
        if !self.writing.is_broken || std::mem::replace(&mut self.writing.is_ended, true) {
            return None;
        }
        (self.unwritten >= self.begun).then(|| entry_of(self.unwritten))
    }
}

impl Writing {
    fn has_room(&self, bytes: usize, stream: u64) -> bool {
        stream == 0 || self.bytes + bytes <= MAX_LOG
    }

    fn count(&mut self, bytes: usize, number: u64, is_own: bool) {
        self.bytes += bytes;
        if is_own && self.bytes > MAX_LOG / 2 {
            self.keep_from = std::mem::replace(&mut self.mark, number);
            self.bytes = 0;
        }
    }

    /// Counts anew: another replica has written meanwhile.
    fn restart(&mut self) {
        (self.bytes, self.mark, self.keep_from) = (0, 0, 0);
    }
}

impl StreamLog {
    /// Says that something is missing from a number on, as soon as that can be said.
    async fn say_broken(&self, mut number: u64) {
        let begun = Instant::now();
        while begun.elapsed() < SAID_FOR {
            match self.link.append(&self.name, number, 0, Entry::Broken).await {
                Ok(Appended::Done) => return,
                // It had arrived, though we were not told.
                Ok(Appended::Conflict) => number += 1,
                Err(_) => sleep(10 * AGAIN).await,
            }
        }
    }
}

#[cfg(test)]
mod tests;
