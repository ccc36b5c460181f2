//! Questions a server asks: brought to whoever can answer, answered under the server's own id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use manifold_engine::{CallHandle, Exchange, Lock as _, Sink};
use manifold_protocol::{Call, CodeSet, Fault, Id, Method, Raw, Reply, envelope};
use tracing::debug;

use super::Connection;
use super::dialect::answer_question;
use super::table::{Addressed, Unaskable};
use super::url_elicitations::UrlElicitations;
use crate::handover::{Json, SavedQuestion};

/// Questions a server may have open at once; one that asks more than people answer gets refusals.
const MAX_OPEN: usize = 1024;

#[derive(Default)]
pub(super) struct Questions {
    /// Open questions by the id the server gave them.
    open: Mutex<HashMap<Raw, Open>>,
    pub(super) urls: UrlElicitations,
}

struct Open {
    flight: Arc<CallHandle<dyn Sink>>,
    /// The call it was asked in.
    call: Option<u64>,
    /// What is asked.
    asked: Call,
}

impl Questions {
    /// Takes back a question the server no longer wants answered.
    pub(super) fn withdraw(&self, id: &Raw, reason: Option<Raw>) {
        let open = self.lock().remove(id);
        if let Some(open) = open {
            open.flight.cancel(reason);
        }
    }

    pub(super) fn withdraw_all(&self) {
        let open = std::mem::take(&mut *self.lock());
        for open in open.into_values() {
            open.flight.cancel(None);
        }
    }

    /// Returns what is open, to be asked again by the program that takes our place.
    pub(super) fn save(&self) -> Vec<SavedQuestion> {
        let open = self.lock();
        let saved = open.iter().map(|(id, open)| SavedQuestion {
            id: Json(id.clone()),
            call: open.call,
            request: (&open.asked).into(),
        });
        saved.collect()
    }

    fn of_call(&self, call: u64) -> Vec<Raw> {
        let open = self.lock();
        open.iter().filter(|(_, open)| open.call == Some(call)).map(|(id, _)| id.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Raw, Open>> {
        self.open.locked()
    }
}

impl Connection {
    pub(super) fn question(&self, id: Id, call: Call, within: Option<u64>) {
        if call.method == Method::Ping {
            // A server that does not read gets no answers piled up.
            self.push_droppable(envelope::result(&id, &Raw::from_static("{}")));
            return;
        }
        if self.questions.lock().len() >= MAX_OPEN {
            let fault = Fault::InvalidRequest("too many questions are open".to_owned());
            self.push_droppable(envelope::error(Some(&id), &fault.to_error(CodeSet::Standard)));
            return;
        }
        // Roots of its own in the config are the answer, whoever is calling.
        if call.method == Method::ListRoots && !self.server.roots.is_empty() {
            let answer = Answer { connection: self.me.clone(), id: id.clone(), _resume: None };
            let (mut exchange, _flight) = Exchange::open(answer);
            self.number_question(&id, &mut exchange, None);
            return self.host.ask(&self.server.key, None, call, exchange);
        }
        let addressed = self.lock().asked(within);
        let (in_call, resume) = match &addressed {
            // Where everybody's projects are may be told whoever calls.
            Err(Unaskable::Ambiguous) if call.method == Method::ListRoots => (None, None),
            Err(why) => return self.decline(&id, &call, why),
            // One that may be another call's must not end with this one.
            Ok(Addressed::Call(asked)) => (
                Some(asked.call).filter(|_| asked.is_certain),
                Some(Resume::new(self.me.clone(), asked.call)),
            ),
            Ok(Addressed::Outside { .. }) => (None, None),
        };
        let answer = Answer { connection: self.me.clone(), id: id.clone(), _resume: resume };
        let (mut exchange, flight) = Exchange::open(answer);
        self.number_question(&id, &mut exchange, in_call);
        self.questions
            .lock()
            .insert(id.to_raw().detached(), Open { flight, call: in_call, asked: call.clone() });
        match addressed {
            Ok(Addressed::Call(asked)) => {
                self.questions.urls.note_question(&call, asked.client);
                asked.asker.ask(call, exchange);
            }
            Ok(Addressed::Outside { last_caller }) => {
                self.host.ask(&self.server.key, last_caller, call, exchange);
            }
            Err(_) => self.host.ask(&self.server.key, None, call, exchange),
        }
    }

    /// Declines a question: showing it to anybody could be showing it to the wrong one (T6, H3).
    fn decline(&self, id: &Id, call: &Call, why: &Unaskable) {
        let (method, server) = (&call.method, self.id());
        let what = match why {
            Unaskable::Ambiguous => format!(
                "`{method}` while it cannot be told whose call it belongs to, as several clients share this server; \
                 `shared: false` in the config of '{server}' gives each client a process of its own"
            ),
            Unaskable::Over => format!("`{method}` in a call that is over"),
        };
        debug!(server, "declined a question: the client does not support {what}");
        let error = Fault::ClientCannot { what }.to_error(CodeSet::Standard);
        self.push_droppable(envelope::error(Some(id), &error));
    }

    /// Closes what was asked in a call that is over, at both ends.
    pub(super) fn end_questions_of(&self, call: u64) {
        for id in self.questions.of_call(call) {
            self.questions.withdraw(&id, Some(Raw::from_static(r#""the call it belongs to is over""#)));
            if let Some(id) = Id::from_raw(&id) {
                let fault = Fault::InvalidRequest("the call this question belongs to is over".to_owned());
                self.push_droppable(envelope::error(Some(&id), &fault.to_error(CodeSet::Standard)));
            }
        }
    }
}

/// Writes the answer to a question.
struct Answer {
    connection: Weak<Connection>,
    id: Id,
    _resume: Option<Resume>,
}

impl Sink for Answer {
    fn reply(&self, reply: Reply) {
        let Some(connection) = self.connection.upgrade() else { return };
        connection.questions.lock().remove(&self.id.to_raw());
        connection.push(answer_question(&self.id, reply));
    }
}

/// Lets the clock of the call run again when the question is gone, answered or not.
pub(super) struct Resume {
    connection: Weak<Connection>,
    call: u64,
}

impl Resume {
    pub(super) fn new(connection: Weak<Connection>, call: u64) -> Self {
        Self { connection, call }
    }
}

impl Drop for Resume {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.lock().resume(self.call);
            connection.calls.sooner.notify_one();
        }
    }
}
