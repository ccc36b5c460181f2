//! Streamable HTTP, as a client of the revisions with sessions: every message is a POST, an answer is JSON or a stream
//! of events, and a GET stream brings what belongs to no request.

use manifold_engine::Lock as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use manifold_config::RemoteSpec;
use manifold_protocol::dialect::{ServerFacts, legacy};
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};
use manifold_protocol::framing::{Line, SseItem};
use manifold_protocol::{Era, Fault, Id, Outgoing, notification};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, info};

use super::client::{Answer, HttpClient, Unreached};
use super::events::{self, Events};
use super::{Fields, Noted, Reached, Remote, Retries, fail_call, post_all};
use crate::cache::Cache;
use crate::connection::Connection;
use crate::supervisor::Running;

const LAST_EVENT_ID: &str = "last-event-id";
/// What is said with every POST, with a GET and with the last word.
const POSTED: &str = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";
const EVENTS: &str = "accept: text/event-stream\r\ncontent-type: application/json\r\n";
const PARTING: &str = "accept: application/json\r\ncontent-type: application/json\r\n";

/// The session with one server.
pub(super) struct Session {
    client: Arc<HttpClient>,
    connection: Arc<Connection>,
    spec: RemoteSpec,
    unauthorized: Fault,
    limit_bytes: usize,
    /// Our `initialize`, to be said again if the server forgets us.
    hello: Outgoing,
    state: Mutex<State>,
    renewing: tokio::sync::Mutex<()>,
    gone: watch::Sender<Option<String>>,
    cache: Cache,
}

#[derive(Default)]
struct State {
    id: Option<Bytes>,
    version: Option<String>,
    /// Counts sessions, so that one lost is renewed once however many calls find out.
    epoch: u64,
}

impl State {
    fn fields(&self, lines: &'static str) -> Fields {
        let mut fields = Fields::new(lines);
        if let Some(id) = &self.id {
            fields.say("mcp-session-id", id);
        }
        if let Some(version) = &self.version {
            fields.say("mcp-protocol-version", version);
        }
        fields
    }
}

/// Shakes hands and starts everything that speaks with the server.
pub(super) async fn reach(remote: &Remote, client: Arc<HttpClient>) -> Result<Running<Reached>, Unreached> {
    let connection = remote.connection();
    let (gone, is_gone) = watch::channel(None);
    let session = Session::new(remote, client, Arc::clone(&connection), gone);
    let said = session.greet().await?;
    connection.repeat_standing(&said.capabilities);
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&session).carry());
    tasks.spawn(Arc::clone(&session).listen());
    tasks.spawn(Arc::clone(&connection).keep_deadlines());
    let life = Reached { session: Some(session), ..Reached::new(is_gone, tasks) };
    Ok(Running { connection, said, pid: None, life })
}

impl Session {
    /// Makes a session that nobody has opened yet.
    pub(super) fn new(
        remote: &Remote,
        client: Arc<HttpClient>,
        connection: Arc<Connection>,
        gone: watch::Sender<Option<String>>,
    ) -> Arc<Self> {
        let facts = remote.host.client_facts();
        let params = legacy::initialize_params(facts.revision, &facts.capabilities, &facts.info);
        Arc::new(Self {
            client,
            connection,
            spec: remote.spec.clone(),
            unauthorized: remote.unauthorized(),
            limit_bytes: remote.limit_bytes,
            hello: envelope::request(&Id::number(0), "initialize", Some(&params)),
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::new(()),
            gone,
            cache: remote.cache.clone(),
        })
    }

    /// Opens the session beside the newest revision once a caller needs it, and serves it. Where the server does not let
    /// us after all, or not in time, such callers are bridged.
    pub(super) async fn open_when_wanted(self: Arc<Self>, patience: Duration) {
        self.connection.session_wanted().await;
        let late = |_| Err(Unreached::Broken("no answer to the handshake in time".to_owned()));
        match timeout(patience, self.greet()).await.unwrap_or_else(late) {
            Ok(said) => {
                debug!(server = self.connection.id(), revision = %said.revision, "opened a session for callers of the older revisions");
                self.connection.settle_session(true, Some(&said.capabilities));
                tokio::join!(Arc::clone(&self).carry(), self.listen());
            }
            Err(why) => {
                info!(
                    server = self.connection.id(),
                    "it names revisions with sessions, but opens none: {why}"
                );
                self.connection.settle_session(false, None);
            }
        }
    }

    /// Posts what is to be said in the session.
    async fn carry(self: Arc<Self>) {
        let connection = Arc::clone(&self.connection);
        post_all(connection, move |message, call| {
            let session = Arc::clone(&self);
            async move { session.deliver(message, call).await }
        })
        .await;
    }

    /// Says hello, anew if need be, and remembers the session the server gives us. Until the handshake is over, calls
    /// go on in the old session: one it has forgotten refuses them, and they wait for the new one.
    async fn greet(&self) -> Result<ServerFacts, Unreached> {
        let mut fresh = State { epoch: self.lock().epoch + 1, ..State::default() };
        let answer =
            self.client.send(Method::POST, self.client.home(), &fresh.fields(POSTED), &self.hello).await?;
        fresh.id = answer.head.noted(Noted::SessionId).cloned();
        let said = self.read_greeting(answer).await?;
        fresh.version = Some(said.revision.clone());
        let initialized = envelope::notification(notification::INITIALIZED, None);
        let answer = self
            .client
            .send(Method::POST, self.client.home(), &fresh.fields(POSTED), &initialized.into())
            .await?;
        answer.discard().await;
        *self.lock() = fresh;
        Ok(said)
    }

    async fn read_greeting(&self, answer: Answer) -> Result<ServerFacts, Unreached> {
        let message = if answer.head.is_events {
            let mut events = Events::new(answer, self.limit_bytes);
            loop {
                match events.next().await? {
                    Some(SseItem::Event(event)) if !event.data.is_empty() => break event.data,
                    Some(_) => {}
                    None => {
                        return Err(Unreached::Broken(
                            "its stream ended before the handshake did".to_owned(),
                        ));
                    }
                }
            }
        } else {
            answer.read(self.limit_bytes).await?
        };
        let odd = || Unreached::Broken("its answer to the handshake cannot be read".to_owned());
        match envelope::parse(message).map_err(|_| odd())? {
            Incoming::One(Message::Response { outcome: Outcome::Result(result), .. }) => {
                legacy::read_initialize_result(&result).ok_or_else(odd)
            }
            Incoming::One(Message::Response { outcome: Outcome::Error(error), .. }) => {
                Err(Unreached::Refused(error))
            }
            _ => Err(odd()),
        }
    }

    /// Posts one message. It is sent again only if it was never written or was refused for now.
    async fn deliver(&self, message: Outgoing, call: Option<u64>) {
        let mut retries = Retries::new(self.spec.retries, self.spec.retry_delay);
        let mut renewed = false;
        loop {
            if call.is_some_and(|call| !self.connection.awaits(call)) {
                return;
            }
            let (epoch, has_session) = {
                let state = self.lock();
                (state.epoch, state.id.is_some())
            };
            let sent =
                self.client.send(Method::POST, self.client.home(), &self.fields(POSTED), &message).await;
            match sent {
                Ok(answer) => return self.take(answer, call).await,
                Err(Unreached::Status { status: 404, .. }) if has_session && !renewed => {
                    renewed = true;
                    if let Err(why) = self.renew(epoch).await {
                        return self.refuse(call, why);
                    }
                }
                Err(why) => {
                    let left = call.and_then(|call| self.connection.time_left(call));
                    if let Err(why) = retries.rest(self.connection.id(), why, left).await {
                        return self.refuse(call, why);
                    }
                }
            }
        }
    }

    /// Takes the answer to a POST.
    async fn take(&self, answer: Answer, call: Option<u64>) {
        let Some(call) = call else { return answer.discard().await };
        if answer.head.is_events {
            return self.take_events(answer, call).await;
        }
        match events::read_with_permit(answer, self.limit_bytes, &self.connection).await {
            Ok(body) if body.is_empty() => {
                self.refuse(
                    Some(call),
                    Unreached::Broken("it accepted the call but gave no answer".to_owned()),
                );
            }
            Ok(body) => {
                self.connection.receive(Line::Whole(body));
                // An answer under another id is no answer to this call.
                if self.connection.awaits(call) {
                    self.refuse(Some(call), Unreached::Broken("its answer is to something else".to_owned()));
                }
            }
            Err(why) => self.refuse(Some(call), why),
        }
    }

    /// Reads the stream that answers a call, taking it up again where it breaks off.
    async fn take_events(&self, answer: Answer, call: u64) {
        let mut events = Events::new(answer, self.limit_bytes);
        let mut last_id = None;
        let mut delay = self.spec.reconnect_interval;
        let mut tries = 0;
        loop {
            let broke = self.read_events(&mut events, &mut delay, Some(call)).await;
            let seen = events.last_id().map(str::to_owned).or_else(|| last_id.clone());
            // A stream that went on is no failure, however often it is cut (SEP-1699).
            if seen != last_id {
                tries = 0;
            }
            last_id = seen;
            if !self.connection.awaits(call) {
                return;
            }
            if let Err(why @ Unreached::TooLarge(_)) = broke {
                return self.refuse(Some(call), why);
            }
            let Some(id) = last_id.as_deref() else {
                let why = broke
                    .err()
                    .map_or_else(|| "its stream ended without the answer".to_owned(), |w| w.to_string());
                return self.refuse(Some(call), Unreached::Broken(why));
            };
            if broke.is_ok() {
                self.connection.release_connection(call);
            }
            events = loop {
                if tries >= self.spec.max_retries {
                    let why = "its stream broke off and could not be taken up again".to_owned();
                    return self.refuse(Some(call), Unreached::Broken(why));
                }
                tries += 1;
                sleep(delay).await;
                if !self.connection.awaits(call) {
                    return;
                }
                let fields = self.fields(EVENTS).with(LAST_EVENT_ID, id);
                if !fields.has(LAST_EVENT_ID) {
                    let why = "its stream broke off at an event whose id no header can hold".to_owned();
                    return self.refuse(Some(call), Unreached::Broken(why));
                }
                match self.client.send(Method::GET, self.client.home(), &fields, &Outgoing::default()).await {
                    Ok(answer) if answer.head.is_events => break Events::new(answer, self.limit_bytes),
                    Ok(_) | Err(Unreached::Status { .. }) => tries = self.spec.max_retries,
                    Err(_) => {}
                }
            };
        }
    }

    /// Reads a stream to its end, or until `call` is answered.
    async fn read_events(
        &self,
        events: &mut Events,
        delay: &mut Duration,
        call: Option<u64>,
    ) -> Result<(), Unreached> {
        let mut dropped = false;
        loop {
            let Some(item) = events.next_with_permit(&self.connection).await? else { break };
            match item {
                SseItem::TooLong => {
                    dropped = true;
                    events::too_long(&self.connection);
                }
                SseItem::Event(event) => {
                    if let Some(retry_ms) = event.retry_ms {
                        *delay = Duration::from_millis(retry_ms.min(60_000));
                    }
                    events::receive(&self.connection, event, call);
                }
            }
            if call.is_some_and(|call| !self.connection.awaits(call)) {
                // The stream ends by itself now; its connection can serve again if it does so soon.
                let end = async {
                    while let Ok(Some(item)) = events.next().await {
                        if let SseItem::Event(event) = item {
                            events::receive(&self.connection, event, call);
                        }
                    }
                };
                return match timeout(Duration::from_millis(100), end).await {
                    Ok(()) => Ok(()),
                    Err(_) => Err(Unreached::Broken("it goes on after the answer".to_owned())),
                };
            }
        }
        // What was dropped must have been the answer, now that no other came.
        if dropped && call.is_some() { Err(Unreached::TooLarge(self.limit_bytes)) } else { Ok(()) }
    }

    /// Keeps the stream open that brings what belongs to no request, where the server has one.
    async fn listen(self: Arc<Self>) {
        let mut last_id: Option<String> = None;
        let mut delay = self.spec.reconnect_interval;
        let mut failures = 0;
        loop {
            let mut fields = self.fields(EVENTS);
            if let Some(id) = &last_id {
                fields.say(LAST_EVENT_ID, id);
            }
            let epoch = self.lock().epoch;
            match self.client.send(Method::GET, self.client.home(), &fields, &Outgoing::default()).await {
                Ok(answer) if answer.head.is_events => {
                    failures = 0;
                    let mut events = Events::new(answer, self.limit_bytes);
                    let _ = self.read_events(&mut events, &mut delay, None).await;
                    last_id = events.last_id().map(str::to_owned).or(last_id);
                }
                Err(Unreached::Status { status: 404, .. }) if self.lock().id.is_some() && failures == 0 => {
                    failures += 1;
                    last_id = None;
                    if self.renew(epoch).await.is_err() {
                        return;
                    }
                }
                Err(Unreached::Status { status: 500.., .. }) => {
                    failures = (failures + 1).min(self.spec.max_retries)
                }
                // It has no such stream; that is its right.
                Ok(_) | Err(Unreached::Status { .. }) => return,
                Err(_) => {
                    failures += 1;
                    if failures > self.spec.max_retries {
                        return;
                    }
                }
            }
            sleep(delay * (failures + 1)).await;
        }
    }

    /// Opens a new session in place of one the server has forgotten, once for all who found out.
    async fn renew(&self, lost: u64) -> Result<(), Unreached> {
        let _one_at_a_time = self.renewing.lock().await;
        if self.lock().epoch != lost {
            return Ok(());
        }
        info!(server = self.connection.id(), "the server lost the session; opening another");
        let said = self.greet().await?;
        match self.connection.dialect().era() {
            // What stands is told the other way.
            Era::Modern => self.connection.repeat_level(&said.capabilities),
            Era::Legacy => self.connection.repeat_standing(&said.capabilities),
        }
        self.connection.lists.stale.mark_all();
        Ok(())
    }

    /// Fails a call, and gives the server up where it cannot be reached at all.
    fn refuse(&self, call: Option<u64>, why: Unreached) {
        debug!(server = self.connection.id(), "{why}");
        if why.is_modern() {
            self.outdated("it now speaks the newest revision");
        }
        if let Unreached::Status { body, .. } = &why
            && let Some(call) = call
            && request_id_of_answer(body) == Some(call)
        {
            return self.connection.receive(Line::Whole(body.clone()));
        }
        if let Some(call) = call {
            fail_call(&self.connection, call, &why, &self.unauthorized);
        }
        // Calls that are under way elsewhere may well end.
        if matches!(why, Unreached::Connect(_)) && !self.connection.is_busy() {
            self.gone.send_replace(Some(why.to_string()));
        }
    }

    /// Starts anew with a server that was replaced by one of the other era.
    fn outdated(&self, why: &str) {
        info!(server = self.connection.id(), "{why}; connecting again");
        self.cache.forget_era(self.connection.server());
        self.gone.send_replace(Some(why.to_owned()));
    }

    /// Tells the server that we are done with the session.
    pub(super) async fn end(&self) {
        if self.lock().id.is_none() {
            return;
        }
        if let Ok(answer) = self
            .client
            .send(Method::DELETE, self.client.home(), &self.fields(PARTING), &Outgoing::default())
            .await
        {
            answer.discard().await;
        }
    }

    fn fields(&self, lines: &'static str) -> Fields {
        self.lock().fields(lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

fn request_id_of_answer(body: &Bytes) -> Option<u64> {
    match envelope::parse(body.clone()) {
        Ok(Incoming::One(Message::Response { id, .. })) => id.as_u64(),
        _ => None,
    }
}
