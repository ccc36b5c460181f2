//! All configured servers, each with its one upstream, whichever namespaces refer to it.

mod per_client;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use manifold_admin::{ConfigChange, Happening};
use manifold_config::{Config, Difference, Server, ServerKey, Transport, diff};
use manifold_protocol::{Call, Raw, Revision};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::changes::ClientId;
use crate::control;
use crate::discovery;
use crate::exchange::Exchange;
use crate::feed::Feed;
use crate::gateway::Gateway;
use crate::observe::Observers;
use crate::outbox::Outbox;
use crate::tasks::Tasks;
use crate::upstream::{Addressee, Audience, ClientFacts, Connector, Host, Standing, Upstream};
use per_client::PerClient;

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
    facts: ArcSwap<ClientFacts>,
    /// Whether the facts are those of a client.
    introduced: AtomicBool,
    gateways: Mutex<Vec<Weak<Gateway>>>,
    only_client: OnceLock<Arc<Outbox>>,
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

/// One server of the fleet.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) server: Arc<Server>,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) standing: Arc<Mutex<Standing>>,
}

impl Fleet {
    /// Makes an upstream for every server of the config. Nothing is started.
    pub fn new(config: Arc<Config>, connector: Box<dyn Connector>, tasks: Tasks) -> Arc<Self> {
        let facts = ClientFacts {
            capabilities: Raw::from_static("{}"),
            info: Raw::from_static(r#"{"name":"manifold","version":"0"}"#),
            revision: Revision::LATEST,
        };
        let fleet = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            connector,
            config: ArcSwap::new(Arc::clone(&config)),
            outdated: ArcSwapOption::empty(),
            slots: ArcSwap::default(),
            applying: tokio::sync::Mutex::default(),
            facts: ArcSwap::from_pointee(facts),
            introduced: AtomicBool::new(false),
            gateways: Mutex::default(),
            only_client: OnceLock::new(),
            feed: Feed::new(),
            places: discovery::places(),
            leaving: CancellationToken::new(),
            tasks,
            observers: Observers::default(),
        });
        let slots = config.servers.iter().map(|server| fleet.slot(server)).collect();
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
        self.tell_of_config(|| ConfigChange::Refused { why: problem.clone() });
        self.outdated.store(Some(Arc::new(Outdated { problem, since })));
    }

    /// Tells what servers started from now on hear about the client. What they offered others is not shown to it (D5).
    pub fn introduce(&self, facts: ClientFacts) {
        self.facts.store(Arc::new(facts));
        self.introduced.store(true, Ordering::Relaxed);
        for slot in self.slots.load().iter() {
            slot.upstream.introduced();
        }
    }

    /// Tells that whatever servers started from now on say is for one client.
    pub(crate) fn serve_only(&self, outbox: &Arc<Outbox>) {
        let _ = self.only_client.set(Arc::clone(outbox));
    }

    /// Returns whether there is but one client.
    pub(crate) fn serves_one(&self) -> bool {
        self.only_client.get().is_some()
    }

    /// Takes over a new config by difference: an untouched server keeps running. Returns what changed, once every
    /// server that had to go is gone.
    pub async fn apply(&self, config: Arc<Config>) -> Difference {
        let _one_at_a_time = self.applying.lock().await;
        let old = self.config();
        let difference = diff(&old, &config);
        let before = self.slots.load_full();
        let old_slot = |server: &Server| before.iter().find(|slot| slot.server.key == server.key);
        let slots: Vec<Slot> = config
            .servers
            .iter()
            .map(|server| match old_slot(server) {
                // What its predecessor was told still holds for the new one.
                Some(slot) if difference.changed.contains(&server.key) => {
                    Slot { standing: Arc::clone(&slot.standing), ..self.slot(server) }
                }
                Some(slot) => Slot { server: Arc::new(server.clone()), ..slot.clone() },
                None => self.slot(server),
            })
            .collect();
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
        for slot in self.slots.load().iter().filter(|slot| !slot.server.shared) {
            slot.upstream.client_left(client);
        }
    }

    pub(crate) fn find(&self, key: &ServerKey) -> Option<Slot> {
        self.slots.load().iter().find(|slot| slot.server.key == *key).cloned()
    }

    pub(crate) fn slots(&self) -> Arc<Vec<Slot>> {
        self.slots.load_full()
    }

    pub(crate) fn register(&self, gateway: &Arc<Gateway>) {
        self.gateways.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(gateway));
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
        let mut gateways = self.gateways.lock().unwrap_or_else(PoisonError::into_inner);
        gateways.retain(|gateway| gateway.strong_count() > 0);
        gateways.iter().filter_map(Weak::upgrade).collect()
    }

    /// Makes the slot of a server; the log level set so far holds for it too.
    fn slot(&self, server: &Server) -> Slot {
        let server = Arc::new(server.clone());
        let upstream: Arc<dyn Upstream> = match server.transport {
            // They keep nothing between calls.
            Transport::Process(_) | Transport::Remote(_) if !server.shared => PerClient::new(self, &server),
            _ => self.connector.connect(&server, Arc::new(FleetHost(self.me.clone()))),
        };
        if self.introduced.load(Ordering::Relaxed) {
            upstream.introduced();
        }
        let log_level = self.slots.load().iter().find_map(|slot| lock(&slot.standing).log_level.clone());
        let standing = Standing { log_level, ..Standing::default() };
        Slot { server, upstream, standing: Arc::new(Mutex::new(standing)) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What upstreams see of the fleet; weak, so that they do not keep it alive.
struct FleetHost(Weak<Fleet>);

impl FleetHost {
    fn config(&self) -> Option<Arc<Config>> {
        self.0.upgrade().map(|fleet| fleet.config())
    }

    fn gateways_of(&self, server: &ServerKey) -> Vec<Arc<Gateway>> {
        let gateways = self.0.upgrade().map(|fleet| fleet.gateways()).unwrap_or_default();
        gateways.into_iter().filter(|gateway| gateway.has(server)).collect()
    }

    /// Returns the client of all namespaces that show the server, where there is exactly one.
    fn only_client_of(&self, server: &ServerKey) -> Option<ClientId> {
        let gateways = self.gateways_of(server);
        let mut peopled = gateways.iter().filter(|gateway| gateway.has_clients());
        match (peopled.next(), peopled.next()) {
            (Some(gateway), None) => gateway.only_client(),
            _ => None,
        }
    }
}

impl Host for FleetHost {
    fn audience(&self) -> Audience {
        if self.only_client().is_some() { Audience::One } else { Audience::Shared }
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        match self.0.upgrade() {
            Some(fleet) => fleet.facts.load_full(),
            None => Arc::new(ClientFacts {
                capabilities: Raw::from_static("{}"),
                info: Raw::from_static("{}"),
                revision: Revision::LATEST,
            }),
        }
    }

    fn standing(&self, server: &ServerKey) -> Standing {
        let slot = self.0.upgrade().and_then(|fleet| fleet.find(server));
        slot.map(|slot| slot.standing.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    fn listing_changed(&self, server: &ServerKey) {
        for gateway in self.gateways_of(server) {
            gateway.listing_changed();
        }
        self.status_changed(server);
    }

    fn status_changed(&self, server: &ServerKey) {
        if let Some(fleet) = self.0.upgrade() {
            fleet.server_changed(server);
        }
    }

    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
        for gateway in self.gateways_of(server) {
            gateway.notice(server, method, params.clone());
        }
    }

    fn tell(&self, server: &ServerKey, to: Addressee, method: &str, params: Option<Raw>) {
        let client = match to {
            Addressee::Client(client) => Some(client),
            Addressee::Only { last_caller } => {
                self.only_client_of(server).filter(|only| last_caller.is_none_or(|last| last == *only))
            }
        };
        let told = |client| {
            self.gateways_of(server).iter().any(|one| one.tell(server, client, method, params.clone()))
        };
        if !client.is_some_and(told) {
            debug!(server = %server.id, method, "told to nobody: it may be any client's");
        }
    }

    fn ask(&self, server: &ServerKey, last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        // A question outside any call has one natural addressee only where one namespace shows the server.
        match self.gateways_of(server).as_slice() {
            [only] => only.ask(server, last_caller, call, exchange),
            _ => Gateway::answer_alone(self.config(), server, call, exchange),
        }
    }

    fn only_client(&self) -> Option<Arc<Outbox>> {
        self.0.upgrade()?.only_client.get().cloned()
    }
}

#[cfg(test)]
mod tests;
