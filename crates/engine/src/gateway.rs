//! One namespace as one server: the place where each method finds its way.

mod extensions;
mod listings;
mod logging;
mod lookup;
mod notifications;
mod resources;
mod subscriptions;
mod task_owners;
mod view;
mod watched;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use arc_swap::ArcSwap;
use manifold_admin::ClientChange;
use manifold_config::{Config, Settings};
use manifold_protocol::{Answer, Call, Fault, Kind, Method, Raw, RawObject};
use tracing::{debug, error};

use crate::audience::{Audience, Downstream};
use crate::catalog::{Catalog, Member, ResourceOwner};
use crate::changes::{Client, ClientId, Clients};
use crate::control::{NamespaceControl, Reloader};
use crate::discovery::Discovery;
use crate::exchange::{Exchange, Target};
use crate::fleet::{Fleet, Outdated};
use crate::observe::Observers;
use crate::outbox::Outbox;
use crate::policy;
use crate::principal::Principal;
use crate::router::{self, Found};
use crate::sync::Lock as _;
use crate::upstream::{BoxFuture, ClientFacts, Phase, Upstream};
use listings::Purpose;
pub use lookup::KnownTool;
use notifications::answer_from_config;
use task_owners::TaskOwners;
use view::view;

/// Which namespace to serve, and how it came to be chosen.
#[derive(Debug, Clone)]
pub struct Opening {
    /// `None`: all servers.
    pub namespace: Option<String>,
    /// `flag`, `default`, `only` or `all`.
    pub selection: &'static str,
    /// Whose calls will pass: some defaults differ.
    pub audience: Audience,
    /// Start everything with the first request (`--eager`).
    pub eager: bool,
}

/// What a client is told when it introduces itself.
#[derive(Debug, Clone)]
pub struct Introduction {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
    /// Extensions to the protocol that known servers declare.
    pub extensions: RawObject,
}

/// One namespace, served.
pub struct Gateway {
    fleet: Arc<Fleet>,
    opening: Opening,
    /// What the servers behind it see of it.
    downstream: Arc<Downstream>,
    /// Takes the place of `opening` once a config that could not be read can be.
    reopened: OnceLock<Opening>,
    catalog: ArcSwap<Catalog>,
    /// Held while a new catalog is built, so that an older one never replaces a newer.
    building: Mutex<()>,
    clients: Arc<Clients>,
    discovery: Arc<Discovery>,
    /// Whether a client has introduced itself: nothing starts before (decision 29).
    introduced: AtomicBool,
    manager: Arc<dyn Upstream>,
    task_owners: Arc<TaskOwners>,
}

impl Gateway {
    /// Opens a namespace. `manager` makes the upstream of the manager tools from its control.
    pub fn open(
        fleet: Arc<Fleet>,
        opening: Opening,
        reloader: Arc<dyn Reloader>,
        manager: impl FnOnce(NamespaceControl) -> Arc<dyn Upstream>,
    ) -> Arc<Self> {
        let gateway = Arc::new_cyclic(|me: &Weak<Self>| {
            let manager = manager(NamespaceControl::new(me.clone(), reloader));
            let downstream = Downstream::new(me.clone(), opening.audience);
            let view = view(&fleet, &opening, &manager, &downstream);
            Self {
                catalog: ArcSwap::from_pointee(Catalog::build(Arc::new(view))),
                building: Mutex::default(),
                clients: Arc::default(),
                discovery: Arc::new(Discovery::new(Arc::clone(fleet.places()), fleet.leaving().clone())),
                introduced: AtomicBool::new(false),
                fleet,
                opening,
                downstream,
                reopened: OnceLock::new(),
                manager,
                task_owners: Arc::default(),
            }
        });
        gateway.fleet.register(&gateway);
        let clients = Arc::clone(&gateway.clients);
        gateway.fleet.tasks().spawn_background(async move { clients.announce().await });
        gateway
    }

    pub fn attach(&self, client: Arc<dyn Client>) -> ClientId {
        let id = self.clients.attach(client, None);
        self.tell_of_client(ClientChange::Came, id);
        id
    }

    /// Attaches one that only listens. What it is subscribed to counts for the client whose listening it is.
    pub fn attach_for(&self, owner: ClientId, client: Arc<dyn Client>) -> ClientId {
        self.clients.attach(client, Some(owner))
    }

    /// Forgets a client and ends the subscriptions and the server processes that were its alone.
    pub fn detach(self: &Arc<Self>, id: ClientId) {
        self.tell_of_client(ClientChange::Left, id);
        self.fleet.client_left(id);
        let left = self.clients.detach(id);
        left.tasks.iter().for_each(|task| self.leave_task(task));
        self.end_subscriptions(left.uris);
    }

    /// Takes a client's introduction: servers may start from now on, eager ones do.
    pub fn introduce(self: &Arc<Self>, facts: ClientFacts) -> Introduction {
        self.look_up_for(facts);
        self.introduced.store(true, Ordering::Relaxed);
        self.start_eager();
        self.introduction()
    }

    /// Shows what is known for clients such as this, unless one has introduced itself. Nothing is started.
    pub fn expect(&self, facts: impl FnOnce() -> ClientFacts) {
        if !self.introduced.load(Ordering::Relaxed) {
            self.look_up_for(facts());
        }
    }

    /// Takes over what servers offered when they were told the same.
    fn look_up_for(&self, mut facts: ClientFacts) {
        facts.offer_roots(&self.fleet.config().settings);
        self.downstream.set_facts(facts);
        self.fleet.introduced(&self.downstream);
        self.catch_up(&self.catalog.load());
    }

    /// Tells where all that is for its one client goes: servers that work for nobody else wait while it does not read.
    pub fn serve_only(&self, outbox: &Arc<Outbox>) {
        self.downstream.set_outbox(outbox);
    }

    /// Tells that whoever is served, or we, are leaving: a list that waits for servers is answered with what is known, and
    /// no server is started for lists any more (D2). Calls go on.
    pub fn leave(&self) {
        self.fleet.leave();
    }

    pub fn introduction(&self) -> Introduction {
        let settings = self.settings();
        Introduction {
            name: settings.server_name.clone(),
            version: settings.server_version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            instructions: self.instructions(),
            extensions: self.catalog.load().extensions.clone(),
        }
    }

    fn instructions(&self) -> Option<String> {
        let trouble = self.trouble();
        if self.fleet.config().unread.is_some() {
            return trouble;
        }
        let usual = self.with_starting(self.catalog.load().instructions.clone());
        let parts: Vec<String> = trouble.into_iter().chain(usual).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// Returns what a client must know of a config that could not be read, at the start or since (D9, D6).
    pub(crate) fn trouble(&self) -> Option<String> {
        let config = self.fleet.config();
        let next = "Tell the user; once the file is corrected and saved it is taken over by itself.";
        if let Some(why) = &config.unread {
            return Some(format!("The config cannot be used, so there are no servers: {why}\n{next}"));
        }
        let Outdated { problem, since } = &*self.fleet.outdated()?;
        Some(format!(
            "The config file cannot be taken over; since {since} the config before it is in force: {problem}\n{next}"
        ))
    }

    /// Returns why the config in force is not the one in the file, if it is not.
    pub fn outdated(&self) -> Option<Arc<Outdated>> {
        self.fleet.outdated()
    }

    /// Says which namespace is served once the config, which could not be read so far, can be. This happens once.
    pub fn reopen(&self, opening: Opening) {
        let _ = self.reopened.set(opening);
    }

    /// Lets servers start for clients that never introduce themselves: each of their requests says who asks.
    pub fn admit(self: &Arc<Self>, facts: impl FnOnce() -> ClientFacts) {
        if !self.introduced.load(Ordering::Relaxed) {
            self.introduce(facts());
        }
    }

    /// Returns an id for a client that is known by a single call.
    pub fn passer_by(&self) -> ClientId {
        ClientId::fresh()
    }

    /// Tells that a passer-by calls no more: server processes that were its alone end with its last call.
    pub fn passed_by(&self, id: ClientId) {
        self.fleet.client_left(id);
    }

    /// Lets a client hear of changes to these lists, from now on.
    pub fn watch(&self, id: ClientId, kinds: &[Kind]) {
        for kind in kinds {
            self.clients.served(Some(id), *kind);
        }
    }

    /// Lets a client hear of tasks that are its principal's. Resolves to those that are followed.
    pub fn watch_tasks(
        self: &Arc<Self>,
        id: ClientId,
        who: &Principal,
        tasks: Vec<String>,
    ) -> BoxFuture<Vec<String>> {
        let told: Vec<_> = tasks
            .into_iter()
            .filter(|task| self.task_owners.permits(task, who))
            .filter_map(|task| {
                let (upstream, own) = self.follow_task(id, &task)?;
                let (exchange, answer) = Exchange::answered_to(id);
                let mut listen = Call::new(Method::Listen, None);
                listen.set_param("taskId", own);
                upstream.send(listen, exchange);
                Some((task, answer))
            })
            .collect();
        let gateway = Arc::clone(self);
        Box::pin(async move {
            let mut followed = Vec::new();
            for (task, answer) in told {
                if matches!(answer.await, Ok(Ok(_))) {
                    followed.push(task);
                } else {
                    gateway.unfollow_task(id, &task);
                }
            }
            followed
        })
    }

    /// Returns the namespace this is, `None` for all servers.
    pub fn namespace(&self) -> Option<&str> {
        self.opening().namespace.as_deref()
    }

    pub fn settings(&self) -> Settings {
        self.fleet.config().settings.clone()
    }

    pub fn config(&self) -> Arc<Config> {
        self.fleet.config()
    }

    /// Returns what a tool's arguments look like, if the tool is known.
    pub fn input_schema(&self, exposed_name: &str, who: &Principal) -> Option<Raw> {
        match router::find_tool(&self.catalog.load(), who, exposed_name, true) {
            Ok(Found::Tool(route)) => route.input_schema.clone(),
            _ => None,
        }
    }

    /// Returns those who watch calls, of this namespace and all others.
    pub fn observers(&self) -> &Observers {
        self.fleet.observers()
    }

    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Takes a call: the one entrance for all of them. Returns at once; the answer comes through the exchange.
    pub fn dispatch(self: &Arc<Self>, call: Call, mut exchange: Exchange) {
        let observers = self.observers();
        if observers.is_watched() {
            let (client, requester) = (exchange.client(), exchange.requester());
            exchange.keep_record(observers.open(&call, self.namespace(), client, requester));
        }
        // Whatever breaks in there breaks this call alone: its exchange answers as it is dropped (F29).
        if catch_unwind(AssertUnwindSafe(|| self.send(call, exchange))).is_err() {
            error!("a call panicked; it was answered with an internal error");
        }
    }

    /// Sends a call where it belongs.
    fn send(self: &Arc<Self>, call: Call, exchange: Exchange) {
        self.want_logs(&call);
        match call.method {
            Method::Ping => exchange.finish(Ok(Raw::from_static("{}"))),
            Method::ToolsList => self.list(Kind::Tools, call, exchange),
            Method::ResourcesList => self.list(Kind::Resources, call, exchange),
            Method::TemplatesList => self.list(Kind::Templates, call, exchange),
            Method::PromptsList => self.list(Kind::Prompts, call, exchange),
            Method::ToolsCall => self.call_tool(call, exchange, false),
            Method::PromptsGet => self.get_prompt(call, exchange, false),
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                self.resource(call, exchange, false);
            }
            Method::Complete => self.complete(call, exchange, false),
            Method::SetLevel => self.set_level(&call, exchange),
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => self.task(call, exchange),
            Method::SkillsList | Method::SkillsGet | Method::DirectoryRead | Method::Other(_) => {
                self.extension(call, exchange, false);
            }
            Method::Discover
            | Method::Listen
            | Method::TasksResult
            | Method::Initialize
            | Method::Shutdown
            | Method::CreateMessage
            | Method::Elicit
            | Method::ListRoots => exchange.fail(Fault::UnknownMethod(call.method.as_str().to_owned())),
        }
    }

    /// Passes a client's notification on to every running server.
    pub fn tell_servers(&self, method: &'static str, params: Option<Raw>) {
        for member in &self.catalog.load().view.members {
            member.upstream.notify(method, params.clone());
        }
    }

    /// Answers a question that no client can: roots from the config, all else declined.
    pub fn decline(&self, call: &Call, exchange: Exchange) {
        answer_from_config(Some(&self.fleet.config()), None, call, exchange);
    }

    fn list(self: &Arc<Self>, kind: Kind, call: Call, exchange: Exchange) {
        self.with_listings_for(Purpose::List, exchange, move |gateway, exchange| {
            gateway.clients.served(exchange.client(), kind);
            let list = gateway.shown_to(exchange.principal(), call.caller.as_deref(), kind);
            exchange.finish(Ok(Answer::List(list)));
        });
    }

    fn call_tool(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let Some((place, name)) = call.find_text_param("name") else {
            return exchange.fail(Fault::InvalidParams("`name` must be the name of a tool".to_owned()));
        };
        let catalog = self.catalog.load();
        let found = match router::find_tool(&catalog, exchange.principal(), &name, asked) {
            Ok(found) => found,
            Err(_) if !asked && self.catch_up(&catalog) => return self.call_tool(call, exchange, true),
            Err(fault) => return exchange.fail(fault),
        };
        match found {
            Found::Tool(route) => {
                if let Some(fault) =
                    policy::refusal(exchange.principal(), route.decisions, Kind::Tools, &name)
                {
                    return exchange.fail(fault);
                }
                if let Err(fault) = route.arguments.check(&name, call.params.as_ref()) {
                    return exchange.fail(fault);
                }
                debug!(tool = ?name, server = %route.target.server, "call");
                call.replace_param(place, &route.original);
                exchange.set_target(Arc::clone(&route.target));
                let member = catalog.member(route.member);
                if extensions::may_be_task(&call) {
                    exchange = self.naming_tasks(member, exchange);
                }
                if route.is_loose {
                    exchange =
                        exchange.then(|reply, outer| outer.finish(reply.map(Answer::allow_any_structured)));
                }
                member.upstream.send(call, exchange);
            }
            Found::Unlisted { member, original } => {
                let member = catalog.member(member);
                debug!(tool = ?name, server = %member.key.id, "call to a server not listed yet");
                call.replace_param(place, &Raw::string(&original));
                exchange.set_target(Arc::new(Target { tool: Some(original), ..(*member.target).clone() }));
                if extensions::may_be_task(&call) {
                    exchange = self.naming_tasks(member, exchange);
                }
                member.upstream.send(call, exchange);
            }
            Found::AskAll => {
                drop(catalog);
                self.with_listings(exchange, move |gateway, exchange| {
                    gateway.call_tool(call, exchange, true)
                });
            }
            Found::AskFirst(members) => {
                let asked = members
                    .iter()
                    .map(|at| (Arc::clone(&catalog.member(*at).upstream), catalog.denies_tools(*at)));
                let asked: Vec<_> = asked.collect();
                let (gateway, client) = (Arc::clone(self), exchange.client());
                // A call never waits behind the discovery of others: only its own server is asked.
                self.fleet.tasks().spawn(async move {
                    for (upstream, is_guarded) in asked {
                        if is_guarded {
                            rouse(&*upstream, client).await;
                        }
                        upstream.discover().await;
                    }
                    gateway.catch_up(&gateway.catalog.load());
                    gateway.call_tool(call, exchange, true);
                });
            }
        }
    }

    fn get_prompt(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let Some(name) = call.text_param("name") else {
            return exchange.fail(Fault::InvalidParams("`name` must be the name of a prompt".to_owned()));
        };
        let catalog = self.catalog.load();
        match catalog.prompt(&name).filter(|route| route.is_shown_to(exchange.principal())) {
            Some(route) => {
                if let Some(fault) =
                    policy::refusal(exchange.principal(), route.decisions, Kind::Prompts, &name)
                {
                    return exchange.fail(fault);
                }
                let member = catalog.member(route.member);
                if route.original != name {
                    call.set_param("name", Raw::string(&route.original));
                }
                exchange.set_target(Arc::clone(&member.target));
                member.upstream.send(call, exchange);
            }
            None if asked => exchange.fail(Fault::UnknownPrompt(name)),
            None => self
                .with_listings(exchange, move |gateway, exchange| gateway.get_prompt(call, exchange, true)),
        }
    }

    fn complete(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let reference =
            call.params.as_ref().and_then(|params| params.get("ref")).and_then(|raw| raw.object());
        let Some(mut reference) = reference else {
            return exchange.fail(Fault::InvalidParams("`ref` must name a prompt or a resource".to_owned()));
        };
        let text =
            |object: &RawObject, key: &str| object.get(key).and_then(|raw| Some(raw.to_text()?.into_owned()));
        let catalog = self.catalog.load();
        let (key, kind, label, route) = match text(&reference, "type").as_deref() {
            Some("ref/prompt") => {
                let name = text(&reference, "name").unwrap_or_default();
                let route = catalog.prompt(&name);
                ("name", Kind::Prompts, name, route)
            }
            Some("ref/resource") => {
                let uri = text(&reference, "uri").unwrap_or_default();
                let route = match catalog.resource(&uri) {
                    ResourceOwner::One(route) => Some(route),
                    ResourceOwner::Perhaps(_) => None,
                };
                ("uri", Kind::Resources, uri, route)
            }
            _ => {
                let why = "`ref.type` must be `ref/prompt` or `ref/resource`".to_owned();
                return exchange.fail(Fault::InvalidParams(why));
            }
        };
        match route.filter(|route| route.is_shown_to(exchange.principal())) {
            Some(route) => {
                if let Some(fault) = policy::refusal(exchange.principal(), route.decisions, kind, &label) {
                    return exchange.fail(fault);
                }
                if route.original != label {
                    reference.set(key, Raw::string(&route.original));
                    call.set_param("ref", reference.into_raw());
                }
                let member = catalog.member(route.member);
                exchange.set_target(Arc::clone(&member.target));
                member.upstream.send(call, exchange);
            }
            None if !asked => {
                self.with_listings(exchange, move |gateway, exchange| gateway.complete(call, exchange, true));
            }
            None if key == "name" => exchange.fail(Fault::UnknownPrompt(label)),
            None => exchange.fail(Fault::UnknownResource(label)),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.fleet.left_by(&self.downstream);
    }
}

/// Has a server tried again that has failed: no list starts it, but a call does, and this stands for one (D4).
async fn rouse(upstream: &dyn Upstream, client: Option<ClientId>) {
    if matches!(upstream.status().phase, Phase::Failed(_)) {
        let (exchange, answer) = client.map_or_else(Exchange::answered, Exchange::answered_to);
        upstream.send(Call::new(Method::Ping, None), exchange);
        // Its status says what came of it.
        let _ = answer.await;
    }
}

fn standing(member: &Member) -> std::sync::MutexGuard<'_, crate::upstream::Standing> {
    member.standing.locked()
}

#[cfg(test)]
mod tests;
