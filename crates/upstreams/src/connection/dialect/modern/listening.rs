//! News of changes from a server of the newest revision: one request that stays open, asked anew whenever what we want
//! to hear of changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_engine::{CallHandle, Exchange, Lock as _, Sink, Standing};
use manifold_protocol::dialect::modern::listen::Filter;
use manifold_protocol::{Call, Failure, Fault, Method, Raw, Reply, notification};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, warn};

use crate::connection::Connection;
use crate::connection::table::Origin;

/// How long a server may take to say what we will hear of.
const PATIENCE: Duration = Duration::from_secs(10);
/// Those who may wait to hear that they will be told, each for as long as its call may take, or this long.
const MAX_WAITING: usize = 4096;
const WAIT_LIMIT: Duration = Duration::from_secs(60);
/// How long a server that is stopped may take over being told so.
const LAST_WORD: Duration = Duration::from_millis(50);
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// A listening that lasted this long ended for reasons of its own.
const LASTED: Duration = Duration::from_secs(60);

/// What listening takes, on the side of those who want to hear.
pub(super) struct Listening {
    /// What the server says it can tell.
    offered: Offered,
    waiting: Mutex<Vec<Waiting>>,
    /// Wakes the listener: what stands may have changed.
    pub(super) changed: Notify,
    /// What happened before it listens for the first time.
    missed: Missed,
}

struct Offered {
    tools: bool,
    prompts: bool,
    resources: bool,
    subscriptions: bool,
}

/// Someone who wants to know that we hear what stands now, or of this one thing.
struct Waiting {
    wanted: Option<Wanted>,
    exchange: Exchange,
    /// Until when, and how long that is in all.
    until: Instant,
    patience: Duration,
}

pub(super) enum Wanted {
    Resource(String),
    Task(String),
}

impl Wanted {
    /// Returns why the server will not tell of it, if it will not.
    fn refusal(&self, taken: &Taken<'_>) -> Option<String> {
        match self {
            Self::Resource(uri) if !taken.uris.contains(uri.as_str()) => {
                Some(format!("it does not take subscriptions to `{uri}`"))
            }
            Self::Task(task) if !taken.tasks.contains(task.as_str()) => {
                Some(format!("it does not tell of the task `{task}`"))
            }
            Self::Resource(_) | Self::Task(_) => None,
        }
    }
}

/// What a server has taken on, made to be looked up: as many may wait for as many subscriptions (H4).
struct Taken<'f> {
    uris: HashSet<&'f str>,
    tasks: HashSet<&'f str>,
}

impl<'f> From<&'f Filter> for Taken<'f> {
    fn from(filter: &'f Filter) -> Self {
        let set = |names: &'f [String]| names.iter().map(String::as_str).collect();
        Self { uris: set(&filter.uris), tasks: set(&filter.tasks) }
    }
}

impl Listening {
    pub(super) fn new(capabilities: &Raw) -> Self {
        let says = |path: [&str; 2]| capabilities.path(&path).and_then(|flag| flag.bool()).unwrap_or(false);
        let offered = Offered {
            tools: says(["tools", "listChanged"]),
            prompts: says(["prompts", "listChanged"]),
            resources: says(["resources", "listChanged"]),
            subscriptions: says(["resources", "subscribe"]),
        };
        Self { offered, waiting: Mutex::default(), changed: Notify::new(), missed: Missed::Nothing }
    }

    /// Goes on after another program listened: what the server said in between nobody has heard.
    pub(super) fn resumed(self) -> Self {
        Self { missed: Missed::Perhaps, ..self }
    }

    /// Lets go of those who wait, for another program to answer.
    pub(super) fn leave_waiting(&self) {
        self.all_waiting().into_iter().for_each(|waiting| waiting.exchange.leave_to_another_process());
    }

    /// Answers once the server has been told what stands now.
    pub(super) fn wait(&self, server: &str, wanted: Option<Wanted>, exchange: Exchange) {
        let patience = exchange.target().map_or(WAIT_LIMIT, |target| target.timeout);
        let mut waiting = self.waiting.locked();
        if waiting.len() >= MAX_WAITING {
            waiting.retain(|one| !one.exchange.is_cancelled());
        }
        if waiting.len() >= MAX_WAITING {
            drop(waiting);
            let reason = format!("{MAX_WAITING} calls wait to be told of changes; try again in a moment");
            return exchange.fail(Fault::Busy { server: server.to_owned(), reason });
        }
        waiting.push(Waiting { wanted, exchange, until: Instant::now() + patience, patience });
        drop(waiting);
        self.changed.notify_one();
    }

    /// Lets this much time pass; whoever cannot wait as long is told so.
    async fn rest(&self, server: &str, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let first = self.waiting.locked().iter().map(|one| one.until).min();
            tokio::select! {
                () = sleep_until(first.map_or(end, |first| first.min(end))) => {}
                // Who comes now may be the one with the least time.
                () = self.changed.notified() => {}
            }
            let now = Instant::now();
            let due: Vec<Waiting> = self.waiting.locked().extract_if(.., |one| one.until <= now).collect();
            for one in due {
                let server = server.to_owned();
                one.exchange.fail(Fault::TimedOut { server, tool: None, after: one.patience });
            }
        }
    }

    pub(super) fn subscribe(&self, server: &str, uri: String, exchange: Exchange) {
        if self.offered.subscriptions {
            return self.wait(server, Some(Wanted::Resource(uri)), exchange);
        }
        let reason = "it offers no subscriptions to resources".to_owned();
        exchange.fail(Fault::Refused { server: server.to_owned(), tool: None, reason });
    }

    fn wanted(&self, standing: Standing) -> Filter {
        let subscriptions =
            if self.offered.subscriptions { standing.subscriptions } else { Default::default() };
        Filter {
            tools: self.offered.tools,
            prompts: self.offered.prompts,
            resources: self.offered.resources,
            uris: subscriptions.into_iter().collect(),
            tasks: standing.tasks.into_iter().collect(),
        }
    }

    /// Answers all who wait by what the server has taken on.
    fn settle(&self, server: &str, taken: &Filter) {
        let waiting = self.all_waiting();
        if waiting.is_empty() {
            return;
        }
        let taken = Taken::from(taken);
        for Waiting { wanted, exchange, .. } in waiting {
            match wanted.and_then(|wanted| wanted.refusal(&taken)) {
                Some(reason) => {
                    exchange.fail(Fault::Refused { server: server.to_owned(), tool: None, reason });
                }
                None => exchange.finish(Ok(Raw::from_static("{}"))),
            }
        }
    }

    fn refuse(&self, server: &str, reason: &str) {
        for waiting in self.all_waiting() {
            let reason = reason.to_owned();
            waiting.exchange.fail(Fault::Refused { server: server.to_owned(), tool: None, reason });
        }
    }

    fn all_waiting(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.waiting.locked())
    }
}

/// A request to listen that the server has acknowledged. Dropping it takes it back.
struct Open {
    flight: Arc<CallHandle<dyn Sink>>,
    heard: mpsc::Receiver<ListenEvent>,
    wanted: Filter,
    taken: Filter,
    since: Instant,
}

enum ListenEvent {
    Acknowledged(Filter),
    Ended(Reply),
}

/// What has happened while nobody listened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missed {
    Nothing,
    Perhaps,
}

/// Why the server does not let us listen.
enum NotListening {
    /// It has no such request.
    Unknown,
    ForNow(String),
}

impl Connection {
    /// Listens for as long as the connection lives, or the server lets us.
    pub(in crate::connection::dialect) async fn keep_listening(self: Arc<Self>) {
        let Some(modern) = self.dialect().without_sessions() else { return };
        let listening = &modern.listening;
        let mut open: Option<Open> = None;
        let mut missed = listening.missed;
        let mut rest = FIRST_BACKOFF;
        loop {
            let wanted = listening.wanted(self.host.standing(&self.server.key));
            let present = open.as_ref().map(|open| open.wanted.clone()).unwrap_or_default();
            if wanted == present {
                let taken = open.as_ref().map(|open| open.taken.clone()).unwrap_or_default();
                listening.settle(self.id(), &taken);
                tokio::select! {
                    () = listening.changed.notified() => {}
                    () = ended(&mut open) => {
                        debug!(server = self.id(), "the server ended subscriptions/listen");
                        // One that lasted is no sign that the next will not.
                        if open.take().is_some_and(|open| open.since.elapsed() > LASTED) {
                            rest = FIRST_BACKOFF;
                        }
                        missed = Missed::Perhaps;
                        listening.rest(self.id(), rest).await;
                        rest = (rest * 2).min(LONGEST_BACKOFF);
                    }
                }
                continue;
            }
            if wanted == Filter::default() {
                open = None;
                continue;
            }
            match self.listen(wanted).await {
                Ok(new) => {
                    // The old one is let go only now, so that nothing is missed in between.
                    open = Some(new);
                    if missed == Missed::Perhaps {
                        missed = Missed::Nothing;
                        self.lists.stale.mark_all();
                    }
                }
                Err(NotListening::Unknown) => break,
                Err(NotListening::ForNow(why)) => {
                    match missed {
                        Missed::Nothing => {
                            warn!(
                                server = self.id(),
                                "subscriptions/listen was refused, so changes go unnoticed: {why}"
                            );
                        }
                        Missed::Perhaps => {
                            debug!(server = self.id(), "subscriptions/listen still refused: {why}")
                        }
                    }
                    missed = Missed::Perhaps;
                    listening.refuse(self.id(), &why);
                    listening.rest(self.id(), rest).await;
                    rest = (rest * 2).min(LONGEST_BACKOFF);
                }
            }
        }
        debug!(server = self.id(), "the server has no subscriptions/listen");
        loop {
            listening.refuse(self.id(), "it tells nobody of changes");
            listening.changed.notified().await;
        }
    }

    /// Takes the listening back and waits until that is said: some servers do not go while it is open.
    pub(crate) async fn stop_listening(&self) {
        let open = self.lock().listening();
        for id in &open {
            if let Some(pending) = self.take(*id) {
                self.dialect().cancel(self, *id, &pending, None);
            }
        }
        if !open.is_empty() {
            let _ = timeout(LAST_WORD, self.outbox.flushed()).await;
        }
    }

    async fn listen(&self, wanted: Filter) -> Result<Open, NotListening> {
        let (sender, heard) = mpsc::channel(8);
        let (exchange, flight) = Exchange::open(ListenSink(sender));
        // It is taken back on every way out but one.
        let mut open = Open { flight, heard, wanted, taken: Filter::default(), since: Instant::now() };
        self.send_as(Call::new(Method::Listen, Some(open.wanted.encode())), exchange, Origin::Listening);
        match timeout(PATIENCE, open.heard.recv()).await {
            Ok(Some(ListenEvent::Acknowledged(taken))) => {
                open.taken = taken;
                Ok(open)
            }
            Ok(Some(ListenEvent::Ended(Err(Failure::Peer(error))))) => {
                Err(match error.get("code").is_some_and(|code| code.as_str() == "-32601") {
                    true => NotListening::Unknown,
                    false => NotListening::ForNow(error.as_str().to_owned()),
                })
            }
            Ok(Some(ListenEvent::Ended(Err(Failure::Fault(fault))))) => {
                Err(NotListening::ForNow(fault.message()))
            }
            Ok(Some(ListenEvent::Ended(Ok(_))) | None) => {
                Err(NotListening::ForNow("it ended the request at once".to_owned()))
            }
            Err(_) => Err(NotListening::ForNow("it did not acknowledge the request in time".to_owned())),
        }
    }
}

/// Waits for the end of a listening, for ever where there is none.
async fn ended(open: &mut Option<Open>) {
    let Some(open) = open else { return std::future::pending().await };
    while let Some(ListenEvent::Acknowledged(_)) = open.heard.recv().await {}
}

impl Drop for Open {
    fn drop(&mut self) {
        self.flight.cancel(None);
    }
}

/// Hears what the server says to the request itself.
struct ListenSink(mpsc::Sender<ListenEvent>);

impl Sink for ListenSink {
    fn reply(&self, reply: Reply) {
        // Whoever listened has gone.
        let _ = self.0.try_send(ListenEvent::Ended(reply));
    }

    fn notice(&self, method: &str, params: Option<Raw>) {
        if method == notification::ACKNOWLEDGED {
            let taken = Filter::read(params.as_ref()).unwrap_or_default();
            let _ = self.0.try_send(ListenEvent::Acknowledged(taken));
        }
    }
}
