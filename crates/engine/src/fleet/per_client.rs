//! A server with `shared: false`: an instance of its own for each client, made by the client's first call and ended when
//! the client leaves. Whatever an instance says is for its client alone.

mod host;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manifold_config::{Server, ServerStart};
use manifold_protocol::{Call, Fault, Kind, Method, Raw};
use tracing::{debug, warn};

use super::{Fleet, FleetHost, close_all};
use crate::changes::ClientId;
use crate::exchange::Exchange;
use crate::upstream::{
    BoxFuture, ClientFacts, Host, InstanceReport, Listing, Order, Phase, Standing, Status, Upstream, Withheld,
};
use host::{InstanceHost, ListerHost, facts_of};

/// Clients that may have an instance of one server at a time.
const MAX_INSTANCES: usize = 256;

pub(crate) struct PerClient {
    me: Weak<PerClient>,
    fleet: Weak<Fleet>,
    server: Arc<Server>,
    /// Belongs to nobody: it reads the lists and rests again. Where there is but one client it is that one's.
    lister: Arc<dyn Upstream>,
    /// What an instance listed last, if that is newer than what the lister did.
    listing: ArcSwapOption<Listing>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    instances: BTreeMap<ClientId, Instance>,
    /// The operator's last order, which holds for instances yet to come.
    order: Option<Order>,
    is_closed: bool,
}

struct Instance {
    upstream: Arc<dyn Upstream>,
    /// What its client wants to hear of.
    standing: Arc<Mutex<Standing>>,
    in_flight: usize,
    /// The client has left: it ends with its last call.
    is_left: bool,
}

impl PerClient {
    /// Makes the upstream of all its instances. Nothing is started.
    pub(crate) fn new(fleet: &Fleet, server: &Arc<Server>) -> Arc<Self> {
        Arc::new_cyclic(|me: &Weak<Self>| {
            let host = ListerHost { owner: me.clone(), fleet: FleetHost(fleet.me.clone()) };
            Self {
                me: me.clone(),
                fleet: fleet.me.clone(),
                server: Arc::clone(server),
                lister: fleet.connector.connect(server, Arc::new(host)),
                listing: ArcSwapOption::empty(),
                state: Mutex::default(),
            }
        })
    }

    /// Returns whether there is but one client: it needs no instance beside the first.
    fn is_for_one(&self) -> bool {
        self.fleet.upgrade().is_some_and(|fleet| fleet.serves_one())
    }

    /// Takes over what an instance has listed. One that failed says nothing about the others, nor does one that was told
    /// of a client that can do something else and offers a part of what is known: the rest is for others (D5).
    fn listed_by(&self, client: ClientId, facts: &ClientFacts) {
        let listing = self.lock().instances.get(&client).and_then(|one| one.upstream.listing());
        let Some(listing) = listing else { return };
        self.lister.listed_elsewhere();
        let is_like_all = self.lister_facts().is_none_or(|all| all.capabilities == facts.capabilities);
        if is_like_all || self.listing().is_none_or(|known| !is_part(&listing, &known)) {
            self.listing.store(Some(listing));
        }
        self.tell_listing_changed();
    }

    fn lister_facts(&self) -> Option<Arc<ClientFacts>> {
        self.fleet.upgrade().map(|fleet| fleet.facts.load_full())
    }

    fn listed_by_lister(&self) {
        if self.lister.listing().is_some_and(|listing| !listing.is_saved()) {
            self.listing.store(None);
        }
        self.tell_listing_changed();
    }

    fn tell_listing_changed(&self) {
        FleetHost(self.fleet.clone()).listing_changed(&self.server.key);
    }

    /// Counts a call in and returns the instance it goes to, made if need be.
    fn enter(&self, call: &Call, client: Option<ClientId>) -> Result<(ClientId, Arc<dyn Upstream>), Fault> {
        let mut state = self.lock();
        let fleet = self.fleet.upgrade().filter(|_| !state.is_closed).ok_or(Fault::ShuttingDown)?;
        if state.order == Some(Order::Stop) {
            let reason = "it was stopped; use the servers_start tool to start it".to_owned();
            return Err(Fault::NotRunning { server: self.server.key.id.clone(), reason });
        }
        // Somebody unknown is nobody else, and gone when the call is over.
        let id = client.unwrap_or_else(ClientId::fresh);
        if !state.instances.contains_key(&id) {
            self.make_room(&mut state, &fleet)?;
            let instance = self.instance(&state, &fleet, call, id);
            state.instances.insert(id, Instance { is_left: client.is_none(), ..instance });
        }
        let Some(instance) = state.instances.get_mut(&id) else { return Err(Fault::ShuttingDown) };
        instance.in_flight += 1;
        instance.note(call);
        Ok((id, Arc::clone(&instance.upstream)))
    }

    /// Makes an instance that knows its client by its first call.
    fn instance(&self, state: &State, fleet: &Arc<Fleet>, call: &Call, client: ClientId) -> Instance {
        debug!(server = %self.server.key.id, client = client.0, "an instance of its own");
        let standing = Arc::default();
        let host = InstanceHost {
            owner: self.me.clone(),
            fleet: FleetHost(self.fleet.clone()),
            client,
            facts: facts_of(fleet, call.caller.as_deref()),
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
        Instance { upstream, standing, in_flight: 0, is_left: false }
    }

    /// Lets the instance of an idle client go where there are too many: its process has ended already.
    fn make_room(&self, state: &mut State, fleet: &Fleet) -> Result<(), Fault> {
        if state.instances.len() < MAX_INSTANCES {
            return Ok(());
        }
        let is_idle = |one: &Instance| {
            one.in_flight == 0 && !matches!(one.upstream.status().phase, Phase::Ready | Phase::Starting)
        };
        let idle = state.instances.iter().find(|(_, one)| is_idle(one)).map(|(client, _)| *client);
        match idle.and_then(|client| state.instances.remove(&client)) {
            Some(idle) => {
                fleet.tasks().spawn(idle.upstream.close(Duration::ZERO));
                Ok(())
            }
            None => {
                let server = self.server.key.id.clone();
                warn!(server, "{MAX_INSTANCES} clients have an instance of their own, which is the most");
                let reason = format!(
                    "{MAX_INSTANCES} clients have a process of their own there, which is the most; try again when \
                     one has left, or give the server an `idleTimeout`"
                );
                Err(Fault::Busy { server, reason })
            }
        }
    }

    /// Counts a call out; the last one of a client that has left ends its instance.
    fn left_by_call(&self, client: ClientId) {
        let mut state = self.lock();
        let Some(instance) = state.instances.get_mut(&client) else { return };
        instance.in_flight -= 1;
        self.end_if_over(state, client);
    }

    fn end_if_over(&self, mut state: MutexGuard<'_, State>, client: ClientId) {
        if state.instances.get(&client).is_none_or(|one| one.in_flight > 0 || !one.is_left) {
            return;
        }
        let ended = state.instances.remove(&client);
        drop(state);
        if let (Some(ended), Some(fleet)) = (ended, self.fleet.upgrade()) {
            debug!(server = %self.server.key.id, client = client.0, "its client has left");
            fleet.tasks().spawn(ended.upstream.close(Duration::ZERO));
            fleet.server_changed(&self.server.key);
        }
    }

    /// Tells every running instance what is said to servers, not asked of one.
    fn send_to_all(&self, call: &Call, exchange: Exchange) {
        let uri = call.text_param("uri").filter(|_| call.method == Method::ResourcesUnsubscribe);
        let is_meant = |one: &&Instance| {
            uri.as_ref().is_none_or(|uri| lock(&one.standing).subscriptions.remove(uri))
                && one.upstream.status().phase == Phase::Ready
        };
        let told: Vec<_> =
            self.lock().instances.values().filter(is_meant).map(|one| Arc::clone(&one.upstream)).collect();
        for upstream in told {
            upstream.send(call.clone(), Exchange::detached());
        }
        exchange.finish(Ok(Raw::from_static("{}")));
    }

    fn upstreams(&self) -> Vec<Arc<dyn Upstream>> {
        self.lock().instances.values().map(|one| Arc::clone(&one.upstream)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Instance {
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
}

impl Upstream for PerClient {
    fn send(&self, call: Call, exchange: Exchange) {
        if self.is_for_one() {
            return self.lister.send(call, exchange);
        }
        // A client that left before its call came here must not get an instance.
        if exchange.is_cancelled() {
            return;
        }
        if exchange.client().is_none() && exchange.target().is_none() {
            return self.send_to_all(&call, exchange);
        }
        match self.enter(&call, exchange.client()) {
            Ok((client, upstream)) => {
                let me = self.me.clone();
                let exchange = exchange.then_or_cancelled(move |reply, outer| {
                    if let Some(reply) = reply {
                        outer.finish(reply);
                    }
                    if let Some(me) = me.upgrade() {
                        me.left_by_call(client);
                    }
                });
                upstream.send(call, exchange);
            }
            Err(fault) => exchange.fail(fault),
        }
    }

    fn notify(&self, method: &'static str, params: Option<Raw>) {
        if self.is_for_one() {
            return self.lister.notify(method, params);
        }
        for upstream in self.upstreams() {
            upstream.notify(method, params.clone());
        }
    }

    fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.load_full().or_else(|| self.lister.listing())
    }

    fn withheld(&self) -> Option<Arc<dyn Withheld>> {
        self.lister.withheld()
    }

    /// Returns how the instance does that does best: whether the server works at all.
    fn status(&self) -> Status {
        let status = self.upstreams().iter().map(|one| one.status()).min_by_key(rank);
        let lister = self.lister.status();
        match status {
            Some(status) if rank(&status) <= rank(&lister) => status,
            _ => lister,
        }
    }

    fn reports(&self) -> Vec<InstanceReport> {
        let of_client = |(client, one): (&ClientId, &Instance)| {
            let own = |report| InstanceReport { client: Some(*client), ..report };
            one.upstream.reports().into_iter().map(own).collect::<Vec<_>>()
        };
        let mut reports = self.lister.reports();
        reports.extend(self.lock().instances.iter().flat_map(of_client));
        reports
    }

    fn is_unresponsive(&self) -> bool {
        self.upstreams().iter().chain([&self.lister]).any(|one| one.is_unresponsive())
    }

    fn logs(&self, lines: usize) -> Vec<String> {
        let of_all = self.lister.logs(lines);
        let state = self.lock();
        if state.instances.is_empty() {
            return of_all;
        }
        // Each has its share, so that a talkative one does not hide the others.
        let share = (lines / (state.instances.len() + 1)).max(1);
        let mut logs = of_all[of_all.len().saturating_sub(share)..].to_vec();
        for (client, one) in &state.instances {
            logs.extend(one.upstream.logs(share).iter().map(|line| format!("[client {}] {line}", client.0)));
        }
        logs
    }

    fn discover(&self) -> BoxFuture<()> {
        if self.is_for_one() {
            return self.lister.discover();
        }
        let lister = Arc::clone(&self.lister);
        Box::pin(async move {
            lister.discover().await;
            // It has told what there is; whoever calls gets an instance.
            let _ = lister.order(Order::Sleep).await;
        })
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        if self.is_for_one() {
            return self.lister.order(order);
        }
        let mut orders: Vec<_> = {
            let mut state = self.lock();
            state.order = Some(order);
            state.instances.values().map(|one| one.upstream.order(order)).collect()
        };
        if order == Order::Stop {
            self.listing.store(None);
            orders.push(self.lister.order(order));
        } else if orders.is_empty() || self.lister.status().phase == Phase::Stopped {
            // It tries whether the server starts, and learns what there is.
            let (started, listed) = (self.lister.order(order), self.discover());
            orders.push(Box::pin(async move {
                started.await?;
                listed.await;
                Ok(())
            }));
        }
        Box::pin(async move {
            let mut waiting = tokio::task::JoinSet::new();
            for order in orders {
                waiting.spawn(order);
            }
            waiting.join_all().await.into_iter().collect()
        })
    }

    fn introduced(&self) {
        self.lister.introduced();
    }

    fn client_left(&self, client: ClientId) {
        let mut state = self.lock();
        if let Some(instance) = state.instances.get_mut(&client) {
            instance.is_left = true;
            self.end_if_over(state, client);
        }
    }

    fn close(&self, drain: Duration) -> BoxFuture<()> {
        let mut upstreams = vec![Arc::clone(&self.lister)];
        {
            let mut state = self.lock();
            state.is_closed = true;
            upstreams.extend(std::mem::take(&mut state.instances).into_values().map(|one| one.upstream));
        }
        Box::pin(close_all(upstreams, drain))
    }
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

/// Returns how far an instance is from working.
fn rank(status: &Status) -> u8 {
    match status.phase {
        Phase::Ready => 0,
        Phase::Starting => 1,
        Phase::Failed(_) => 2,
        Phase::Idle => 3,
        Phase::Stopped => 4,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
