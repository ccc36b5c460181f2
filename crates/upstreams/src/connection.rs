//! One generation of a server: calls numbered, matched with their answers, timed and taken back. It knows
//! messages, not pipes: whoever owns the streams feeds `receive` and empties the outbox.

mod asides;
mod company;
mod deadlines;
mod dual;
mod health;
mod incoming;
mod kept;
mod known;
mod listening;
mod lite;
mod modern;
mod question;
mod rounds;
mod stale;
mod table;
mod tasks;
mod visits;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manifold_config::Server;
use manifold_engine::{Cancel, Exchange, Flight, Host, Outbox, Sink};
use manifold_protocol::{Answer, Call, Failure, Fault, Id, Method, Raw, RawObject, envelope, notification};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

use crate::logs::LogRing;
use health::Health;
use kept::Stage;
pub(crate) use known::Known;
use lite::Lite;
pub(crate) use lite::Way;
use modern::Modern;
pub(crate) use modern::{Post, Poster};
use question::Questions;
use stale::Stale;
use table::{Origin, Pending, Table};
use visits::Visits;

/// What a server may be owed before new calls are refused: one that never reads may cost 16 MiB in all (F4).
const CROWDED_BYTES: usize = 8 << 20;
/// A call of at most this size is let through to a server that is owed too much, if its client has none there.
const SMALL_BYTES: usize = 16 << 10;
/// Large answers of one server that are read at once for a client that may not read them.
const LARGE_AT_ONCE: usize = 4;
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
    visits: Visits,
    /// Wakes the deadline keeper.
    sooner: Notify,
    /// Told when the last call in flight is over.
    emptied: Notify,
    /// What is different with a server of the newest revision; set by the handshake.
    modern: OnceLock<Modern>,
    /// What is different with a LiteMCP server; set before the handshake.
    lite: OnceLock<Lite>,
    /// What of its tools matters to their calls, where anything does.
    known: ArcSwapOption<Known>,
    learnt: Notify,
    /// What goes on beside calls: rounds of questions, tasks, listening.
    work: Mutex<JoinSet<()>>,
    pub(crate) stale: Stale,
    large: Semaphore,
    /// Lines that were no message, and answers nobody asked for.
    noise: AtomicU64,
    /// Whether it has done any work: answered a call, not only told of itself.
    proven: AtomicBool,
    health: Health,
    /// Whether its output has ended.
    silence: watch::Sender<bool>,
    limit_bytes: usize,
}

impl Connection {
    pub(crate) fn new(
        server: Arc<Server>,
        host: Arc<dyn Host>,
        logs: Arc<LogRing>,
        limit_bytes: usize,
    ) -> Arc<Self> {
        let table = Table::new(server.max_concurrency, host.audience());
        let outbox = Outbox::new(CROWDED_BYTES);
        // The one client is not read while all that is under way takes up too much; what waits for a server is part of
        // that (F35).
        let outbox = match host.only_client().as_ref().and_then(|client| client.budget()) {
            Some(budget) => outbox.within(budget),
            None => outbox,
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            server,
            host,
            logs,
            outbox,
            table: Mutex::new(table),
            questions: Questions::default(),
            visits: Visits::default(),
            sooner: Notify::new(),
            emptied: Notify::new(),
            modern: OnceLock::new(),
            lite: OnceLock::new(),
            known: ArcSwapOption::empty(),
            learnt: Notify::new(),
            work: Mutex::default(),
            stale: Stale::default(),
            large: Semaphore::new(LARGE_AT_ONCE),
            noise: AtomicU64::new(0),
            proven: AtomicBool::new(false),
            health: Health::default(),
            silence: watch::Sender::new(false),
            limit_bytes,
        })
    }

    /// Returns whether all that the server says is for one client.
    pub(crate) fn has_only_client(&self) -> bool {
        self.host.only_client().is_some()
    }

    /// Waits until there is room for what the server says next.
    pub(crate) async fn room(&self) {
        if let Some(client) = self.host.only_client() {
            client.uncrowded().await;
        }
    }

    /// Waits for the turn to take in something large. Where all is for one client only a few do at a time: answers that
    /// began while there was room would else all come in together (F20).
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        let client = self.host.only_client()?;
        let turn = self.large.acquire().await.ok();
        client.uncrowded().await;
        turn
    }

    /// Sends a call, or gives it back unsent when this generation is over.
    pub(crate) fn send(&self, call: Call, exchange: Exchange) -> Result<(), (Call, Exchange)> {
        let Some((call, exchange)) = self.answer_here(call, exchange) else { return Ok(()) };
        let crowded = self.outbox.crowded();
        let mut table = self.lock();
        if table.is_closed() {
            return Err((call, exchange));
        }
        if crowded && !is_first_and_small(&table, &call, &exchange) {
            drop(table);
            let reason = format!(
                "more than {} MiB of calls are waiting to be read by it; try again in a moment, restart it if it is stuck",
                CROWDED_BYTES >> 20
            );
            exchange.fail(Fault::Busy { server: self.id().to_owned(), reason });
            return Ok(());
        }
        if table.admit() {
            self.write(&mut table, call, exchange, Origin::Client);
        } else if let Some(refused) = table.queue.push(call, exchange) {
            drop(table);
            refused.tell(self.id());
        }
        Ok(())
    }

    /// Sends one of our own requests: past the queue, and no proof that the server does its work.
    fn send_own(&self, call: Call, exchange: Exchange) {
        let origin = if call.method == Method::Listen { Origin::Listening } else { Origin::Ourselves };
        self.send_as(call, exchange, origin);
    }

    fn send_as(&self, call: Call, exchange: Exchange, origin: Origin) {
        if let Some(list) = self.list_for_lite(&call) {
            return exchange.finish(Ok(list));
        }
        let mut table = self.lock();
        if table.is_closed() {
            drop(table);
            return exchange.fail(Fault::Internal("the server is gone".to_owned()));
        }
        self.write(&mut table, call, exchange, origin);
    }

    /// Sends one of our own requests and waits for its answer.
    pub(crate) async fn request(
        &self,
        method: Method,
        params: Option<Raw>,
        timeout: Duration,
    ) -> Result<Raw, Failure> {
        self.request_call(Call::new(method, params), Origin::Ourselves, timeout).await
    }

    /// Sends a request in the course of a client's call, where that is known, and waits for its answer.
    async fn request_call(&self, call: Call, origin: Origin, timeout: Duration) -> Result<Raw, Failure> {
        let (mut exchange, answer) = Exchange::answered();
        let target = manifold_engine::Target { server: self.id().to_owned(), tool: None, timeout };
        exchange.aim(Arc::new(target));
        self.send_as(call, exchange, origin);
        let lost = |_| Err(Fault::Internal("the answer was lost".to_owned()).into());
        answer.await.unwrap_or_else(lost).map(Answer::into_body)
    }

    /// Sends one of our own requests whose answer does not matter.
    pub(crate) fn order(&self, method: Method, params: Raw) {
        self.send_own(Call::new(method, Some(params)), Exchange::unheard());
    }

    /// Tells a server that starts anew what was told before: the log level and the subscriptions.
    pub(crate) fn repeat_standing(&self, capabilities: &Raw) {
        self.repeat_level(capabilities);
        for uri in self.host.standing(&self.server.key).subscriptions {
            let mut params = RawObject::default();
            params.set("uri", Raw::string(&uri));
            self.order(Method::ResourcesSubscribe, params.into_raw());
        }
    }

    /// Tells a session that begins the log level that was set before.
    pub(crate) fn repeat_level(&self, capabilities: &Raw) {
        let level = self.host.standing(&self.server.key).log_level;
        if let Some(level) = level.filter(|_| capabilities.get("logging").is_some()) {
            self.order(Method::SetLevel, level);
        }
    }

    /// Returns whether the server owes an answer to the call of this number.
    pub(crate) fn awaits(&self, call: u64) -> bool {
        self.lock().get(call).is_some_and(Pending::is_written)
    }

    /// Returns how long the call of this number may still take.
    pub(crate) fn time_left(&self, call: u64) -> Option<Duration> {
        Some(self.lock().get(call)?.deadline.saturating_duration_since(Instant::now()))
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

    /// Tells the server something, if it is of a kind to be told: the newest revision and LiteMCP know of nothing to tell.
    pub(crate) fn notify(&self, method: &str, params: Option<&Raw>) {
        let knows_sessions = self.modern.get().is_none() || self.has_session_beside();
        if knows_sessions && self.lite.get().is_none() {
            self.outbox.push(envelope::notification(method, params));
        }
    }

    /// Ends this generation: every call in flight gets one error, those never written are given back.
    pub(crate) fn close(&self, reason: &str) -> Vec<(Call, Exchange)> {
        let (pending, mut queued) = self.lock().close();
        queued.extend(self.beside().into_iter().flat_map(|beside| beside.take_waiting()));
        self.outbox.abandon();
        self.questions.withdraw_all();
        self.sooner.notify_one();
        self.lock_work().abort_all();
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

    pub(crate) fn server(&self) -> &Server {
        &self.server
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
        let timeout = match origin {
            Origin::Listening => listening::FOREVER,
            _ => exchange.target().map_or(HARD_LIMIT, |target| target.timeout),
        };
        let mut pending = Pending::new(exchange, origin, timeout, HARD_LIMIT);
        let call = if origin == Origin::Client { self.keep(call, &mut pending) } else { call };
        self.write_as(table, id, call, pending);
    }

    /// Writes a call under its number, in the server's dialect.
    fn write_as(&self, table: &mut Table, id: u64, call: Call, mut pending: Pending) {
        let post = match (self.modern_for(&call), self.lite.get()) {
            (Some(modern), _) => self.write_modern(modern, id, call, &mut pending),
            (None, Some(lite)) => self.write_lite(lite, id, call, &mut pending),
            (None, None) => {
                pending.in_session = true;
                let params;
                (params, pending.token) = retag(call.params, id);
                self.outbox.push(envelope::request(&Id::number(id), call.method.as_str(), params.as_ref()));
                None
            }
        };
        if table.insert(id, pending) {
            self.sooner.notify_one();
        }
        // It looks for the call in the table.
        if let Some((poster, post)) = post {
            poster.post(post);
        }
    }

    /// Takes a call out of the table and lets the next in the queue in. Its questions end with it.
    fn take(&self, id: u64) -> Option<Pending> {
        let table = self.lock();
        self.take_from(table, id)
    }

    fn take_unless_kept(&self, id: u64) -> Taken {
        let table = self.lock();
        match table.get(id) {
            Some(pending) if pending.kept.is_some() => Taken::Kept,
            _ => self.take_from(table, id).map_or(Taken::Nothing, Taken::Pending),
        }
    }

    fn take_from(&self, mut table: MutexGuard<'_, Table>, id: u64) -> Option<Pending> {
        let pending = table.remove(id)?;
        self.refill(table);
        if pending.has_questions() {
            self.end_questions_of(id);
        }
        Some(pending)
    }

    /// Lets the next in the queue in, and tells if there is none.
    fn refill(&self, mut table: MutexGuard<'_, Table>) {
        self.fill(&mut table);
        if table.in_flight() == 0 {
            self.emptied.notify_waiters();
        }
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

    /// Starts something that ends with this generation at the latest.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.lock_work();
        while running.try_join_next().is_some() {}
        running.spawn(work);
    }

    fn lock_work(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the table had under a number.
enum Taken {
    Pending(Pending),
    /// A call that may go on stays where it is.
    Kept,
    Nothing,
}

impl Cancel for Connection {
    fn cancel(&self, id: u64, reason: Option<Raw>) {
        let pending = {
            let mut table = self.lock();
            let pending = table.abandon(id);
            self.refill(table);
            pending
        };
        if let Some(pending) = pending {
            if pending.has_questions() {
                self.end_questions_of(id);
            }
            debug!(server = self.id(), "call cancelled by the client");
            self.tell_cancelled(id, &pending, reason);
        }
    }
}

impl Connection {
    /// Tells the server that nobody waits for a call any more, in whatever state it is.
    fn tell_cancelled(&self, id: u64, pending: &Pending, reason: Option<Raw>) {
        if let Some(lite) = self.lite.get() {
            return Self::forget_lite(lite, id);
        }
        // One that gives no sign of life is told no more.
        if pending.origin == Origin::Probe {
            return;
        }
        match pending.kept.as_ref().map(|kept| &kept.stage) {
            Some(Stage::Asking) => return,
            Some(Stage::Task(task)) => return self.cancel_task(task, pending),
            Some(Stage::Written) | None => {}
        }
        // Over HTTP the newest revision cancels by letting go of the connection, which `pending` does.
        if self.has_headers() && !pending.in_session {
            return;
        }
        let mut params = RawObject::default();
        params.set("requestId", Raw::number(id));
        if let Some(reason) = reason {
            params.set("reason", reason);
        }
        self.outbox.push(envelope::notification(notification::CANCELLED, Some(&params.into_raw())));
    }
}

/// Returns whether a call may pass where one client has left the server too much to read: another's must (M9).
fn is_first_and_small(table: &Table, call: &Call, exchange: &Exchange) -> bool {
    call.params.as_ref().is_none_or(|params| params.as_bytes().len() <= SMALL_BYTES)
        && !table.has_calls_of(exchange.client())
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

#[cfg(test)]
mod tests;
