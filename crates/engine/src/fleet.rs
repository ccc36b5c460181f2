//! All configured servers, by server and instance, whichever namespaces refer to them.

mod host;
mod instances;

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use manifold_admin::{ConfigChange, Happening};
use manifold_config::{Config, Difference, Server, ServerKey, Sharing, Transport, diff};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::audience::{Audience, Downstream, Users};
use crate::changes::ClientId;
use crate::control;
use crate::discovery;
use crate::feed::Feed;
use crate::gateway::Gateway;
use crate::observe::Observers;
use crate::sync::Lock as _;
use crate::tasks::Tasks;
use crate::upstream::{Connector, Standing, Upstream};
use host::FleetHost;
pub use instances::InstanceKey;
use instances::PerClient;

/// The servers, and the namespaces that show them.
pub struct Fleet {
    me: Weak<Fleet>,
    connector: Box<dyn Connector>,
    config: ArcSwap<Config>,
    /// Why a newer file is not in force.
    outdated: ArcSwapOption<Outdated>,
    slots: ArcSwap<Vec<Slot>>,
    /// Held while a new config is taken over: the next one must find this one done.
    applying: tokio::sync::Mutex<()>,
    gateways: Mutex<Vec<Weak<Gateway>>>,
    feed: Arc<Feed>,
    /// Where servers stand in line that are started for lists.
    places: Arc<Semaphore>,
    /// Cancelled once nobody is left for whom a list would be worth waiting.
    leaving: CancellationToken,
    tasks: Tasks,
    observers: Observers,
}

/// The file has changed since and could not be taken over, so the config in force is an older one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outdated {
    pub problem: String,
    /// When the file was first found to be so, as a date and time of day.
    pub since: String,
}

/// One instance of a server of the fleet.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) server: Arc<Server>,
    pub(crate) instance: InstanceKey,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) standing: Arc<Mutex<Standing>>,
    /// The gateways that show it.
    pub(crate) users: Arc<Users>,
}

impl Fleet {
    /// Makes an upstream for every server of the config. Nothing is started.
    pub fn new(config: Arc<Config>, connector: Box<dyn Connector>, tasks: Tasks) -> Arc<Self> {
        let fleet = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            connector,
            config: ArcSwap::new(Arc::clone(&config)),
            outdated: ArcSwapOption::empty(),
            slots: ArcSwap::default(),
            applying: tokio::sync::Mutex::default(),
            gateways: Mutex::default(),
            feed: Feed::new(),
            places: discovery::places(),
            leaving: CancellationToken::new(),
            tasks,
            observers: Observers::default(),
        });
        let slots = config.servers.iter().map(|server| fleet.slot(server, None)).collect();
        fleet.slots.store(Arc::new(slots));
        fleet
    }

    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Returns those who watch calls, to add to.
    pub fn observers(&self) -> &Observers {
        &self.observers
    }

    /// Returns why the config in force is not the one in the file, if it is not.
    pub fn outdated(&self) -> Option<Arc<Outdated>> {
        self.outdated.load_full()
    }

    /// Keeps the config in force and remembers why the file was not taken over, until one is.
    pub fn keep_config(&self, problem: String, now: String) {
        let since = self.outdated().map_or(now, |before| before.since.clone());
        // Before it is told: whoever looks after the event finds it so.
        self.outdated.store(Some(Arc::new(Outdated { problem: problem.clone(), since })));
        self.tell_of_config(|| ConfigChange::Refused { why: problem });
    }

    /// Tells the instances a gateway uses who it is that asks. What they offered others is not shown to it (D5).
    pub(crate) fn introduced(&self, user: &Arc<Downstream>) {
        for slot in self.slots.load().iter().filter(|slot| slot.users.has(user)) {
            slot.users.introduced();
            slot.upstream.introduced();
        }
    }

    /// Tells which instances a gateway uses from now on: these and no others.
    pub(crate) fn used_by(&self, user: &Arc<Downstream>, chosen: &[Slot]) {
        for slot in self.slots.load().iter() {
            if !chosen.iter().any(|one| Arc::ptr_eq(&one.users, &slot.users)) {
                slot.users.leave(user);
                continue;
            }
            let was_of_one = slot.users.audience() == Audience::One;
            if slot.users.join(user) {
                if slot.users.introduced() {
                    slot.upstream.introduced();
                }
                // What there is for whom differs where it is no longer one client's.
                let others = slot.users.gateways_but(user);
                others.iter().filter(|_| was_of_one).for_each(|gateway| gateway.refresh());
            }
        }
    }

    /// Tells that a gateway is gone.
    pub(crate) fn left_by(&self, user: &Arc<Downstream>) {
        self.slots.load().iter().for_each(|slot| slot.users.leave(user));
    }

    /// Takes over a new config by difference: an untouched server keeps running. Returns what changed, once every
    /// server that had to go is gone.
    pub async fn apply(&self, config: Arc<Config>) -> Difference {
        let _one_at_a_time = self.applying.lock().await;
        let old = self.config();
        let difference = diff(&old, &config);
        let before = self.slots.load_full();
        let old_slot =
            |server: &Server| before.iter().find(|slot| slot.is(&server.key, InstanceKey::DEFINED));
        let slots: Vec<Slot> = config
            .servers
            .iter()
            .map(|server| match old_slot(server) {
                Some(slot) if difference.changed.contains(&server.key) => self.slot(server, Some(slot)),
                Some(slot) => Slot { server: Arc::new(server.clone()), ..slot.clone() },
                None => self.slot(server, None),
            })
            .collect();
        let removed = |old: &&Slot| !slots.iter().any(|new| Arc::ptr_eq(&new.users, &old.users));
        let unused: Vec<Arc<Users>> =
            before.iter().filter(removed).map(|old| Arc::clone(&old.users)).collect();
        let gone: Vec<Arc<dyn Upstream>> = before
            .iter()
            .filter(|old| !slots.iter().any(|new| Arc::ptr_eq(&new.upstream, &old.upstream)))
            .map(|old| Arc::clone(&old.upstream))
            .collect();
        self.slots.store(Arc::new(slots));
        self.config.store(config);
        self.outdated.store(None);
        for gateway in self.gateways() {
            gateway.rebuild();
        }
        unused.iter().for_each(|users| users.clear());
        close_all(gone, self.config().settings.drain_timeout).await;
        // Only now: what a server holds, such as a lock or a port, its successor may need.
        for gateway in self.gateways() {
            gateway.start_eager();
        }
        let report = || control::reload_report(&difference, &self.config());
        self.tell_of_config(|| ConfigChange::Reloaded { report: report() });
        difference
    }

    /// Lets no list wait for servers any more.
    pub(crate) fn leave(&self) {
        self.leaving.cancel();
    }

    pub(crate) fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }

    fn tell_of_config(&self, change: impl FnOnce() -> ConfigChange) {
        self.feed.publish(|| Some(Happening::Config { change: change() }));
    }

    /// Ends every server.
    pub async fn close(&self) {
        let upstreams = self.slots.load().iter().map(|slot| Arc::clone(&slot.upstream)).collect();
        // Whoever could still wait has been seen to.
        close_all(upstreams, Duration::ZERO).await;
    }

    /// Ends what servers keep for one client.
    pub(crate) fn client_left(&self, client: ClientId) {
        for slot in self.slots.load().iter().filter(|slot| slot.server.shared == Sharing::PerClient) {
            slot.upstream.client_left(client);
        }
    }

    pub(crate) fn find(&self, server: &ServerKey, instance: InstanceKey) -> Option<Slot> {
        self.slots.load().iter().find(|slot| slot.is(server, instance)).cloned()
    }

    pub(crate) fn slots(&self) -> Arc<Vec<Slot>> {
        self.slots.load_full()
    }

    pub(crate) fn register(&self, gateway: &Arc<Gateway>) {
        self.gateways.locked().push(Arc::downgrade(gateway));
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub(crate) fn places(&self) -> &Arc<Semaphore> {
        &self.places
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub(crate) fn gateways(&self) -> Vec<Arc<Gateway>> {
        let mut gateways = self.gateways.locked();
        gateways.retain(|gateway| gateway.strong_count() > 0);
        gateways.iter().filter_map(Weak::upgrade).collect()
    }

    /// Makes the slot of a server. What its predecessor was told still holds for it; the log level set so far does in any
    /// case.
    fn slot(&self, server: &Server, before: Option<&Slot>) -> Slot {
        let server = Arc::new(server.clone());
        let (standing, users) = match before {
            Some(slot) => (Arc::clone(&slot.standing), Arc::clone(&slot.users)),
            None => (Arc::new(Mutex::new(self.first_standing())), Arc::default()),
        };
        let host =
            FleetHost { fleet: self.me.clone(), users: Arc::clone(&users), standing: Arc::clone(&standing) };
        let upstream: Arc<dyn Upstream> = match server.transport {
            // They keep nothing between calls.
            Transport::Process(_) | Transport::Remote(_) if server.shared == Sharing::PerClient => {
                PerClient::new(self, &server, host)
            }
            _ => self.connector.connect(&server, Arc::new(host)),
        };
        if users.introduced() {
            upstream.introduced();
        }
        Slot { server, instance: InstanceKey::DEFINED, upstream, standing, users }
    }

    fn first_standing(&self) -> Standing {
        let log_level = self.slots.load().iter().find_map(|slot| lock(&slot.standing).log_level.clone());
        Standing { log_level, ..Standing::default() }
    }
}

impl Slot {
    fn is(&self, server: &ServerKey, instance: InstanceKey) -> bool {
        self.server.key == *server && self.instance == instance
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}

async fn close_all(upstreams: Vec<Arc<dyn Upstream>>, drain: Duration) {
    // All at once: each may take its whole grace.
    let closing: Vec<_> = upstreams.iter().map(|upstream| upstream.close(drain)).collect();
    let mut waiting = tokio::task::JoinSet::new();
    for close in closing {
        waiting.spawn(close);
    }
    while waiting.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests;
