//! What belongs to one request: a plain answer if that comes first, a stream that ends with it if anything else does.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use manifold_engine::Budget;
use manifold_engine::Lock as _;
use manifold_protocol::{Outgoing, Raw};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep, timeout_at};

use super::tally::Entered;
use super::timeouts::UNREAD_PATIENCE;
use crate::modern::{Lane, RequestHandle, Verdict};

/// A sign of life for proxies and clients that count silence.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What a client may leave unread before more of it is dropped.
const MAX_UNREAD_BYTES: usize = 1 << 20;

pub(super) struct PostLane {
    may_stream: bool,
    /// Where what is unread counts.
    budget: Budget,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    answer: Option<(Verdict, Outgoing)>,
    is_stream: bool,
    unread: VecDeque<Bytes>,
    unread_bytes: usize,
    is_finished: bool,
    /// The client has left too much unread to be given more.
    is_refused: bool,
    waker: Option<Waker>,
}

/// What a request is answered with.
pub(super) enum First {
    Answer(Verdict, Outgoing),
    Stream,
    Refused,
}

/// Takes the request back when the client is gone before it was answered.
pub(super) struct Guard {
    handle: RequestHandle,
    /// It counts for as long as its client has it open.
    _entered: Entered,
}

impl Guard {
    pub(super) fn new(handle: RequestHandle, entered: Entered) -> Self {
        Self { handle, _entered: entered }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.handle.cancel(Some(Raw::from_static(r#""the client closed the connection""#)));
    }
}

impl PostLane {
    pub(super) fn new(may_stream: bool, budget: &Budget) -> Arc<Self> {
        let budget = budget.clone();
        Arc::new(Self { may_stream, budget, state: Mutex::default(), changed: Notify::new() })
    }

    /// Waits for what comes first. Past `patience` the answer becomes a stream.
    pub(super) async fn first(&self, patience: Option<Duration>) -> First {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if state.is_stream {
                    return First::Stream;
                }
                if let Some((verdict, answer)) = state.answer.take() {
                    return First::Answer(verdict, answer);
                }
                if state.is_refused {
                    return First::Refused;
                }
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    state.is_stream = true;
                    return First::Stream;
                }
            }
            match deadline {
                None => changed.await,
                Some(deadline) => drop(timeout_at(deadline, changed).await),
            }
        }
    }

    fn push(&self, message: Bytes) {
        if !self.may_stream {
            return;
        }
        let message = self.budget.hold(message);
        let mut state = self.lock();
        state.is_stream = true;
        state.push(message);
        drop(state);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl State {
    fn push(&mut self, message: Bytes) {
        self.unread_bytes += message.len();
        self.unread.push_back(message);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Lane for PostLane {
    fn answer(&self, verdict: Verdict, message: Outgoing) {
        // Keeping it would cost everybody: a client that does not read learns nothing anyway (M6).
        let is_too_much = !self.budget.grants(message.len(), UNREAD_PATIENCE);
        let mut state = self.lock();
        if is_too_much {
            (state.is_refused, state.is_finished) = (true, true);
            state.wake();
        } else if state.is_stream {
            state.is_finished = true;
            state.push(self.budget.hold(message.into_bytes()));
        } else {
            state.answer = Some((verdict, message.map(|piece| self.budget.hold(piece))));
        }
        drop(state);
        self.changed.notify_one();
    }

    fn say(&self, message: Bytes) {
        // A change said twice is one change; so a client that does not read is owed little.
        if !self.lock().unread.contains(&message) {
            self.push(message);
        }
    }

    fn tell(&self, message: Bytes) {
        if self.lock().unread_bytes <= MAX_UNREAD_BYTES {
            self.push(message);
        }
    }
}

/// The body of a response that is a stream.
pub(crate) struct LaneBody {
    lane: Arc<PostLane>,
    /// Written first, so that the head leaves at once.
    preamble: Bytes,
    keep_alive: Pin<Box<Sleep>>,
    guard: Guard,
    /// Resolves when what let its client in does so no longer.
    over: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl LaneBody {
    pub(super) fn new(lane: Arc<PostLane>, guard: Guard) -> Self {
        let preamble = Bytes::from_static(b":\n\n");
        Self { lane, preamble, keep_alive: Box::pin(sleep(KEEP_ALIVE)), guard, over: None }
    }

    /// Has it end when that resolves.
    pub(super) fn until(mut self, over: Option<impl Future<Output = ()> + Send + Sync + 'static>) -> Self {
        self.over = over.map(|over| Box::pin(over) as _);
        self
    }

    /// Gives the next bytes, all messages that are ready together; `None` ends the body.
    pub(crate) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if !self.preamble.is_empty() {
            return Poll::Ready(Some(std::mem::take(&mut self.preamble)));
        }
        if self.over.as_mut().is_some_and(|over| over.as_mut().poll(context).is_ready()) {
            self.over = None;
            self.guard.handle.finish();
        }
        {
            let mut state = self.lane.lock();
            if !state.unread.is_empty() {
                state.unread_bytes = 0;
                self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
                return Poll::Ready(Some(encode(state.unread.drain(..))));
            }
            if state.is_finished {
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
        }
        if self.keep_alive.as_mut().poll(context).is_ready() {
            self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(Bytes::from_static(b":\n\n")));
        }
        Poll::Pending
    }
}

/// Events here bear no ids: nobody can come back for what was missed.
pub(super) fn encode(messages: impl Iterator<Item = Bytes>) -> Bytes {
    let mut bytes = BytesMut::new();
    for message in messages {
        bytes.reserve(message.len() + 32);
        bytes.put_slice(b"event: message\ndata: ");
        bytes.put_slice(&message);
        bytes.put_slice(b"\n\n");
    }
    bytes.freeze()
}
