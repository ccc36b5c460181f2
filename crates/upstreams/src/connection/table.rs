//! The calls in flight on one connection, by number.

mod handover;

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Audience, CallHandle, CallTally, ClientId, Exchange, Sink};
use manifold_protocol::{Call, Raw};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::attribution::{Ambiguous, Attribution};
use super::continuation::{Continuation, Stage};
use super::deadlines::HARD_LIMIT;
use crate::fair_queue::FairQueue;

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
    pub(super) queue: FairQueue,
    /// Calls that could not be sent and wait for the next generation.
    pub(super) unsent: Vec<(Call, Exchange)>,
    pub(super) attribution: Attribution,
    /// Since when nothing is in flight.
    idle_since: Instant,
    /// No deadline is earlier; it may lie before the earliest, never after.
    pub(super) next_deadline: Option<Instant>,
    /// What became of the calls of clients.
    pub(super) tally: CallTally,
}

/// How long a client may take over a question: people do, but a call must not hold its place for ever.
const QUESTION_LIMIT: Duration = Duration::from_secs(600);

/// What the server says something about without naming it.
pub(super) enum Owner {
    /// The call in flight that was written last, of the one client that can be meant.
    Call { id: u64, is_certain: bool },
    /// No call is in flight; the last was this client's, if there was one.
    Nobody { last_caller: Option<ClientId> },
    /// It may be any of several clients'.
    Ambiguous,
}

/// Whom a question goes to.
pub(super) enum Addressed {
    Call(Asked),
    /// It concerns no call; the last was this client's, if there was one.
    Outside {
        last_caller: Option<ClientId>,
    },
}

/// The call that a question belongs to.
pub(super) struct Asked {
    pub(super) call: u64,
    pub(super) asker: Arc<CallHandle<dyn Sink>>,
    pub(super) client: Option<ClientId>,
    /// Whether it is this call's for certain, and not another's of the same client.
    pub(super) is_certain: bool,
}

/// Why nobody can be asked a question.
pub(super) enum Unaskable {
    /// Nobody can tell whose call it belongs to.
    Ambiguous,
    /// The call it belongs to is over.
    Over,
}

/// Whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Client,
    Ourselves,
    /// Our own, in the course of this call of a client's.
    For(u64),
    /// Ours as well, open for as long as the server lives; it keeps nobody busy.
    Listening,
    /// Ours as well, to see whether the server lives; it keeps nobody busy, either.
    Probe,
}

pub(super) struct Pending {
    pub(super) exchange: Exchange,
    pub(super) origin: Origin,
    pub(super) token: Option<Raw>,
    pub(super) timeout: Duration,
    pub(super) deadline: Instant,
    hard_deadline: Instant,
    /// While a question to its asker is open, its clock stands.
    open_questions: usize,
    paused_at: Option<Instant>,
    /// What goes on after its first answer, where something may.
    pub(super) kept: Option<Box<Continuation>>,
    /// Dropped when the call leaves the server: whoever carries it there lets go.
    pub(super) leave: Option<oneshot::Sender<()>>,
    /// Whether it was written in a session.
    pub(super) in_session: bool,
}

impl Pending {
    pub(super) fn new(exchange: Exchange, origin: Origin, timeout: Duration, hard: Duration) -> Self {
        let now = Instant::now();
        Self {
            exchange,
            origin,
            token: None,
            timeout,
            deadline: now + timeout,
            hard_deadline: now + hard.max(timeout),
            open_questions: 0,
            paused_at: None,
            kept: None,
            leave: None,
            in_session: false,
        }
    }

    /// Returns whether the server owes an answer to the call itself.
    pub(super) fn is_written(&self) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.stage == Stage::Written)
    }

    /// Returns whether it can be sent once more as it was made.
    pub(super) fn is_first_try(&self) -> bool {
        let is_as_made = |kept: &Continuation| kept.rounds == 0 && kept.stage == Stage::Written;
        self.origin == Origin::Client && self.kept.as_deref().is_some_and(is_as_made)
    }

    /// Starts the clock afresh, within the hard limit.
    pub(super) fn refresh(&mut self) {
        // A clock that stands shows when it was stopped, or `resume` would count the pause twice.
        let now = self.paused_at.unwrap_or_else(Instant::now);
        self.deadline = (now + self.timeout).min(self.hard_deadline);
    }

    /// Returns when it began, later by the time that its client was being asked.
    fn began(&self) -> Instant {
        let hard = HARD_LIMIT.max(self.timeout);
        self.hard_deadline.checked_sub(hard).unwrap_or(self.hard_deadline)
    }

    fn counts(&self) -> usize {
        usize::from(!matches!(self.origin, Origin::Listening | Origin::Probe))
    }

    /// Returns when patience is over: with the server, or with the client while it is being asked.
    fn ends_at(&self) -> Instant {
        self.paused_at.map_or(self.deadline, |asked_at| asked_at + QUESTION_LIMIT)
    }

    /// Returns whether the server may say something in the course of it. What goes to every server, such as a log
    /// level, is aimed at none; nothing is said in it.
    fn is_client_s(&self) -> bool {
        self.origin == Origin::Client && self.exchange.target().is_some()
    }

    pub(super) fn has_questions(&self) -> bool {
        self.open_questions > 0
    }
}

impl Table {
    pub(super) fn new(max_in_flight: usize, audience: Audience) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            count: 0,
            max_in_flight: max_in_flight.clamp(1, (1 << PLACE_BITS) - 1),
            closed: false,
            queue: FairQueue::default(),
            unsent: Vec::new(),
            attribution: Attribution::new(audience),
            idle_since: Instant::now(),
            next_deadline: None,
            tally: CallTally::default(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns since when nothing is in flight, `None` while something is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.in_flight == 0 && self.queue.is_empty()).then_some(self.idle_since)
    }

    /// Refuses further calls if none is in flight. Returns whether it does.
    pub(super) fn close_if_idle(&mut self) -> bool {
        // What was taken back waits for another generation, not for a wish to start one.
        self.closed |= self.idle_since().is_some() && self.unsent.is_empty();
        self.closed
    }

    pub(super) fn admit(&self) -> bool {
        !self.closed && self.in_flight < self.max_in_flight
    }

    /// Returns whether calls of this client are in flight or waiting.
    pub(super) fn has_calls_of(&self, client: Option<ClientId>) -> bool {
        let in_flight = self.places.iter().flatten().filter(|(_, one)| one.origin == Origin::Client);
        self.queue.has_calls_of(client)
            || in_flight.map(|(_, one)| one.exchange.client()).any(|one| one == client)
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
        self.in_flight += pending.counts();
        self.places[place(id)] = Some((id, pending));
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

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Pending> {
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
        self.in_flight -= pending.counts();
        if self.in_flight == 0 {
            self.idle_since = Instant::now();
        }
        if self.attribution.is_shared() && pending.is_client_s() {
            self.attribution.ended(pending.exchange.client(), self.count);
        }
        if pending.origin == Origin::Client && self.tally.end() {
            self.time(&pending);
        }
        Some(pending)
    }

    /// Notes how long a call took, without the time that its client was being asked.
    #[cold]
    fn time(&mut self, pending: &Pending) {
        let now = pending.paused_at.unwrap_or_else(Instant::now);
        self.tally.time(now.saturating_duration_since(pending.began()));
    }

    /// Returns what became of the calls of clients so far.
    pub(super) fn tally(&self) -> CallTally {
        let live = self.places.iter().flatten().filter(|(_, pending)| pending.origin == Origin::Client);
        let mut tally = self.tally.clone();
        tally.in_flight = live.count() as u64;
        tally
    }

    /// Takes out a call for which nobody waits any more; the server may go on with it.
    pub(super) fn abandon(&mut self, id: u64) -> Option<Pending> {
        let pending = self.remove(id)?;
        let rests_with_us = pending.kept.as_ref().is_some_and(|kept| matches!(kept.stage, Stage::Asking(_)));
        // Of one client too: another may come to share the server while it goes on with this.
        if pending.is_client_s() && !rests_with_us {
            self.attribution.abandoned(id, pending.exchange.client());
        }
        Some(pending)
    }

    /// Notes that another client has come to share the server.
    pub(super) fn widen(&mut self) {
        let mut live = self.places.iter().flatten().filter(|(_, pending)| pending.is_client_s());
        let first = live.find_map(|(_, pending)| pending.exchange.client());
        self.attribution.widen(first, self.count);
    }

    /// Starts the clock of a call afresh. Returns who asked and with which token.
    pub(super) fn progressed(&mut self, id: u64) -> Option<(Arc<CallHandle<dyn Sink>>, Raw)> {
        let pending = self.get_mut(id)?;
        let token = pending.token.clone()?;
        pending.refresh();
        Some((pending.exchange.asker(), token))
    }

    /// Returns whose affair it is what the server says without naming a call. With several clients it is one's only if
    /// no other has had a call in flight since the oldest that still is was written (H3).
    pub(super) fn owner(&mut self) -> Owner {
        let live = self.places.iter().flatten().filter(|(_, pending)| pending.is_client_s());
        let (mut oldest, mut latest, mut count) = (u64::MAX, 0, 0);
        let (mut client, mut is_one_s) = (None, true);
        for (id, pending) in live {
            (oldest, latest) = (oldest.min(*id), latest.max(*id));
            if self.attribution.is_shared() {
                let asker = pending.exchange.client();
                is_one_s &= asker.is_some() && (count == 0 || asker == client);
                client = asker;
            }
            count += 1;
        }
        if count == 0 {
            return match self.attribution.last_caller() {
                Ok(last_caller) => Owner::Nobody { last_caller },
                Err(Ambiguous) => Owner::Ambiguous,
            };
        }
        if self.attribution.is_shared() {
            let Some(client) = client.filter(|_| is_one_s) else { return Owner::Ambiguous };
            if !self.attribution.is_only(client, oldest >> PLACE_BITS) {
                return Owner::Ambiguous;
            }
        }
        Owner::Call { id: latest, is_certain: count == 1 }
    }

    /// Returns the call a question belongs to and its asker: `within` where that is known, else whose affair it must be.
    /// The clock of that call stands until `resume`.
    pub(super) fn asked(&mut self, within: Option<u64>) -> Result<Addressed, Unaskable> {
        let origin = within.map(|id| (id, self.get(id).map(|pending| pending.origin)));
        let (id, is_certain) = match origin {
            Some((id, Some(Origin::Client))) | Some((_, Some(Origin::For(id)))) => (id, true),
            // Said in answer to a request of ours: it concerns no call.
            Some((_, Some(Origin::Ourselves | Origin::Listening | Origin::Probe))) => {
                return Ok(Addressed::Outside { last_caller: None });
            }
            // Nobody else's affair, though somebody else may be in flight (T6).
            Some((_, None)) => return Err(Unaskable::Over),
            None => match self.owner() {
                Owner::Call { id, is_certain } => (id, is_certain),
                Owner::Nobody { last_caller } => return Ok(Addressed::Outside { last_caller }),
                Owner::Ambiguous => return Err(Unaskable::Ambiguous),
            },
        };
        let Some(pending) = self.get_mut(id) else { return Err(Unaskable::Over) };
        pending.open_questions += 1;
        pending.paused_at.get_or_insert_with(Instant::now);
        let (asked_at, asker) = (pending.paused_at, pending.exchange.asker());
        let client = pending.exchange.client();
        // The keeper of deadlines must look again when patience with the answer is over.
        let limit = asked_at.map(|at| at + QUESTION_LIMIT);
        self.next_deadline = self.next_deadline.into_iter().chain(limit).min();
        Ok(Addressed::Call(Asked { call: id, asker, client, is_certain }))
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

    /// Returns the one call whose asker wants to hear the server's log, if there is exactly one.
    pub(super) fn only_curious(&self, told_to_all: bool) -> Option<Arc<CallHandle<dyn Sink>>> {
        let live = self.places.iter().flatten().map(|(_, pending)| pending);
        let mut curious = live.filter(|one| one.origin == Origin::Client && one.exchange.wants_logs());
        match (curious.next(), curious.next()) {
            // One with a session is among those who are told anyway.
            (Some(only), None) if !(told_to_all && only.exchange.has_session()) => {
                Some(only.exchange.asker())
            }
            _ => None,
        }
    }

    /// Returns the one call of a client that wants to hear the server's log, if there is exactly one.
    pub(super) fn curious_of(&self, client: Option<ClientId>) -> Option<Arc<CallHandle<dyn Sink>>> {
        let live = self.places.iter().flatten().map(|(_, pending)| pending);
        let its = live.filter(|one| one.origin == Origin::Client && one.exchange.client() == client);
        let mut curious = its.filter(|one| one.exchange.wants_logs());
        match (curious.next(), curious.next()) {
            (Some(only), None) => Some(only.exchange.asker()),
            _ => None,
        }
    }

    /// Returns the numbers of requests that listen.
    pub(super) fn listening(&self) -> Vec<u64> {
        let live = self.places.iter().flatten();
        live.filter(|(_, pending)| pending.origin == Origin::Listening).map(|(id, _)| *id).collect()
    }

    /// Takes out what is due and finds the next deadline.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(u64, Pending)> {
        let live = self.places.iter().flatten();
        let due: Vec<u64> = live.filter(|(_, pending)| pending.ends_at() <= now).map(|(id, _)| *id).collect();
        let due: Vec<_> = due.into_iter().filter_map(|id| Some((id, self.abandon(id)?))).collect();
        let live = self.places.iter().flatten();
        self.next_deadline = live.map(|(_, pending)| pending.ends_at()).min();
        due
    }

    /// Refuses further calls and returns those in flight and those still queued.
    pub(super) fn close(&mut self) -> (Vec<Pending>, Vec<(Call, Exchange)>) {
        self.closed = true;
        self.in_flight = 0;
        self.next_deadline = None;
        let pending: Vec<Pending> = self.places.drain(..).flatten().map(|(_, pending)| pending).collect();
        let lost = pending.iter().filter(|pending| pending.origin == Origin::Client).count() as u64;
        (self.tally.ended, self.tally.failed) = (self.tally.ended + lost, self.tally.failed + lost);
        self.free.clear();
        let mut unsent = std::mem::take(&mut self.unsent);
        unsent.extend(self.queue.take_all());
        (pending, unsent)
    }
}

fn place(id: u64) -> usize {
    (id & ((1 << PLACE_BITS) - 1)) as usize
}
