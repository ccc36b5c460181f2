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
use manifold_engine::{Audience, Budget, Gateway, Lock as _, Principal, Requester};
use manifold_protocol::Fault;
use manifold_protocol::envelope::{Incoming, Message};
use tokio::time::{Instant, interval};
use tracing::info;

use super::peer::{Origin, too_many_calls, too_many_streams};
use super::site::Site;
use super::stream::Stream;
use super::tally::{Entered, Tally};
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
        let address = origin.peer.address;
        // Its own: the connection's may serve other sessions, whose clients have other names.
        let requester = Arc::new(Requester::new(origin.requester.principal.clone(), Some(address)));
        let destination = Destination {
            gateway: Ok(Arc::clone(gateway)),
            codes: site.codes,
            profile: site.profile,
            audience: Audience::Shared,
            requester: Arc::clone(&requester),
        };
        let budget = site.share_of_one(OWED_BYTES);
        let general = Stream::new(0, &budget);
        let limit = Some((site.limits.calls, too_many_calls(&site.limits)));
        let session = Session::limited(destination, Arc::clone(&general) as Arc<dyn Outlet>, limit);
        let id = random_id()?;
        Some(Arc::new(Self {
            header: HeaderValue::from_str(&id).ok()?,
            id,
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
            next_stream: AtomicU64::new(1),
            made: Instant::now(),
            used: AtomicU64::new(0),
        }))
    }

    /// Opens a stream for the answer to one request.
    pub(super) fn open_stream(&self) -> Arc<Stream> {
        let stream = Stream::new(self.next_stream.fetch_add(1, Ordering::Relaxed), &self.budget);
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Stream>>> {
        self.streams.locked()
    }
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

    /// Returns the session with this id, if it was opened there and by the same principal.
    pub(super) fn get(&self, id: &str, entrance: &Entrance, who: &Principal) -> Option<Arc<HttpSession>> {
        let is_theirs = |session: &&Arc<HttpSession>| {
            session.entrance == *entrance && session.requester.principal == *who
        };
        let session = self.lock().by_id.get(id).filter(is_theirs).cloned()?;
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
