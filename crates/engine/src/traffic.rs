//! What goes over both hops, message by message, for whoever watches. While nobody does, a message costs one look; while
//! somebody does, it is copied and left in a ring, and all that is made of it is made by its readers. No call waits for
//! one of those: who is so slow that messages are gone is told how many.

mod captured;
mod hidden_members;
mod message;
mod redaction;
mod ring;
mod shown;
mod tap;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_admin::{Cursor, TrafficItem};
pub use manifold_admin::{Direction, FrameStatus, Hop};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::observe::{Observers, Watch};
use crate::sync::Lock as _;
use captured::Captured;
use ring::Ring;
pub use tap::{Link, Party, Tap};

/// For how long messages go on being noted after the last reader has left: one that comes back has missed nothing.
const LINGER: Duration = Duration::from_secs(60);

/// What is kept of a message for somebody who looks on.
pub const WATCHED_BODY_BYTES: usize = 16 << 10;
/// What is kept of one that is to be played back.
pub const RECORDED_BODY_BYTES: usize = 4 << 20;
/// What all that is kept may take up, where no reader wants more.
const CAPACITY_BYTES: usize = 8 << 20;

/// What passes through the gateway, on both hops of all its namespaces.
pub struct Traffic {
    watch: Arc<Watch>,
    epoch: u64,
    began: Instant,
    /// For how long, in nanoseconds, those have run whom we go on from.
    ran_before: AtomicU64,
    is_closed: AtomicBool,
    /// How much of a message is wanted by anybody.
    body_bytes: AtomicUsize,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    ring: Ring,
    readers: Vec<(u64, Wanted)>,
    next_reader: u64,
    /// Since when nobody reads, unless somebody does.
    left_at: Option<Instant>,
}

/// What a reader has kept for it.
#[derive(Clone, Copy)]
struct Wanted {
    body_bytes: usize,
    capacity_bytes: usize,
}

/// How somebody watches.
#[derive(Debug, Clone)]
pub struct SubscribeOptions {
    /// Whether frames have the messages with them.
    pub bodies: bool,
    /// How much of a message, at most.
    pub max_body_bytes: usize,
    /// What may be owed to the reader before it loses frames.
    pub capacity_bytes: usize,
    /// The place to go on from; `None`: from now on. Of a place of another run nothing is known but that frames are
    /// missing, which a gap of 0 says.
    pub after: Option<Cursor>,
    /// Where there is no place to go on from: begins with what is still known, not with what comes next.
    pub past: bool,
}

/// How far the numbers and the clock of frames have come: a gateway that takes another's place goes on from there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficPlace {
    frames: u64,
    calls: u64,
    nanoseconds: u64,
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self {
            bodies: false,
            max_body_bytes: WATCHED_BODY_BYTES,
            capacity_bytes: CAPACITY_BYTES,
            after: None,
            past: false,
        }
    }
}

impl SubscribeOptions {
    /// Wants all that a recording keeps.
    pub fn to_record() -> Self {
        Self {
            bodies: true,
            max_body_bytes: RECORDED_BODY_BYTES,
            capacity_bytes: 4 * CAPACITY_BYTES,
            ..Self::default()
        }
    }
}

impl Traffic {
    pub(crate) fn new(observers: &Observers) -> Arc<Self> {
        Arc::new(Self {
            watch: Arc::clone(observers.watch()),
            // Another in every run, so that a number of an earlier one is not taken for one of ours.
            epoch: RandomState::new().build_hasher().finish(),
            began: Instant::now(),
            ran_before: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            body_bytes: AtomicUsize::new(0),
            state: Mutex::default(),
            arrived: Notify::new(),
        })
    }

    /// Returns traffic that nobody can watch, for what stands outside of a fleet.
    pub fn unwatched() -> Arc<Self> {
        Self::new(&Observers::default())
    }

    /// Returns whether messages are noted now. This is all that one costs that nobody watches.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.watch.is_on(Watch::TRAFFIC)
    }

    /// Lets somebody watch.
    pub fn subscribe(self: &Arc<Self>, options: SubscribeOptions) -> Subscription {
        let wanted = Wanted {
            body_bytes: if options.bodies { options.max_body_bytes } else { 0 },
            capacity_bytes: options.capacity_bytes,
        };
        let mut state = self.state.locked();
        state.rest_if_left();
        let last = state.ring.last();
        let (position, is_lost) = match options.after {
            Some(after) if after.epoch == self.epoch && after.seq <= last => (after.seq, false),
            // All there is comes after a place of an earlier run.
            Some(_) => (state.ring.first().saturating_sub(1), true),
            None if options.past => (state.ring.first().saturating_sub(1), false),
            None => (last, false),
        };
        let reader = state.next_reader;
        state.next_reader += 1;
        state.left_at = None;
        state.readers.push((reader, wanted));
        self.settle(&mut state);
        drop(state);
        Subscription { traffic: Arc::clone(self), reader, options, position, is_lost }
    }

    /// Returns how many watch.
    pub(crate) fn readers(&self) -> usize {
        self.state.locked().readers.len()
    }

    /// Returns the place where the frames are now.
    pub fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch, seq: self.state.locked().ring.last() }
    }

    /// Returns where whoever takes our place is to go on from.
    pub fn place(&self) -> TrafficPlace {
        let frames = self.state.locked().ring.last();
        TrafficPlace { frames, calls: self.watch.last_number(), nanoseconds: self.now() }
    }

    /// Takes another's place: no number that it gave is given again, and time goes on. Before anything is seen.
    pub fn go_on_from(&self, place: TrafficPlace) {
        self.state.locked().ring.begin_after(place.frames);
        self.watch.begin_after(place.calls);
        self.ran_before.store(place.nanoseconds, Ordering::Relaxed);
    }

    /// Tells readers that there will be no more.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.arrived.notify_waiters();
    }

    fn next_number(&self) -> NonZeroU64 {
        self.watch.next_number()
    }

    fn now(&self) -> u64 {
        self.ran_before.load(Ordering::Relaxed).saturating_add(nanos(self.began.elapsed()))
    }

    /// Leaves a message for the readers.
    fn leave(&self, captured: Captured) {
        let pushed_out = {
            let mut state = self.state.locked();
            if state.left_at.is_some_and(|at| at.elapsed() > LINGER) {
                state.rest_if_left();
                self.settle(&mut state);
                return;
            }
            let capacity = state.readers.iter().map(|(_, wanted)| wanted.capacity_bytes).max();
            state.ring.push(captured, capacity.unwrap_or(CAPACITY_BYTES))
        };
        self.arrived.notify_waiters();
        // Freed with nothing held.
        drop(pushed_out);
    }

    /// Says what is to be noted from now on, after readers have come or gone.
    fn settle(&self, state: &mut State) {
        let body_bytes = state.readers.iter().map(|(_, wanted)| wanted.body_bytes).max();
        self.body_bytes.store(body_bytes.unwrap_or(0), Ordering::Relaxed);
        let is_on = !state.readers.is_empty() || state.left_at.is_some();
        self.watch.set(Watch::TRAFFIC, is_on);
    }
}

impl State {
    /// Forgets everything if nobody has read for long.
    fn rest_if_left(&mut self) {
        if self.left_at.is_some_and(|at| at.elapsed() > LINGER) {
            self.left_at = None;
            self.ring.clear();
        }
    }
}

/// The frames as one reader gets them.
pub struct Subscription {
    traffic: Arc<Traffic>,
    reader: u64,
    options: SubscribeOptions,
    /// The number up to which everything was read, skipped or lost.
    position: u64,
    /// It was elsewhere before, and nobody knows how much it missed.
    is_lost: bool,
}

impl Subscription {
    /// Waits for the next frame, or for the number of those that are gone; `None` once the gateway is gone. Secrets are
    /// taken out here, on the reader's time.
    pub async fn next(&mut self) -> Option<TrafficItem> {
        let traffic = Arc::clone(&self.traffic);
        loop {
            let mut arrived = std::pin::pin!(traffic.arrived.notified());
            // Before the look: what comes after it is not missed.
            arrived.as_mut().enable();
            if let Some(item) = self.try_next() {
                return Some(item);
            }
            if traffic.is_closed.load(Ordering::SeqCst) {
                return None;
            }
            arrived.await;
        }
    }

    /// Returns the next frame if there is one.
    pub fn try_next(&mut self) -> Option<TrafficItem> {
        if std::mem::take(&mut self.is_lost) {
            return Some(TrafficItem::Gap { gap: 0 });
        }
        let (first, captured) = {
            let state = self.traffic.state.locked();
            (state.ring.first(), state.ring.get(self.position + 1))
        };
        if first > self.position + 1 {
            let gap = first - self.position - 1;
            self.position = first - 1;
            return Some(TrafficItem::Gap { gap });
        }
        let captured = captured?;
        self.position += 1;
        let body_bytes = self.options.bodies.then_some(self.options.max_body_bytes);
        Some(TrafficItem::Frame(Box::new(shown::frame(&captured, self.position, body_bytes))))
    }

    /// Returns the present as frames count time: in nanoseconds since the gateway began.
    pub fn now(&self) -> u64 {
        self.traffic.now()
    }

    /// Returns the place up to which everything was read.
    pub fn cursor(&self) -> Cursor {
        Cursor { epoch: self.traffic.epoch, seq: self.position }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.traffic.state.locked();
        state.readers.retain(|(reader, _)| *reader != self.reader);
        if state.readers.is_empty() {
            state.left_at = Some(Instant::now());
        }
        self.traffic.settle(&mut state);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
