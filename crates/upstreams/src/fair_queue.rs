//! Calls that wait, for a busy server or for one that starts: each client's in order, and the clients one after the
//! other, so that one with a thousand calls does not keep out one with a single call (F38). It is bounded for each
//! client and in all; when it is full, whoever has most in it is refused and not whoever comes last (M9).

use std::collections::{BTreeSet, HashMap, VecDeque};

use manifold_engine::{ClientId, Exchange};
use manifold_protocol::{Call, Fault};

/// Calls of one client that may wait for one server.
const MAX_PER_CLIENT: usize = 4096;
/// Calls of all clients that may wait for one server.
const MAX_WAITING: usize = 32_768;

/// Calls without a client count as those of one client.
type Owner = Option<ClientId>;

pub(crate) struct FairQueue {
    waiting: HashMap<Owner, VecDeque<(Call, Exchange)>>,
    /// Whose turn it is; each client with calls waiting stands here once.
    order: VecDeque<Owner>,
    /// The same clients by how many calls each has waiting.
    sizes: BTreeSet<(usize, Owner)>,
    count: usize,
    /// Calls that came since those taken back were last looked for.
    unsifted: usize,
    max_per_client: usize,
    max_waiting: usize,
}

/// A call there is no room for: the new one, or one that had to make room for it.
#[must_use = "its caller is to be told"]
pub(crate) struct Refused {
    exchange: Exchange,
    reason: String,
}

impl Refused {
    /// Tells its caller, which may lock whatever it likes.
    pub(crate) fn tell(self, server: &str) {
        self.exchange.fail(Fault::Busy { server: server.to_owned(), reason: self.reason });
    }
}

impl Default for FairQueue {
    fn default() -> Self {
        Self::bounded(MAX_PER_CLIENT, MAX_WAITING)
    }
}

impl FairQueue {
    fn bounded(max_per_client: usize, max_waiting: usize) -> Self {
        Self {
            waiting: HashMap::new(),
            order: VecDeque::new(),
            sizes: BTreeSet::new(),
            count: 0,
            unsifted: 0,
            max_per_client,
            max_waiting,
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn has_calls_of(&self, client: Option<ClientId>) -> bool {
        self.waiting.contains_key(&client)
    }

    /// Takes in a call. Returns the one that is refused for it, where there is no room for all.
    pub(crate) fn push(&mut self, call: Call, exchange: Exchange) -> Option<Refused> {
        let owner = exchange.client();
        self.unsifted += 1;
        // Looking through all of them must not cost more than they did to come.
        let is_full = self.held_by(owner) >= self.max_per_client || self.count >= self.max_waiting;
        if is_full && self.unsifted * 8 >= self.count {
            self.sift();
        }
        let held = self.held_by(owner);
        if held >= self.max_per_client {
            let reason = format!("{held} calls of this client are waiting for it; try again in a moment");
            return Some(Refused { exchange, reason });
        }
        let refused = if self.count < self.max_waiting {
            None
        } else {
            let reason = format!(
                "{} calls are waiting for it, and no client has more of them than this one; try again in a moment",
                self.count
            );
            match self.evict(held) {
                Some(exchange) => Some(Refused { exchange, reason }),
                None => return Some(Refused { exchange, reason }),
            }
        };
        self.edit(owner, |calls| calls.push_back((call, exchange)));
        refused
    }

    /// Takes calls back in that had been taken out before those that wait now. They have been admitted once.
    pub(crate) fn put_back(&mut self, calls: impl IntoIterator<Item = (Call, Exchange)>) {
        let calls: Vec<_> = calls.into_iter().collect();
        for (call, exchange) in calls.into_iter().rev() {
            self.edit(exchange.client(), |calls| calls.push_front((call, exchange)));
        }
    }

    /// Takes the next call; its client goes to the end of the line.
    pub(crate) fn pop(&mut self) -> Option<(Call, Exchange)> {
        let owner = self.order.pop_front()?;
        let next = self.edit(owner, VecDeque::pop_front)?;
        if self.waiting.contains_key(&owner) {
            self.order.push_back(owner);
        }
        Some(next)
    }

    pub(crate) fn take_all(&mut self) -> Vec<(Call, Exchange)> {
        std::iter::from_fn(|| self.pop()).collect()
    }

    fn held_by(&self, owner: Owner) -> usize {
        self.waiting.get(&owner).map_or(0, VecDeque::len)
    }

    /// Drops the calls that were taken back while they waited.
    fn sift(&mut self) {
        self.unsifted = 0;
        self.waiting.retain(|_, calls| {
            calls.retain(|(_, exchange)| !exchange.is_cancelled());
            !calls.is_empty()
        });
        self.order.retain(|owner| self.waiting.contains_key(owner));
        self.sizes = self.waiting.iter().map(|(owner, calls)| (calls.len(), *owner)).collect();
        self.count = self.waiting.values().map(VecDeque::len).sum();
    }

    /// Takes out the newest call of the client with most, if it has more than one with `held` and one more would.
    fn evict(&mut self, held: usize) -> Option<Exchange> {
        let (most, owner) = *self.sizes.last()?;
        if most <= held + 1 {
            return None;
        }
        self.edit(owner, VecDeque::pop_back).map(|(_, exchange)| exchange)
    }

    /// Changes what waits of one client, and everything that is known of it.
    fn edit<T>(&mut self, owner: Owner, change: impl FnOnce(&mut VecDeque<(Call, Exchange)>) -> T) -> T {
        let calls = self.waiting.entry(owner).or_default();
        let before = calls.len();
        let changed = change(calls);
        let now = calls.len();
        if now == 0 {
            self.waiting.remove(&owner);
        }
        self.count = self.count + now - before;
        self.sizes.remove(&(before, owner));
        if now > 0 {
            self.sizes.insert((now, owner));
        }
        if before == 0 && now > 0 {
            self.order.push_back(owner);
        }
        changed
    }
}

#[cfg(test)]
mod tests;
