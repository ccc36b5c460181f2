//! The life of one server: asleep, starting, ready, resting after a failure, stopped. One task owns the state;
//! others hold a handle to ask and a snapshot to look.

mod backoff;
mod life;
mod mailbox;
mod not_running;
mod saved_listing;
mod shown;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manifold_config::{ServerStart, redact};
use manifold_engine::{BoxFuture, Exchange, InstanceReport, Listing, Order, Phase, Status, Tasks, Upstream};
use manifold_protocol::{Call, Era, Fault, Raw};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use crate::cache::ListingKey;
use crate::connection::Connection;
use crate::fair_queue::FairQueue;
use crate::listing;
use crate::logs::LogRing;
use backoff::{Attempts, Complaint, back_off, restart_delay};
pub(crate) use life::{Ending, GivenUp, Launcher, Life, Running};
use mailbox::{Commands, Mailbox, mailbox};
use not_running::NotRunning;
use saved_listing::SavedListing;
use shown::Shown;

const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// Callers wait through a rest of this length.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Calls start a server that fails this often at most; a few may do so one after the other.
const CALL_REST: Duration = Duration::from_secs(5);
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);

/// The handle to a supervised server.
pub(crate) struct Supervised {
    shared: Arc<Shared>,
    mailbox: Mailbox,
}

/// What others may look at without asking.
struct Shared {
    id: String,
    /// Set while calls can go straight out.
    ready: ArcSwapOption<Connection>,
    listing: ArcSwapOption<Listing>,
    saved: SavedListing,
    shown: Shown,
    logs: Arc<LogRing>,
}

enum Command {
    Call(Call, Exchange),
    Discover(oneshot::Sender<()>),
    Order(Order, oneshot::Sender<Result<(), Fault>>),
    Close(oneshot::Sender<()>),
}

impl Supervised {
    /// Makes the server's handle and starts its supervisor; the server itself sleeps.
    pub(crate) fn new(launcher: impl Launcher, tasks: &Tasks) -> Arc<Self> {
        let (mailbox, commands) = mailbox();
        let shared = Arc::new(Shared {
            id: launcher.server().key.id.clone(),
            ready: ArcSwapOption::empty(),
            listing: ArcSwapOption::empty(),
            saved: SavedListing::of(&launcher),
            shown: Shown::asleep(),
            logs: Arc::clone(launcher.logs()),
        });
        let supervisor = Supervisor {
            shared: Arc::clone(&shared),
            launcher,
            commands,
            waiting: FairQueue::default(),
            discovering: Vec::new(),
            ordering: Vec::new(),
            failures: 0,
            retry_at: None,
            attempts: Attempts::default(),
            complaint: Complaint::default(),
        };
        tasks.spawn(supervisor.live());
        Arc::new(Self { shared, mailbox })
    }

    fn ask<T: Send + 'static>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> BoxFuture<Option<T>> {
        let (sender, answer) = oneshot::channel();
        let (mailbox, command) = (self.mailbox.orders(), command(sender));
        Box::pin(async move {
            mailbox.send(command).await.ok()?;
            answer.await.ok()
        })
    }
}

impl Upstream for Supervised {
    fn send(&self, call: Call, exchange: Exchange) {
        let (call, exchange) = match &*self.shared.ready.load() {
            Some(connection) => match connection.send(call, exchange) {
                Ok(()) => return,
                Err(unsent) => unsent,
            },
            None => (call, exchange),
        };
        self.mailbox.call(&self.shared.id, call, exchange);
    }

    fn notify(&self, method: &'static str, params: Option<Raw>) {
        if let Some(connection) = &*self.shared.ready.load() {
            connection.notify(method, params.as_ref());
        }
    }

    fn listing(&self) -> Option<Arc<Listing>> {
        self.shared.listing.load_full()
    }

    fn introduced(&self) {
        let Some(listing) = self.shared.saved.anew() else { return };
        // What runs tells for itself.
        if self.shared.ready.load().is_none() {
            self.shared.listing.store(listing);
        }
    }

    fn status(&self) -> Status {
        self.shared.shown.status()
    }

    fn reports(&self) -> Vec<InstanceReport> {
        vec![self.shared.report()]
    }

    fn is_unresponsive(&self) -> bool {
        self.shared.ready.load().as_ref().is_some_and(|connection| connection.is_unresponsive())
    }

    fn logs(&self, lines: usize) -> Vec<String> {
        self.shared.logs.last(lines)
    }

    fn discover(&self) -> BoxFuture<()> {
        let asked = self.ask(Command::Discover);
        Box::pin(async move {
            asked.await;
        })
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        let asked = self.ask(|sender| Command::Order(order, sender));
        Box::pin(async move { asked.await.unwrap_or(Err(Fault::ShuttingDown)) })
    }

    fn close(&self, drain: Duration) -> BoxFuture<()> {
        let running = self.shared.ready.load_full();
        let asked = self.ask(Command::Close);
        Box::pin(async move {
            if let Some(connection) = running {
                let _ = timeout(drain, connection.idle()).await;
            }
            asked.await;
        })
    }
}

struct Supervisor<L> {
    shared: Arc<Shared>,
    launcher: L,
    commands: Commands,
    /// Calls that wait for the start.
    waiting: FairQueue,
    discovering: Vec<oneshot::Sender<()>>,
    ordering: Vec<oneshot::Sender<Result<(), Fault>>>,
    /// Starts that failed, or lived without answering a call, in a row.
    failures: u32,
    /// When a start that failed is tried again, asked or not.
    retry_at: Option<Instant>,
    /// Starts that calls may still cause.
    attempts: Attempts,
    complaint: Complaint,
}

/// What a rest or a life ended with.
enum Next {
    Start,
    NotRunning(NotRunning),
    Closed(Option<oneshot::Sender<()>>),
}

impl<L: Launcher> Supervisor<L> {
    /// Each state is one method; this loop is the whole diagram.
    async fn live(mut self) {
        let mut next = Next::NotRunning(NotRunning::Asleep);
        let done = loop {
            next = match next {
                Next::NotRunning(state) => self.not_running(state).await,
                Next::Start => match self.starting().await {
                    Ok(running) => self.ready(running).await,
                    Err(next) => next,
                },
                Next::Closed(done) => break done,
            };
        };
        self.refuse_all(&Fault::ShuttingDown);
        self.launcher.gone().await;
        self.launcher.cache().settle(self.launcher.server());
        self.commands.close();
        if let Some(done) = done {
            let _ = done.send(());
        }
        // Calls that slipped in are answered by the drop of their exchange.
        while self.commands.recv().await.is_some() {}
    }

    /// Lets a call wait for the start.
    fn wait(&mut self, call: Call, exchange: Exchange) {
        if let Some(refused) = self.waiting.push(call, exchange) {
            refused.tell(&self.shared.id);
        }
    }

    fn stopped(&self) -> Fault {
        let reason = "it was stopped; use the servers_start tool to start it".to_owned();
        Fault::NotRunning { server: self.shared.id.clone(), reason }
    }

    /// Starts the server, taking in what comes meanwhile.
    async fn starting(&mut self) -> Result<Running<L::Life>, Next> {
        if !self.ordering.is_empty() {
            // Whoever orders it hears of it again.
            self.complaint.forget();
        }
        // While one that has failed is tried again, what it failed for is what there is to say.
        if self.failures == 0 || !self.ordering.is_empty() {
            self.show(Phase::Starting);
            info!(server = %self.shared.id, "starting");
        } else {
            debug!(server = %self.shared.id, failures = self.failures, "starting again");
        }
        let began = Instant::now();
        let fault = {
            let mut attempt = Box::pin(self.launcher.launch());
            loop {
                let command = tokio::select! {
                    // Who asked before it failed hears of that, and starts it no more.
                    biased;
                    command = self.commands.recv() => command,
                    started = &mut attempt => match started {
                        Ok(running) => {
                            let took_ms = began.elapsed().as_millis() as u64;
                            let revision = &running.said.revision;
                            info!(server = %self.shared.id, pid = running.pid, %revision, took_ms, "ready");
                            return Ok(running);
                        }
                        Err(fault) => break fault,
                    },
                };
                match command {
                    None => {
                        abandon(&self.launcher, attempt).await;
                        return Err(Next::Closed(None));
                    }
                    Some(Command::Close(done)) => {
                        abandon(&self.launcher, attempt).await;
                        return Err(Next::Closed(Some(done)));
                    }
                    Some(Command::Call(call, exchange)) => {
                        if let Some(refused) = self.waiting.push(call, exchange) {
                            refused.tell(&self.shared.id);
                        }
                    }
                    Some(Command::Discover(done)) if self.failures > 0 => {
                        let _ = done.send(());
                    }
                    Some(Command::Discover(done)) => self.discovering.push(done),
                    Some(Command::Order(Order::Start | Order::Restart, done)) => self.ordering.push(done),
                    Some(Command::Order(Order::Stop, done)) => {
                        abandon(&self.launcher, attempt).await;
                        let _ = done.send(Ok(()));
                        return Err(Next::NotRunning(NotRunning::Stopped));
                    }
                    // Somebody else wants it.
                    Some(Command::Order(Order::Sleep, done)) => {
                        let _ = done.send(Ok(()));
                    }
                }
            }
        };
        // What it said on its way may be shown for as long as it rests (M11).
        Err(self.failed(fault.map_reason(|reason| redact(reason).into_owned())))
    }

    /// Decides what follows a start that failed: it is tried again by itself, ever more seldom. A start in between, by a
    /// call, changes nothing in that.
    fn failed(&mut self, fault: Fault) -> Next {
        match self.complaint.is_new(&fault.message()) {
            true => warn!(server = %self.shared.id, "{}", fault.message()),
            false => debug!(server = %self.shared.id, "{}", fault.message()),
        }
        if self.is_manual() {
            self.failures += 1;
            return Next::NotRunning(NotRunning::Failed(fault, None));
        }
        let now = Instant::now();
        let at = match self.retry_at.filter(|at| *at > now) {
            Some(at) => at,
            None => now + back_off(&mut self.failures, &self.shared.id),
        };
        self.retry_at = Some(at);
        Next::NotRunning(NotRunning::Failed(fault, Some(at)))
    }

    /// Serves until the server ends, by itself or by order.
    async fn ready(&mut self, mut running: Running<L::Life>) -> Next {
        let connection = Arc::clone(&running.connection);
        self.show_ready(&running);
        self.shared.ready.store(Some(Arc::clone(&connection)));
        self.retry_at = None;
        for done in self.ordering.drain(..) {
            let _ = done.send(Ok(()));
        }
        // Only a server that has died already gives calls back; they wait for the next life.
        let waiting = self.waiting.take_all().into_iter();
        self.waiting.put_back(waiting.filter_map(|(call, exchange)| connection.send(call, exchange).err()));
        let (listed, mut readings) = watch::channel(0_u32);
        let mut follower = JoinSet::new();
        follower.spawn(self.follower(&running, listed.clone()));
        let mut read_once = false;
        let idle_timeout = self.launcher.server().idle_timeout;
        let next = loop {
            let command = tokio::select! {
                ending = running.life.ended() => break match ending {
                    Ending::Exited { clean, how } => self.died(&connection, clean, &format!("it ended {how}")),
                    Ending::Silent => self.fell_silent(&connection),
                },
                _ = readings.changed() => {
                    read_once = true;
                    for done in self.discovering.drain(..) {
                        let _ = done.send(());
                    }
                    continue;
                }
                () = unused(&connection, idle_timeout) => {
                    if self.is_unwanted() && connection.retire() {
                        info!(server = %self.shared.id, "idle timeout, stopping");
                        break Next::NotRunning(NotRunning::Asleep);
                    }
                    continue;
                }
                command = self.commands.recv() => command,
            };
            match command {
                None => break Next::Closed(None),
                Some(Command::Close(done)) => break Next::Closed(Some(done)),
                Some(Command::Call(call, exchange)) => {
                    if let Err((call, exchange)) = connection.send(call, exchange) {
                        self.wait(call, exchange);
                    }
                }
                Some(Command::Discover(done)) if read_once && self.shared.listing.load().is_some() => {
                    let _ = done.send(());
                }
                Some(Command::Discover(done)) if read_once => {
                    // The first reading failed; it is tried again, and nobody waits for that (D4).
                    let _ = done.send(());
                    read_once = false;
                    follower = JoinSet::new();
                    follower.spawn(self.follower(&running, listed.clone()));
                }
                Some(Command::Discover(done)) => self.discovering.push(done),
                Some(Command::Order(Order::Start, done)) => {
                    let _ = done.send(Ok(()));
                }
                Some(Command::Order(Order::Restart, done)) => {
                    self.ordering.push(done);
                    break Next::Start;
                }
                Some(Command::Order(Order::Sleep, done)) => {
                    let _ = done.send(Ok(()));
                    // Nothing is lost to it: what is in flight keeps it.
                    if self.discovering.is_empty() && connection.retire() {
                        break Next::NotRunning(NotRunning::Asleep);
                    }
                }
                Some(Command::Order(Order::Stop, done)) => {
                    self.ordering.push(done);
                    break Next::NotRunning(NotRunning::Stopped);
                }
            }
        };
        follower.abort_all();
        self.shared.ready.store(None);
        self.end(&connection, running.life, &next).await;
        next
    }

    /// Returns whether nobody waits to hear from the server.
    fn is_unwanted(&self) -> bool {
        let standing = self.launcher.host().standing(&self.launcher.server().key);
        standing.subscriptions.is_empty() && standing.tasks.is_empty()
    }

    /// Winds a life up: what could not be sent waits for the next one. Nothing of a life is left when this returns.
    async fn end(&mut self, connection: &Connection, life: L::Life, next: &Next) {
        connection.stop_listening().await;
        self.waiting.put_back(connection.close("it was stopped"));
        life.stop().await;
        if !matches!(
            next,
            Next::NotRunning(NotRunning::Asleep | NotRunning::Restarting(..) | NotRunning::Failed(..))
        ) {
            info!(server = %self.shared.id, "stopped");
        }
        if matches!(next, Next::NotRunning(NotRunning::Stopped)) {
            for done in self.ordering.drain(..) {
                let _ = done.send(Ok(()));
            }
        }
    }

    /// Gives up on a server that lives on without taking or giving messages.
    fn fell_silent(&mut self, connection: &Connection) -> Next {
        let how = "it closed its input or output and was ended";
        match self.shared.logs.tail() {
            Some(tail) => self.died(connection, false, &format!("{how}; its log: {tail}")),
            None => self.died(connection, false, how),
        }
    }

    /// Decides what follows when a server ended by itself.
    fn died(&mut self, connection: &Connection, clean: bool, how: &str) -> Next {
        let how = &*redact(how);
        let busy = connection.is_busy();
        let proven = connection.has_answered();
        self.waiting.put_back(connection.close(how));
        if proven {
            self.complaint.forget();
        }
        match self.complaint.is_new(how) {
            true => warn!(server = %self.shared.id, busy, "the server is gone: {how}"),
            false => debug!(server = %self.shared.id, busy, "the server is gone: {how}"),
        }
        let server = self.launcher.server();
        let wanted = busy
            || !self.waiting.is_empty()
            || !self.discovering.is_empty()
            || !clean
            || server.start == ServerStart::Eager;
        let delay = restart_delay(server);
        if delay.is_none() && self.waiting.is_empty() {
            let reason = format!("{how}, and `restart` is off");
            let fault = Fault::NotRunning { server: self.shared.id.clone(), reason };
            return Next::NotRunning(NotRunning::Failed(fault, None));
        }
        if !wanted {
            return Next::NotRunning(NotRunning::Asleep);
        }
        // A server that did its work is back at once; one that only dies is given ever longer rests.
        let pause = if proven {
            self.failures = 0;
            delay.unwrap_or_default()
        } else {
            back_off(&mut self.failures, &self.shared.id).max(delay.unwrap_or_default())
        };
        debug!(server = %self.shared.id, pause_ms = pause.as_millis() as u64, "restarting");
        let reason = format!("{how}; restarting in {:.1} s", pause.as_secs_f64());
        let fault = Fault::NotRunning { server: self.shared.id.clone(), reason };
        let now = Instant::now();
        Next::NotRunning(NotRunning::Restarting(fault, now + delay.unwrap_or_default(), now + pause))
    }

    /// Makes the task that reads the lists and keeps them fresh.
    fn follower(
        &self,
        running: &Running<L::Life>,
        listed: watch::Sender<u32>,
    ) -> impl Future<Output = ()> + Send + 'static + use<L> {
        let shared = Arc::clone(&self.shared);
        let (host, key) = (Arc::clone(self.launcher.host()), self.launcher.server().key.clone());
        let (cache, server) = (self.launcher.cache().clone(), Arc::clone(self.launcher.server()));
        let era = if running.connection.is_modern() { Era::Modern } else { Era::Legacy };
        let told = ListingKey::of(&server, era, &host.client_facts().capabilities);
        let publish = move |read: Result<Arc<Listing>, manifold_protocol::Failure>| {
            match read {
                Ok(listing) => {
                    debug!(server = %shared.id, tools = listing.tools.len(), "listed");
                    cache.note_listing_for(&server, told.clone(), &listing);
                    shared.listing.store(Some(listing));
                    host.listing_changed(&key);
                }
                Err(failure) => warn!(server = %shared.id, ?failure, "reading its lists failed"),
            }
            listed.send_modify(|readings| *readings += 1);
        };
        listing::follow(Arc::clone(&running.connection), running.said.clone(), publish)
    }

    fn refuse_all(&mut self, fault: &Fault) {
        for (_, exchange) in self.waiting.take_all() {
            exchange.fail(fault.clone());
        }
        for done in self.ordering.drain(..) {
            let _ = done.send(Err(fault.clone()));
        }
        for done in self.discovering.drain(..) {
            let _ = done.send(());
        }
    }
}

/// Ends a start that nobody wants any more, as gently as a server that runs (D2).
async fn abandon<L: Launcher>(
    launcher: &L,
    attempt: impl Future<Output = Result<Running<L::Life>, Fault>> + Send,
) {
    match launcher.give_up() {
        GivenUp::EndsByItself => {
            if let Ok(running) = attempt.await {
                running.life.stop().await;
            }
        }
        GivenUp::IsDropped => drop(attempt),
    }
    launcher.gone().await;
}

/// Waits until the server has not been used for so long; for ever where no time is set.
async fn unused(connection: &Connection, idle_timeout: Option<Duration>) {
    match idle_timeout {
        Some(patience) => connection.unused_for(patience).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
