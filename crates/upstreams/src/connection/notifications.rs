//! What a server says beside the answers to its calls and about none of our lists: log lines, the end of a visit, words
//! we do not know. It belongs to whoever it is said for, and where that cannot be told to nobody but the operator (M13).

use manifold_engine::{Addressee, Audience, Level};
use manifold_protocol::{Raw, notification};
use tracing::{debug, info};

use super::Connection;
use super::table::Owner;
use crate::logs::printable;

impl Connection {
    /// Brings an aside to whom it concerns; `within` is the call whose stream it came on, where there are such.
    pub(super) fn aside(&self, method: &str, params: Option<Raw>, within: Option<u64>) {
        if let Some(asker) = within.and_then(|call| self.asker_of(call)) {
            return asker.notice(method, params);
        }
        match self.audience() {
            Audience::One => self.aside_to_one(method, params),
            Audience::Shared if method == notification::ELICITATION_COMPLETE => {
                match self.questions.urls.over(params.as_ref()) {
                    Some(client) => {
                        self.host.tell(&self.server.key, Addressee::Client(client), method, params)
                    }
                    None => self.aside_to_owner(method, params, within),
                }
            }
            Audience::Shared => self.aside_to_owner(method, params, within),
        }
    }

    /// Tells the one client, in the call that wants to hear it where it has no session.
    fn aside_to_one(&self, method: &str, params: Option<Raw>) {
        let told_to_all = method != notification::MESSAGE || !self.dialect().logs_in_calls();
        let curious = (method == notification::MESSAGE).then(|| self.lock().only_curious(told_to_all));
        if let Some(curious) = curious.flatten() {
            curious.notice(method, params.clone());
        }
        if told_to_all {
            self.host.notice(&self.server.key, method, params);
        }
    }

    fn aside_to_owner(&self, method: &str, params: Option<Raw>, within: Option<u64>) {
        let is_log = method == notification::MESSAGE;
        let mut table = self.lock();
        let owner = match within {
            // The call it belongs to is over, and so is whose affair it was.
            Some(_) => Owner::Ambiguous,
            None => table.owner(),
        };
        match owner {
            Owner::Call { id, .. } => {
                let Some(pending) = table.get(id) else { return };
                let client = pending.exchange.client();
                let by_call = self.dialect().logs_in_calls() || !pending.exchange.has_session();
                let asker = if is_log { table.curious_of(client) } else { Some(pending.exchange.asker()) };
                drop(table);
                match (asker, client) {
                    (Some(asker), _) if by_call => asker.notice(method, params),
                    (_, Some(client)) if !by_call => {
                        self.host.tell(&self.server.key, Addressee::Client(client), method, params);
                    }
                    _ => {}
                }
            }
            Owner::Nobody { last_caller } if !is_log || !self.dialect().logs_in_calls() => {
                drop(table);
                self.host.tell(&self.server.key, Addressee::Only { last_caller }, method, params);
            }
            Owner::Nobody { .. } | Owner::Ambiguous => {
                drop(table);
                self.keep_aside(method, params.as_ref());
            }
        }
    }

    /// Leaves to the operator what may be any client's.
    fn keep_aside(&self, method: &str, params: Option<&Raw>) {
        if method != notification::MESSAGE {
            return debug!(server = self.id(), method, "told to nobody: it may be any client's");
        }
        let said = params.and_then(|params| params.get("data"));
        let said = printable(said.as_ref().map_or("", |data| data.as_str()));
        match Level::of_message(params) >= Level::parse("warning") {
            true => info!(server = self.id(), "its log, told to no client: {said}"),
            false => debug!(server = self.id(), "its log, told to no client: {said}"),
        }
    }
}
