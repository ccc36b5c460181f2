//! `subscriptions/listen`: one long request by which a client hears of changes, until it closes it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use manifold_engine::{
    Client, ClientId, Exchange, Gateway, Lock as _, MAX_SUBSCRIPTION_BYTES, MAX_SUBSCRIPTIONS, Requester,
    Sink,
};
use manifold_protocol::dialect::modern::listen::{Filter, tag};
use manifold_protocol::{Call, Fault, Id, Kind, Method, Raw, Reply, envelope, notification};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout_at};

use super::{Lane, ModernService, encode};

/// How long servers have to take a subscription; one that takes longer is not promised.
const SETUP: Duration = Duration::from_secs(5);
/// Subscriptions that are asked for together: a server has room for some thousands of one client's calls.
const AT_ONCE: usize = 1024;
/// News kept while that is being found out.
const MAX_EARLY: usize = 256;

pub(super) struct Listener {
    modern: Arc<ModernService>,
    gateway: Arc<Gateway>,
    number: u64,
    id: Id,
    /// Whose request it is.
    owner: ClientId,
    requester: Arc<Requester>,
    asked: Filter,
    wanted: Wanted,
    lane: Arc<dyn Lane>,
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Default)]
struct State {
    client: Option<ClientId>,
    /// What the client was promised; it hears of nothing before.
    promised: Option<Wanted>,
    early: Vec<(String, Option<Raw>)>,
    is_over: bool,
}

/// A filter, made to be asked whether something passes it.
struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: HashSet<String>,
    tasks: HashSet<String>,
}

/// Refuses a filter that names more than one client may be subscribed to (H4).
pub(super) fn check(filter: &Filter) -> Result<(), Fault> {
    let count = filter.uris.len() + filter.tasks.len();
    let bytes: usize = filter.uris.iter().chain(&filter.tasks).map(String::len).sum();
    if count <= MAX_SUBSCRIPTIONS && bytes <= MAX_SUBSCRIPTION_BYTES {
        return Ok(());
    }
    Err(Fault::InvalidParams(format!(
        "`notifications` names {count} resources and tasks in {bytes} bytes; a client may be subscribed to \
         {MAX_SUBSCRIPTIONS}, in {MAX_SUBSCRIPTION_BYTES} bytes"
    )))
}

impl Listener {
    pub(super) fn new(
        modern: &Arc<ModernService>,
        gateway: &Arc<Gateway>,
        number: u64,
        id: Id,
        (owner, requester): (ClientId, Arc<Requester>),
        asked: Filter,
        lane: Arc<dyn Lane>,
    ) -> Arc<Self> {
        Arc::new(Self {
            modern: Arc::clone(modern),
            gateway: Arc::clone(gateway),
            number,
            id,
            owner,
            requester,
            wanted: Wanted::from(&asked),
            asked,
            lane,
            state: Mutex::default(),
            ended: Notify::new(),
        })
    }

    pub(super) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    pub(super) fn requester(&self) -> &Requester {
        &self.requester
    }

    /// Takes up the subscriptions and promises those that were.
    pub(super) async fn open(self: Arc<Self>) {
        let client = self.gateway.attach_for(self.owner, Arc::clone(&self) as Arc<dyn Client>);
        {
            let mut state = self.lock();
            state.client = Some(client);
            if state.is_over {
                drop(state);
                return self.gateway.detach(client);
            }
        }
        self.gateway.watch(client, &kinds(&self.asked));
        let promised = tokio::select! {
            promised = self.subscribe(client) => promised,
            () = self.ended.notified() => return,
        };
        let mut state = self.lock();
        if state.is_over {
            return;
        }
        self.say(notification::ACKNOWLEDGED, Some(promised.encode()));
        let promised = Wanted::from(&promised);
        for (method, params) in std::mem::take(&mut state.early) {
            if promised.takes(&method, params.as_ref()) {
                self.say(&method, params);
            }
        }
        state.promised = Some(promised);
    }

    /// Returns what of the wanted is honoured.
    async fn subscribe(&self, client: ClientId) -> Filter {
        let deadline = Instant::now() + SETUP;
        let begin = |uri: &String| {
            let (sender, answer) = oneshot::channel();
            let (gateway, requester) = (Arc::clone(&self.gateway), Arc::clone(&self.requester));
            let answering = Mutex::new(Some(sender));
            let (exchange, _flight) =
                Exchange::open(Subscribing { client, requester, gateway, answer: answering });
            let mut call = Call::new(Method::ResourcesSubscribe, None);
            call.set_param("uri", Raw::string(uri));
            self.gateway.dispatch(call, exchange);
            (uri.clone(), answer)
        };
        let tasks = self.gateway.watch_tasks(client, &self.requester.principal, self.asked.tasks.clone());
        let mut uris = Vec::new();
        for some in self.asked.uris.chunks(AT_ONCE) {
            if Instant::now() >= deadline {
                break;
            }
            for (uri, answer) in some.iter().map(begin).collect::<Vec<_>>() {
                if matches!(timeout_at(deadline, answer).await, Ok(Ok(Ok(_)))) {
                    uris.push(uri);
                }
            }
        }
        let tasks = timeout_at(deadline, tasks).await.unwrap_or_default();
        Filter { uris, tasks, ..self.asked.clone() }
    }

    /// The client has closed it.
    pub(super) fn leave(&self) {
        if self.end() {
            self.lane.abandon();
        }
    }

    /// Ends it from our side.
    pub(super) fn finish(&self) {
        if self.end() {
            let result = tag(None, self.id.to_raw());
            let (verdict, message) = encode(&self.id, Ok(result.into()), &Method::Listen, &self.gateway);
            self.lane.answer(verdict, message);
            self.modern.answered(self.number);
        }
    }

    /// Returns whether it was open until now.
    fn end(&self) -> bool {
        let client = {
            let mut state = self.lock();
            if std::mem::replace(&mut state.is_over, true) {
                return false;
            }
            state.early = Vec::new();
            state.client
        };
        self.ended.notify_one();
        if let Some(client) = client {
            self.gateway.detach(client);
        }
        true
    }

    fn say(&self, method: &str, params: Option<Raw>) {
        let message: Bytes = envelope::notification(method, Some(&tag(params, self.id.to_raw())));
        match method {
            // Said once, or once per change, and never again if it is lost.
            notification::ACKNOWLEDGED
            | notification::TOOLS_CHANGED
            | notification::PROMPTS_CHANGED
            | notification::RESOURCES_CHANGED => self.lane.say(message),
            _ => self.lane.tell(message),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl Client for Listener {
    fn notify(&self, method: &str, params: Option<Raw>) {
        let mut state = self.lock();
        if state.is_over || !state.promised.as_ref().unwrap_or(&self.wanted).takes(method, params.as_ref()) {
            return;
        }
        if state.promised.is_some() {
            self.say(method, params);
        } else if state.early.len() < MAX_EARLY {
            state.early.push((method.to_owned(), params));
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        // It only listens.
        self.gateway.decline(&call, exchange);
    }
}

fn kinds(filter: &Filter) -> Vec<Kind> {
    let wanted = |kind: &Kind| match kind {
        Kind::Tools => filter.tools,
        Kind::Prompts => filter.prompts,
        Kind::Resources | Kind::Templates => filter.resources,
    };
    Kind::ALL.into_iter().filter(wanted).collect()
}

impl From<&Filter> for Wanted {
    fn from(filter: &Filter) -> Self {
        let Filter { tools, prompts, resources, ref uris, ref tasks } = *filter;
        let (uris, tasks) = (uris.iter().cloned().collect(), tasks.iter().cloned().collect());
        Self { tools, prompts, resources, uris, tasks }
    }
}

impl Wanted {
    fn takes(&self, method: &str, params: Option<&Raw>) -> bool {
        let names = |key: &str, wanted: &HashSet<String>| {
            let named = params.and_then(|params| params.get(key));
            named.as_ref().and_then(|named| named.to_text()).is_some_and(|named| wanted.contains(&*named))
        };
        match method {
            notification::TOOLS_CHANGED => self.tools,
            notification::PROMPTS_CHANGED => self.prompts,
            notification::RESOURCES_CHANGED => self.resources,
            notification::RESOURCE_UPDATED => names("uri", &self.uris),
            notification::TASKS => names("taskId", &self.tasks),
            // Log messages and progress belong to requests of their own.
            _ => false,
        }
    }
}

/// Takes a server's word on one subscription.
struct Subscribing {
    client: ClientId,
    /// Who listens: a subscription is for whom a read would be.
    requester: Arc<Requester>,
    gateway: Arc<Gateway>,
    answer: Mutex<Option<oneshot::Sender<Reply>>>,
}

impl Sink for Subscribing {
    fn reply(&self, reply: Reply) {
        let answer = self.answer.locked().take();
        if let Some(answer) = answer {
            // It took too long.
            let _ = answer.send(reply);
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        self.gateway.decline(&call, exchange);
    }

    fn client(&self) -> Option<ClientId> {
        Some(self.client)
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        Some(&self.requester)
    }
}
