//! Streams of server-sent events that survive their connection: what was said is kept for a while, and a client that
//! comes back with the id of the last event it saw gets the rest.

mod log;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use manifold_engine::Budget;
use manifold_engine::Lock as _;
use manifold_protocol::Outgoing;
use tokio::time::{Instant, Sleep, sleep};

use crate::session::Outlet;
pub(super) use log::{StreamLog, entry_of};

/// A sign of life for proxies and clients that count silence.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What is kept of a stream for a client that comes back.
const KEPT_BYTES: usize = 1 << 20;
const KEPT_EVENTS: usize = 1024;
/// Of a stream read to its end, more than this is not kept.
const BULK_BYTES: usize = 64 << 10;
/// How long a client should wait before it comes back.
const RETRY_MS: u64 = 1000;

/// One stream. Event numbers start at 1; 0 is the priming event, which only carries an id.
pub(super) struct Stream {
    me: Weak<Stream>,
    number: u64,
    /// Where what is kept counts.
    budget: Budget,
    /// Where what is said is written before anybody hears it, for clients that come back to another replica.
    log: Option<StreamLog>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Bytes>,
    /// The number of the first event of all.
    begun: u64,
    /// The number of the first event kept.
    first: u64,
    bytes: usize,
    /// The first event the present reader has not taken.
    taken: u64,
    /// When the last word was said.
    finished: Option<Instant>,
    /// Counts readers; only the newest is served.
    reader: u64,
    attached: bool,
    waker: Option<Waker>,
    /// The first event that is not in the log, where there is one.
    unwritten: u64,
    writing: log::Writing,
}

impl Stream {
    #[cfg(test)]
    pub(super) fn new(number: u64, budget: &Budget) -> Arc<Self> {
        Self::after(0, number, budget)
    }

    /// Opens a stream whose events are numbered from the one after `last`.
    pub(super) fn after(last: u64, number: u64, budget: &Budget) -> Arc<Self> {
        Self::logged(last, number, budget, None)
    }

    /// Opens a stream that is written to a log, too.
    pub(super) fn logged(last: u64, number: u64, budget: &Budget, log: Option<StreamLog>) -> Arc<Self> {
        let (budget, first) = (budget.clone(), last + 1);
        // The log of an answer begins with whose it is, where an event would be that has only an id.
        let unwritten = if number == 0 { first } else { last };
        let state = State { begun: first, first, taken: first, unwritten, ..State::default() };
        Arc::new_cyclic(|me| Self { me: me.clone(), number, budget, log, state: Mutex::new(state) })
    }

    /// Returns whether an event with this number was said here: the session's own streams at two replicas are two.
    pub(super) fn has_said(&self, event: u64) -> bool {
        let state = self.lock();
        event + 1 >= state.begun && event < state.next()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn push(&self, message: Bytes) {
        self.add(message, true);
    }

    /// Ends the stream: its request has been answered.
    pub(super) fn finish(&self) {
        let mut state = self.lock();
        state.finished.get_or_insert_with(Instant::now);
        state.wake();
        self.write_on(&mut state);
    }

    /// Ends the present reader's response; the stream goes on for when it comes back.
    pub(super) fn let_go(&self) {
        let mut state = self.lock();
        state.reader += 1;
        state.attached = false;
        state.wake();
    }

    pub(super) fn is_attached(&self) -> bool {
        self.lock().attached
    }

    /// Returns how long ago the last word was said.
    pub(super) fn finished_for(&self) -> Option<Duration> {
        self.lock().finished.map(|at| at.elapsed())
    }

    /// Opens the stream to a reader, in place of the one before it, from the event after `last_seen`. A reader with
    /// nothing to wait for leaves when `closing` resolves.
    pub(super) fn attach(
        self: &Arc<Self>,
        last_seen: u64,
        preamble: Bytes,
        closing: impl Future<Output = ()> + Send + Sync + 'static,
    ) -> EventBody {
        let mut state = self.lock();
        state.reader += 1;
        state.attached = true;
        state.taken = last_seen.saturating_add(1).clamp(state.first, state.next());
        let reader = state.reader;
        state.wake();
        self.write_on(&mut state);
        drop(state);
        EventBody {
            stream: Arc::clone(self),
            reader,
            preamble,
            holds: false,
            keep_alive: Box::pin(sleep(KEEP_ALIVE)),
            closing: Box::pin(closing),
            closed: false,
            on_end: None,
        }
    }

    /// Returns the number of the last event that a reader took.
    pub(super) fn last_taken(&self) -> u64 {
        self.lock().taken - 1
    }

    fn add(&self, message: Bytes, must: bool) {
        let mut state = self.lock();
        if state.finished.is_some() {
            return;
        }
        // What is said to nobody is not kept for whoever comes: only what must be heard is.
        if !must && self.number == 0 && !state.attached {
            return;
        }
        // A change said twice is one change.
        if self.number == 0 && state.taken < state.next() && state.events.back() == Some(&message) {
            return;
        }
        state.forget_delivered();
        if !must && (state.bytes > KEPT_BYTES || state.events.len() > KEPT_EVENTS) {
            return;
        }
        state.bytes += message.len();
        state.events.push_back(self.budget.hold(message));
        if self.log.is_some() {
            return self.write_on(&mut state);
        }
        state.wake();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl State {
    /// Returns the number the next event will have.
    fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Makes room by dropping what a reader has taken already.
    fn forget_delivered(&mut self) {
        while (self.bytes > KEPT_BYTES || self.events.len() > KEPT_EVENTS) && self.first < self.taken {
            let Some(event) = self.events.pop_front() else { return };
            self.bytes -= event.len();
            self.first += 1;
        }
    }

    /// Lets go of a large answer that was read to its end: few come back for it, and many may have been given. Where
    /// memory is short, every answer is large.
    fn forget_bulk(&mut self, is_short: bool) {
        if self.bytes > BULK_BYTES || is_short {
            self.first = self.next();
            self.events = VecDeque::new();
            self.bytes = 0;
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A stream that belongs to no request: the session's own.
impl Outlet for Stream {
    fn answer(&self, message: Outgoing) {
        self.add(message.into_bytes(), true);
    }

    fn ask(&self, message: Bytes) {
        self.add(message, true);
    }

    fn tell(&self, message: Bytes) {
        self.add(message, false);
    }
}

/// The body of a response that is a stream.
pub(super) struct EventBody {
    stream: Arc<Stream>,
    reader: u64,
    /// What is written first.
    preamble: Bytes,
    /// Stays open when all is said: a client that comes back and finds the end would come back for ever.
    holds: bool,
    keep_alive: Pin<Box<Sleep>>,
    closing: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    closed: bool,
    on_end: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl EventBody {
    /// Runs `action` when the reader is gone.
    pub(super) fn on_end(mut self, action: impl FnOnce() + Send + Sync + 'static) -> Self {
        self.on_end = Some(Box::new(action));
        self
    }

    pub(super) fn holding(mut self) -> Self {
        self.holds = true;
        self
    }

    /// Gives the next bytes, all events that are ready together; `None` ends the body.
    pub(super) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if !self.preamble.is_empty() {
            return Poll::Ready(Some(std::mem::take(&mut self.preamble)));
        }
        let finished;
        {
            let mut state = self.stream.lock();
            if state.reader != self.reader {
                return Poll::Ready(None);
            }
            let end = if self.stream.log.is_some() { state.audible() } else { state.next() };
            if state.taken < end {
                let bytes = encode(self.stream.number, &state, end);
                state.taken = end;
                self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
                return Poll::Ready(Some(bytes));
            }
            finished = state.finished.is_some() && state.taken == state.next();
            if finished && !self.holds {
                state.forget_bulk(self.stream.budget.is_spent());
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
        }
        // A stream with its answer still to come is not cut by a shutdown; the drain time bounds it.
        let idle = self.stream.number == 0 || finished;
        if !self.closed && self.closing.as_mut().poll(context).is_ready() {
            self.closed = true;
        }
        if self.closed && idle {
            return Poll::Ready(None);
        }
        if self.keep_alive.as_mut().poll(context).is_ready() {
            self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(Bytes::from_static(b":\n\n")));
        }
        Poll::Pending
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        let mut state = self.stream.lock();
        if state.reader == self.reader {
            state.attached = false;
            state.waker = None;
        }
        drop(state);
        if let Some(action) = self.on_end.take() {
            action();
        }
    }
}

/// The first event for a client that understands it (2025-11-25): an id to come back with, and nothing else.
pub(super) fn priming(stream: u64) -> Bytes {
    Bytes::from(format!("id: {stream}-0\nretry: {RETRY_MS}\ndata: \n\n"))
}

/// Reads an event id: which stream, and which event of it was seen last.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

fn encode(stream: u64, state: &State, end: u64) -> Bytes {
    let skip = (state.taken - state.first) as usize;
    let waiting = state.events.iter().skip(skip).take((end - state.taken) as usize);
    let size: usize = waiting.clone().map(|event| event.len() + 64).sum();
    let mut bytes = BytesMut::with_capacity(size);
    for (at, event) in waiting.enumerate() {
        let number = state.taken + at as u64;
        bytes.put_slice(format!("id: {stream}-{number}\nevent: message\ndata: ").as_bytes());
        bytes.put_slice(event);
        bytes.put_slice(b"\n\n");
    }
    bytes.freeze()
}

#[cfg(test)]
mod tests;
