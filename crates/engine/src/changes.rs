//! The clients of a namespace, and telling them what changed: once, not in a burst, and only if they looked.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manifold_protocol::{Call, Kind, Raw, notification};
use tokio::sync::Notify;

use crate::exchange::Exchange;

/// Changes within this time become one announcement.
pub(crate) const SETTLE: Duration = Duration::from_millis(50);

/// A connected client, as far as it can be told or asked things outside its calls. Neither may block.
pub trait Client: Send + Sync {
    fn notify(&self, method: &str, params: Option<Raw>);

    fn ask(&self, call: Call, exchange: Exchange);
}

/// Tells clients apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

#[derive(Default)]
pub(crate) struct Clients {
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Counts the contents each list has had, and the times that a server said it changed.
    versions: [AtomicU64; 4],
    changed: Notify,
    next_id: AtomicU64,
    levels: Mutex<Levels>,
}

pub(crate) struct Entry {
    pub(crate) id: ClientId,
    pub(crate) client: Arc<dyn Client>,
    /// The version last served or announced, plus one; zero while the client never looked.
    seen: [AtomicU64; 4],
    held: Mutex<Held>,
    /// The log level it asked for, if it did.
    level: Mutex<Option<Level>>,
}

/// What a client wants to hear of, as it spells it.
#[derive(Default)]
struct Held {
    uris: HashSet<String>,
    tasks: HashSet<String>,
    /// The client left: it takes up nothing any more.
    is_gone: bool,
}

/// What nobody wants to hear of since a client left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) uris: Vec<String>,
    pub(crate) tasks: Vec<String>,
}

/// The log levels that servers were asked for.
#[derive(Default)]
struct Levels {
    /// The lowest that sessions asked for when one last did.
    sessions: Option<Level>,
    /// The lowest that a single call asked for.
    calls: Option<Level>,
}

/// How grave a log message is; the place in the list is the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(usize);

impl Level {
    pub(crate) const NAMES: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

    /// What clients hear that never said how much they want to.
    const DEFAULT: Self = Self(1);

    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }

    /// Returns the level of a log message; one that has none is for everybody.
    pub fn of_message(params: Option<&Raw>) -> Option<Self> {
        Self::parse(&params?.get("level")?.to_text()?)
    }
}

impl Clients {
    pub(crate) fn next_id(&self) -> ClientId {
        ClientId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn attach(&self, client: Arc<dyn Client>) -> ClientId {
        let id = self.next_id();
        let entry =
            Entry { id, client, seen: Default::default(), held: Mutex::default(), level: Mutex::default() };
        self.lock().push(Arc::new(entry));
        id
    }

    /// Forgets a client. Returns what nobody wants to hear of any more.
    pub(crate) fn detach(&self, id: ClientId) -> Left {
        let mut entries = self.lock();
        let Some(at) = entries.iter().position(|entry| entry.id == id) else { return Left::default() };
        let gone = entries.remove(at);
        let held = std::mem::replace(&mut *lock(&gone.held), Held { is_gone: true, ..Held::default() });
        let is_wanted =
            |wants: fn(&Entry, &str) -> bool, what: &str| entries.iter().any(|entry| wants(entry, what));
        Left {
            uris: held.uris.into_iter().filter(|uri| !is_wanted(Entry::subscribes, uri)).collect(),
            tasks: held.tasks.into_iter().filter(|task| !is_wanted(Entry::follows, task)).collect(),
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().clone()
    }

    /// Returns the client where there is exactly one.
    pub(crate) fn only(&self) -> Option<Arc<Entry>> {
        match self.lock().as_slice() {
            [only] => Some(Arc::clone(only)),
            _ => None,
        }
    }

    pub(crate) fn get(&self, id: ClientId) -> Option<Arc<Entry>> {
        self.lock().iter().find(|entry| entry.id == id).cloned()
    }

    /// Notes what a client wants to hear. Returns the lowest level that any client asked for.
    pub(crate) fn set_level(&self, id: Option<ClientId>, level: Level) -> Level {
        if let Some(entry) = id.and_then(|id| self.get(id)) {
            *lock(&entry.level) = Some(level);
        }
        let asked = self.all().into_iter().filter_map(|entry| *lock(&entry.level));
        let lowest = asked.fold(level, Level::min);
        let mut levels = lock(&self.levels);
        levels.sessions = Some(lowest);
        levels.calls.map_or(lowest, |calls| calls.min(lowest))
    }

    /// Notes what a caller wants to hear of one call. Returns whether that is more than anybody wanted before.
    pub(crate) fn lower_level(&self, level: Level) -> bool {
        let mut levels = lock(&self.levels);
        let is_lower = levels.calls.is_none_or(|lowest| level < lowest);
        if is_lower {
            levels.calls = Some(level);
        }
        drop(levels);
        is_lower && !self.all().iter().any(|entry| lock(&entry.level).is_some_and(|asked| asked <= level))
    }

    /// Returns those a log message of this level is for. Who never asked for a level hears what it would had no single
    /// call made the servers say more.
    pub(crate) fn wanting(&self, level: Level) -> Vec<Arc<Entry>> {
        let usual = {
            let levels = lock(&self.levels);
            levels.calls.map(|_| levels.sessions.unwrap_or(Level::DEFAULT))
        };
        let wants = |entry: &Arc<Entry>| lock(&entry.level).or(usual).is_none_or(|wanted| level >= wanted);
        self.all().into_iter().filter(wants).collect()
    }

    /// Notes that a client was served the present content of a list.
    pub(crate) fn served(&self, id: Option<ClientId>, kind: Kind) {
        if let Some(entry) = id.and_then(|id| self.get(id)) {
            entry.saw(kind, self.version(kind));
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

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        lock(&self.entries)
    }
}

impl Entry {
    /// Returns false where the client left meanwhile.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        let mut held = lock(&self.held);
        if !held.is_gone {
            held.uris.insert(uri.to_owned());
        }
        !held.is_gone
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        lock(&self.held).uris.remove(uri);
    }

    pub(crate) fn subscribes(&self, uri: &str) -> bool {
        lock(&self.held).uris.contains(uri)
    }

    /// Returns false where the client left meanwhile.
    pub(crate) fn follow(&self, task: &str) -> bool {
        let mut held = lock(&self.held);
        if !held.is_gone {
            held.tasks.insert(task.to_owned());
        }
        !held.is_gone
    }

    pub(crate) fn unfollow(&self, task: &str) {
        lock(&self.held).tasks.remove(task);
    }

    pub(crate) fn follows(&self, task: &str) -> bool {
        lock(&self.held).tasks.contains(task)
    }

    fn saw(&self, kind: Kind, version: u64) {
        self.seen[kind as usize].store(version + 1, Ordering::Relaxed);
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
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
