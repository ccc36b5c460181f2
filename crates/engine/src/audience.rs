//! Who uses a server instance. What it is told, whom it may ask and who waits for whom follows from that, and not from
//! the front end by which they came.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use manifold_protocol::{Raw, Revision};

use crate::changes::ClientId;
use crate::gateway::Gateway;
use crate::outbox::Outbox;
use crate::sync::Lock as _;
use crate::upstream::ClientFacts;

/// Capabilities are joined so far down; what stands deeper is the first one's.
const MAX_DEPTH: usize = 4;
/// And so many members of one object; what is more is the first one's.
const MAX_MEMBERS: usize = 64;

/// Whose calls pass through a gateway, or come to a server instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Those of one client: whatever a server says is for it.
    One,
    /// Those of any client: what a server says is told to one only if it can be no other's.
    Shared,
}

/// A gateway as the servers behind it see it.
pub(crate) struct Downstream {
    gateway: Weak<Gateway>,
    audience: Audience,
    /// Tells users apart, where each has instances of its own.
    id: ClientId,
    /// What its servers are told of who is asking, once that is known.
    facts: ArcSwapOption<ClientFacts>,
    /// Where all that is for its one client goes.
    outbox: OnceLock<Arc<Outbox>>,
}

/// The gateways that use one instance of a server.
pub(crate) struct Users {
    all: Mutex<All>,
    /// The one whose only client is the instance's only client.
    only: ArcSwapOption<Downstream>,
    /// What the instance is told at its next start.
    facts: ArcSwap<ClientFacts>,
}

#[derive(Default)]
struct All {
    now: Vec<Arc<Downstream>>,
    /// Whether there was ever one.
    had_any: bool,
    /// When the last one left.
    left: Option<Left>,
}

/// A moment at which the last user of an instance left it. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Left(u64);

impl Downstream {
    pub(crate) fn new(gateway: Weak<Gateway>, audience: Audience) -> Arc<Self> {
        let (facts, outbox) = (ArcSwapOption::empty(), OnceLock::new());
        Arc::new(Self { gateway, audience, id: ClientId::fresh(), facts, outbox })
    }

    /// Tells what servers started from now on hear about who is asking; the instances it uses must hear of it.
    pub(crate) fn set_facts(&self, facts: ClientFacts) {
        self.facts.store(Some(Arc::new(facts)));
    }

    /// Tells where everything for its one client goes.
    pub(crate) fn set_outbox(&self, outbox: &Arc<Outbox>) {
        let _ = self.outbox.set(Arc::clone(outbox));
    }

    pub(crate) fn gateway(&self) -> Option<Arc<Gateway>> {
        self.gateway.upgrade()
    }

    pub(crate) fn id(&self) -> ClientId {
        self.id
    }

    /// Returns whether its client has roots to tell of.
    pub(crate) fn has_roots(&self) -> bool {
        self.facts.load().as_ref().is_some_and(|facts| facts.capabilities.get("roots").is_some())
    }
}

impl Default for Users {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            only: ArcSwapOption::empty(),
            facts: ArcSwap::from_pointee(of_nobody()),
        }
    }
}

impl Users {
    /// Adds a gateway. Returns whether it was not among them.
    pub(crate) fn join(&self, user: &Arc<Downstream>) -> bool {
        let mut all = self.lock();
        if all.has(user) {
            return false;
        }
        all.now.push(Arc::clone(user));
        (all.had_any, all.left) = (true, None);
        self.changed(&all.now);
        true
    }

    /// Takes a gateway out. Returns whether it was among them.
    pub(crate) fn leave(&self, user: &Downstream) -> bool {
        static MOMENTS: AtomicU64 = AtomicU64::new(0);
        let mut all = self.lock();
        if !all.has(user) {
            return false;
        }
        all.now.retain(|one| !std::ptr::eq(Arc::as_ptr(one), user));
        if all.now.is_empty() {
            all.left = Some(Left(MOMENTS.fetch_add(1, Ordering::Relaxed)));
        }
        self.changed(&all.now);
        true
    }

    pub(crate) fn has(&self, user: &Downstream) -> bool {
        self.lock().has(user)
    }

    /// Returns whether there are any but this one.
    pub(crate) fn has_others(&self, user: &Downstream) -> bool {
        self.lock().now.iter().any(|one| !std::ptr::eq(Arc::as_ptr(one), user))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().now.is_empty()
    }

    /// Returns whether anybody uses it or did.
    pub(crate) fn had_any(&self) -> bool {
        self.lock().had_any
    }

    /// Returns when the last one left, if one has and nobody came since.
    pub(crate) fn left(&self) -> Option<Left> {
        self.lock().left
    }

    /// Takes over what a user has become known for. Returns whether anything is known of any.
    pub(crate) fn introduced(&self) -> bool {
        let all = self.lock();
        self.changed(&all.now);
        all.now.iter().any(|one| one.facts.load().is_some())
    }

    pub(crate) fn audience(&self) -> Audience {
        if self.only.load().is_some() { Audience::One } else { Audience::Shared }
    }

    /// Returns where all that the instance says goes, if that is one place.
    pub(crate) fn only_outbox(&self) -> Option<Arc<Outbox>> {
        self.only.load().as_ref()?.outbox.get().cloned()
    }

    pub(crate) fn facts(&self) -> Arc<ClientFacts> {
        self.facts.load_full()
    }

    pub(crate) fn gateways(&self) -> Vec<Arc<Gateway>> {
        self.lock().now.iter().filter_map(|user| user.gateway()).collect()
    }

    pub(crate) fn gateways_but(&self, user: &Arc<Downstream>) -> Vec<Arc<Gateway>> {
        let all = self.lock();
        let others = all.now.iter().filter(|one| !Arc::ptr_eq(one, user));
        others.filter_map(|one| one.gateway()).collect()
    }

    /// Forgets all: the server is no longer theirs.
    pub(crate) fn clear(&self) {
        let mut all = self.lock();
        all.now.clear();
        self.changed(&all.now);
    }

    fn changed(&self, all: &[Arc<Downstream>]) {
        let only = match all {
            [only] if only.audience == Audience::One => Some(Arc::clone(only)),
            _ => None,
        };
        self.only.store(only);
        let known = all.iter().filter_map(|user| user.facts.load_full());
        let joined = known.reduce(|one, other| Arc::new(union(&one, &other)));
        self.facts.store(joined.unwrap_or_else(|| Arc::new(of_nobody())));
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.locked()
    }
}

impl All {
    fn has(&self, user: &Downstream) -> bool {
        self.now.iter().any(|one| std::ptr::eq(Arc::as_ptr(one), user))
    }
}

/// What a server is told before anybody is known.
fn of_nobody() -> ClientFacts {
    ClientFacts { capabilities: Raw::from_static("{}"), info: ours(), revision: Revision::LATEST }
}

fn ours() -> Raw {
    Raw::from_static(r#"{"name":"manifold","version":"0"}"#)
}

/// Returns what is told of two at once: whatever either can do, and no name that is not both's.
fn union(one: &ClientFacts, other: &ClientFacts) -> ClientFacts {
    ClientFacts {
        capabilities: union_of(&one.capabilities, &other.capabilities, MAX_DEPTH),
        info: if one.info == other.info { one.info.clone() } else { ours() },
        revision: if one.revision == other.revision { one.revision } else { Revision::LATEST },
    }
}

fn union_of(one: &Raw, other: &Raw, depth: usize) -> Raw {
    // Saved lists are found by these very bytes.
    if one == other || depth == 0 {
        return one.clone();
    }
    let (Some(mut all), Some(more)) = (one.object(), other.object()) else {
        let says_no = matches!(one.as_str(), "false" | "null");
        return if says_no { other.clone() } else { one.clone() };
    };
    if all.len() > MAX_MEMBERS {
        return one.clone();
    }
    for (key, value) in more.iter().take(MAX_MEMBERS) {
        match all.get(&key) {
            Some(known) => all.set(&key, union_of(&known, &value, depth - 1)),
            None if all.len() < MAX_MEMBERS => all.set(&key, value.clone()),
            None => {}
        }
    }
    all.into_raw()
}

#[cfg(test)]
mod tests;
