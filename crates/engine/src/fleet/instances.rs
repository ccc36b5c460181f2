//! The instances of one server: each is made on first use, and ends when the last client of its key has left and its last
//! call is over.

mod host;
mod per_client;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use manifold_protocol::{Call, Method};

use crate::changes::ClientId;
use crate::sync::Lock as _;
use crate::upstream::{Phase, Standing, Upstream};
pub(super) use per_client::PerClient;

/// How many instances of one server there may be at a time.
const MAX_INSTANCES: usize = 256;

/// Which instance of a server: what it would be started with, and for whom. Those for whom it would be started alike
/// share it, unless it is one client's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceKey {
    started_with: u64,
    client: Option<ClientId>,
}

impl InstanceKey {
    /// The one that is started with what the config says, for everybody.
    pub const DEFINED: Self = Self { started_with: 0, client: None };

    /// Returns the key of an instance that is started with what this is the hash of: command, arguments, variables,
    /// folder.
    pub fn started_with(hash: u64) -> Self {
        Self { started_with: hash, client: None }
    }

    /// Returns the key of an instance that is started alike, for one client alone.
    pub fn own(self, client: ClientId) -> Self {
        Self { client: Some(client), ..self }
    }

    /// Returns the key of an instance that is started alike, for another account of its server.
    pub(super) fn for_account(self, account: &str) -> Self {
        // The same in every process, and never that of none.
        let mut hash = self.started_with ^ 0xcbf2_9ce4_8422_2325;
        for byte in account.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self { started_with: hash.max(1), ..self }
    }

    /// Returns what it is known by in another process: by what it is started with, and by the session where it is one
    /// client's own.
    pub(super) fn known_as(self, session: Option<&str>) -> Option<String> {
        match self.client {
            None => Some(format!("{:016x}", self.started_with)),
            Some(_) => session.map(|session| format!("{:016x}-{session}", self.started_with)),
        }
    }

    /// Returns whose own the instance is.
    pub fn client(self) -> Option<ClientId> {
        self.client
    }
}

/// The instances there are.
#[derive(Default)]
pub(super) struct Instances {
    by_key: BTreeMap<InstanceKey, Instance>,
}

pub(super) struct Instance {
    upstream: Arc<dyn Upstream>,
    /// What its clients want to hear of.
    standing: Arc<Mutex<Standing>>,
    /// Those that have not left.
    clients: BTreeSet<ClientId>,
    in_flight: usize,
}

/// There are as many instances as there may be, and all are in use.
pub(super) struct Full;

impl Instance {
    pub(super) fn new(upstream: Arc<dyn Upstream>, standing: Arc<Mutex<Standing>>) -> Self {
        Self { upstream, standing, clients: BTreeSet::new(), in_flight: 0 }
    }

    /// Notes what a call makes the instance tell of.
    fn note(&self, call: &Call) {
        let mut standing = lock(&self.standing);
        match call.method {
            Method::ResourcesSubscribe => standing.subscriptions.extend(call.text_param("uri")),
            Method::ResourcesUnsubscribe => {
                if let Some(uri) = call.text_param("uri") {
                    standing.subscriptions.remove(&uri);
                }
            }
            Method::Listen => standing.tasks.extend(call.text_param("taskId")),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.in_flight == 0 && self.clients.is_empty()
    }
}

impl Instances {
    pub(super) fn contains(&self, key: InstanceKey) -> bool {
        self.by_key.contains_key(&key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Makes room for one more. Returns the instance that had to go for it: an idle one, whose process has ended already.
    pub(super) fn make_room(&mut self) -> Result<Option<Arc<dyn Upstream>>, Full> {
        if self.by_key.len() < MAX_INSTANCES {
            return Ok(None);
        }
        let is_idle = |one: &Instance| {
            one.in_flight == 0 && !matches!(one.upstream.status().phase, Phase::Ready | Phase::Starting)
        };
        let idle = self.by_key.iter().find(|(_, one)| is_idle(one)).map(|(key, _)| *key);
        let gone = idle.and_then(|key| self.by_key.remove(&key));
        gone.map(|one| Some(one.upstream)).ok_or(Full)
    }

    pub(super) fn insert(&mut self, key: InstanceKey, instance: Instance) {
        self.by_key.insert(key, instance);
    }

    /// Counts a client in: the instance stays for as long as it does.
    pub(super) fn join(&mut self, key: InstanceKey, client: ClientId) {
        if let Some(instance) = self.by_key.get_mut(&key) {
            instance.clients.insert(client);
        }
    }

    /// Counts a call in, and returns where it goes.
    pub(super) fn enter(&mut self, key: InstanceKey, call: &Call) -> Option<Arc<dyn Upstream>> {
        let instance = self.by_key.get_mut(&key)?;
        instance.in_flight += 1;
        instance.note(call);
        Some(Arc::clone(&instance.upstream))
    }

    /// Counts a call out. Returns the instance if that was its end.
    pub(super) fn left_by_call(&mut self, key: InstanceKey) -> Option<Arc<dyn Upstream>> {
        let instance = self.by_key.get_mut(&key)?;
        instance.in_flight -= 1;
        self.end_if_over(key)
    }

    /// Counts a client out. Returns the instances for which that was the end.
    pub(super) fn left_by_client(&mut self, client: ClientId) -> Vec<Arc<dyn Upstream>> {
        let mut left = Vec::new();
        for (key, instance) in &mut self.by_key {
            if instance.clients.remove(&client) {
                left.push(*key);
            }
        }
        left.into_iter().filter_map(|key| self.end_if_over(key)).collect()
    }

    fn end_if_over(&mut self, key: InstanceKey) -> Option<Arc<dyn Upstream>> {
        self.by_key.get(&key).filter(|one| one.is_over())?;
        self.by_key.remove(&key).map(|one| one.upstream)
    }

    pub(super) fn upstream(&self, key: InstanceKey) -> Option<&Arc<dyn Upstream>> {
        self.by_key.get(&key).map(|one| &one.upstream)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (InstanceKey, &Instance)> {
        self.by_key.iter().map(|(key, one)| (*key, one))
    }

    pub(super) fn upstreams(&self) -> Vec<Arc<dyn Upstream>> {
        self.by_key.values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    /// Lets go of all.
    pub(super) fn take(&mut self) -> Vec<Arc<dyn Upstream>> {
        std::mem::take(&mut self.by_key).into_values().map(|one| one.upstream).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}

#[cfg(test)]
mod tests;
