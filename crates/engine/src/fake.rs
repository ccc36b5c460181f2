//! A world without servers: fakes that record what they are told and answer by script.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manifold_config::{Config, Environment, LoadOptions, Profile, Server, ServerKey, ServerStart, load_text};
use manifold_protocol::envelope::MethodName;
use manifold_protocol::{Answer, Call, Caller, CodeSet, Failure, Fault, Kind, List, Method, Raw, Reply};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::audience::Audience;
use crate::changes::{Client, ClientId};
use crate::control::{Control, ReloadReport, Reloader};
use crate::exchange::{CallHandle, Exchange, Sink};
use crate::fleet::Fleet;
use crate::gateway::{Gateway, Opening};
use crate::tasks::Tasks;
use crate::upstream::{
    BoxFuture, Connector, Host, Item, Listing, Missing, Order, Phase, Status, Upstream, Withheld,
};

/// A gateway over fakes.
pub(crate) struct World {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) control: Control,
    fakes: Arc<Fakes>,
}

impl World {
    /// Opens all servers of a config, as stdio shows them.
    pub(crate) fn new(config_text: &str) -> Self {
        Self::open(config_text, None, Audience::One)
    }

    pub(crate) fn of_profile(profile: Profile, config_text: &str) -> Self {
        Self::of_config(config_of(profile, config_text), None, Audience::One)
    }

    pub(crate) fn open(config_text: &str, namespace: Option<&str>, audience: Audience) -> Self {
        Self::of_config(config(config_text), namespace, audience)
    }

    fn of_config(config: Config, namespace: Option<&str>, audience: Audience) -> Self {
        let tasks = Tasks::new();
        let fakes =
            Arc::new(Fakes { made: Mutex::default(), tasks: tasks.clone(), discoveries: Arc::default() });
        let fleet = Fleet::new(Arc::new(config), Box::new(Arc::clone(&fakes)), tasks);
        Self::show(fleet, fakes, namespace, audience)
    }

    /// Opens another namespace of the same servers, as HTTP does.
    pub(crate) fn also(&self, namespace: &str) -> Self {
        self.also_for(namespace, Audience::Shared)
    }

    pub(crate) fn also_for(&self, namespace: &str, audience: Audience) -> Self {
        Self::show(Arc::clone(&self.fleet), Arc::clone(&self.fakes), Some(namespace), audience)
    }

    fn show(fleet: Arc<Fleet>, fakes: Arc<Fakes>, namespace: Option<&str>, audience: Audience) -> Self {
        let manager = Arc::new(Fake::new("manager", None, fakes.tasks.clone(), Arc::default()));
        manager.publish(r#"{"tools":[{"name":"servers_list","description":"List"}]}"#);
        let opening = Opening {
            namespace: namespace.map(str::to_owned),
            selection: if namespace.is_some() { "flag" } else { "all" },
            audience,
            eager: false,
        };
        let mut hands = None;
        let gateway = Gateway::open(Arc::clone(&fleet), opening, Arc::new(NoFile), |control| {
            hands = Some(control);
            manager
        });
        Self { fleet, gateway, control: hands.unwrap(), fakes }
    }

    /// Returns the latest fake of that server id.
    pub(crate) fn fake(&self, id: &str) -> Arc<Fake> {
        let made = lock(&self.fakes.made);
        Arc::clone(made.iter().rev().find(|fake| fake.id == id).expect("a server of that id"))
    }

    pub(crate) fn made(&self) -> usize {
        lock(&self.fakes.made).len()
    }

    /// Returns how many servers were being discovered at once, at most.
    pub(crate) fn most_discoveries(&self) -> usize {
        self.fakes.discoveries.most.load(Ordering::SeqCst)
    }

    pub(crate) async fn call(&self, method: &str, params: &str) -> String {
        show(&self.ask(None, method, params).reply.await.unwrap())
    }

    pub(crate) async fn call_as(&self, client: ClientId, method: &str, params: &str) -> String {
        show(&self.ask(Some(client), method, params).reply.await.unwrap())
    }

    /// Lists as a client with these capabilities does.
    pub(crate) async fn list_as(&self, kind: Kind, capabilities: &str) -> Arc<List> {
        let (exchange, asked) = Asked::open(None);
        self.gateway.dispatch(Call::new(kind.list_method(), None).by(caller(capabilities)), exchange);
        match asked.reply.await.unwrap() {
            Ok(Answer::List(list)) => list,
            other => panic!("no list: {other:?}"),
        }
    }

    pub(crate) async fn reply(&self, method: &str, params: &str) -> Reply {
        self.ask(None, method, params).reply.await.unwrap()
    }

    /// Dispatches a call and does not wait.
    pub(crate) fn ask(&self, client: Option<ClientId>, method: &str, params: &str) -> Asked {
        let asked = Asked::open(client);
        let (exchange, asked) = asked;
        self.gateway.dispatch(call(method, params), exchange);
        asked
    }

    pub(crate) async fn names(&self, kind: Kind) -> Vec<String> {
        let list = self.reply(kind.list_method().as_str(), "{}").await.unwrap();
        let items = list.plain().get(kind.member()).unwrap().elements().unwrap();
        items.iter().map(|item| item.get(kind.label()).unwrap().to_text().unwrap().into_owned()).collect()
    }
}

pub(crate) fn call(method: &str, params: &str) -> Call {
    Call::new(Method::from(MethodName::from(method)), Some(raw(params)))
}

pub(crate) fn caller(capabilities: &str) -> Arc<Caller> {
    Arc::new(Caller {
        capabilities: raw(capabilities),
        info: Some(raw(r#"{"name":"c"}"#)),
        log_level: None,
        retries: false,
        is_retry: false,
        words: Default::default(),
    })
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

pub(crate) fn config(text: &str) -> Config {
    load(text, LoadOptions::default())
}

pub(crate) fn config_of(profile: Profile, text: &str) -> Config {
    load(text, LoadOptions { profile: Some(profile), ..LoadOptions::default() })
}

fn load(text: &str, options: LoadOptions) -> Config {
    let environment = Environment { cwd: "/".into(), ..Environment::default() };
    load_text(text, Some(Path::new("config.json")), &LoadOptions { environment, ..options }).unwrap()
}

/// Writes a reply down: a result as it is, an error with what a client with our own codes would see.
pub(crate) fn show(reply: &Reply) -> String {
    match reply {
        Ok(answer) => answer.plain().as_str().to_owned(),
        Err(Failure::Fault(fault)) => format!("fault {}", fault.to_error(CodeSet::Own)),
        Err(Failure::Peer(error)) => format!("peer {error}"),
    }
}

/// A call of a test, waiting for its answer.
pub(crate) struct Asked {
    pub(crate) reply: oneshot::Receiver<Reply>,
    pub(crate) flight: Arc<CallHandle<dyn Sink>>,
}

impl Asked {
    pub(crate) fn open(client: Option<ClientId>) -> (Exchange, Self) {
        let (sender, reply) = oneshot::channel();
        let (exchange, flight) = Exchange::open(Probe { sender: Mutex::new(Some(sender)), client });
        (exchange, Self { reply, flight })
    }
}

struct Probe {
    sender: Mutex<Option<oneshot::Sender<Reply>>>,
    client: Option<ClientId>,
}

impl Sink for Probe {
    fn reply(&self, reply: Reply) {
        let _ = lock(&self.sender).take().expect("one answer").send(reply);
    }

    fn client(&self) -> Option<ClientId> {
        self.client
    }
}

/// A client that writes down what it is told and answers every question with its own name.
#[derive(Default)]
pub(crate) struct Listener {
    heard: Mutex<Vec<String>>,
}

impl Listener {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.heard))
    }
}

impl Client for Listener {
    fn notify(&self, method: &str, params: Option<Raw>) {
        let params = params.map(|params| format!(" {params}")).unwrap_or_default();
        lock(&self.heard).push(format!("{method}{params}"));
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        lock(&self.heard).push(format!("? {}", call.method));
        exchange.finish(Ok(Raw::from_static(r#"{"answered":"by the client"}"#)));
    }
}

struct Fakes {
    made: Mutex<Vec<Arc<Fake>>>,
    tasks: Tasks,
    discoveries: Arc<Discoveries>,
}

#[derive(Default)]
pub(crate) struct Discoveries {
    now: AtomicUsize,
    most: AtomicUsize,
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
    fn new(
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

    fn listed_elsewhere(&self) {
        self.state().heard_elsewhere += 1;
    }

    fn status(&self) -> Status {
        let phase = self.state().phase.clone();
        Status { pid: (phase == Phase::Ready).then_some(7), phase, since: Instant::now() }
    }

    fn logs(&self, lines: usize) -> Vec<String> {
        vec![format!("the last {lines} lines")]
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

struct NoFile;

impl Reloader for NoFile {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>> {
        Box::pin(std::future::ready(Err("there is no file".to_owned())))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a config of servers by these ids, with more top-level keys.
pub(crate) fn servers(ids: &[&str], settings: &str) -> String {
    let entries: Vec<String> =
        ids.iter().map(|id| format!(r#"{}:{{"builtin":"time"}}"#, Raw::string(id))).collect();
    let settings = if settings.is_empty() { String::new() } else { format!(",{settings}") };
    format!(r#"{{"mcpServers":{{{}}}{settings}}}"#, entries.join(","))
}

/// Writes an offer of tools by these names.
pub(crate) fn tools(names: &[&str]) -> String {
    let tools: Vec<String> =
        names.iter().map(|name| format!(r#"{{"name":{}}}"#, Raw::string(name))).collect();
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}
