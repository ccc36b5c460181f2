//! A fake server: what it offers is said by the test, what it is told is written down.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_config::{Server, ServerKey, ServerStart};
use manifold_protocol::{Call, Failure, Fault, Kind, Raw};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Asked, call, lock, raw, show};
use crate::audience::Audience;
use crate::exchange::Exchange;
use crate::tasks::Tasks;
use crate::upstream::{
    BoxFuture, Connector, Host, Item, Listing, LoggedLine, Missing, Order, Phase, Status, Upstream, Withheld,
};

/// Every server that was ever made, in order.
pub(super) struct Fakes {
    pub(super) made: Mutex<Vec<Arc<Fake>>>,
    pub(super) tasks: Tasks,
    pub(super) discoveries: Arc<Discoveries>,
}

#[derive(Default)]
pub(crate) struct Discoveries {
    now: AtomicUsize,
    pub(super) most: AtomicUsize,
}

impl Connector for Arc<Fakes> {
    fn connect(&self, server: &Arc<Server>, host: Arc<dyn Host>) -> Arc<dyn Upstream> {
        let told = Some((server.key.clone(), host));
        let fake = Fake::new(&server.key.id, told, self.tasks.clone(), Arc::clone(&self.discoveries));
        fake.state().start = Some(server.start);
        let fake = Arc::new(fake);
        lock(&self.made).push(Arc::clone(&fake));
        fake
    }
}

type Script = Box<dyn Fn(&Call) -> Option<Result<Raw, Failure>> + Send>;

/// A server that exists only as far as a test says. Unless told otherwise it answers with what it was sent.
pub(crate) struct Fake {
    pub(crate) id: String,
    told: Option<(ServerKey, Arc<dyn Host>)>,
    tasks: Tasks,
    discoveries: Arc<Discoveries>,
    state: Arc<Mutex<State>>,
}

struct State {
    /// What discovery will find, and how long it takes.
    offers: Option<Arc<Listing>>,
    takes: Duration,
    listing: Option<Arc<Listing>>,
    phase: Phase,
    script: Script,
    calls: Vec<String>,
    held: Vec<(Call, Exchange)>,
    told: Vec<String>,
    discovered: usize,
    orders: Vec<Order>,
    closed: bool,
    start: Option<ServerStart>,
    withheld: Option<Arc<NotFor>>,
    /// How often another instance has listed.
    heard_elsewhere: usize,
    /// How often another client came to share it.
    widened: usize,
    logs: Vec<LoggedLine>,
}

/// What is not for some clients, by what they can do.
#[derive(Default)]
struct NotFor {
    sets: Vec<(Raw, Arc<Missing>)>,
    asked: AtomicUsize,
}

impl Withheld for NotFor {
    fn withheld_from(&self, capabilities: &Raw) -> Option<Arc<Missing>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.sets.iter().find(|(set, _)| set == capabilities).map(|(_, missing)| Arc::clone(missing))
    }
}

impl Fake {
    pub(super) fn new(
        id: &str,
        told: Option<(ServerKey, Arc<dyn Host>)>,
        tasks: Tasks,
        discoveries: Arc<Discoveries>,
    ) -> Self {
        let state = State {
            offers: Some(Arc::new(listing("{}"))),
            takes: Duration::ZERO,
            listing: None,
            phase: Phase::Idle,
            script: echo(id),
            calls: Vec::new(),
            held: Vec::new(),
            told: Vec::new(),
            discovered: 0,
            orders: Vec::new(),
            closed: false,
            start: None,
            withheld: None,
            heard_elsewhere: 0,
            widened: 0,
            logs: Vec::new(),
        };
        Self { id: id.to_owned(), told, tasks, discoveries, state: Arc::new(Mutex::new(state)) }
    }

    /// Says what discovery will find: an object of lists, with `capabilities` and `instructions` where it matters.
    pub(crate) fn offers(&self, offer: &str) {
        self.state().offers = Some(Arc::new(listing(offer)));
    }

    /// Says that the server never starts.
    pub(crate) fn offers_nothing(&self) {
        self.state().offers = None;
    }

    pub(crate) fn takes(&self, time: Duration) {
        self.state().takes = time;
    }

    /// Makes the listing known, as a server does that has been read.
    pub(crate) fn publish(&self, offer: &str) {
        self.state().phase = Phase::Ready;
        self.set_listing(Some(Arc::new(listing(offer))));
    }

    pub(crate) fn publish_with(&self, offer: &str, change: impl FnOnce(&mut Listing)) {
        self.publish(offer);
        let mut listing = listing(offer);
        change(&mut listing);
        self.set_listing(Some(Arc::new(listing)));
    }

    pub(crate) fn vanish(&self, phase: Phase) {
        self.state().phase = phase;
        self.set_listing(None);
    }

    /// Says what is not for clients with these capabilities, by the labels of any kind.
    pub(crate) fn withholds(&self, sets: &[(&str, &[&str])]) {
        let missing = |labels: &[&str]| -> Arc<Missing> {
            Arc::new(Kind::ALL.map(|_| labels.iter().map(|label| (*label).to_owned()).collect()))
        };
        let sets = sets.iter().map(|(set, labels)| (raw(set), missing(labels))).collect();
        self.state().withheld = Some(Arc::new(NotFor { sets, asked: AtomicUsize::new(0) }));
    }

    /// Returns how often it was asked what is not for somebody.
    pub(crate) fn asked_withheld(&self) -> usize {
        self.state().withheld.as_ref().map_or(0, |withheld| withheld.asked.load(Ordering::SeqCst))
    }

    /// Returns how often another client came to share it.
    pub(crate) fn widened(&self) -> usize {
        self.state().widened
    }

    /// Returns how often it heard that another instance has listed.
    pub(crate) fn heard_elsewhere(&self) -> usize {
        self.state().heard_elsewhere
    }

    pub(crate) fn answers(&self, script: impl Fn(&Call) -> Option<Result<Raw, Failure>> + Send + 'static) {
        self.state().script = Box::new(script);
    }

    /// Keeps calls unanswered until they are taken by `held`.
    pub(crate) fn holds(&self) {
        self.answers(|_| None);
    }

    pub(crate) fn held(&self) -> Vec<(Call, Exchange)> {
        std::mem::take(&mut self.state().held)
    }

    pub(crate) fn refuses(&self) {
        self.answers(|_| Some(Err(Failure::Peer(Raw::from_static(r#"{"code":-32002,"message":"mine"}"#)))));
    }

    /// Returns the calls since the last look, each as its method and parameters.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state().calls)
    }

    pub(crate) fn notified(&self) -> Vec<String> {
        std::mem::take(&mut self.state().told)
    }

    pub(crate) fn discovered(&self) -> usize {
        self.state().discovered
    }

    pub(crate) fn orders(&self) -> Vec<Order> {
        self.state().orders.clone()
    }

    /// Returns when it was to be started.
    pub(crate) fn server_start(&self) -> ServerStart {
        self.state().start.expect("the manager is no server")
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    pub(crate) fn host(&self) -> (&ServerKey, &dyn Host) {
        let (key, host) = self.told.as_ref().expect("the manager has no host");
        (key, host.as_ref())
    }

    /// Writes a line beside the protocol, so many seconds after the beginning of 1970.
    pub(crate) fn says(&self, seconds: u64, line: &str) {
        let line = LoggedLine { at_ms: 1000 * seconds, ..LoggedLine::now(line.to_owned()) };
        self.state().logs.push(line.clone());
        let (key, host) = self.host();
        if host.wants_logs() {
            host.logged(key, line);
        }
    }

    /// Asks a question outside any call.
    pub(crate) async fn question(&self, method: &str) -> String {
        let (exchange, asked) = Asked::open(None);
        let (key, host) = self.host();
        host.ask(key, None, call(method, "{}"), exchange);
        show(&asked.reply.await.unwrap())
    }

    fn set_listing(&self, listing: Option<Arc<Listing>>) {
        self.state().listing = listing;
        if let Some((key, host)) = &self.told {
            host.listing_changed(key);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn echo(id: &str) -> Script {
    let id = id.to_owned();
    Box::new(move |call| {
        let params = call.params.as_ref().map_or("null", |params| params.as_str());
        Some(Ok(raw(&format!(r#"{{"by":"{id}","sent":{params}}}"#))))
    })
}

/// Reads an offer. A list that is there is also declared.
pub(crate) fn listing(offer: &str) -> Listing {
    let offer = raw(offer);
    let mut listing = Listing {
        instructions: offer.get("instructions").map(|text| text.to_text().unwrap().into_owned()),
        ..Listing::default()
    };
    let mut capabilities = offer.get("capabilities").unwrap_or_else(|| raw("{}")).object().unwrap();
    for kind in Kind::ALL {
        let Some(list) = offer.get(kind.member()) else { continue };
        let item =
            |raw: Raw| Item { label: raw.get(kind.label()).unwrap().to_text().unwrap().into_owned(), raw };
        *listing.items_mut(kind) = list.elements().unwrap().into_iter().map(item).collect();
        let capability = if kind == Kind::Templates { "resources" } else { kind.member() };
        capabilities.set(capability, raw("{}"));
    }
    listing.capabilities = Some(capabilities.into_raw());
    listing
}

impl Upstream for Fake {
    fn send(&self, call: Call, exchange: Exchange) {
        let answer = {
            let mut state = self.state();
            let params = call.params.as_ref().map_or("", |params| params.as_str());
            state.calls.push(format!("{} {params}", call.method));
            match (state.script)(&call) {
                Some(reply) => Some((exchange, reply)),
                None => {
                    state.held.push((call, exchange));
                    None
                }
            }
        };
        if let Some((exchange, reply)) = answer {
            exchange.finish(reply);
        }
    }

    fn notify(&self, method: &'static str, _params: Option<Raw>) {
        self.state().told.push(method.to_owned());
    }

    fn listing(&self) -> Option<Arc<Listing>> {
        self.state().listing.clone()
    }

    fn withheld(&self) -> Option<Arc<dyn Withheld>> {
        let is_shared = self.told.as_ref().is_some_and(|(_, host)| host.audience() == Audience::Shared);
        self.state().withheld.clone().filter(|_| is_shared).map(|withheld| withheld as Arc<dyn Withheld>)
    }

    fn widened(&self) {
        self.state().widened += 1;
    }

    fn listed_elsewhere(&self) {
        self.state().heard_elsewhere += 1;
    }

    fn status(&self) -> Status {
        let phase = self.state().phase.clone();
        Status { pid: (phase == Phase::Ready).then_some(7), phase, since: Instant::now() }
    }

    fn logs(&self, lines: usize) -> Vec<LoggedLine> {
        let said = self.state().logs.clone();
        if said.is_empty() {
            return vec![LoggedLine::now(format!("the last {lines} lines"))];
        }
        said[said.len().saturating_sub(lines)..].to_vec()
    }

    fn discover(&self) -> BoxFuture<()> {
        let (takes, offers) = {
            let mut state = self.state();
            state.discovered += 1;
            state.phase = Phase::Starting;
            (state.takes, state.offers.clone())
        };
        let (done, found) = oneshot::channel();
        let (key, host) = self.told.clone().expect("the manager is never discovered");
        let state = Arc::clone(&self.state);
        // The server's own task goes on whether or not anyone waits.
        self.tasks.spawn_background(async move {
            tokio::time::sleep(takes).await;
            {
                let mut state = lock(&state);
                state.phase = if offers.is_some() { Phase::Ready } else { Phase::Idle };
                state.listing = offers;
            }
            host.listing_changed(&key);
            let _ = done.send(());
        });
        let discoveries = Arc::clone(&self.discoveries);
        Box::pin(async move {
            let now = discoveries.now.fetch_add(1, Ordering::SeqCst) + 1;
            discoveries.most.fetch_max(now, Ordering::SeqCst);
            let _leaving = Leaving(discoveries);
            let _ = found.await;
        })
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        self.state().orders.push(order);
        Box::pin(std::future::ready(Ok(())))
    }

    fn close(&self, _drain: Duration) -> BoxFuture<()> {
        self.state().closed = true;
        Box::pin(std::future::ready(()))
    }
}

struct Leaving(Arc<Discoveries>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}
