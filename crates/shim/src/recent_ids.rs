//! The ids that a LiteMCP client has used, by whichever daemon it was served: an id is used once (S4-10).

use std::collections::VecDeque;
use std::hash::BuildHasher as _;

use foldhash::HashSet;
use foldhash::fast::FixedState;
use manifold_protocol::Id;

/// How many are remembered, as many as by a daemon (decision 27).
const REMEMBERED: usize = 65_536;

/// The last ids, by their hashes: a shim has little memory.
#[derive(Debug, Default)]
pub(crate) struct RecentIds {
    hashes: HashSet<u64>,
    /// Oldest first.
    order: VecDeque<u64>,
}

impl RecentIds {
    /// Notes an id. Returns false if it is known.
    pub(crate) fn note(&mut self, id: &Id) -> bool {
        let hash = FixedState::default().hash_one(id);
        if !self.hashes.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
        true
    }
}
