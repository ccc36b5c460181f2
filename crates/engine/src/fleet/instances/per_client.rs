//! A server with `shared: false` behind a gateway that many clients use: an instance of its own for each, made by the
//! client's first call and ended when the client leaves. Whatever an instance says is for its client alone. A client that
//! has a gateway of its own needs none of this: the instance is the gateway's (`fleet/slot.rs`).

mod upstream;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manifold_config::{Server, ServerStart};
use manifold_protocol::{Call, Fault, Kind, Method, Raw};
use tracing::{debug, warn};

use super::super::{Fleet, FleetHost};
use super::host::{InstanceHost, ListerHost, facts_of};
use super::{Full, Instance, InstanceKey, Instances, MAX_INSTANCES, lock};
use crate::changes::ClientId;
use crate::exchange::Exchange;
use crate::upstream::{ClientFacts, Host, Listing, Order, Phase, Upstream};

pub(crate) struct PerClient {
    me: Weak<PerClient>,
    fleet: Weak<Fleet>,
    /// What all of them see of the fleet.
    host: FleetHost,
    server: Arc<Server>,
    /// Belongs to nobody: it reads the lists and rests again.
    lister: Arc<dyn Upstream>,
    /// What an instance listed last, if that is newer than what the lister did.
    listing: ArcSwapOption<Listing>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    instances: Instances,
    /// The operator's last order, which holds for instances yet to come.
    order: Option<Order>,
    is_closed: bool,
}

impl PerClient {
    /// Makes the upstream of all its instances. Nothing is started.
    pub(crate) fn new(fleet: &Fleet, server: &Arc<Server>, host: FleetHost) -> Arc<Self> {
        Arc::new_cyclic(|me: &Weak<Self>| {
            let lister = ListerHost { owner: me.clone(), fleet: host.clone() };
            Self {
                me: me.clone(),
                fleet: fleet.me.clone(),
                host,
                server: Arc::clone(server),
                lister: fleet.connector.connect(server, Arc::new(lister)),
                listing: ArcSwapOption::empty(),
                state: Mutex::default(),
            }
        })
    }

    /// Takes over what an instance has listed. One that failed says nothing about the others, nor does one that was told
    /// of a client that can do something else and offers a part of what is known: the rest is for others (D5).
    pub(super) fn listed_by(&self, client: ClientId, facts: &ClientFacts) {
        let listing = self.lock().instances.upstream(key_of(client)).and_then(|one| one.listing());
        let Some(listing) = listing else { return };
        self.lister.listed_elsewhere();
        let is_like_all = self.host.client_facts().capabilities == facts.capabilities;
        if is_like_all || self.listing().is_none_or(|known| !is_part(&listing, &known)) {
            self.listing.store(Some(listing));
        }
        self.tell_listing_changed();
    }

    pub(super) fn listed_by_lister(&self) {
        if self.lister.listing().is_some_and(|listing| !listing.is_saved()) {
            self.listing.store(None);
        }
        self.tell_listing_changed();
    }

    fn tell_listing_changed(&self) {
        self.host.listing_changed(&self.server.key);
    }

    /// Counts a call in and returns the instance it goes to, made if need be.
    fn enter(
        &self,
        call: &Call,
        client: Option<ClientId>,
    ) -> Result<(InstanceKey, Arc<dyn Upstream>), Fault> {
        let mut state = self.lock();
        let fleet = self.fleet.upgrade().filter(|_| !state.is_closed).ok_or(Fault::ShuttingDown)?;
        if state.order == Some(Order::Stop) {
            let reason = "it was stopped; use the servers_start tool to start it".to_owned();
            return Err(Fault::NotRunning { server: self.server.key.id.clone(), reason });
        }
        // Somebody unknown is nobody else, and gone when the call is over.
        let id = client.unwrap_or_else(ClientId::fresh);
        let key = key_of(id);
        if !state.instances.contains(key) {
            self.make_room(&mut state, &fleet)?;
            let instance = self.instance(&state, &fleet, call, id);
            state.instances.insert(key, instance);
            if let Some(client) = client {
                state.instances.join(key, client);
            }
        }
        let upstream = state.instances.enter(key, call).ok_or(Fault::ShuttingDown)?;
        Ok((key, upstream))
    }

    /// Makes an instance that knows its client by its first call.
    fn instance(&self, state: &State, fleet: &Arc<Fleet>, call: &Call, client: ClientId) -> Instance {
        debug!(server = %self.server.key.id, client = client.0, "an instance of its own");
        let standing = Arc::default();
        let host = InstanceHost {
            owner: self.me.clone(),
            fleet: self.host.clone(),
            client,
            facts: facts_of(&self.host, &fleet.config().settings, call.caller.as_deref()),
            standing: Arc::clone(&standing),
        };
        let server = match self.server.start {
            // The operator has started it, which holds for every client.
            ServerStart::Manual if state.order.is_some() => {
                Arc::new(Server { start: ServerStart::Lazy, ..(*self.server).clone() })
            }
            _ => Arc::clone(&self.server),
        };
        let upstream = fleet.connector.connect(&server, Arc::new(host));
        upstream.introduced();
        Instance::new(upstream, standing)
    }

    fn make_room(&self, state: &mut State, fleet: &Fleet) -> Result<(), Fault> {
        match state.instances.make_room() {
            Ok(gone) => gone.into_iter().for_each(|idle| fleet.tasks().spawn(idle.close(Duration::ZERO))),
            Err(Full) => {
                let server = self.server.key.id.clone();
                warn!(server, "{MAX_INSTANCES} clients have an instance of their own, which is the most");
                let reason = format!(
                    "{MAX_INSTANCES} clients have a process of their own there, which is the most; try again when \
                     one has left, or give the server an `idleTimeout`"
                );
                return Err(Fault::Busy { server, reason });
            }
        }
        Ok(())
    }

    /// Counts a call out; the last one of a client that has left ends its instance.
    fn left_by_call(&self, key: InstanceKey) {
        let ended = self.lock().instances.left_by_call(key);
        ended.into_iter().for_each(|ended| self.end(&*ended));
    }

    fn end(&self, ended: &dyn Upstream) {
        if let Some(fleet) = self.fleet.upgrade() {
            debug!(server = %self.server.key.id, "an instance ends: its client has left");
            fleet.tasks().spawn(ended.close(Duration::ZERO));
            fleet.server_changed(&self.server.key);
        }
    }

    /// Tells every running instance what is said to servers, not asked of one.
    fn send_to_all(&self, call: &Call, exchange: Exchange) {
        let uri = call.text_param("uri").filter(|_| call.method == Method::ResourcesUnsubscribe);
        let is_meant = |(_, one): &(InstanceKey, &Instance)| {
            uri.as_ref().is_none_or(|uri| lock(&one.standing).subscriptions.remove(uri))
                && one.upstream.status().phase == Phase::Ready
        };
        let state = self.lock();
        let meant = state.instances.iter().filter(is_meant);
        let told: Vec<_> = meant.map(|(_, one)| Arc::clone(&one.upstream)).collect();
        drop(state);
        for upstream in told {
            upstream.send(call.clone(), Exchange::detached());
        }
        exchange.finish(Ok(Raw::from_static("{}")));
    }

    fn upstreams(&self) -> Vec<Arc<dyn Upstream>> {
        self.lock().instances.upstreams()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Returns the key of a client's own instance.
fn key_of(client: ClientId) -> InstanceKey {
    InstanceKey::DEFINED.own(client)
}

/// Returns whether a listing has nothing that the other has not, and less than that.
fn is_part(listing: &Listing, whole: &Listing) -> bool {
    let labels = |listing: &Listing, kind| -> HashSet<String> {
        listing.items(kind).iter().map(|item| item.label.clone()).collect()
    };
    let mut is_less = false;
    let is_within = Kind::ALL.into_iter().all(|kind| {
        let (part, whole) = (labels(listing, kind), labels(whole, kind));
        is_less |= part.len() < whole.len();
        part.is_subset(&whole)
    });
    is_within && is_less
}

#[cfg(test)]
mod tests;
