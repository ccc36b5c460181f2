//! The table as it is left to the program that takes our place, and as it is taken up there.

use std::time::Duration;

use manifold_engine::Exchange;
use manifold_protocol::Call;
use tokio::time::Instant;

use super::{Origin, Owner, PLACE_BITS, Pending, Table, place};
use crate::handover::{Json, SavedCall};

/// What is taken out of a table for good.
pub(in crate::connection) struct TakenOut {
    /// How many calls have been numbered.
    pub(in crate::connection) count: u64,
    pub(in crate::connection) calls: Vec<(u64, Pending)>,
    pub(in crate::connection) queued: Vec<(Call, Exchange)>,
    pub(in crate::connection) is_shared: bool,
    /// Whether all that is in flight is one client's, and nobody else can be meant.
    pub(in crate::connection) is_one_clients: bool,
    /// Calls that nobody waits for and the server may still be working on.
    pub(in crate::connection) abandoned: Vec<u64>,
}

impl Table {
    /// Refuses further calls and gives away all that there are.
    pub(in crate::connection) fn take_out(&mut self) -> TakenOut {
        let is_one_clients = matches!(self.owner(), Owner::Call { .. });
        let abandoned = self.attribution.abandoned_calls();
        let calls = self.places.drain(..).flatten().collect();
        let (_, queued) = self.close();
        let is_shared = self.attribution.is_shared();
        TakenOut { count: self.count, calls, queued, is_shared, is_one_clients, abandoned }
    }

    /// Numbers calls from here on: those before were another program's.
    pub(in crate::connection) fn count_from(&mut self, count: u64) {
        self.count = count;
    }

    /// Takes up a call under the number it has. Returns whether its deadline is the earliest.
    pub(in crate::connection) fn take_up(&mut self, id: u64, pending: Pending) -> bool {
        while self.places.len() <= place(id) {
            self.free.push(self.places.len());
            self.places.push(None);
        }
        // `insert` takes the last free place for its own.
        self.free.retain(|free| *free != place(id));
        self.free.push(place(id));
        self.count = self.count.max(id >> PLACE_BITS);
        self.insert(id, pending)
    }
}

impl Pending {
    /// Returns what is written down of a call and who waits for it.
    pub(in crate::connection) fn save(self, id: u64) -> (SavedCall, Exchange) {
        // A clock that stands shows when it was stopped.
        let now = self.paused_at.unwrap_or_else(Instant::now);
        let left = |until: Instant| millis(until.saturating_duration_since(now));
        let saved = SavedCall {
            id,
            address: self.exchange.address().filter(|_| self.origin == Origin::Client).map(Into::into),
            is_clients: self.origin == Origin::Client,
            tool: self.exchange.target().and_then(|target| target.tool.clone()),
            timeout_ms: millis(self.timeout),
            left_ms: left(self.deadline),
            hard_left_ms: left(self.hard_deadline),
            token: self.token.map(Json),
            is_in_session: self.in_session,
            continuation: self.kept.map(|kept| (*kept).into()),
        };
        (saved, self.exchange)
    }

    /// Goes on with a call that another program wrote.
    pub(in crate::connection) fn resumed(exchange: Exchange, origin: Origin, saved: SavedCall) -> Self {
        let now = Instant::now();
        let mut pending =
            Self::new(exchange, origin, Duration::from_millis(saved.timeout_ms), Duration::ZERO);
        pending.deadline = now + Duration::from_millis(saved.left_ms);
        pending.hard_deadline = now + Duration::from_millis(saved.hard_left_ms.max(saved.left_ms));
        pending.token = saved.token.map(|token| token.0);
        pending.in_session = saved.is_in_session;
        pending
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
