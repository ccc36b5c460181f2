//! One of several gateways that serve the same clients: what is sealed with a key that all have, any of them can open.

mod clock;
mod followed;
mod keys;
mod link;
mod news;
mod session_id;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use manifold_config::ServerKey;
use manifold_engine::Tasks;
use tokio::sync::watch;

pub(crate) use clock::unix_seconds;
use followed::Followed;
pub use keys::{KeyFileError, StateKeys};
pub use link::{Appended, Away, Entry, Heard, Link, Note, SessionNotes};
pub(crate) use news::News;
pub(crate) use session_id::{Capabilities, PREFIX as SESSION_PREFIX, SealedSession, hash_of};

/// Numbers that a replica gives out begin with its own; so many bits are left for them. JSON's numbers have 53.
const COUNTER_BITS: u32 = 22;

/// The head by which replicas know each other; its word follows from their key.
pub(crate) const WORD: &str = "manifold-replica";
/// Where a server that runs at one replica is reached by the others.
pub(crate) const SERVERS: &str = "/replica/";

/// How a server is reached at the replica that runs it.
pub struct Way {
    pub url: String,
    /// What is sent along, and known by.
    pub header: (&'static str, String),
}

/// Returns the path at which other replicas reach a server.
pub fn path_of(server: &ServerKey) -> String {
    let name = format!("{}\0{}", server.schema.as_deref().unwrap_or_default(), server.id);
    format!("{SERVERS}{}", BASE64_URL_SAFE_NO_PAD.encode(name))
}

/// This gateway, as one of several.
pub struct Replica {
    name: String,
    /// 31 random bits: what a former process of the same name gave out is not taken for ours.
    number: u32,
    keys: ArcSwap<StateKeys>,
    /// Told when the keys are others.
    renewed: watch::Sender<()>,
    link: Option<Arc<dyn Link>>,
    /// Tells apart what sessions of the same id number, should one be made anew.
    counter: AtomicU64,
    pub(crate) followed: Followed,
    pub(crate) tasks: Tasks,
}

impl Replica {
    /// Returns this gateway as one of those who have these keys; `None` where the system has no randomness to give.
    pub fn new(name: String, keys: StateKeys, tasks: &Tasks) -> Option<Self> {
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes).ok()?;
        let number = (u32::from_be_bytes(bytes) >> 1).max(1);
        let (keys, renewed) = (ArcSwap::from_pointee(keys), watch::Sender::new(()));
        let (counter, followed) = (AtomicU64::new(1), Followed::default());
        Some(Self { name, number, keys, renewed, link: None, counter, followed, tasks: tasks.clone() })
    }

    /// Gives it what it shares with the others beside the keys.
    pub fn linked(self, link: Arc<dyn Link>) -> Self {
        Self { link: Some(link), ..self }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what tells this process apart from the other replicas.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Takes over the keys that the file has now.
    pub fn renew_keys(&self, keys: StateKeys) {
        self.keys.store(Arc::new(keys));
        self.renewed.send_replace(());
    }

    pub(crate) fn keys_renewed(&self) -> watch::Receiver<()> {
        self.renewed.subscribe()
    }

    /// Returns our address as the others believe it.
    pub fn signed_address(&self, address: &str) -> String {
        self.keys().sign_address(self.number, address)
    }

    /// Returns where another replica is reached; one that is not known here may have come a moment ago.
    pub(crate) async fn find_address_of(&self, replica: u32) -> Option<String> {
        let link = self.link.as_ref()?;
        if link.address(replica).is_none() {
            link.look_for_replicas().await;
        }
        self.address_of(replica)
    }

    /// Returns where another replica is reached, if it lives and said so itself.
    pub(crate) fn address_of(&self, replica: u32) -> Option<String> {
        self.keys().read_address(replica, &self.link.as_ref()?.address(replica)?)
    }

    /// Returns how a server is reached that another replica runs, if that one lives.
    pub fn way_to(&self, replica: u32, server: &ServerKey) -> Option<Way> {
        let url = format!("{}{}", self.address_of(replica)?, path_of(server));
        Some(Way { url, header: (WORD, self.keys().replica_token()) })
    }

    pub(crate) fn keys(&self) -> Arc<StateKeys> {
        self.keys.load_full()
    }

    pub(crate) fn link(&self) -> Option<&Arc<dyn Link>> {
        self.link.as_ref()
    }

    /// Returns the number after which something of ours is numbered that clients send back.
    pub(crate) fn first_number(&self) -> u64 {
        let some = self.counter.fetch_add(1 << 10, Ordering::Relaxed) % (1 << (COUNTER_BITS - 1));
        (u64::from(self.number) << COUNTER_BITS) | some
    }

    /// Returns whose number it is.
    pub(crate) fn of_number(number: u64) -> Option<u32> {
        u32::try_from(number >> COUNTER_BITS).ok().filter(|replica| *replica > 0)
    }
}
