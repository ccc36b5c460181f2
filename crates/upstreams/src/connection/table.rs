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
}

/// Whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Client,
    Ourselves,
}

pub(super) struct Pending {
    pub(super) exchange: Exchange,
    pub(super) origin: Origin,
    token: Option<Raw>,
    pub(super) timeout: Duration,
    pub(super) deadline: Instant,
    hard_deadline: Instant,
    /// While a question to its asker is open, its clock stands.
    open_questions: usize,
    paused_at: Option<Instant>,
}

impl Pending {
    pub(super) fn new(
        exchange: Exchange,
        origin: Origin,
        token: Option<Raw>,
        timeout: Duration,
        hard: Duration,
    ) -> Self {
        let now = Instant::now();
        Self {
            exchange,
            origin,
            token,
            timeout,
            deadline: now + timeout,
            hard_deadline: now + hard.max(timeout),
            open_questions: 0,
            paused_at: None,
        }
    }

    pub(super) fn has_questions(&self) -> bool {
        self.open_questions > 0
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

    pub(super) fn get(&self, id: u64) -> Option<&Pending> {
        let (number, pending) = self.places.get(place(id))?.as_ref()?;
        (*number == id).then_some(pending)
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Pending> {
        let (number, pending) = self.places.get_mut(place(id))?.as_mut()?;
        (*number == id).then_some(pending)
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
        let pending = self.get_mut(id)?;
        let token = pending.token.clone()?;
        // A clock that stands shows when it was stopped, or `resume` would count the pause twice.
        let now = pending.paused_at.unwrap_or_else(Instant::now);
        pending.deadline = (now + pending.timeout).min(pending.hard_deadline);
        Some((pending.exchange.asker(), token))
    }

    /// Returns the call written last and its asker: the one a question most likely belongs to. Its clock stands
    /// until `resume`.
    pub(super) fn asked(&mut self) -> Option<(u64, Arc<Flight<dyn Sink>>)> {
        let live = self.places.iter_mut().flatten();
        let clients = live.filter(|(_, pending)| pending.origin == Origin::Client);
        let (id, pending) = clients.max_by_key(|(id, _)| *id)?;
        pending.open_questions += 1;
        pending.paused_at.get_or_insert_with(Instant::now);
        Some((*id, pending.exchange.asker()))
    }

    /// Lets the clock of a call run again once its last question is closed, no time having been lost.
    pub(super) fn resume(&mut self, id: u64) {
        let Some(pending) = self.get_mut(id) else { return };
        pending.open_questions = pending.open_questions.saturating_sub(1);
        if pending.open_questions > 0 {
            return;
        }
        if let Some(paused) = pending.paused_at.take().map(|at| at.elapsed()) {
            pending.deadline += paused;
            pending.hard_deadline += paused;
        }
        let deadline = pending.deadline;
        self.next_deadline = Some(self.next_deadline.map_or(deadline, |next| next.min(deadline)));
    }

    /// Takes out what is due and finds the next deadline.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(u64, Pending)> {
        let running = |pending: &Pending| pending.paused_at.is_none();
        let live = self.places.iter().flatten();
        let due: Vec<u64> = live
            .filter(|(_, pending)| running(pending) && pending.deadline <= now)
            .map(|(id, _)| *id)
            .collect();
        let due: Vec<_> = due.into_iter().filter_map(|id| Some((id, self.remove(id)?))).collect();
        let live = self.places.iter().flatten().filter(|(_, pending)| running(pending));
        self.next_deadline = live.map(|(_, pending)| pending.deadline).min();
        due
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
