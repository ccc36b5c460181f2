//! Who is there and wants to hear of what, found from either side: coming, going and telling cost what they touch,
//! however many others are there (H4).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use manifold_protocol::Fault;

use super::{ClientId, Entry, Level};

/// Resources and tasks that one client may be subscribed to.
pub const MAX_SUBSCRIPTIONS: usize = 10_000;
/// How long all their URIs and ids may be together.
pub const MAX_SUBSCRIPTION_BYTES: usize = 1 << 20;

/// What a client can be subscribed to, by the URI or id that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Resource,
    Task,
}

/// Why a subscription was not noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The client has left.
    Gone,
    /// It has as many as one client may.
    Full,
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Gone => Self::InvalidRequest("the client has left".to_owned()),
            Refusal::Full => Self::InvalidRequest(format!(
                "this client has as many subscriptions as one may ({MAX_SUBSCRIPTIONS}, and \
                 {MAX_SUBSCRIPTION_BYTES} bytes of their URIs); unsubscribe from some first"
            )),
        }
    }
}

/// What nobody wants to hear of since a client left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) uris: Vec<Arc<str>>,
    pub(crate) tasks: Vec<Arc<str>>,
}

type ByTopic<T> = [T; 2];

#[derive(Default)]
pub(super) struct Registry {
    clients: BTreeMap<ClientId, Record>,
    /// Who is subscribed to each; nothing is kept that nobody is subscribed to.
    subscribers: ByTopic<HashMap<Arc<str>, BTreeSet<ClientId>>>,
    /// What is subscribed to on each one's account.
    accounts: HashMap<ClientId, Account>,
    /// The clients by the log level they asked for.
    levels: BTreeMap<Option<Level>, BTreeSet<ClientId>>,
}

struct Record {
    entry: Arc<Entry>,
    /// The client that its subscriptions count for: itself, or the one that listens through it.
    account: ClientId,
    subscriptions: ByTopic<HashSet<Arc<str>>>,
    level: Option<Level>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Account {
    count: usize,
    bytes: usize,
}

impl Account {
    fn takes(self, what: &str) -> bool {
        self.count < MAX_SUBSCRIPTIONS && self.bytes + what.len() <= MAX_SUBSCRIPTION_BYTES
    }
}

impl Registry {
    pub(super) fn insert(&mut self, entry: Arc<Entry>, account: ClientId) {
        self.levels.entry(None).or_default().insert(entry.id);
        let record = Record { account, subscriptions: Default::default(), level: None, entry };
        self.clients.insert(record.entry.id, record);
    }

    /// Forgets a client. Returns what nobody wants to hear of any more.
    pub(super) fn remove(&mut self, id: ClientId) -> Left {
        let Some(gone) = self.clients.remove(&id) else { return Left::default() };
        self.forget_level(id, gone.level);
        let [uris, tasks] = gone.subscriptions;
        let mut leave = |topic: Topic, all: HashSet<Arc<str>>| {
            all.into_iter().filter(|what| self.drop_subscriber(id, gone.account, topic, what)).collect()
        };
        Left { uris: leave(Topic::Resource, uris), tasks: leave(Topic::Task, tasks) }
    }

    pub(super) fn len(&self) -> usize {
        self.clients.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.clients.values().map(|record| &record.entry)
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = &Arc<Entry>> {
        let own = self.clients.values().filter(|record| record.account == record.entry.id);
        own.map(|record| &record.entry)
    }

    pub(super) fn session(&self, id: ClientId) -> Option<&Arc<Entry>> {
        self.clients.get(&id).filter(|record| record.account == id).map(|record| &record.entry)
    }

    pub(super) fn get(&self, id: ClientId) -> Option<&Arc<Entry>> {
        self.clients.get(&id).map(|record| &record.entry)
    }

    pub(super) fn subscribe(&mut self, id: ClientId, topic: Topic, what: &str) -> Result<(), Refusal> {
        let record = self.clients.get_mut(&id).ok_or(Refusal::Gone)?;
        let subscriptions = &mut record.subscriptions[topic as usize];
        if subscriptions.contains(what) {
            return Ok(());
        }
        let account = self.accounts.entry(record.account).or_default();
        if !account.takes(what) {
            return Err(Refusal::Full);
        }
        *account = Account { count: account.count + 1, bytes: account.bytes + what.len() };
        let subscribers = &mut self.subscribers[topic as usize];
        let what = match subscribers.get_key_value(what) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(what),
        };
        subscriptions.insert(Arc::clone(&what));
        subscribers.entry(what).or_default().insert(id);
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, id: ClientId, topic: Topic, what: &str) {
        let Some(record) = self.clients.get_mut(&id) else { return };
        if record.subscriptions[topic as usize].remove(what) {
            let account = record.account;
            self.drop_subscriber(id, account, topic, what);
        }
    }

    pub(super) fn subscribes(&self, id: ClientId, topic: Topic, what: &str) -> bool {
        self.clients.get(&id).is_some_and(|record| record.subscriptions[topic as usize].contains(what))
    }

    pub(super) fn has_subscribers(&self, topic: Topic, what: &str) -> bool {
        self.subscribers[topic as usize].contains_key(what)
    }

    pub(super) fn subscribers(&self, topic: Topic, what: &str) -> impl Iterator<Item = &Arc<Entry>> {
        let ids = self.subscribers[topic as usize].get(what).into_iter().flatten();
        ids.filter_map(|id| self.get(*id))
    }

    pub(super) fn set_level(&mut self, id: ClientId, level: Level) {
        let Some(record) = self.clients.get_mut(&id) else { return };
        let before = record.level.replace(level);
        self.forget_level(id, before);
        self.levels.entry(Some(level)).or_default().insert(id);
    }

    /// Returns the log level that a client asked for.
    pub(super) fn level(&self, id: ClientId) -> Option<Level> {
        self.clients.get(&id)?.level
    }

    /// Returns the lowest log level that a client asked for.
    pub(super) fn lowest_level(&self) -> Option<Level> {
        self.levels.keys().flatten().next().copied()
    }

    /// Returns the clients whose level, `None` where they never asked for one, is among the `wanted`.
    pub(super) fn of_level(&self, wanted: impl Fn(Option<Level>) -> bool) -> Vec<Arc<Entry>> {
        let levels = self.levels.iter().filter(|(level, _)| wanted(**level));
        levels.flat_map(|(_, ids)| ids).filter_map(|id| self.get(*id)).cloned().collect()
    }

    /// Returns whether that was the last one who wanted to hear of it.
    fn drop_subscriber(&mut self, id: ClientId, account: ClientId, topic: Topic, what: &str) -> bool {
        if let Some(held) = self.accounts.get_mut(&account) {
            *held = Account { count: held.count - 1, bytes: held.bytes - what.len() };
            if held.count == 0 {
                self.accounts.remove(&account);
            }
        }
        let subscribers = &mut self.subscribers[topic as usize];
        let Some(ids) = subscribers.get_mut(what) else { return false };
        ids.remove(&id);
        let is_last = ids.is_empty();
        if is_last {
            subscribers.remove(what);
        }
        is_last
    }

    fn forget_level(&mut self, id: ClientId, level: Option<Level>) {
        if let Some(ids) = self.levels.get_mut(&level) {
            ids.remove(&id);
            if ids.is_empty() {
                self.levels.remove(&level);
            }
        }
    }
}
