//! The sessions of clients that come by HTTP.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::header::HeaderValue;
use manifold_engine::{Budget, Front, Gateway};
use tokio::time::{Instant, interval};
use tracing::info;

use super::Site;
use super::stream::Stream;
use crate::session::{Doorway, Outlet, Session};

/// A session nobody has used for this long, and nobody listens to, is over. Coding agents rest for long.
const IDLE: Duration = Duration::from_secs(4 * 3600);
/// How long the rest of an answered stream is kept for a client that comes back.
const KEEP_FINISHED: Duration = Duration::from_secs(300);
const MAX_SESSIONS: usize = 50_000;
const MAX_STREAMS: usize = 256;
/// How long a client that has left too much unread may take nothing at all.
pub(super) const UNREAD_PATIENCE: Duration = Duration::from_millis(200);
/// What a client may leave unread.
const OWED_BYTES: usize = 20 << 20;

#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<HttpSession>>>,
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
    pub(super) fn new(site: &Site, gateway: &Arc<Gateway>, entrance: Entrance) -> Option<Arc<Self>> {
        let doorway = Doorway {
            gateway: Ok(Arc::clone(gateway)),
            codes: site.codes,
            profile: site.profile,
            front: Front::Http,
        };
        let budget = site.budget.part(OWED_BYTES);
        let general = Stream::new(0, &budget);
        let session = Session::new(doorway, Arc::clone(&general) as Arc<dyn Outlet>);
        let id = random_id()?;
        Some(Arc::new(Self {
            header: HeaderValue::from_str(&id).ok()?,
            id,
            entrance,
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

    fn touch(&self) {
        self.used.store(self.made.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn unused_for(&self) -> Duration {
        let used = Duration::from_millis(self.used.load(Ordering::Relaxed));
        self.made.elapsed().saturating_sub(used)
    }

    fn is_idle(&self) -> bool {
        self.unused_for() > IDLE && !self.general.is_attached()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Stream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    /// Takes a session in, if there is room (T29).
    pub(super) fn add(&self, session: &Arc<HttpSession>) -> bool {
        let mut open = self.lock();
        if open.len() >= MAX_SESSIONS {
            // The one that nobody has used for longest makes room; one that somebody listens to does not.
            let unheard = open.values().filter(|one| !one.general.is_attached());
            let oldest = unheard.max_by_key(|one| one.unused_for()).map(|one| one.id.clone());
            let Some(oldest) = oldest.and_then(|id| open.remove(&id)) else { return false };
            oldest.session.close();
        }
        open.insert(session.id.clone(), Arc::clone(session));
        true
    }

    /// Returns the session with this id, if it was opened there.
    pub(super) fn get(&self, id: &str, entrance: &Entrance) -> Option<Arc<HttpSession>> {
        let session = self.lock().get(id).filter(|session| session.entrance == *entrance).cloned()?;
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
            for session in self.lock().values() {
                session.prune();
            }
            let idle: Vec<String> = self
                .lock()
                .values()
                .filter(|session| session.is_idle())
                .map(|session| session.id.clone())
                .collect();
            for id in &idle {
                self.remove(id);
            }
            if !idle.is_empty() {
                info!(sessions = idle.len(), "ended sessions that nobody used");
            }
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<HttpSession>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn close_all(&self) {
        let open = std::mem::take(&mut *self.lock());
        for session in open.into_values() {
            session.session.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes an id of 192 random bits; `None` where the system has no randomness to give.
fn random_id() -> Option<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
