//! What happens, told to whoever watches. Nobody waits for a reader: the last events are kept for all, and one that is so
//! slow, or was away for so long, that some are gone is told so, and reads everything anew.

mod ring;
mod topics;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::sync::Lock as _;
use manifold_admin::{Cursor, Event, Happening};
use ring::{Ring, Waiting};
use tokio::sync::Notify;
use tokio::time::Instant;
pub use topics::Topics;

/// For how long events go on being made after the last reader has left: one that comes back has missed nothing.
const LINGER: Duration = Duration::from_secs(60);

/// Events that do not push each other out: a server may write a million lines while another changes its state once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// How things are.
    State,
    Calls,
    Logs,
}

impl Lane {
    const ALL: [Self; 3] = [Self::State, Self::Calls, Self::Logs];
}

/// The end that tells. Readers are told that there is no more when it is dropped.
pub(crate) struct Feed {
    shared: Arc<Shared>,
}

struct Shared {
    epoch: u64,
    /// The number of the last event.
    seq: AtomicU64,
    is_closed: AtomicBool,
    /// Whether events of a lane are made.
    is_made: [AtomicBool; 3],
    rings: Mutex<Rings>,
    /// Taken after the rings where both are; nothing else is taken while one is held.
    interest: [Mutex<Interest>; 3],
    arrived: Notify,
}

type Rings = [Ring; 3];

/// Who wants the events of a lane.
#[derive(Default)]
struct Interest {
    readers: usize,
    /// Since when nobody reads it, unless somebody does or it rests.
    left_at: Option<Instant>,
    has_rested: bool,
    /// What has no number yet.
    waiting: Waiting,
}

impl Feed {
    pub(crate) fn new() -> Self {
        let shared = Shared {
            // Another in every run, so that a number of an earlier one is not taken for one of ours.
            epoch: RandomState::new().build_hasher().finish(),
            seq: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            is_made: Default::default(),
            rings: Mutex::default(),
            interest: Default::default(),
            arrived: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Tells what has become of the state; nothing is made of it while nobody watches. It is made with the feed held, so
    /// that of two events about one thing the later says how it is: no lock may be held here that making it takes.
    pub(crate) fn publish(&self, happening: impl FnOnce() -> Option<Happening>) {
        let shared = &self.shared;
        if !shared.is_made(Lane::State) {
            return;
        }
        let mut rings = shared.rings.locked();
        if shared.rests(Lane::State) {
            rings[Lane::State as usize].lose(shared.cursor().seq);
            return;
        }
        let Some(happening) = happening() else { return };
        // What was left before comes first.
        shared.number(&mut rings);
        let (seq, bytes) = (shared.next_number(), ring::size(&happening));
        rings[Lane::State as usize].push(Event { seq, happening }, bytes);
        drop(rings);
        shared.arrived.notify_waiters();
    }

    /// Tells what comes in numbers, whatever locks are held where it happens. Says whether it is made at all.
    pub(crate) fn leave(&self, lane: Lane, happening: impl FnOnce() -> Happening) -> bool {
        let shared = &self.shared;
        if !shared.is_made(lane) || shared.rests(lane) {
            return false;
        }
        // So much is unread that whoever reads next begins anew: more would be made for nobody.
        if shared.interest(lane).waiting.has_lost {
            return true;
        }
        let happening = happening();
        shared.interest(lane).waiting.push(happening);
        shared.arrived.notify_waiters();
        true
    }

    /// Returns whether events of a lane are made now.
    pub(crate) fn is_made(&self, lane: Lane) -> bool {
        self.shared.is_made(lane)
    }

    /// Lets somebody watch from there on, or from now on. What is no longer known of a place, or never was, is told by a
    /// reset before anything else.
    pub(crate) fn watch(&self, after: Option<Cursor>, topics: Topics) -> Events {
        let shared = &self.shared;
        let mut rings = shared.rings.locked();
        for lane in Lane::ALL.into_iter().filter(|lane| topics.has_lane(*lane)) {
            shared.wake(&mut rings, lane);
            let mut interest = shared.interest(lane);
            (interest.readers, interest.left_at) = (interest.readers + 1, None);
        }
        shared.number(&mut rings);
        let now = self.cursor();
        drop(rings);
        let known = after.filter(|cursor| cursor.epoch == now.epoch && cursor.seq <= now.seq);
        let must_reset = after.is_some() && known.is_none();
        let position = known.map_or(now.seq, |cursor| cursor.seq);
        Events { shared: Arc::clone(shared), topics, position, must_reset }
    }

    /// Returns where the events are now.
    pub(crate) fn cursor(&self) -> Cursor {
        self.shared.cursor()
    }

    /// Returns where the events are now, for somebody who may come and go on from there.
    pub(crate) fn mark(&self) -> Cursor {
        let mut rings = self.shared.rings.locked();
        self.shared.wake(&mut rings, Lane::State);
        let mut interest = self.shared.interest(Lane::State);
        if interest.readers == 0 {
            interest.left_at = Some(Instant::now());
        }
        self.cursor()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        self.shared.arrived.notify_waiters();
    }
}

impl Shared {
    fn is_made(&self, lane: Lane) -> bool {
        self.is_made[lane as usize].load(Ordering::Relaxed)
    }

    fn interest(&self, lane: Lane) -> MutexGuard<'_, Interest> {
        self.interest[lane as usize].locked()
    }

    fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch, seq: self.seq.load(Ordering::Relaxed) }
    }

    fn next_number(&self) -> u64 {
        self.seq.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Has the events of a lane made from now on.
    fn wake(&self, rings: &mut Rings, lane: Lane) {
        if !self.rests(lane) {
            return;
        }
        let mut interest = self.interest(lane);
        // What happened meanwhile has no number; who was here before finds that something is missing. Of calls and lines
        // that nobody ever read nobody misses any.
        if lane == Lane::State || interest.has_rested {
            rings[lane as usize].lose(self.next_number());
        }
        (interest.left_at, interest.waiting) = (Some(Instant::now()), Waiting::default());
        self.is_made[lane as usize].store(true, Ordering::Relaxed);
    }

    /// Lets a lane rest that nobody has read for so long, and returns whether it does.
    fn rests(&self, lane: Lane) -> bool {
        let mut interest = self.interest(lane);
        if interest.left_at.is_some_and(|at| at.elapsed() > LINGER) {
            *interest = Interest { has_rested: true, ..Interest::default() };
            self.is_made[lane as usize].store(false, Ordering::Relaxed);
        }
        !self.is_made(lane)
    }

    /// Gives numbers to what waits for them.
    fn number(&self, rings: &mut Rings) {
        for lane in [Lane::Calls, Lane::Logs] {
            let ring = &mut rings[lane as usize];
            if !self.is_made(lane) {
                // Its room is given back.
                if !ring.is_empty() {
                    ring.lose(self.cursor().seq);
                }
                continue;
            }
            let waiting = std::mem::take(&mut self.interest(lane).waiting);
            if waiting.has_lost {
                ring.lose(self.next_number());
            }
            for (happening, bytes) in waiting.events {
                ring.push(Event { seq: self.next_number(), happening }, bytes);
            }
        }
    }
}

/// The events of a gateway, as one reader gets them. Read the snapshot after this was opened: what is in both does no
/// harm, and nothing is missed.
pub struct Events {
    shared: Arc<Shared>,
    topics: Topics,
    /// The number up to which everything is known.
    position: u64,
    must_reset: bool,
}

impl Events {
    /// Waits for the next event; `None` once the gateway is gone. Whoever reads too slowly gets a reset in the place of
    /// what it missed and of what it had yet to read.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        let shared = Arc::clone(&self.shared);
        loop {
            let mut arrived = std::pin::pin!(shared.arrived.notified());
            // Before the look: what comes after it is not missed.
            arrived.as_mut().enable();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if shared.is_closed.load(Ordering::SeqCst) {
                return None;
            }
            arrived.await;
        }
    }

    /// Returns the next event if there is one.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        let mut rings = self.shared.rings.locked();
        self.shared.number(&mut rings);
        let topics = self.topics;
        let read = || Lane::ALL.into_iter().filter(move |lane| topics.has_lane(*lane));
        let has_lost = read().any(|lane| rings[lane as usize].has_lost_after(self.position));
        if std::mem::take(&mut self.must_reset) || has_lost {
            self.position = self.shared.cursor().seq;
            return Some(Arc::new(Event { seq: self.position, happening: Happening::Reset }));
        }
        loop {
            let next = read().filter_map(|lane| rings[lane as usize].after(self.position));
            let event = Arc::clone(next.min_by_key(|event| event.seq)?);
            self.position = event.seq;
            if self.topics.has_event(&event.happening) {
                return Some(event);
            }
        }
    }

    /// Returns the place up to which everything was read or skipped.
    pub fn cursor(&self) -> Cursor {
        Cursor { epoch: self.shared.epoch, seq: self.position }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        for lane in Lane::ALL.into_iter().filter(|lane| self.topics.has_lane(*lane)) {
            let mut interest = self.shared.interest(lane);
            interest.readers -= 1;
            if interest.readers == 0 {
                interest.left_at = Some(Instant::now());
            }
        }
    }
}

#[cfg(test)]
mod tests;
