//! What this crate's tests share: a server made of a closure, and someone who asks.

use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use manifold_config::{Environment, LoadOptions, Server, ServerKey, load_text};
use manifold_engine::{
    Addressee, Audience, CallHandle, ClientFacts, ClientId, Exchange, Host, Lock as _, Reach, ReturnAddress,
    Sink, Standing, Target,
};
use manifold_protocol::envelope::{self, Incoming, Message};
use manifold_protocol::framing::Line;
use manifold_protocol::{Call, CodeSet, Failure, Id, Outgoing, Raw, Reply, Revision};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::logs::LogRing;

/// Makes a server entry with these further keys, each with its comma.
pub(crate) fn server(keys: &str) -> Arc<Server> {
    let text = format!(r#"{{"mcpServers":{{"s":{{"command":"/bin/sh"{keys}}}}}}}"#);
    let environment = Environment { cwd: "/".into(), ..Environment::default() };
    let options = LoadOptions { environment, ..LoadOptions::default() };
    let config = load_text(&text, Some(Path::new("config.json")), &options).unwrap();
    Arc::new(config.servers[0].clone())
}

pub(crate) fn connection(keys: &str, host: &Arc<FakeHost>) -> Arc<Connection> {
    Connection::new(server(keys), Arc::clone(host) as Arc<dyn Host>, Arc::new(LogRing::default()), 1 << 20)
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

/// Takes what is waiting to be written, without waiting for more.
pub(crate) fn written(connection: &Connection) -> Vec<String> {
    let mut batch = Vec::new();
    let _ = pin!(connection.outbox.take(&mut batch)).poll(&mut Context::from_waker(Waker::noop()));
    connection.outbox.written(batch.iter().map(Outgoing::len).sum());
    batch.into_iter().map(|message| String::from_utf8(message.into_bytes().to_vec()).unwrap()).collect()
}

pub(crate) fn receive(connection: &Connection, line: &str) {
    connection.receive(Line::Whole(Bytes::copy_from_slice(line.as_bytes())));
}

/// What a fake server does with a request.
pub(crate) enum Does {
    Answer(String),
    AnswerAfter(Duration, String),
    Refuse(String),
    Nothing,
}

/// Runs a server that deals with each request by `deal`, for as long as the set lives.
pub(crate) fn run(
    connection: Arc<Connection>,
    mut deal: impl FnMut(&str, Option<&Raw>) -> Does + Send + 'static,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&connection).keep_deadlines());
    tasks.spawn(async move {
        let mut batch = Vec::new();
        let mut late = JoinSet::new();
        while connection.outbox.take(&mut batch).await {
            for message in batch.drain(..) {
                connection.outbox.written(message.len());
                let Ok(Incoming::One(Message::Request { id, method, params })) =
                    envelope::parse(message.into_bytes())
                else {
                    continue;
                };
                match deal(method.as_str(), params.as_ref()) {
                    Does::Answer(result) => {
                        receive(&connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
                    }
                    Does::AnswerAfter(delay, result) => {
                        let connection = Arc::clone(&connection);
                        late.spawn(async move {
                            tokio::time::sleep(delay).await;
                            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                            receive(&connection, &line);
                        });
                    }
                    Does::Refuse(error) => {
                        receive(&connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
                    }
                    Does::Nothing => {}
                }
            }
        }
    });
    tasks
}

/// One call of a test.
pub(crate) struct Asked {
    pub(crate) reply: oneshot::Receiver<Reply>,
    pub(crate) flight: Arc<CallHandle<dyn Sink>>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    progress: Vec<String>,
    notices: Vec<String>,
    questions: Vec<(Call, Exchange)>,
    dispatches: usize,
}

impl Asked {
    /// Opens a call of some client, with this time limit.
    pub(crate) fn open(timeout: Duration) -> (Exchange, Self) {
        Self::open_as(timeout, false)
    }

    /// Opens a call whose asker wants the server's log as well, if so.
    pub(crate) fn open_as(timeout: Duration, wants_logs: bool) -> (Exchange, Self) {
        Self::open_by(ClientId(1), timeout, wants_logs)
    }

    pub(crate) fn open_by(client: ClientId, timeout: Duration, wants_logs: bool) -> (Exchange, Self) {
        Self::open_with(timeout, |probe| Probe { client, wants_logs, ..probe })
    }

    /// Opens a call of a client that hears of things beside its calls, too.
    pub(crate) fn open_in_session(client: ClientId, timeout: Duration) -> (Exchange, Self) {
        Self::open_with(timeout, |probe| Probe { client, has_session: true, ..probe })
    }

    fn open_with(timeout: Duration, who: impl FnOnce(Probe) -> Probe) -> (Exchange, Self) {
        let (sender, reply) = oneshot::channel();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let probe = who(Probe {
            sender: Mutex::new(Some(sender)),
            heard: Arc::clone(&heard),
            client: ClientId(1),
            wants_logs: false,
            has_session: false,
        });
        let (mut exchange, flight) = Exchange::open(probe);
        exchange.set_target(Arc::new(Target {
            server: "s".to_owned(),
            tool: Some("t".to_owned()),
            timeout,
            reach: Reach::default(),
        }));
        (exchange, Self { reply, flight, heard })
    }

    /// Returns the answer if there is one, as a client would read it.
    pub(crate) fn answer(&mut self) -> Option<String> {
        self.reply.try_recv().ok().map(|reply| show(&reply))
    }

    pub(crate) async fn answered(self) -> String {
        show(&self.reply.await.unwrap())
    }

    pub(crate) fn progress(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.heard).progress)
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.heard).notices)
    }

    pub(crate) fn questions(&self) -> Vec<(Call, Exchange)> {
        std::mem::take(&mut lock(&self.heard).questions)
    }

    /// Returns how often the call was handed to a server.
    pub(crate) fn dispatches(&self) -> usize {
        lock(&self.heard).dispatches
    }
}

pub(crate) fn show(reply: &Reply) -> String {
    match reply {
        Ok(answer) => answer.plain().as_str().to_owned(),
        Err(Failure::Fault(fault)) => format!("fault {} {}", fault.code(CodeSet::Own), fault.message()),
        Err(Failure::Peer(error)) => format!("peer {error}"),
    }
}

struct Probe {
    sender: Mutex<Option<oneshot::Sender<Reply>>>,
    heard: Arc<Mutex<Heard>>,
    client: ClientId,
    wants_logs: bool,
    has_session: bool,
}

impl Sink for Probe {
    fn reply(&self, reply: Reply) {
        let _ = lock(&self.sender).take().expect("one answer").send(reply);
    }

    fn progress(&self, params: Raw) {
        lock(&self.heard).progress.push(params.as_str().to_owned());
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        lock(&self.heard).questions.push((call, exchange));
    }

    fn notice(&self, method: &str, params: Option<Raw>) {
        let params = params.map(|params| format!(" {params}")).unwrap_or_default();
        lock(&self.heard).notices.push(format!("{method}{params}"));
    }

    fn address(&self) -> Option<ReturnAddress> {
        Some(ReturnAddress { session: self.client.0.to_string(), id: Raw::number(1), steps: Vec::new() })
    }

    fn dispatched(&self) {
        lock(&self.heard).dispatches += 1;
    }

    fn wants_logs(&self) -> bool {
        self.wants_logs
    }

    fn has_session(&self) -> bool {
        self.has_session
    }

    fn client(&self) -> Option<ClientId> {
        Some(self.client)
    }
}

/// A host that writes down what it is told.
#[derive(Default)]
pub(crate) struct FakeHost {
    notices: Mutex<Vec<String>>,
    questions: Mutex<Vec<(Call, Exchange)>>,
    pub(crate) standing: Mutex<Standing>,
    phases: AtomicUsize,
    /// Whether all calls are one client's.
    is_for_one: bool,
}

impl FakeHost {
    /// Makes the host of a server all of whose calls are one client's.
    pub(crate) fn for_one() -> Self {
        Self { is_for_one: true, ..Self::default() }
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notices))
    }

    /// Returns how often the status was said to have changed.
    pub(crate) fn phases(&self) -> usize {
        self.phases.load(Ordering::Relaxed)
    }

    pub(crate) fn questions(&self) -> Vec<(Call, Exchange)> {
        std::mem::take(&mut *lock(&self.questions))
    }
}

impl Host for FakeHost {
    fn audience(&self) -> Audience {
        if self.is_for_one { Audience::One } else { Audience::Shared }
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        Arc::new(ClientFacts { capabilities: raw("{}"), info: raw("{}"), revision: Revision::LATEST })
    }

    fn standing(&self, _server: &ServerKey) -> Standing {
        lock(&self.standing).clone()
    }

    fn listing_changed(&self, _server: &ServerKey) {
        lock(&self.notices).push("listing".to_owned());
    }

    fn status_changed(&self, _server: &ServerKey) {
        self.phases.fetch_add(1, Ordering::Relaxed);
    }

    fn notice(&self, _server: &ServerKey, method: &str, params: Option<Raw>) {
        let params = params.map(|params| format!(" {params}")).unwrap_or_default();
        lock(&self.notices).push(format!("{method}{params}"));
    }

    fn tell(&self, _server: &ServerKey, to: Addressee, method: &str, params: Option<Raw>) {
        let params = params.map(|params| format!(" {params}")).unwrap_or_default();
        lock(&self.notices).push(format!("{to:?} {method}{params}"));
    }

    fn ask(&self, _server: &ServerKey, _last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        lock(&self.questions).push((call, exchange));
    }
}

/// Returns the id of a request as it was written.
pub(crate) fn id_of(line: &str) -> Id {
    Id::from_raw(&raw(line).get("id").unwrap()).unwrap()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}
