//! One generation of a server: calls numbered, matched with their answers, timed and taken back. It knows
//! messages, not pipes: whoever owns the streams feeds `receive` and empties the outbox.

mod deadlines;
mod question;
mod table;
mod turns;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use manifold_config::Server;
use manifold_engine::{Cancel, Exchange, Flight, Host, Outbox, Sink};
use manifold_protocol::envelope::{self, Incoming, Message, Outcome, Refusal, RefusalKind};
use manifold_protocol::framing::Line;
use manifold_protocol::{
    Answer, Call, Failure, Fault, Id, Kind, Method, Raw, RawObject, Reply, notification,
};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

use crate::logs::{LogRing, printable};
use question::Questions;
use table::{Origin, Pending, Table};

/// What a server may be owed before new calls are refused.
const CROWDED_BYTES: usize = 16 << 20;
/// Calls that may wait for their turn at one server.
const MAX_QUEUED: usize = 4096;
/// A call ends after this long, questions to the client not counted, whatever progress it reports (decision 25).
const HARD_LIMIT: Duration = Duration::from_secs(600);

pub(crate) struct Connection {
    me: Weak<Connection>,
    server: Arc<Server>,
    host: Arc<dyn Host>,
    logs: Arc<LogRing>,
    pub(crate) outbox: Outbox,
    table: Mutex<Table>,
    questions: Questions,
    /// Wakes the deadline keeper.
    sooner: Notify,
    /// Told when the last call in flight is over.
    emptied: Notify,
    pub(crate) stale: Stale,
    /// Lines that were no message, and answers nobody asked for.
    noise: AtomicU64,
    /// Whether it has done any work: answered a call, not only told of itself.
    proven: AtomicBool,
    /// Whether its output has ended.
    silence: watch::Sender<bool>,
    limit_bytes: usize,
}

/// Which lists the server has said are out of date.
#[derive(Default)]
pub(crate) struct Stale {
    kinds: Mutex<Vec<Kind>>,
    pub(crate) marked: Notify,
}

impl Connection {
    pub(crate) fn new(
        server: Arc<Server>,
        host: Arc<dyn Host>,
        logs: Arc<LogRing>,
        limit_bytes: usize,
    ) -> Arc<Self> {
        let max_concurrency = server.max_concurrency;
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            server,
            host,
            logs,
            outbox: Outbox::new(CROWDED_BYTES),
            table: Mutex::new(Table::new(max_concurrency)),
            questions: Questions::default(),
            sooner: Notify::new(),
            emptied: Notify::new(),
            stale: Stale::default(),
            noise: AtomicU64::new(0),
            proven: AtomicBool::new(false),
            silence: watch::Sender::new(false),
            limit_bytes,
        })
    }

    /// Sends a call, or gives it back unsent when this generation is over.
    pub(crate) fn send(&self, call: Call, exchange: Exchange) -> Result<(), (Call, Exchange)> {
        if self.outbox.crowded() {
            let reason = "it does not read its input; restart it if it is stuck".to_owned();
            exchange.fail(Fault::NotRunning { server: self.id().to_owned(), reason });
            return Ok(());
        }
        let mut table = self.lock();
        if table.is_closed() {
            return Err((call, exchange));
        }
        if table.admit() {
            self.write(&mut table, call, exchange, Origin::Client);
        } else if table.queue.len() < MAX_QUEUED {
            table.queue.push(call, exchange);
        } else {
            drop(table);
            let reason = format!("{MAX_QUEUED} calls are waiting for their turn");
            exchange.fail(Fault::NotRunning { server: self.id().to_owned(), reason });
        }
        Ok(())
    }

    /// Sends one of our own requests: past the queue, and no proof that the server does its work.
    fn send_own(&self, call: Call, exchange: Exchange) {
        let mut table = self.lock();
        if table.is_closed() {
            drop(table);
            return exchange.fail(Fault::Internal("the server is gone".to_owned()));
        }
        self.write(&mut table, call, exchange, Origin::Ourselves);
    }

    /// Sends one of our own requests and waits for its answer.
    pub(crate) async fn request(
        &self,
        method: Method,
        params: Option<Raw>,
        timeout: Duration,
    ) -> Result<Raw, Failure> {
        let (sender, answer) = oneshot::channel();
        let (mut exchange, _flight) = Exchange::open(OwnRequest(Mutex::new(Some(sender))));
        let target = manifold_engine::Target { server: self.id().to_owned(), tool: None, timeout };
        exchange.aim(Arc::new(target));
        self.send_own(Call::new(method, params), exchange);
        let lost = |_| Err(Fault::Internal("the answer was lost".to_owned()).into());
        answer.await.unwrap_or_else(lost).map(Answer::into_body)
    }

    /// Sends one of our own requests whose answer does not matter.
    pub(crate) fn order(&self, method: Method, params: Raw) {
        let (exchange, _flight) = Exchange::open(OwnRequest(Mutex::new(None)));
        self.send_own(Call::new(method, Some(params)), exchange);
    }

    /// Tells a server that starts anew what was told before: the log level and the subscriptions.
    pub(crate) fn repeat_standing(&self, capabilities: &Raw) {
        let standing = self.host.standing(&self.server.key);
        if let Some(level) = standing.log_level.filter(|_| capabilities.get("logging").is_some()) {
            self.order(Method::SetLevel, level);
        }
        for uri in standing.subscriptions {
            let mut params = RawObject::default();
            params.set("uri", Raw::string(&uri));
            self.order(Method::ResourcesSubscribe, params.into_raw());
        }
    }

    /// Returns whether a call of this number is in flight.
    pub(crate) fn awaits(&self, call: u64) -> bool {
        self.lock().get(call).is_some()
    }

    pub(crate) fn tool_of(&self, call: u64) -> Option<String> {
        self.lock().get(call)?.exchange.target()?.tool.clone()
    }

    /// Tells the asker of a call that the server has let go of its connection for now.
    pub(crate) fn rest(&self, call: u64) {
        if let Some(asker) = self.asker_of(call) {
            asker.rest();
        }
    }

    fn asker_of(&self, call: u64) -> Option<Arc<Flight<dyn Sink>>> {
        self.lock().get(call).map(|pending| pending.exchange.asker())
    }

    /// Fails one call that could not be brought to the server.
    pub(crate) fn fail(&self, call: u64, fault: Fault) {
        if let Some(pending) = self.take(call) {
            pending.exchange.fail(fault);
        }
    }

    pub(crate) fn notify(&self, method: &str, params: Option<&Raw>) {
        self.outbox.push(envelope::notification(method, params));
    }

    /// Takes a line the server wrote.
    pub(crate) fn receive(&self, line: Line) {
        self.receive_within(line, None);
    }

    /// Takes a line the server wrote where only what belongs to `call` is written.
    pub(crate) fn receive_within(&self, line: Line, call: Option<u64>) {
        match line {
            Line::Whole(bytes) => self.receive_message(bytes, call),
            Line::TooLong { head, tail, bytes } => {
                self.complain(&format!("a line of {bytes} bytes is over the limit and was dropped"));
                let id = envelope::peek_id(&head).or_else(|| envelope::peek_id_at_end(&tail));
                if let Some(pending) = id.and_then(|id| self.take(id.as_u64()?)) {
                    let server = Some(self.id().to_owned());
                    pending.exchange.fail(Fault::TooLarge { server, limit_bytes: self.limit_bytes });
                }
            }
        }
    }

    fn receive_message(&self, bytes: Bytes, call: Option<u64>) {
        match envelope::parse(bytes.clone()) {
            Ok(Incoming::One(message)) => self.accept(message, call),
            Ok(Incoming::Batch(messages)) => {
                messages.into_iter().flatten().for_each(|one| self.accept(one, call))
            }
            Err(refusal) => {
                self.fail_malformed(&bytes, refusal);
                self.logs.push_noise(&bytes);
                let start = &bytes[..bytes.len().min(120)];
                self.complain(&format!("not a message: {}", printable(&String::from_utf8_lossy(start))));
            }
        }
    }

    /// Fails the call whose answer cannot be read, rather than let it wait for its deadline.
    fn fail_malformed(&self, bytes: &Bytes, refusal: Refusal) {
        let id = refusal.id.or_else(|| envelope::peek_id(bytes)).or_else(|| envelope::peek_id_at_end(bytes));
        let Some(pending) = id.and_then(|id| self.take(id.as_u64()?)) else { return };
        let reason = match refusal.kind {
            RefusalKind::Invalid(reason) => reason.to_owned(),
            RefusalKind::Unfinished => "it is cut off".to_owned(),
            RefusalKind::Parse => "it is not valid JSON".to_owned(),
        };
        pending.exchange.fail(Fault::Malformed { server: self.id().to_owned(), reason });
    }

    fn accept(&self, message: Message, call: Option<u64>) {
        match message {
            Message::Response { id, outcome } => self.answer(&id, outcome),
            Message::Request { id, method, params } => {
                self.question(id, Call::new(method.into(), params), call)
            }
            Message::Notification { method, params } => self.notification(method.as_str(), params, call),
        }
    }

    fn answer(&self, id: &Id, outcome: Outcome) {
        let Some(pending) = id.as_u64().and_then(|id| self.take(id)) else {
            return self.complain("an answer that nobody waits for");
        };
        if pending.origin == Origin::Client {
            self.proven.store(true, Ordering::Relaxed);
        }
        pending.exchange.finish(match outcome {
            Outcome::Result(result) => Ok(result),
            Outcome::Error(error) => Err(Failure::Peer(error)),
        });
    }

    fn notification(&self, method: &str, params: Option<Raw>, call: Option<u64>) {
        match method {
            notification::PROGRESS => self.progress(params),
            notification::CANCELLED => {
                if let Some(id) = params.as_ref().and_then(|params| params.get("requestId")) {
                    self.questions.withdraw(&id, params.and_then(|params| params.get("reason")));
                }
            }
            notification::TOOLS_CHANGED => self.stale.mark(&[Kind::Tools]),
            notification::PROMPTS_CHANGED => self.stale.mark(&[Kind::Prompts]),
            notification::RESOURCES_CHANGED => self.stale.mark(&[Kind::Resources, Kind::Templates]),
            _ => match call.and_then(|call| self.asker_of(call)) {
                Some(asker) => asker.notice(method, params),
                None => self.host.notice(&self.server.key, method, params),
            },
        }
    }

    fn progress(&self, params: Option<Raw>) {
        let Some(params) = params else { return };
        let Some(id) = params.get("progressToken").and_then(|token| token.u64()) else { return };
        let Some((asker, token)) = self.lock().progressed(id) else { return };
        let Some(mut object) = params.object() else { return };
        object.set("progressToken", token);
        asker.progress(object.into_raw());
    }

    /// Ends this generation: every call in flight gets one error, those never written are given back.
    pub(crate) fn close(&self, reason: &str) -> Vec<(Call, Exchange)> {
        let (pending, queued) = self.lock().close();
        self.outbox.abandon();
        self.questions.withdraw_all();
        self.sooner.notify_one();
        for pending in pending {
            let tool = pending.exchange.target().and_then(|target| target.tool.clone());
            let server = self.id().to_owned();
            pending.exchange.fail(Fault::Died { server, tool, reason: reason.to_owned() });
        }
        queued
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    pub(crate) fn fall_silent(&self) {
        self.silence.send_replace(true);
    }

    /// Waits for the end of the server's output.
    pub(crate) async fn silent(&self) {
        let _ = self.silence.subscribe().wait_for(|silent| *silent).await;
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.lock().in_flight() > 0
    }

    /// Waits until no call is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if !self.is_busy() {
                return;
            }
            emptied.await;
        }
    }

    /// Waits, for this long at least, until no call has been in flight for this long.
    pub(crate) async fn unused_for(&self, patience: Duration) {
        let begun = Instant::now();
        loop {
            self.idle().await;
            let Some(since) = self.lock().idle_since() else { continue };
            sleep_until(since.max(begun) + patience).await;
            if self.lock().idle_since() == Some(since) {
                return;
            }
        }
    }

    /// Takes no more calls, unless some are in flight. Returns whether it does.
    pub(crate) fn retire(&self) -> bool {
        self.lock().close_if_idle()
    }

    pub(crate) fn id(&self) -> &str {
        &self.server.key.id
    }

    /// Writes a call that has been admitted. Called with the table locked, so that a cancellation cannot overtake it.
    fn write(&self, table: &mut Table, call: Call, exchange: Exchange, origin: Origin) {
        let id = table.next_id();
        let Some(me) = self.me.upgrade() else { return };
        if !exchange.hold(me, id) {
            return;
        }
        let (params, token) = retag(call.params, id);
        let timeout = exchange.target().map_or(HARD_LIMIT, |target| target.timeout);
        let is_sooner = table.insert(id, Pending::new(exchange, origin, token, timeout, HARD_LIMIT));
        self.outbox.push(envelope::request(&Id::number(id), call.method.as_str(), params.as_ref()));
        if is_sooner {
            self.sooner.notify_one();
        }
    }

    /// Takes a call out of the table and lets the next in the queue in. Its questions end with it.
    fn take(&self, id: u64) -> Option<Pending> {
        let mut table = self.lock();
        let pending = table.remove(id)?;
        self.fill(&mut table);
        if table.in_flight() == 0 {
            self.emptied.notify_waiters();
        }
        drop(table);
        if pending.has_questions() {
            self.end_questions_of(id);
        }
        Some(pending)
    }

    fn fill(&self, table: &mut Table) {
        while table.admit() {
            let Some((call, exchange)) = table.queue.pop() else { return };
            if !exchange.is_cancelled() {
                self.write(table, call, exchange, Origin::Client);
            }
        }
    }

    /// Counts what a server should not have sent; the log hears of the first and of every thousandth.
    fn complain(&self, what: &str) {
        let count = self.noise.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(1000) {
            warn!(server = self.id(), count = count + 1, "ignored from the server: {what}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cancel for Connection {
    fn cancel(&self, id: u64, reason: Option<Raw>) {
        if self.take(id).is_some() {
            debug!(server = self.id(), "call cancelled by the client");
            self.tell_cancelled(id, reason);
        }
    }
}

impl Connection {
    fn tell_cancelled(&self, id: u64, reason: Option<Raw>) {
        let mut params = RawObject::default();
        params.set("requestId", Raw::number(id));
        if let Some(reason) = reason {
            params.set("reason", reason);
        }
        self.notify(notification::CANCELLED, Some(&params.into_raw()));
    }
}

impl Stale {
    fn mark(&self, kinds: &[Kind]) {
        let mut marked = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in kinds {
            if !marked.contains(kind) {
                marked.push(*kind);
            }
        }
        drop(marked);
        self.marked.notify_one();
    }

    /// Notes that nothing known of the server is certain any more.
    pub(crate) fn mark_all(&self) {
        self.mark(&Kind::ALL);
    }

    pub(crate) fn take(&self) -> Vec<Kind> {
        std::mem::take(&mut *self.kinds.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Puts our number in the place of the client's progress token: tokens of several clients may be equal.
fn retag(params: Option<Raw>, id: u64) -> (Option<Raw>, Option<Raw>) {
    let replaced = || {
        let params = params.as_ref()?;
        let meta = params.get("_meta")?;
        let token = meta.get("progressToken")?;
        let mut meta = meta.object()?;
        meta.set("progressToken", Raw::number(id));
        let mut object = params.object()?;
        object.set("_meta", meta.into_raw());
        Some((object.into_raw(), token))
    };
    match replaced() {
        Some((params, token)) => (Some(params), Some(token)),
        None => (params, None),
    }
}

struct OwnRequest(Mutex<Option<oneshot::Sender<Reply>>>);

impl Sink for OwnRequest {
    fn reply(&self, reply: Reply) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            // Nobody waits any more: the asker's own deadline has passed.
            let _ = waiting.send(reply);
        }
    }
}

#[cfg(test)]
mod tests;
