//! One namespace as one server: the place where each method finds its way.

mod answers;
mod clients;
mod completion;
mod extensions;
mod granted;
mod introduction;
mod items;
mod listings;
mod logging;
mod lookup;
mod notifications;
pub(crate) mod operator;
mod pace;
mod prompts;
mod rates;
mod readiness;
mod resources;
mod sign_in;
mod subscriptions;
mod task_owners;
mod tools;
mod view;
mod watched;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use manifold_config::{Config, ServerKey, Settings};
use manifold_protocol::{Answer, Call, Fault, Kind, Method, Raw};
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::audience::{Audience, Downstream};
use crate::catalog::{Catalog, Member};
use crate::changes::Clients;
use crate::control::{NamespaceControl, Reloader};
use crate::discovery::Discovery;
use crate::exchange::Exchange;
use crate::fleet::{Fleet, Outdated, Outgrown};
use crate::observe::{Observers, Watch};
use crate::principal::Principal;
use crate::resolution::Resolution;
use crate::router::{self, Found};
use crate::sync::Lock as _;
use crate::traffic::Traffic;
use crate::upstream::{Phase, Upstream};
pub use introduction::Introduction;
pub use items::ItemQuery;
pub(crate) use items::has_shape;
use listings::Purpose;
pub use lookup::KnownTool;
pub(crate) use notifications::{answer_from_config, roots_of};
pub use operator::{FoundItem, NotFound};
use pace::Pace;
use task_owners::TaskOwners;
use view::{Asking, view};

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
    /// The servers as those served resolve them; `None`: as the config in force has them.
    pub resolution: Option<Arc<Resolution>>,
    /// What the client's session is known by in a process that takes our place, if it is.
    pub session: Option<Arc<str>>,
    /// It is opened for an operator, who is no client and is not counted as one.
    pub is_operators: bool,
    /// One server and nothing else, under its own names: for another replica, which has names and rules of its own.
    pub alone: Option<ServerKey>,
}

/// One namespace, served.
pub struct Gateway {
    fleet: Arc<Fleet>,
    opening: Opening,
    /// What the servers behind it see of it.
    downstream: Arc<Downstream>,
    /// The servers as its client resolves them, from the opening or prepared since.
    resolution: ArcSwapOption<Resolution>,
    /// Cancelled once nobody is left here for whom a list would be worth waiting.
    leaving: CancellationToken,
    /// Whoever was served is gone for good.
    closed: AtomicBool,
    /// Cancelled when this is dropped: nothing is announced any more.
    dropped: CancellationToken,
    /// Takes the place of `opening` once a config that could not be read can be.
    reopened: OnceLock<Opening>,
    catalog: ArcSwap<Catalog>,
    /// Held while a new catalog is built, so that an older one never replaces a newer.
    building: Mutex<()>,
    /// How often changed listings are taken in.
    pace: Pace,
    clients: Arc<Clients>,
    discovery: Arc<Discovery>,
    /// Whether a client has introduced itself: nothing starts before (decision 29).
    introduced: AtomicBool,
    manager: Arc<dyn Upstream>,
    task_owners: Arc<TaskOwners>,
    asked_to_sign_in: sign_in::Asked,
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
            let resolution = opening.resolution.clone();
            let leaving = CancellationToken::new();
            let view = view(
                &fleet,
                Asking {
                    opening: &opening,
                    resolution: resolution.as_deref(),
                    manager: &manager,
                    downstream: &downstream,
                },
                Outgrown::Kept,
            );
            Self {
                catalog: ArcSwap::from_pointee(Catalog::build(Arc::new(view))),
                building: Mutex::default(),
                pace: Pace::default(),
                clients: Arc::default(),
                discovery: Arc::new(Discovery::new(Arc::clone(fleet.places()), leaving.clone())),
                introduced: AtomicBool::new(false),
                fleet,
                opening,
                downstream,
                resolution: ArcSwapOption::new(resolution),
                leaving,
                closed: AtomicBool::new(false),
                dropped: CancellationToken::new(),
                reopened: OnceLock::new(),
                manager,
                task_owners: Arc::default(),
                asked_to_sign_in: sign_in::Asked::default(),
            }
        });
        gateway.fleet.register(&gateway);
        let (clients, dropped) = (Arc::clone(&gateway.clients), gateway.dropped.clone());
        gateway.fleet.tasks().spawn_background(async move {
            dropped.run_until_cancelled(clients.announce()).await;
        });
        gateway
    }

    /// Tells that whoever is served here, or we, are leaving: a list that waits for servers is answered with what is known,
    /// and no server is started for these lists any more (D2). Calls go on.
    pub fn leave(&self) {
        self.leaving.cancel();
    }

    /// Tells that whoever was served is gone for good: its servers are not used from here any more.
    pub fn close(&self) {
        self.leave();
        self.closed.store(true, Ordering::Relaxed);
        self.fleet.left_by(&self.downstream);
    }

    /// Says how those served resolve the servers of the config that is about to be taken over (`Fleet::apply`), with which
    /// it is in force.
    pub fn prepare(&self, resolution: Arc<Resolution>) {
        self.resolution.store(Some(resolution));
    }

    /// Returns why the config in force is not the one in the file, if it is not.
    pub fn outdated(&self) -> Option<Arc<Outdated>> {
        self.fleet.outdated()
    }

    /// Says which namespace is served once the config, which could not be read so far, can be. This happens once.
    pub fn reopen(&self, opening: Opening) {
        let _ = self.reopened.set(opening);
    }

    /// Returns the namespace this is, `None` for all servers.
    pub fn namespace(&self) -> Option<&str> {
        self.opening().namespace.as_deref()
    }

    /// Returns whether a server of this id is among those shown.
    pub fn shows(&self, server: &str) -> bool {
        self.catalog.load().view.members.iter().any(|member| member.key.id == server)
    }

    /// Returns why the instance of a server that is used here does not work, if it has failed.
    pub fn failure_of(&self, server: &str) -> Option<Fault> {
        let catalog = self.catalog.load();
        let member = catalog.view.members.iter().find(|member| member.key.id == server)?;
        match member.upstream.status().phase {
            Phase::Failed(fault) => Some(fault),
            _ => None,
        }
    }

    pub(crate) fn is_operators(&self) -> bool {
        self.opening().is_operators
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

    /// Returns what goes over both hops, of this namespace and all others.
    pub fn traffic(&self) -> &Arc<Traffic> {
        self.fleet.traffic()
    }

    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Takes a call: the one entrance for all of them. Returns at once; the answer comes through the exchange.
    pub fn dispatch(self: &Arc<Self>, call: Call, exchange: Exchange) {
        match self.observers().is_watched() {
            false => self.send_guarded(call, exchange),
            true => self.send_watched(call, exchange),
        }
    }

    /// Opens the record of a call, and has it counted where calls are.
    #[cold]
    fn send_watched(self: &Arc<Self>, mut call: Call, mut exchange: Exchange) {
        let observers = self.observers();
        if observers.watch().keeps_records() {
            let record = observers.open(&mut call, self.namespace(), &exchange);
            exchange.keep_record(record);
        }
        match observers.watch().is_on(Watch::RATES) {
            false => self.send_guarded(call, exchange),
            true => self.send_counted(call, exchange),
        }
    }

    #[inline]
    fn send_guarded(self: &Arc<Self>, call: Call, exchange: Exchange) {
        // Whatever breaks in there breaks this call alone: its exchange answers as it is dropped (F29).
        if catch_unwind(AssertUnwindSafe(|| self.send(call, exchange))).is_err() {
            error!("a call panicked; it was answered with an internal error");
        }
    }

    /// Sends a call where it belongs.
    fn send(self: &Arc<Self>, call: Call, exchange: Exchange) {
        self.want_logs(&call);
        // Tools are judged where they are found.
        if call.method != Method::ToolsCall
            && let Some(grants) = exchange.grants()
            && let Err(fault) = self.check_grants(&grants, &call)
        {
            exchange.note_refusal(|| Some("the scopes of the credential".to_owned()));
            return exchange.fail(fault);
        }
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
        answer_from_config(Some(&self.fleet.config().settings.roots), call, exchange);
    }

    fn list(self: &Arc<Self>, kind: Kind, call: Call, exchange: Exchange) {
        self.with_listings_for(Purpose::List, exchange, move |gateway, exchange| {
            gateway.clients.served(exchange.client(), kind);
            let who = (exchange.principal(), exchange.grants());
            let list = gateway.shown_to(who, call.caller.as_deref(), kind);
            exchange.finish(Ok(Answer::List(list)));
        });
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.dropped.cancel();
        self.fleet.left_by(&self.downstream);
    }
}

fn standing(member: &Member) -> std::sync::MutexGuard<'_, crate::upstream::Standing> {
    member.standing.locked()
}

#[cfg(test)]
mod tests;
