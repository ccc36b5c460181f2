//! The sessions of clients that come by HTTP.

mod open;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hyper::header::HeaderValue;
use manifold_config::ClientLimits;
use manifold_engine::{Audience, Budget, Gateway, Lock as _, Requester, Tasks};
use manifold_protocol::envelope::{Incoming, Message};
use manifold_protocol::{Fault, Id, Raw};
use tokio::time::{Instant, interval};
use tracing::info;

use super::peer::{Origin, too_many_calls, too_many_streams};
use super::site::Site;
use super::stream::{Stream, StreamLog};
use super::tally::{Entered, Tally};
use crate::replica::{Link, Replica, SealedSession, StateKeys};
use crate::session::{Destination, Outlet, Session};
use open::{Open, Owner};

/// A session nobody has used for this long, and nobody listens to, is over. Coding agents rest for long.
const IDLE: Duration = Duration::from_secs(4 * 3600);
/// How long the rest of an answered stream is kept for a client that comes back.
const KEEP_FINISHED: Duration = Duration::from_secs(300);
/// A session used within this time is never ended for another (M8).
const IN_USE: Duration = Duration::from_secs(60);
const MAX_STREAMS: usize = 256;
/// What a client may leave unread.
const OWED_BYTES: usize = 20 << 20;

pub(super) struct Sessions {
    limits: ClientLimits,
    open: Mutex<Open>,
}

/// Where a session was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    /// At `/mcp`, or at `/mcp/` and this namespace.
    Mcp(Option<String>),
    /// By the old transport, whose messages all come by one path.
    OldSse,
}

/// One client's session and its streams.
pub(super) struct HttpSession {
    pub(super) id: String,
    /// By what replicas know it, where any of them can make it anew.
    pub(super) sid: Option<String>,
    /// Where its streams are written, for whoever goes on with them.
    logs: Option<Logs>,
    /// The id as responses bear it.
    pub(super) header: HeaderValue,
    /// Where it was opened: it is no good elsewhere (T5).
    entrance: Entrance,
    /// Who opened it: nobody else finds it.
    requester: Arc<Requester>,
    /// Whose sessions it counts with, and where it was opened from.
    owner: Owner,
    address: IpAddr,
    limits: ClientLimits,
    /// Those who listen to its streams by GET.
    readers: Arc<Tally>,
    pub(super) session: Arc<Session>,
    pub(super) gateway: Arc<Gateway>,
    /// What belongs to no request of the client's; read by GET.
    pub(super) general: Arc<Stream>,
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    /// What it has not read yet (F20).
    pub(super) budget: Budget,
    next_stream: AtomicU64,
    made: Instant,
    /// Milliseconds after `made`.
    used: AtomicU64,
}

impl HttpSession {
    /// Prepares a session; nobody else knows it until it is added.
    pub(super) fn new(
        site: &Site,
        gateway: &Arc<Gateway>,
        entrance: Entrance,
        origin: Origin<'_>,
    ) -> Option<Arc<Self>> {
        Self::with_id(site, gateway, entrance, origin, (random_id()?, None))
    }

    /// Prepares a session under an id that is given, with the name by which replicas speak of it.
    pub(super) fn with_id(
        site: &Site,
        gateway: &Arc<Gateway>,
        entrance: Entrance,
        origin: Origin<'_>,
        (id, sid): (String, Option<String>),
    ) -> Option<Arc<Self>> {
        let address = origin.peer.address;
        // Its own: the connection's may serve other sessions, whose clients have other names.
        let principal = origin.requester.principal.clone();
        let requester = Requester::granted(principal, Some(address), origin.requester.grants());
        let requester = Arc::new(requester.forwarded(origin.requester.is_forwarded()));
        requester.set_session(sid.as_deref().unwrap_or(&id));
        let destination = Destination {
            gateway: Ok(Arc::clone(gateway)),
            codes: site.codes,
            profile: site.profile,
            audience: Audience::Shared,
            requester: Arc::clone(&requester),
        };
        let budget = site.share_of_one(OWED_BYTES);
        // What clients send back of the numbers that a replica gives out says whose they are.
        let replica = site.replica.as_ref().filter(|_| sid.is_some());
        let before = replica.map_or(0, |replica| replica.first_number());
        let logs = replica.zip(sid.as_ref()).and_then(|(replica, sid)| Logs::of(replica, sid));
        let general =
            Stream::logged(before, 0, &budget, logs.as_ref().map(|logs| logs.of_stream(0, String::new())));
        let limit = Some((site.limits.calls, too_many_calls(&site.limits)));
        let session = Session::limited(destination, Arc::clone(&general) as Arc<dyn Outlet>, limit);
        session.number_questions_after(before);
        Some(Arc::new(Self {
            header: HeaderValue::from_str(&id).ok()?,
            id,
            sid,
            logs,
            entrance,
            owner: Owner::of(&requester.principal, address, site.admission.has_several_principals()),
            requester,
            address,
            limits: site.limits,
            readers: Arc::default(),
            session,
            gateway: Arc::clone(gateway),
            general,
            streams: Mutex::default(),
            budget,
            next_stream: AtomicU64::new(before + 1),
            made: Instant::now(),
            used: AtomicU64::new(0),
        }))
    }

    /// Opens a stream for the answer to one request.
    pub(super) fn open_stream(&self, answers: &[Id]) -> Arc<Stream> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let log = self.logs.as_ref().map(|logs| {
            let ids: Vec<Raw> = answers.iter().map(Id::to_raw).collect();
            logs.of_stream(number, Raw::array(&ids).as_str().to_owned())
        });
        let stream = Stream::logged(0, number, &self.budget, log);
        self.prune();
        let mut streams = self.lock();
        if streams.len() >= MAX_STREAMS {
            // Those long answered go first; one still in use is held by its response as well.
            let oldest =
                streams.iter().find(|(_, stream)| stream.finished_for().is_some()).map(|(number, _)| *number);
            if let Some(oldest) = oldest {
                streams.remove(&oldest);
            }
        }
        streams.insert(stream.number(), Arc::clone(&stream));
        stream
    }

    /// Forgets streams nobody came back for.
    fn prune(&self) {
        let stale = |stream: &Arc<Stream>| stream.finished_for().is_some_and(|past| past > KEEP_FINISHED);
        self.lock().retain(|_, stream| !stale(stream));
    }

    pub(super) fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        if number == 0 { Some(Arc::clone(&self.general)) } else { self.lock().get(&number).cloned() }
    }

    /// Counts somebody who listens by GET, for as long as what is returned is held (M8).
    pub(super) fn listen(&self) -> Result<Entered, Fault> {
        if self.sid.is_some() {
            self.session.may_have_listed();
        }
        self.readers.enter(1, self.limits.streams).ok_or_else(|| too_many_streams(&self.limits))
    }

    pub(super) fn touch(&self) {
        // Zero means never.
        self.used.store((self.made.elapsed().as_millis() as u64).max(1), Ordering::Relaxed);
    }

    /// Returns whether its client came back after it had opened it.
    fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed) > 0
    }

    fn used_at(&self) -> Instant {
        self.made + Duration::from_millis(self.used.load(Ordering::Relaxed))
    }

    fn unused_for(&self) -> Duration {
        self.used_at().elapsed()
    }

    /// Returns whether it has lain unused for so long, with nobody listening to it or waiting for anything.
    fn is_idle_for(&self, patience: Duration) -> bool {
        let is_open =
            |stream: &Arc<Stream>| stream.finished_for().is_none_or(|past| past < patience.min(IN_USE));
        self.unused_for() > patience
            && !self.general.is_attached()
            && !self.session.is_busy()
            && !self.lock().values().any(is_open)
    }

    /// Returns who opened it.
    pub(super) fn requester(&self) -> &Arc<Requester> {
        &self.requester
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Stream>>> {
        self.streams.locked()
    }
}

/// Where the streams of a session are written.
struct Logs {
    link: Arc<dyn Link>,
    tasks: Tasks,
    sid: String,
}

impl Logs {
    fn of(replica: &Replica, sid: &str) -> Option<Self> {
        let link = Arc::clone(replica.link()?);
        Some(Self { link, tasks: replica.tasks.clone(), sid: sid.to_owned() })
    }

    fn of_stream(&self, number: u64, answers: String) -> StreamLog {
        let (link, tasks) = (Arc::clone(&self.link), self.tasks.clone());
        StreamLog { link, tasks, name: log_name(&self.sid, number), answers }
    }
}

/// Returns the name of a stream's log.
pub(super) fn log_name(sid: &str, stream: u64) -> String {
    format!("{sid}:{stream}")
}

impl Sessions {
    pub(super) fn new(limits: ClientLimits) -> Self {
        Self { limits, open: Mutex::default() }
    }

    /// Takes a session in. Where its owner has as many as it may, one that lies unused makes room, or there is none (M8).
    pub(super) fn add(&self, session: &Arc<HttpSession>) -> Result<(), Fault> {
        let ended = self.lock().add(session, &self.limits)?;
        if let Some(ended) = ended {
            ended.session.close();
            ended.general.finish();
        }
        Ok(())
    }

    /// Takes in a session that another replica knows, or returns the one that was first.
    pub(super) fn adopt(&self, session: &Arc<HttpSession>) -> Result<Arc<HttpSession>, Fault> {
        let ended = {
            let mut open = self.lock();
            if let Some(first) = open.by_id.get(&session.id) {
                return Ok(Arc::clone(first));
            }
            open.add(session, &self.limits)?
        };
        if let Some(ended) = ended {
            ended.session.close();
            ended.general.finish();
        }
        Ok(Arc::clone(session))
    }

    /// Finds a session by the name that replicas have for it.
    pub(super) fn by_sid(&self, sid: &str) -> Option<Arc<HttpSession>> {
        let open = self.lock();
        open.by_id.get(open.by_sid.get(sid)?).cloned()
    }

    /// Returns all sessions, by the names that replicas have for them.
    pub(super) fn sids(&self) -> Vec<String> {
        self.lock().by_sid.keys().cloned().collect()
    }

    /// Returns the sessions that were used within this time, by the names that replicas have for them.
    pub(super) fn used_within(&self, time: Duration) -> Vec<String> {
        let open = self.lock();
        let used = open.by_id.values().filter(|session| session.unused_for() <= time);
        used.filter_map(|session| session.sid.clone()).collect()
    }

    /// Ends a session for good: its id is not taken for one to be made anew.
    pub(super) fn end(&self, session: &HttpSession) {
        if let Some(sid) = &session.sid {
            self.lock().over.add(sid);
        }
        self.remove(&session.id);
    }

    /// Notes that a session was ended elsewhere.
    pub(super) fn end_sid(&self, sid: &str) {
        self.lock().over.add(sid);
        if let Some(session) = self.by_sid(sid) {
            self.remove(&session.id);
        }
    }

    /// Notes that a session is over and the other replicas could not be told.
    pub(super) fn is_unsaid(&self, sid: &str) {
        self.lock().unsaid.add(sid);
    }

    /// Returns the first session of whose end the other replicas could not be told.
    pub(super) fn first_unsaid(&self) -> Option<String> {
        self.lock().unsaid.first()
    }

    pub(super) fn is_said(&self, sid: &str) {
        self.lock().unsaid.remove(sid);
    }

    /// Ends sessions whose ids were sealed with a key that is gone.
    pub(super) fn end_unsealed(&self, keys: &StateKeys) {
        let is_gone = |session: &&Arc<HttpSession>| {
            session.sid.is_some() && SealedSession::open(&session.id, keys).is_none()
        };
        let ended: Vec<String> =
            self.all().iter().filter(is_gone).map(|session| session.id.clone()).collect();
        for id in &ended {
            self.remove(id);
        }
        if !ended.is_empty() {
            info!(sessions = ended.len(), "ended sessions whose key is gone");
        }
    }

    /// Returns whether a session was ended for good, as far as is remembered.
    pub(super) fn is_over(&self, sid: &str) -> bool {
        self.lock().over.has(sid)
    }

    /// Returns the session with this id, if it was opened there and by the same principal. What its credential grants now
    /// counts from now on.
    pub(super) fn get(&self, id: &str, entrance: &Entrance, who: &Requester) -> Option<Arc<HttpSession>> {
        let is_theirs = |session: &&Arc<HttpSession>| {
            session.entrance == *entrance && session.requester.principal == who.principal
        };
        let session = self.lock().by_id.get(id).filter(is_theirs).cloned()?;
        if !session.requester.regrant(who.grants()) {
            return None;
        }
        session.touch();
        Some(session)
    }

    pub(super) fn remove(&self, id: &str) {
        let removed = self.lock().remove(id);
        if let Some(removed) = removed {
            removed.session.close();
            removed.general.finish();
        }
    }

    /// Ends sessions nobody uses, for as long as it is polled.
    pub(super) async fn expire(&self) {
        let mut ticks = interval(Duration::from_secs(60));
        loop {
            ticks.tick().await;
            for session in self.all() {
                session.prune();
            }
            let idle = self.all().into_iter().filter(|session| session.is_idle_for(IDLE));
            let idle: Vec<String> = idle.map(|session| session.id.clone()).collect();
            for id in &idle {
                self.remove(id);
            }
            if !idle.is_empty() {
                info!(sessions = idle.len(), "ended sessions that nobody used");
            }
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<HttpSession>> {
        self.lock().by_id.values().cloned().collect()
    }

    pub(super) fn close_all(&self) {
        let open = std::mem::take(&mut *self.lock());
        for session in open.by_id.into_values() {
            session.session.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.locked()
    }
}

/// Returns whether anybody waits for an answer to what came in.
pub(super) fn expects_answer(incoming: &Incoming) -> bool {
    let expects = |message: &Message| matches!(message, Message::Request { .. });
    match incoming {
        Incoming::One(message) => expects(message),
        Incoming::Batch(messages) => messages.iter().any(|message| message.as_ref().map_or(true, expects)),
    }
}

/// Makes an id of 192 random bits; `None` where the system has no randomness to give.
fn random_id() -> Option<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
