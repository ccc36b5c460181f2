//! The calls in flight on one connection, by number.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Exchange, Flight, Sink};
use manifold_protocol::{Call, Raw};
use tokio::time::Instant;

/// The low bits of a number are its place, the high bits count the calls, so that a late answer to an earlier
/// call of the same place is told from the present one's.
const PLACE_BITS: u32 = 16;

pub(super) struct Table {
    places: Vec<Option<(u64, Pending)>>,
    free: Vec<usize>,
    in_flight: usize,
    count: u64,
    max_in_flight: usize,
    closed: bool,
    pub(super) queue: VecDeque<(Call, Exchange)>,
    /// No deadline is earlier; it may lie before the earliest, never after.
    pub(super) next_deadline: Option<Instant>,
    /// While a question to the client is open, no clock runs.
    pub(super) open_questions: usize,
    pub(super) paused_at: Option<Instant>,
}

pub(super) struct Pending {
    pub(super) exchange: Exchange,
    token: Option<Raw>,
    pub(super) timeout: Duration,
    pub(super) deadline: Instant,
    hard_deadline: Instant,
}

impl Pending {
    pub(super) fn new(exchange: Exchange, token: Option<Raw>, timeout: Duration, hard: Duration) -> Self {
        let now = Instant::now();
        let hard_deadline = now + hard.max(timeout);
        Self { exchange, token, timeout, deadline: now + timeout, hard_deadline }
    }
}

impl Table {
    pub(super) fn new(max_in_flight: usize) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            count: 0,
            max_in_flight: max_in_flight.clamp(1, (1 << PLACE_BITS) - 1),
            closed: false,
            queue: VecDeque::new(),
            next_deadline: None,
            open_questions: 0,
            paused_at: None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn admit(&self) -> bool {
        !self.closed && self.in_flight < self.max_in_flight
    }

    /// Returns the number the next call will have.
    pub(super) fn next_id(&mut self) -> u64 {
        if self.free.is_empty() {
            self.free.push(self.places.len());
            self.places.push(None);
        }
        let place = self.free.last().copied().unwrap_or_default();
        self.count += 1;
        (self.count << PLACE_BITS) | place as u64
    }

    /// Takes in the call numbered `id`. Returns whether its deadline is the earliest.
    pub(super) fn insert(&mut self, id: u64, pending: Pending) -> bool {
        let deadline = pending.deadline;
        self.free.pop();
        self.places[place(id)] = Some((id, pending));
        self.in_flight += 1;
        let is_sooner = self.next_deadline.is_none_or(|next| deadline < next);
        if is_sooner {
            self.next_deadline = Some(deadline);
        }
        is_sooner
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Pending> {
        let slot = self.places.get_mut(place(id))?;
        if slot.as_ref()?.0 != id {
            return None;
        }
        let (_, pending) = slot.take()?;
        self.free.push(place(id));
        self.in_flight -= 1;
        Some(pending)
    }

    /// Starts the clock of a call afresh. Returns who asked and with which token.
    pub(super) fn progressed(&mut self, id: u64) -> Option<(Arc<Flight<dyn Sink>>, Raw)> {
        let (number, pending) = self.places.get_mut(place(id))?.as_mut()?;
        if *number != id {
            return None;
        }
        let token = pending.token.clone()?;
        pending.deadline = (Instant::now() + pending.timeout).min(pending.hard_deadline);
        Some((pending.exchange.asker(), token))
    }

    /// Returns the asker of the call written last: the one a question most likely belongs to.
    pub(super) fn latest(&self) -> Option<Arc<Flight<dyn Sink>>> {
        let latest = self.places.iter().flatten().filter(|(_, pending)| pending.exchange.client().is_some());
        latest.max_by_key(|(id, _)| *id).map(|(_, pending)| pending.exchange.asker())
    }

    /// Takes out what is due and finds the next deadline. Nothing is due while a question is open.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(u64, Pending)> {
        if self.paused_at.is_some() {
            return Vec::new();
        }
        let live = self.places.iter().flatten();
        let due: Vec<u64> = live.filter(|(_, pending)| pending.deadline <= now).map(|(id, _)| *id).collect();
        let due: Vec<_> = due.into_iter().filter_map(|id| Some((id, self.remove(id)?))).collect();
        self.next_deadline = self.places.iter().flatten().map(|(_, pending)| pending.deadline).min();
        due
    }

    pub(super) fn pause(&mut self) {
        self.open_questions += 1;
        self.paused_at.get_or_insert_with(Instant::now);
    }

    /// Lets the clocks run again once the last question is closed, none having lost time.
    pub(super) fn resume(&mut self) {
        self.open_questions = self.open_questions.saturating_sub(1);
        if self.open_questions > 0 {
            return;
        }
        let Some(paused_at) = self.paused_at.take() else { return };
        let paused = paused_at.elapsed();
        for (_, pending) in self.places.iter_mut().flatten() {
            pending.deadline += paused;
            pending.hard_deadline += paused;
        }
    }

    /// Refuses further calls and returns those in flight and those still queued.
    pub(super) fn close(&mut self) -> (Vec<Pending>, VecDeque<(Call, Exchange)>) {
        self.closed = true;
        self.in_flight = 0;
        self.next_deadline = None;
        let pending = self.places.drain(..).flatten().map(|(_, pending)| pending).collect();
        self.free.clear();
        (pending, std::mem::take(&mut self.queue))
    }
}

fn place(id: u64) -> usize {
    (id & ((1 << PLACE_BITS) - 1)) as usize
}
