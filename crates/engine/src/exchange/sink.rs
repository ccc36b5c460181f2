//! Where the answer of a call goes, and who is told that nobody wants it any more.

use std::num::NonZeroU64;
use std::sync::Arc;

use manifold_protocol::{Call, Raw, Reply};

use super::{Exchange, RequestWords, ReturnAddress, Target};
use crate::changes::ClientId;
use crate::observe::Trace;
use crate::principal::Requester;

/// Where the answer of a call goes. Implemented by whoever asked.
pub trait Sink: Send + Sync {
    /// Takes the answer; called at most once.
    fn reply(&self, reply: Reply);

    /// Takes the parameters of a progress notification, the asker's own token in place.
    fn progress(&self, _params: Raw) {}

    /// Takes a notification that belongs to this call.
    fn notice(&self, _method: &str, _params: Option<Raw>) {}

    /// The server has let go of its connection and will answer on a later one; the asker's may rest as well.
    fn release_connection(&self) {}

    /// Brings a question, asked in the middle of this call, to the asker. Dropping it declines.
    fn ask(&self, call: Call, exchange: Exchange) {
        let _ = call;
        super::refuse_question(exchange);
    }

    /// Returns the client behind the call, if one is.
    fn client(&self) -> Option<ClientId> {
        None
    }

    /// Returns who asks; `None`: the gateway itself.
    fn requester(&self) -> Option<&Arc<Requester>> {
        None
    }

    /// Returns the number that the call was given as its message came in, if traffic was watched then.
    fn number(&self) -> Option<NonZeroU64> {
        None
    }

    /// Takes note of where the call goes, for whoever keeps a record of it. Returns its place in a trace, if it has one.
    fn set_target(&self, _target: &Arc<Target>) -> Option<Arc<Trace>> {
        None
    }

    /// Takes note of the rule that turns the call away, for whoever keeps a record of it.
    fn note_refusal(&self, _rule: &str) {}

    /// Returns whether log messages of the server's belong to this call for as long as it is in flight.
    fn wants_logs(&self) -> bool {
        false
    }

    /// Returns whether what a server says to everybody reaches the asker beside its calls.
    fn has_session(&self) -> bool {
        false
    }

    /// Returns what the request is called where it came from; `None`: nothing that would be of use to others.
    fn words(&self) -> Option<RequestWords> {
        None
    }

    /// The call is about to be handed to a server: from now on it may run.
    fn dispatched(&self) {}

    /// Returns where the answer goes should another process take our place; `None`: to nobody.
    fn address(&self) -> Option<ReturnAddress> {
        None
    }

    /// The call was taken back: no answer will come.
    fn cancelled(&self) {}
}

/// What can take back a call that it holds.
pub trait Cancel: Send + Sync {
    fn cancel(&self, key: u64, reason: Option<Raw>);
}
