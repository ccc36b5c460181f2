//! Questions a server asks: brought to whoever can answer, answered under the server's own id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use manifold_engine::{Exchange, Flight, Sink};
use manifold_protocol::{Call, CodeSet, Failure, Id, Method, Raw, Reply, envelope};

use super::Connection;

/// Open questions by the id the server gave them.
#[derive(Default)]
pub(super) struct Questions {
    open: Mutex<HashMap<Raw, Arc<Flight<dyn Sink>>>>,
}

impl Questions {
    /// Takes back a question the server no longer wants answered.
    pub(super) fn withdraw(&self, id: &Raw, reason: Option<Raw>) {
        let flight = self.lock().remove(id);
        if let Some(flight) = flight {
            flight.cancel(reason);
        }
    }

    pub(super) fn withdraw_all(&self) {
        let open = std::mem::take(&mut *self.lock());
        for flight in open.into_values() {
            flight.cancel(None);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Raw, Arc<Flight<dyn Sink>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    pub(super) fn question(&self, id: Id, call: Call) {
        if call.method == Method::Ping {
            self.outbox.push(envelope::result(&id, &Raw::from_static("{}")));
            return;
        }
        let asker = {
            let mut table = self.lock();
            table.pause();
            table.latest()
        };
        let resume = Resume(self.me.clone());
        let (exchange, flight) =
            Exchange::open(Answer { connection: self.me.clone(), id: id.clone(), _resume: resume });
        self.questions.lock().insert(id.to_raw().detached(), flight);
        match asker {
            Some(asker) => asker.ask(call, exchange),
            None => self.host.ask(&self.server.key, call, exchange),
        }
    }
}

/// Writes the answer to a question.
struct Answer {
    connection: Weak<Connection>,
    id: Id,
    _resume: Resume,
}

impl Sink for Answer {
    fn reply(&self, reply: Reply) {
        let Some(connection) = self.connection.upgrade() else { return };
        connection.questions.lock().remove(&self.id.to_raw());
        connection.outbox.push(match reply {
            Ok(result) => envelope::result(&self.id, &result),
            Err(Failure::Peer(error)) => envelope::error(Some(&self.id), &error),
            Err(Failure::Fault(fault)) => envelope::error(Some(&self.id), &fault.to_error(CodeSet::Standard)),
        });
    }
}

/// Lets the clocks run again when the question is gone, answered or not.
struct Resume(Weak<Connection>);

impl Drop for Resume {
    fn drop(&mut self) {
        if let Some(connection) = self.0.upgrade() {
            connection.lock().resume();
            connection.sooner.notify_one();
        }
    }
}
