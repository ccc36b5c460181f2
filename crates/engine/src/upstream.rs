//! What the engine knows of a server, and what a server may know of the engine.

mod logged;
mod report;
mod tally;

use std::collections::{BTreeSet, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use manifold_config::{Server, ServerKey, Settings};
use manifold_protocol::{Call, Fault, Freshness, Kind, Raw, Revision};
use tokio::time::Instant;

use crate::audience::Audience;
use crate::changes::ClientId;
use crate::exchange::Exchange;
use crate::outbox::Outbox;
use crate::traffic::Tap;
pub use logged::LoggedLine;
pub use report::{History, InstanceReport};
pub use tally::CallTally;

pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One server, however it is reached. Nothing here waits except the futures it returns.
pub trait Upstream: Send + Sync {
    /// Sends a call, starting the server if need be and allowed. The answer comes through the exchange.
    fn send(&self, call: Call, exchange: Exchange);

    /// Sends a notification if the server is running.
    fn notify(&self, method: &'static str, params: Option<Raw>);

    /// Returns what the server offers, if that is known.
    fn listing(&self) -> Option<Arc<Listing>>;

    /// Looks up what is known of the server for clients like the one that was just introduced. Starts nothing.
    fn introduced(&self) {}

    /// Another client has come to share the server: what it says may be either's from now on.
    fn widened(&self) {}

    /// Returns what of its listing is known not to be for some clients; `None` where all of it is for all of them.
    fn withheld(&self) -> Option<Arc<dyn Withheld>> {
        None
    }

    /// Another instance of the server has read what there is for its own client.
    fn listed_elsewhere(&self) {}

    fn status(&self) -> Status;

    /// Returns how each instance is doing: one for all clients, or one for each.
    fn reports(&self) -> Vec<InstanceReport> {
        vec![InstanceReport {
            client: None,
            status: self.status(),
            is_unresponsive: self.is_unresponsive(),
            history: History::default(),
            calls: None,
        }]
    }

    /// Returns how the server is signed in to; none where nobody does.
    fn sign_in(&self) -> Option<SignInReport> {
        None
    }

    /// A client will call no more: what is kept for it alone may end.
    fn client_left(&self, _client: ClientId) {}

    /// Returns whether the server runs and yet gives no sign of life (F15).
    fn is_unresponsive(&self) -> bool {
        false
    }

    /// Returns the last lines the server wrote beside the protocol.
    fn logs(&self, lines: usize) -> Vec<LoggedLine>;

    /// Resolves once the listing is known or cannot be had; starts the server if need be and allowed.
    fn discover(&self) -> BoxFuture<()>;

    /// Carries out an operator's order.
    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>>;

    /// Ends the server for good, once what it has in flight is done or `drain` is over.
    fn close(&self, drain: Duration) -> BoxFuture<()>;
}

/// How a server is signed in to. Nothing in it is secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInReport {
    /// One of the words of `status`: `ready`, `needs login` and others.
    pub state: &'static str,
    /// Nothing can be asked of the server before that has changed.
    pub is_in_the_way: bool,
    /// Signing in is what helps.
    pub needs_login: bool,
    /// What is known beyond the state.
    pub detail: Option<String>,
    pub account: String,
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// How long the token is good, in seconds since 1970.
    pub until: Option<u64>,
    /// When it was last renewed, in seconds since 1970.
    pub last_refresh: Option<u64>,
    /// What kind of store it is kept in.
    pub store: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Start,
    Stop,
    Restart,
    /// End it in good order; the next call starts it. Nothing happens to one that does not run.
    Sleep,
    /// Read its lists anew, starting it for that where it rests. Done once they are read, or cannot be.
    Refresh,
}

/// How a server is doing.
#[derive(Debug, Clone)]
pub struct Status {
    pub phase: Phase,
    pub pid: Option<u32>,
    /// When the present phase began; of one that has failed, when it first did: tries in between change nothing.
    pub since: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Never started, or ended in good order; the next call starts it.
    Idle,
    Starting,
    Ready,
    /// The last start failed, or it died; the reason is what a caller hears.
    Failed(Fault),
    /// An operator stopped it.
    Stopped,
}

impl Phase {
    /// Returns how far an instance is from working.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Ready => 0,
            Self::Starting => 1,
            Self::Failed(_) => 2,
            Self::Idle => 3,
            Self::Stopped => 4,
        }
    }
}

/// What a server offered longer ago than this is asked for again.
const STALE_AFTER: Duration = Duration::from_secs(24 * 3600);

/// What a server offers. Every item keeps its bytes.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub tools: Vec<Item>,
    pub resources: Vec<Item>,
    pub templates: Vec<Item>,
    pub prompts: Vec<Item>,
    pub instructions: Option<String>,
    /// The server's own capabilities object.
    pub capabilities: Option<Raw>,
    /// For how long the server says each list holds.
    pub freshness: [Freshness; 4],
    /// When it was read, if not in this run: the server has not been asked yet.
    pub saved_at: Option<SystemTime>,
}

/// One tool, resource, template or prompt under its own name or URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    pub raw: Raw,
}

impl Listing {
    pub fn items(&self, kind: Kind) -> &[Item] {
        match kind {
            Kind::Tools => &self.tools,
            Kind::Resources => &self.resources,
            Kind::Templates => &self.templates,
            Kind::Prompts => &self.prompts,
        }
    }

    pub fn items_mut(&mut self, kind: Kind) -> &mut Vec<Item> {
        match kind {
            Kind::Tools => &mut self.tools,
            Kind::Resources => &mut self.resources,
            Kind::Templates => &mut self.templates,
            Kind::Prompts => &mut self.prompts,
        }
    }

    /// Returns whether it comes from an earlier run.
    pub fn is_saved(&self) -> bool {
        self.saved_at.is_some()
    }

    /// Returns how long ago it was read, if in an earlier run. A date in the future is no date (F33).
    pub(crate) fn saved_age(&self) -> Option<Duration> {
        self.saved_at.map(|at| SystemTime::now().duration_since(at).unwrap_or_default())
    }

    /// Returns whether it comes from a run so long ago that the server should be asked when its lists are.
    pub fn is_stale(&self) -> bool {
        let age = |at| SystemTime::now().duration_since(at);
        // A date in the future is no date: the clock was set back (F33).
        self.saved_at.is_some_and(|at| age(at).map_or(true, |age| age > STALE_AFTER))
    }

    pub fn declares(&self, capability: &str) -> bool {
        self.capabilities.as_ref().is_some_and(|capabilities| capabilities.get(capability).is_some())
    }
}

/// What a server that many share is known not to offer some of them. It belongs to one listing.
pub trait Withheld: Send + Sync {
    /// Returns what is not for a client of which the server would be told these capabilities.
    fn withheld_from(&self, capabilities: &Raw) -> Option<Arc<Missing>>;
}

/// What is left out of a listing: the server's own names and URIs, by kind.
pub type Missing = [HashSet<String>; 4];

/// What servers are told about who is asking.
#[derive(Debug, Clone)]
pub struct ClientFacts {
    /// A ClientCapabilities object.
    pub capabilities: Raw,
    /// An Implementation object.
    pub info: Raw,
    /// The revision agreed on with the client, which servers are asked for.
    pub revision: Revision,
}

impl ClientFacts {
    /// Offers roots to servers where the config has some, whatever the client can do.
    pub(crate) fn offer_roots(&mut self, settings: &Settings) {
        self.capabilities = with_roots(&self.capabilities, settings);
    }
}

/// Returns what a server is told that a client can do.
pub(crate) fn with_roots(capabilities: &Raw, settings: &Settings) -> Raw {
    if settings.roots.is_empty() || capabilities.get("roots").is_some() {
        return capabilities.clone();
    }
    let mut capabilities = capabilities.object().unwrap_or_default();
    capabilities.set("roots", Raw::from_static("{}"));
    capabilities.into_raw()
}

/// What must be told to a server again whenever it starts anew.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// The parameters of the last `logging/setLevel`.
    pub log_level: Option<Raw>,
    /// Subscribed URIs, as the server spells them.
    pub subscriptions: BTreeSet<String>,
    /// Tasks to hear of, by the server's own ids.
    pub tasks: BTreeSet<String>,
}

/// Whom something is for that a server said without naming the call it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressee {
    /// This client, who alone had calls in flight.
    Client(ClientId),
    /// The only client there is, as no call is in flight; where calls were made before, the last was this one's.
    Only { last_caller: Option<ClientId> },
}

/// What surrounds an upstream: whom it reports to.
pub trait Host: Send + Sync {
    /// Returns who uses the server now. It widens when another comes to share it.
    fn audience(&self) -> Audience;

    fn client_facts(&self) -> Arc<ClientFacts>;

    fn standing(&self, server: &ServerKey) -> Standing;

    /// The listing, or whether there is one, has changed.
    fn listing_changed(&self, server: &ServerKey);

    /// The status has changed. Told with no lock held that looking at it takes.
    fn status_changed(&self, _server: &ServerKey) {}

    /// Returns whether anybody wants to know of lines as the server writes them beside the protocol.
    fn wants_logs(&self) -> bool {
        false
    }

    /// The server has written a line beside the protocol.
    fn logged(&self, _server: &ServerKey, _line: LoggedLine) {}

    /// Returns where the messages of a connection that begins now are seen, if anybody watches.
    fn tap(&self) -> Tap {
        Tap::unwatched()
    }

    /// A notification for every client it concerns.
    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>);

    /// A notification for one client at most.
    fn tell(&self, server: &ServerKey, to: Addressee, method: &str, params: Option<Raw>);

    /// A question asked outside any call. Where calls were made before, only whoever made the last may be asked.
    fn ask(&self, server: &ServerKey, last_caller: Option<ClientId>, call: Call, exchange: Exchange);

    /// Returns what tells this instance from others of its server, and is the same in a process that takes our place; `None`
    /// where nothing does, and no other process may take it for its own.
    fn instance(&self) -> Option<String> {
        None
    }

    /// Where everything goes, if all servers work for one client: none is read while that is crowded, so that what
    /// the client does not read stays with the servers (F20).
    fn only_client(&self) -> Option<Arc<Outbox>> {
        None
    }
}

/// Makes upstreams from definitions.
pub trait Connector: Send + Sync {
    fn connect(&self, server: &Arc<Server>, host: Arc<dyn Host>) -> Arc<dyn Upstream>;
}

impl<C: Connector> Connector for Arc<C> {
    fn connect(&self, server: &Arc<Server>, host: Arc<dyn Host>) -> Arc<dyn Upstream> {
        (**self).connect(server, host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F33
    #[test]
    fn a_list_of_long_ago_or_of_the_future_is_stale() {
        let now = SystemTime::now();
        let hour = Duration::from_secs(3600);
        let is_stale = |saved_at| Listing { saved_at, ..Listing::default() }.is_stale();
        assert!(!is_stale(None), "it was read in this run");
        assert!(!is_stale(Some(now - hour)));
        assert!(is_stale(Some(now - 25 * hour)));
        assert!(is_stale(Some(now + hour)));
    }
}
