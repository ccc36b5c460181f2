//! The clients of a namespace, and telling them what changed: once, not in a burst, and only if they looked.

mod about;
mod levels;
mod registry;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_protocol::{Call, Kind, Raw, notification};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::exchange::Exchange;
use crate::sync::Lock as _;
pub use about::ClientAbout;
pub use levels::Level;
use levels::Levels;
use registry::Registry;
pub(crate) use registry::{Left, Refusal, Topic};
pub use registry::{MAX_SUBSCRIPTION_BYTES, MAX_SUBSCRIPTIONS};

/// Changes within this time become one announcement.
pub(crate) const SETTLE: Duration = Duration::from_millis(50);

/// A connected client, as far as it can be told or asked things outside its calls. Neither may block.
pub trait Client: Send + Sync {
    fn notify(&self, method: &str, params: Option<Raw>);

    fn ask(&self, call: Call, exchange: Exchange);

    /// Ends its session, as if it had left. Says whether that can be done to it.
    fn disconnect(&self) -> bool {
        false
    }

    /// Returns what it has said of itself.
    fn about(&self) -> ClientAbout {
        ClientAbout::default()
    }
}

/// Tells clients apart, whichever namespace they use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

/// What the ids of operators have in common. So many clients never come.
const OPERATOR: u64 = 1 << 63;

impl ClientId {
    /// Returns an id that no client of this process has had: clients of different namespaces meet at a server they
    /// share, where equal ids would make one client of two (H3).
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns such an id for an operator, whose every command is a client of its own.
    pub fn fresh_operator() -> Self {
        Self(Self::fresh().0 | OPERATOR)
    }

    /// Returns whether both are the same who asks: operators are all one person, whoever may use the control socket.
    pub fn is_same_person(self, other: Self) -> bool {
        self == other || self.0 & other.0 & OPERATOR != 0
    }
}

#[derive(Default)]
pub(crate) struct Clients {
    registry: Mutex<Registry>,
    /// Counts the contents each list has had, and the times that a server said it changed.
    versions: [AtomicU64; 4],
    changed: Notify,
    levels: Mutex<Levels>,
    /// How many clients were looked at, by whatever was done: it must follow from those concerned (H4).
    #[cfg(test)]
    pub(crate) looked_at: std::sync::atomic::AtomicUsize,
}

pub(crate) struct Entry {
    pub(crate) id: ClientId,
    pub(crate) client: Arc<dyn Client>,
    pub(crate) since: Instant,
    /// The version last served or announced, plus one; zero while the client never looked.
    seen: [AtomicU64; 4],
}

impl Clients {
    pub(crate) fn attach(&self, client: Arc<dyn Client>, account: Option<ClientId>) -> ClientId {
        let id = ClientId::fresh();
        let entry = Arc::new(Entry { id, client, since: Instant::now(), seen: Default::default() });
        self.lock().insert(entry, account.unwrap_or(id));
        id
    }

    /// Forgets a client. Returns what nobody wants to hear of any more.
    pub(crate) fn detach(&self, id: ClientId) -> Left {
        self.looked(1);
        self.lock().remove(id)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        let all: Vec<_> = self.lock().all().cloned().collect();
        self.looked(all.len());
        all
    }

    /// Returns the clients, without what only listens for them.
    pub(crate) fn sessions(&self) -> Vec<Arc<Entry>> {
        let sessions: Vec<_> = self.lock().sessions().cloned().collect();
        self.looked(sessions.len());
        sessions
    }

    /// Returns a client, unless it only listens for another.
    pub(crate) fn session(&self, id: ClientId) -> Option<Arc<Entry>> {
        self.looked(1);
        self.lock().session(id).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().len() == 0
    }

    /// Returns the client where there is exactly one.
    pub(crate) fn only(&self) -> Option<Arc<Entry>> {
        let registry = self.lock();
        let only = registry.all().next().filter(|_| registry.len() == 1);
        only.cloned()
    }

    pub(crate) fn get(&self, id: ClientId) -> Option<Arc<Entry>> {
        self.looked(1);
        self.lock().get(id).cloned()
    }

    /// Notes that a client wants to hear of something, by the name it knows.
    pub(crate) fn subscribe(&self, id: ClientId, topic: Topic, what: &str) -> Result<(), Refusal> {
        self.lock().subscribe(id, topic, what)
    }

    pub(crate) fn unsubscribe(&self, id: ClientId, topic: Topic, what: &str) {
        self.lock().unsubscribe(id, topic, what);
    }

    pub(crate) fn subscribes(&self, id: ClientId, topic: Topic, what: &str) -> bool {
        self.lock().subscribes(id, topic, what)
    }

    /// Returns whether any client wants to hear of it.
    pub(crate) fn has_subscribers(&self, topic: Topic, what: &str) -> bool {
        self.lock().has_subscribers(topic, what)
    }

    /// Returns those who want to hear of it.
    pub(crate) fn subscribers(&self, topic: Topic, what: &str) -> Vec<Arc<Entry>> {
        let found: Vec<_> = self.lock().subscribers(topic, what).cloned().collect();
        self.looked(found.len());
        found
    }

    /// Notes that a client was served the present content of a list.
    pub(crate) fn served(&self, id: Option<ClientId>, kind: Kind) {
        let Some(id) = id else { return };
        self.looked(1);
        if let Some(entry) = self.lock().get(id) {
            entry.saw(kind, self.version(kind));
        }
    }

    /// Notes that a client may have been served the lists by another gateway: it hears of changes from now on.
    pub(crate) fn may_have_been_served(&self, id: ClientId) {
        self.looked(1);
        if let Some(entry) = self.lock().get(id) {
            for kind in Kind::ALL {
                entry.may_have_seen(kind, self.version(kind));
            }
        }
    }

    /// Notes that a list has new content, or that its server says so; the announcement follows.
    pub(crate) fn bump(&self, kind: Kind) {
        self.versions[kind as usize].fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Announces changes for as long as it is polled.
    pub(crate) async fn announce(&self) {
        loop {
            self.changed.notified().await;
            tokio::time::sleep(SETTLE).await;
            for entry in self.all() {
                let mut told = HashSet::new();
                for kind in Kind::ALL {
                    if entry.is_behind(kind, self.version(kind)) {
                        entry.saw(kind, self.version(kind));
                        told.insert(announcement(kind));
                    }
                }
                for method in told {
                    entry.client.notify(method, None);
                }
            }
        }
    }

    fn version(&self, kind: Kind) -> u64 {
        self.versions[kind as usize].load(Ordering::Relaxed)
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests count"))]
    fn looked(&self, _clients: usize) {
        #[cfg(test)]
        self.looked_at.fetch_add(_clients, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }
}

impl Entry {
    fn saw(&self, kind: Kind, version: u64) {
        self.seen[kind as usize].store(version + 1, Ordering::Relaxed);
    }

    fn may_have_seen(&self, kind: Kind, version: u64) {
        let seen = &self.seen[kind as usize];
        // What was served here says more.
        let _ = seen.compare_exchange(0, version + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn is_behind(&self, kind: Kind, version: u64) -> bool {
        let seen = self.seen[kind as usize].load(Ordering::Relaxed);
        seen != 0 && seen <= version
    }
}

fn announcement(kind: Kind) -> &'static str {
    match kind {
        Kind::Tools => notification::TOOLS_CHANGED,
        Kind::Resources | Kind::Templates => notification::RESOURCES_CHANGED,
        Kind::Prompts => notification::PROMPTS_CHANGED,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}

#[cfg(test)]
mod tests;
