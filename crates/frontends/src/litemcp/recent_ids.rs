use std::collections::{HashSet, VecDeque};

use manifold_protocol::Id;

/// How many ids are remembered (decision 27).
pub(super) const REMEMBERED: usize = 65_536;

/// The last ids a client has used: a message with one of them again is not served (S4-10).
#[derive(Default)]
pub(super) struct RecentIds {
    ids: HashSet<Id>,
    /// Oldest first.
    order: VecDeque<Id>,
}

impl RecentIds {
    /// Notes an id. Returns false if it is known.
    pub(super) fn note(&mut self, id: &Id) -> bool {
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id.clone());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}
