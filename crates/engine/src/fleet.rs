//! All configured servers, by server and instance, whichever namespaces refer to them.

mod ending;
mod followers;
mod host;
mod instances;
mod roots;
mod slot;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use manifold_admin::{ConfigChange, Happening};
use manifold_config::{Config, Difference, Server, ServerKey, Sharing, diff};
use serde::Serialize;
use tokio::sync::{Semaphore, broadcast};
use tokio_util::task::TaskTracker;

use crate::audience::Users;
use crate::changes::ClientId;
use crate::control;
use crate::discovery;
use crate::feed::Feed;
use crate::gateway::Gateway;
use crate::health::Health;
use crate::logins::Logins;
use crate::observe::{Observer, Observers};
use crate::rate::RateLimits;
use crate::sync::Lock as _;
use crate::tasks::Tasks;
use crate::traffic::Traffic;
use crate::upstream::{Connector, Order, Standing, Upstream};
pub(crate) use followers::FollowedLine;
use followers::LogFollowers;
use host::FleetHost;
pub use instances::InstanceKey;
use instances::PerClient;
pub(crate) use slot::{Slot, Wanted};
pub(crate) use usage::Outgrown;

/// Changes of servers that somebody may be behind.
const MAX_CHANGES_BEHIND: usize = 64;

/// The servers, and the namespaces that show them.
pub struct Fleet {
    me: Weak<Fleet>,
    connector: Box<dyn Connector>,
    config: ArcSwap<Config>,
    /// Why a newer file is not in force.
    outdated: ArcSwapOption<Outdated>,
    /// First those that the config defines, in its order.
    slots: ArcSwap<Vec<Slot>>,
    /// Held while it changes which slots there are, or who uses them.
    choosing: Mutex<()>,
    /// What others have taken the place of, and is yet to be closed.
    replaced: Mutex<Vec<Arc<dyn Upstream>>>,
    /// Instances that are being closed as nobody uses them any more.
    closing: TaskTracker,
    /// Held while a new config is taken over: the next one must find this one done.
    applying: tokio::sync::Mutex<()>,
    gateways: Mutex<Vec<Weak<Gateway>>>,
    feed: Feed,
    /// Which servers change, for whoever looks at them itself.
    changed_servers: broadcast::Sender<ServerKey>,
    /// Where servers stand in line that are started for lists.
    places: Arc<Semaphore>,
    tasks: Tasks,
    observers: Observers,
    traffic: Arc<Traffic>,
    rates: RateLimits,
    health: Arc<Health>,
    /// Makes events of calls, while somebody wants them.
    call_teller: Mutex<Option<Arc<dyn Observer>>>,
    log_followers: LogFollowers,
    /// Servers that an operator has stopped: instances that are made of them meanwhile do not start either.
    stopped: Mutex<BTreeSet<ServerKey>>,
    /// Who begins logins, where somebody can.
    logins: OnceLock<Arc<dyn Logins>>,
}

/// The file has changed since and could not be taken over, so the config in force is an older one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outdated {
    pub problem: String,
    /// When the file was first found to be so, as a date and time of day.
    pub since: String,
}

impl Fleet {
    /// Makes an upstream for every server of the config. Nothing is started.
    pub fn new(config: Arc<Config>, connector: Box<dyn Connector>, tasks: Tasks) -> Arc<Self> {
        let observers = Observers::default();
        let fleet = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            connector,
            config: ArcSwap::new(Arc::clone(&config)),
            outdated: ArcSwapOption::empty(),
            slots: ArcSwap::default(),
            choosing: Mutex::default(),
            replaced: Mutex::default(),
            closing: TaskTracker::new(),
            applying: tokio::sync::Mutex::default(),
            gateways: Mutex::default(),
            feed: Feed::new(),
            changed_servers: broadcast::Sender::new(MAX_CHANGES_BEHIND),
            places: discovery::places(),
            tasks,
            traffic: Traffic::new(&observers),
            rates: RateLimits::new(observers.watch(), &config.settings.rates),
            health: Arc::default(),
            observers,
            call_teller: Mutex::default(),
            log_followers: LogFollowers::default(),
            stopped: Mutex::default(),
            logins: OnceLock::new(),
        });
        let slots = config.servers.iter().map(|server| fleet.define(server, None)).collect();
        fleet.slots.store(Arc::new(slots));
        fleet
    }

    /// Has logins begun by this.
    pub fn sign_in_by(&self, logins: Arc<dyn Logins>) {
        let _ = self.logins.set(logins);
    }

    pub(crate) fn logins(&self) -> Option<&Arc<dyn Logins>> {
        self.logins.get()
    }

    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    pub(crate) fn changed_servers(&self) -> &broadcast::Sender<ServerKey> {
        &self.changed_servers
    }

    /// Returns those who watch calls, to add to.
    pub fn observers(&self) -> &Observers {
        &self.observers
    }

    /// Returns what goes over both hops, for whoever watches it.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Returns how many calls there may be, and how many were too many.
    pub fn rates(&self) -> &RateLimits {
        &self.rates
    }

    /// Returns where parts report that they work less well than they should.
    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Returns how often each server has come up, by its id.
    pub fn starts(&self) -> BTreeMap<String, u64> {
        let mut starts = BTreeMap::new();
        for slot in self.slots.load().iter() {
            let lives = slot.upstream.reports().iter().filter_map(|report| report.history.lives).sum::<u64>();
            *starts.entry(slot.server.key.id.clone()).or_default() += lives;
        }
        starts
    }

    /// Returns whether a server is known to have a tool of this name of its own.
    pub fn lists_tool(&self, server: &str, tool: &str) -> bool {
        let slots = self.slots.load();
        let lists = |slot: &&Slot| {
            slot.server.key.id == server
                && slot.upstream.listing().is_some_and(|listing| {
                    listing.items(manifold_protocol::Kind::Tools).iter().any(|item| item.label == tool)
                })
        };
        slots.iter().any(|slot| lists(&slot))
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

    /// Takes over a new config by difference: an untouched server keeps running. What clients have resolved anew is in
    /// force with it (`Gateway::prepare`). Returns what changed, once every server that had to go is gone.
    pub async fn apply(&self, config: Arc<Config>) -> Difference {
        let _one_at_a_time = self.applying.lock().await;
        let difference = diff(&self.config(), &config);
        let (unused_before, mut gone) = self.redefine(&config, &difference);
        self.rates.set_rules(&config.settings.rates);
        self.config.store(config);
        self.outdated.store(None);
        for gateway in self.gateways() {
            gateway.rebuild();
        }
        gone.append(&mut self.replaced.locked());
        gone.extend(self.take_unused(&unused_before));
        close_all(gone, self.config().settings.drain_timeout).await;
        // Only now: what a server holds, such as a lock or a port, its successor may need.
        for gateway in self.gateways() {
            gateway.start_eager();
        }
        let report = || control::reload_report(&difference, &self.config());
        self.tell_of_config(|| ConfigChange::Reloaded { report: report() });
        difference
    }

    /// Puts new instances in the place of those the new config defines otherwise. Returns which of the others nobody uses
    /// already, and what is to be closed.
    fn redefine(
        &self,
        config: &Config,
        difference: &Difference,
    ) -> (Vec<Arc<Users>>, Vec<Arc<dyn Upstream>>) {
        let _choosing = self.choosing.locked();
        // One that comes back by this name is another.
        self.stopped.locked().retain(|server| !difference.removed.contains(server));
        let before = self.slots();
        let old_slot =
            |server: &Server| before.iter().find(|slot| slot.is(&server.key, InstanceKey::DEFINED));
        let defined = config.servers.iter().map(|server| match old_slot(server) {
            Some(slot) if difference.changed.contains(&server.key) => self.define(server, Some(slot)),
            Some(slot) => Slot { server: Arc::new(server.clone()), ..slot.clone() },
            None => self.define(server, None),
        });
        let mut slots: Vec<Slot> = defined.collect();
        slots.extend(before.iter().filter(|slot| !slot.is_defined()).cloned());
        let is_in = |old: &&Slot| slots.iter().any(|new| Arc::ptr_eq(&new.upstream, &old.upstream));
        let gone = before.iter().filter(|old| !is_in(old)).map(|old| Arc::clone(&old.upstream)).collect();
        let removed = |old: &&Slot| !slots.iter().any(|new| Arc::ptr_eq(&new.users, &old.users));
        before.iter().filter(removed).for_each(|old| old.users.clear());
        let is_outgrown = |slot: &Slot| {
            difference.removed.contains(&slot.server.key) || difference.changed.contains(&slot.server.key)
        };
        let lingers = |slot: &&Slot| slot.users.is_empty() && !is_outgrown(slot);
        let unused = slots.iter().filter(lingers).map(|slot| Arc::clone(&slot.users)).collect();
        self.slots.store(Arc::new(slots));
        (unused, gone)
    }

    fn tell_of_config(&self, change: impl FnOnce() -> ConfigChange) {
        self.feed.publish(|| Some(Happening::Config { change: change() }));
    }

    /// Ends every server.
    pub async fn close(&self) {
        let upstreams = self.slots.load().iter().map(|slot| Arc::clone(&slot.upstream)).collect();
        // Whoever could still wait has been seen to.
        close_all(upstreams, Duration::ZERO).await;
        self.closing.close();
        self.closing.wait().await;
    }

    /// Ends what servers keep for one client.
    pub(crate) fn client_left(&self, client: ClientId) {
        for slot in self.slots.load().iter().filter(|slot| slot.server.shared == Sharing::PerClient) {
            slot.upstream.client_left(client);
        }
    }

    pub(crate) fn slots(&self) -> Arc<Vec<Slot>> {
        self.slots.load_full()
    }

    pub(crate) fn register(&self, gateway: &Arc<Gateway>) {
        let mut gateways = self.gateways.locked();
        // One that is gone takes up its memory for as long as it is listed.
        gateways.retain(|gateway| gateway.strong_count() > 0);
        gateways.push(Arc::downgrade(gateway));
    }

    pub(crate) fn feed(&self) -> &Feed {
        &self.feed
    }

    pub(crate) fn call_teller(&self) -> &Mutex<Option<Arc<dyn Observer>>> {
        &self.call_teller
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        self.me.clone()
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

    /// Makes the instance of a server that the config defines.
    fn define(&self, server: &Server, before: Option<&Slot>) -> Slot {
        let instance = InstanceKey::DEFINED;
        let wanted = Wanted { server: Arc::new(server.clone()), instance, started_with: None, session: None };
        self.make(&wanted, before)
    }

    /// Makes an instance. What its predecessor was told still holds for it; the log level set so far does in any case.
    fn make(&self, wanted: &Wanted, before: Option<&Slot>) -> Slot {
        let Wanted { server, instance, started_with, .. } = wanted;
        let (standing, users) = match before {
            Some(slot) => (Arc::clone(&slot.standing), Arc::clone(&slot.users)),
            None => (Arc::new(Mutex::new(self.first_standing())), Arc::default()),
        };
        let host = FleetHost {
            known_as: instance.known_as(wanted.session.as_deref()),
            started_with: started_with.as_ref().map(|started_with| started_with.hash()),
            fleet: self.me.clone(),
            server: Arc::clone(server),
            users: Arc::clone(&users),
            standing: Arc::clone(&standing),
            starts: Arc::default(),
        };
        let upstream: Arc<dyn Upstream> = match instance.client() {
            None if slot::is_per_client(server) => PerClient::new(self, server, host),
            _ => self.connector.connect(server, Arc::new(host)),
        };
        if users.introduced() {
            upstream.introduced();
        }
        if before.is_none() && self.stopped.locked().contains(&server.key) {
            self.stop(&*upstream);
        }
        let (server, started_with) = (Arc::clone(server), started_with.clone());
        Slot { server, instance: *instance, started_with, upstream, standing, users }
    }

    /// Notes what an operator wants of a server as a whole.
    pub(crate) fn note_order(&self, server: &ServerKey, order: Order) {
        let mut stopped = self.stopped.locked();
        match order {
            Order::Stop => drop(stopped.insert(server.clone())),
            Order::Start | Order::Restart => drop(stopped.remove(server)),
            Order::Sleep | Order::Refresh => {}
        }
    }

    /// Stops an instance before anybody can call it.
    fn stop(&self, upstream: &dyn Upstream) {
        let mut order = upstream.order(Order::Stop);
        // The order is given with the first look at it; that it is carried out may take longer.
        if order.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.tasks.spawn_background(async move { drop(order.await) });
        }
    }

    fn first_standing(&self) -> Standing {
        let log_level = self.slots.load().iter().find_map(|slot| lock(&slot.standing).log_level.clone());
        Standing { log_level, ..Standing::default() }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.traffic.close();
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
