//! The sessions that are open, and how many are whose.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::ClientLimits;
use manifold_engine::Principal;
use manifold_protocol::Fault;
use tokio::time::Instant;

use super::{HttpSession, IN_USE};

/// How often all sessions of an owner are looked through for some that lie unused.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many ended sessions are remembered.
const MAX_OVER: usize = 65_536;

/// Whose sessions count together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// Everybody's, where all are one principal.
    All,
    /// Those of a principal that come from one address.
    One(Principal, IpAddr),
}

impl Owner {
    pub(super) fn of(principal: &Principal, address: IpAddr, has_several_principals: bool) -> Self {
        if has_several_principals { Self::One(principal.clone(), address.to_canonical()) } else { Self::All }
    }

    /// Returns how many sessions it may have, and what sets that.
    fn limit(&self, limits: &ClientLimits) -> (usize, &'static str) {
        match self {
            Self::All => (limits.sessions, "sessions"),
            Self::One(..) => (limits.sessions_per_address, "sessionsPerAddress"),
        }
    }
}

#[derive(Default)]
pub(super) struct Open {
    pub(super) by_id: HashMap<String, Arc<HttpSession>>,
    /// Their ids, by the names that replicas have for them.
    pub(super) by_sid: HashMap<String, String>,
    /// Sessions that were ended for good.
    pub(super) over: Over,
    /// Those of them that the other replicas could not be told of.
    pub(super) unsaid: Over,
    owners: HashMap<Owner, Holding>,
}

/// The names of sessions that were ended lately: their ids would still open.
#[derive(Default)]
pub(super) struct Over {
    names: HashSet<String>,
    in_order: VecDeque<String>,
}

impl Over {
    pub(super) fn add(&mut self, sid: &str) {
        if !self.names.insert(sid.to_owned()) {
            return;
        }
        self.in_order.push_back(sid.to_owned());
        if self.in_order.len() > MAX_OVER
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }

    pub(super) fn first(&self) -> Option<String> {
        self.in_order.front().cloned()
    }

    pub(super) fn remove(&mut self, sid: &str) {
        if self.names.remove(sid) {
            self.in_order.retain(|name| name != sid);
        }
    }

    pub(super) fn has(&self, sid: &str) -> bool {
        self.names.contains(sid)
    }
}

/// What one owner has open.
#[derive(Default)]
struct Holding {
    count: usize,
    /// Those found unused when they were last looked through; the last of them goes first.
    unused: Vec<String>,
    looked: Option<Instant>,
}

impl Open {
    /// Takes a session in; returns the one that made room for it, if one had to.
    pub(super) fn add(
        &mut self,
        session: &Arc<HttpSession>,
        limits: &ClientLimits,
    ) -> Result<Option<Arc<HttpSession>>, Fault> {
        let (limit, setting) = session.owner.limit(limits);
        let mut ended = None;
        if self.owners.get(&session.owner).is_some_and(|holding| holding.count >= limit) {
            ended = self.take_unused(&session.owner);
            if ended.is_none() {
                return Err(Fault::OverLimit { what: "sessions are open".to_owned(), limit, setting });
            }
        }
        self.owners.entry(session.owner.clone()).or_default().count += 1;
        self.by_id.insert(session.id.clone(), Arc::clone(session));
        if let Some(sid) = &session.sid {
            self.by_sid.insert(sid.clone(), session.id.clone());
        }
        Ok(ended)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Arc<HttpSession>> {
        let removed = self.by_id.remove(id)?;
        if let Some(sid) = &removed.sid {
            self.by_sid.remove(sid);
        }
        if let Some(holding) = self.owners.get_mut(&removed.owner) {
            holding.count -= 1;
            if holding.count == 0 {
                self.owners.remove(&removed.owner);
            }
        }
        Some(removed)
    }

    fn take_unused(&mut self, owner: &Owner) -> Option<Arc<HttpSession>> {
        loop {
            let holding = self.owners.get_mut(owner)?;
            while let Some(id) = holding.unused.pop() {
                // It may have been used since.
                if self.by_id.get(&id).is_some_and(|session| session.is_idle_for(IN_USE)) {
                    return self.remove(&id);
                }
            }
            // Looking through all of them takes a while: whoever opens many must not make it happen for each.
            if holding.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
                return None;
            }
            holding.looked = Some(Instant::now());
            holding.unused = unused(self.by_id.values().filter(|session| session.owner == *owner));
            if holding.unused.is_empty() {
                return None;
            }
        }
    }
}

/// Returns those that lie unused. Last, and so first to go, are those of the address that has most; of these, those that
/// were opened and never used; of these, those unused for longest.
fn unused<'s>(sessions: impl Iterator<Item = &'s Arc<HttpSession>> + Clone) -> Vec<String> {
    let mut by_address: HashMap<IpAddr, usize> = HashMap::new();
    for session in sessions.clone() {
        *by_address.entry(session.address).or_default() += 1;
    }
    let mut unused: Vec<_> = sessions.filter(|session| session.is_idle_for(IN_USE)).collect();
    unused.sort_by_cached_key(|session| {
        let crowd = by_address.get(&session.address).copied().unwrap_or(0);
        (crowd, !session.was_used(), Reverse(session.used_at()))
    });
    unused.into_iter().map(|session| session.id.clone()).collect()
}
