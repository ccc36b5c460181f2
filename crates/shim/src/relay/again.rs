//! When a daemon is gone, and when there is another.

use bytes::Bytes;
use foldhash::HashSet;
use manifold_protocol::{Id, Raw, envelope};
use manifold_rendezvous::Stage;
use manifold_rendezvous::frame::Kind;

use super::{Held, Link, Relay};
use crate::class::{Class, Lasting};
use crate::in_flight::{Asker, Request};

const MAY_HAVE_RUN: &str = concat!(
    r#"{"code":-32603,"message":"The gateway was restarted while this call was under way. It may have run: see what it "#,
    r#"did before you call again.","data":{"reason":"gateway restarted","mayHaveRun":true}}"#
);
const DID_NOT_RUN: &str = concat!(
    r#"{"code":-32603,"message":"The gateway was restarted before this call was begun. Call again.","#,
    r#""data":{"reason":"gateway restarted","mayHaveRun":false}}"#
);
const FROZEN: &str = concat!(
    r#"{"code":-32603,"message":"The Manifold daemon does not answer any more; see `manifold daemon status`. This call may "#,
    r#"have run: see what it did before you call again.","data":{"reason":"the daemon does not answer","#,
    r#""mayHaveRun":true}}"#
);
const NO_DAEMON: &str = concat!(
    r#"{"code":-32603,"message":"The Manifold daemon cannot be reached or started; see `manifold daemon status`, or serve "#,
    r#"without one: `manifold serve --stdio --alone`.","data":{"reason":"no daemon","mayHaveRun":false}}"#
);

impl Relay {
    /// The daemon is frozen, and given up. What it was sent may run yet, should it wake up.
    pub(crate) fn given_up_frozen(&mut self) {
        let held = slots_of(&self.held);
        for slot in self.in_flight.slots().into_iter().filter(|slot| !held.contains(slot)) {
            let Some(request) = self.in_flight.get_mut(slot) else { continue };
            if request.asker == Asker::Client && request.class == Class::MayHaveRun {
                self.meet(slot, Fate::Fails(FROZEN));
            } else {
                // How far it came does not matter to the others.
                self.stages.set(slot, Stage::Sent);
            }
        }
        self.lost();
        // It is looked for again when somebody wants something of it.
        self.is_dormant = self.held.is_empty();
    }

    /// The socket has closed. What may have run is answered now, unless the daemon is only being replaced.
    pub(crate) fn lost(&mut self) {
        let before = std::mem::replace(&mut self.link, Link::Down);
        self.is_dormant = before == Link::Stopping && self.held.is_empty();
        self.to_daemon.clear();
        for id in std::mem::take(&mut self.memory.questions) {
            self.say(&withdrawn(&id));
        }
        let held = slots_of(&self.held);
        for slot in self.in_flight.slots().into_iter().filter(|slot| !held.contains(slot)) {
            let stage = self.stages.get(slot);
            let Some(request) = self.in_flight.get_mut(slot) else { continue };
            let fate = match before {
                // It goes on, or the next daemon says that it does not.
                Link::Held if stage == Stage::Dispatched => Fate::Waits,
                // That daemon may have been replaced before it could say so: the next one knows of it, or says that it does not.
                Link::Up if request.is_kept && stage == Stage::Dispatched => Fate::Waits,
                // Nobody starts a daemon for it.
                Link::Stopping => Fate::of_stopped(request, stage),
                _ => Fate::of(request, stage),
            };
            self.meet(slot, fate);
        }
    }

    fn meet(&mut self, slot: u16, fate: Fate) {
        match fate {
            Fate::Waits => {}
            Fate::Again | Fate::AgainAtOnce => {
                self.is_dormant &= !matches!(fate, Fate::AgainAtOnce);
                if let Some(request) = self.in_flight.get_mut(slot) {
                    request.was_asked_again = true;
                    // As if it had just been read, before what the client said since.
                    if let Some(message) = request.message.clone() {
                        self.held_bytes += message.len();
                        self.held.push_back(Held::Request { slot, message });
                    }
                }
            }
            Fate::Fails(error) => {
                if let Some(request) = self.in_flight.remove(slot) {
                    self.fail(&request.ids(), error);
                }
            }
            Fate::Dropped => drop(self.in_flight.remove(slot)),
        }
    }

    /// There is a daemon again: it is told what the last one knew, then what the client has asked meanwhile.
    pub(crate) fn attached(&mut self, kept_calls: bool) {
        self.link = Link::Up;
        self.is_dormant = false;
        let held = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        let waiting = slots_of(&held);
        let left: Vec<u16> =
            self.in_flight.slots().into_iter().filter(|slot| !waiting.contains(slot)).collect();
        let (mut waited_for, mut lost) = (Vec::new(), Vec::new());
        for slot in left {
            match self
                .in_flight
                .get_mut(slot)
                .and_then(|request| request.message.clone())
                .filter(|_| kept_calls)
            {
                Some(message) => waited_for.push((slot, message)),
                None => lost.extend(self.in_flight.remove(slot)),
            }
        }
        for request in lost.iter().filter(|request| request.asker == Asker::Client) {
            self.fail(&request.ids(), MAY_HAVE_RUN);
        }
        self.tell_again();
        for (slot, message) in waited_for {
            if let Some(request) = self.in_flight.get_mut(slot) {
                request.is_kept = true;
            }
            self.send(Kind::Kept, slot, &message);
        }
        let mut requests: Vec<Held> = held.into_iter().collect();
        // Those of the last daemon's life first, as they came.
        requests.sort_by_key(|held| match held {
            Held::Request { slot, .. } => self.in_flight.get_mut(*slot).map_or(0, |request| request.number),
            Held::Other { .. } => u64::MAX,
        });
        for held in requests {
            match held {
                Held::Request { slot, message } => {
                    self.stages.set(slot, Stage::Sent);
                    self.send(Kind::Message, slot, &message);
                }
                Held::Other { kind, payload } => self.send(kind, 0, &payload),
            }
        }
    }

    /// No daemon can be had: whatever waits for one is answered.
    pub(crate) fn given_up(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
        for slot in self.in_flight.slots() {
            let Some(request) = self.in_flight.remove(slot) else { continue };
            let may_have_run =
                request.class == Class::MayHaveRun && self.stages.get(slot) == Stage::Dispatched;
            if request.asker == Asker::Client {
                self.fail(&request.ids(), if may_have_run { MAY_HAVE_RUN } else { NO_DAEMON });
            }
        }
        // Another is looked for when the client asks for something.
        self.is_dormant = true;
    }

    fn tell_again(&mut self) {
        let Some(initialize) = self.memory.initialize.clone() else { return };
        self.ask(initialize, None);
        if let Some(initialized) = self.memory.initialized.clone() {
            self.send(Kind::Message, 0, &initialized);
        }
        let subscriptions = self.memory.subscriptions.values().cloned();
        let told: Vec<Bytes> = self.memory.level.iter().cloned().chain(subscriptions).collect();
        for message in told {
            self.ask(message, None);
        }
        let mut lists: Vec<_> = self.memory.lists.keys().copied().collect();
        lists.sort_unstable();
        for kind in lists {
            // The id is nobody's: the client's own are numbers and texts of its choice.
            let id = Id::from_raw(&Raw::string(&format!("manifold-{}", kind.request())));
            if let Some(id) = id {
                let message = envelope::request(&id, kind.request(), None).into_bytes();
                self.ask(message, Some(Lasting::List(kind)));
            }
        }
    }
}

/// Returns the slots of requests that wait for a daemon.
fn slots_of<'h>(held: impl IntoIterator<Item = &'h Held>) -> HashSet<u16> {
    let slot = |held: &Held| match held {
        Held::Request { slot, .. } => Some(*slot),
        Held::Other { .. } => None,
    };
    held.into_iter().filter_map(slot).collect()
}

/// What becomes of a request when its daemon is gone.
enum Fate {
    /// It is with a server that goes on.
    Waits,
    Again,
    /// As above, and a daemon is started for it.
    AgainAtOnce,
    Fails(&'static str),
    /// Nobody wants its answer.
    Dropped,
}

impl Fate {
    fn of(request: &Request, stage: Stage) -> Self {
        if request.asker != Asker::Client {
            return Self::Dropped;
        }
        match (request.class, stage) {
            (Class::MayHaveRun, Stage::Dispatched) => Self::Fails(MAY_HAVE_RUN),
            (Class::AgainOnce, Stage::Dispatched) if request.was_asked_again => Self::Fails(DID_NOT_RUN),
            _ if request.message.is_none() => Self::Fails(DID_NOT_RUN),
            _ => Self::Again,
        }
    }

    fn of_stopped(request: &Request, stage: Stage) -> Self {
        match Self::of(request, stage) {
            // It goes on for as long as the client does.
            Self::Again if request.class == Class::Listens => Self::Again,
            // The daemon never saw it: it is the client's next request.
            Self::Again if stage == Stage::Sent => Self::AgainAtOnce,
            Self::Again => Self::Fails(DID_NOT_RUN),
            fate => fate,
        }
    }
}

/// Returns what tells the client that a question needs no answer any more.
fn withdrawn(id: &[u8]) -> Bytes {
    let head = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#;
    let tail = br#","reason":"the gateway was restarted"}}"#;
    [&head[..], id, &tail[..]].concat().into()
}
