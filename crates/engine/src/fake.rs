//! A world without servers: fakes that record what they are told and answer by script.

mod server;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use manifold_config::{
    ClientEnvironment, Config, Environment, LoadOptions, Profile, load_text, project_root,
};
use manifold_protocol::envelope::MethodName;
use manifold_protocol::{Answer, Call, Caller, CodeSet, Failure, Kind, List, Method, Raw, Reply};
use tokio::sync::oneshot;

use crate::audience::Audience;
use crate::changes::{Client, ClientId};
use crate::control::{NamespaceControl, ReloadReport, Reloader};
use crate::exchange::{CallHandle, Exchange, Sink};
use crate::fleet::Fleet;
use crate::gateway::{Gateway, Opening};
use crate::principal::Requester;
use crate::resolution::Resolution;
use crate::sync::Lock as _;
use crate::tasks::Tasks;
use crate::upstream::BoxFuture;

pub(crate) use server::Fake;
use server::Fakes;

/// A gateway over fakes.
pub(crate) struct World {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) control: NamespaceControl,
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

    /// Opens all servers as a window of the daemon does: a client of its own, with these variables and in this folder.
    pub(crate) fn window(&self, config_text: &str, values: &[(&str, &str)], cwd: &str) -> Self {
        self.resolved(Audience::One, resolution(config_text, values, cwd))
    }

    /// Opens all servers for many clients, who have these variables and this folder.
    pub(crate) fn door(&self, config_text: &str, values: &[(&str, &str)], cwd: &str) -> Self {
        self.resolved(Audience::Shared, resolution(config_text, values, cwd))
    }

    fn resolved(&self, audience: Audience, resolution: Arc<Resolution>) -> Self {
        let (fleet, fakes) = (Arc::clone(&self.fleet), Arc::clone(&self.fakes));
        Self::show_as(fleet, fakes, None, audience, Some(resolution))
    }

    fn show(fleet: Arc<Fleet>, fakes: Arc<Fakes>, namespace: Option<&str>, audience: Audience) -> Self {
        Self::show_as(fleet, fakes, namespace, audience, None)
    }

    fn show_as(
        fleet: Arc<Fleet>,
        fakes: Arc<Fakes>,
        namespace: Option<&str>,
        audience: Audience,
        resolution: Option<Arc<Resolution>>,
    ) -> Self {
        let manager = Arc::new(Fake::new("manager", None, fakes.tasks.clone(), Arc::default()));
        manager.publish(r#"{"tools":[{"name":"servers_list","description":"List"}]}"#);
        let opening = Opening {
            namespace: namespace.map(str::to_owned),
            selection: if namespace.is_some() { "flag" } else { "all" },
            audience,
            eager: false,
            resolution,
            session: None,
            is_operators: false,
            alone: None,
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

    /// Returns the fake that this gateway uses for a server.
    pub(crate) fn used(&self, id: &str) -> Arc<Fake> {
        let catalog = self.gateway.catalog();
        let member = catalog.view.members.iter().find(|member| member.key.id == id).expect("a member");
        let used = Arc::as_ptr(&member.upstream).cast::<()>();
        let made = lock(&self.fakes.made);
        Arc::clone(made.iter().find(|fake| Arc::as_ptr(fake).cast::<()>() == used).expect("one of ours"))
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

/// Reads a config as a client of the daemon resolves it.
pub(crate) fn resolution(text: &str, values: &[(&str, &str)], cwd: &str) -> Arc<Resolution> {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let client = ClientEnvironment { values, cwd: cwd.into(), project: project_root(Path::new(cwd)) };
    let config = load(text, LoadOptions { client: Some(client.clone()), ..LoadOptions::default() });
    Resolution::new(config, &client)
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
        let (exchange, flight) =
            Exchange::open(Probe { sender: Mutex::new(Some(sender)), client, requester: None });
        (exchange, Self { reply, flight })
    }

    /// Opens a call of somebody who is known.
    pub(crate) fn open_by(requester: Option<Arc<Requester>>) -> (Exchange, Self) {
        let (sender, reply) = oneshot::channel();
        let (exchange, flight) =
            Exchange::open(Probe { sender: Mutex::new(Some(sender)), client: None, requester });
        (exchange, Self { reply, flight })
    }
}

struct Probe {
    sender: Mutex<Option<oneshot::Sender<Reply>>>,
    client: Option<ClientId>,
    requester: Option<Arc<Requester>>,
}

impl Sink for Probe {
    fn reply(&self, reply: Reply) {
        let _ = lock(&self.sender).take().expect("one answer").send(reply);
    }

    fn client(&self) -> Option<ClientId> {
        self.client
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        self.requester.as_ref()
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

    fn disconnect(&self) -> bool {
        lock(&self.heard).push("disconnected".to_owned());
        true
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        lock(&self.heard).push(format!("? {}", call.method));
        exchange.finish(Ok(Raw::from_static(r#"{"answered":"by the client"}"#)));
    }
}

pub(crate) struct NoFile;

impl Reloader for NoFile {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>> {
        Box::pin(std::future::ready(Err("there is no file".to_owned())))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
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
