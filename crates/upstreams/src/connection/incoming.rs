//! What the server says: answers find their calls, news those it concerns.

use bytes::Bytes;
use manifold_protocol::envelope::{self, Incoming, Message, Outcome, Refusal, RefusalKind};
use manifold_protocol::framing::Line;
use manifold_protocol::members::Flaw;
use manifold_protocol::{Call, CodeSet, Fault, Id, Raw, notification};

use super::Connection;
use super::calls::Taken;
use super::dialect::Heard;
use super::table::Origin;
use crate::logs::quote;

impl Connection {
    /// Takes a line the server wrote.
    pub(crate) fn receive(&self, line: Line) {
        self.receive_within(line, None);
    }

    /// Takes a line the server wrote where only what belongs to `call` is written.
    pub(crate) fn receive_within(&self, line: Line, call: Option<u64>) {
        self.note_heard();
        match line {
            Line::Whole(bytes) => {
                self.show_heard(&bytes, call);
                self.dialect().hear(self, bytes, call);
            }
            Line::TooLong { head, tail, bytes } => {
                self.complain(&format!("a line of {bytes} bytes is over the limit and was dropped"));
                let id = envelope::peek_id(&head).or_else(|| envelope::peek_id_at_end(&tail));
                if let Some(pending) = id.and_then(|id| self.take(id.as_u64()?)) {
                    self.note_failed(&pending);
                    pending.exchange.fail(self.too_large());
                }
            }
        }
    }

    /// Takes the server's error to a call, however it came.
    pub(crate) fn receive_error(&self, call: u64, error: Raw) {
        self.show_answer(call, true, &error);
        self.answer(call, Outcome::Error(error));
    }

    /// Takes the server's result to a call that came on its own.
    pub(crate) fn receive_posted(&self, call: u64, result: Raw) {
        self.show_answer(call, false, &result);
        self.receive_result(call, result);
    }

    /// Takes the server's result to a call, however it came.
    pub(super) fn receive_result(&self, call: u64, result: Raw) {
        self.answer(call, Outcome::Result(result));
    }

    /// Takes a message of a server that speaks JSON-RPC.
    pub(super) fn hear_json_rpc(&self, bytes: Bytes, call: Option<u64>) {
        match envelope::parse(bytes.clone()) {
            Ok(Incoming::One(message)) => self.accept(message, call),
            Ok(Incoming::Batch(messages)) => {
                for one in messages {
                    match one {
                        Ok(message) => self.accept(message, call),
                        Err(refusal) => {
                            self.complain(&format!("a part of a batch is no message: {}", reason(&refusal)));
                        }
                    }
                }
            }
            Err(refusal) => {
                match (&refusal.id, asks(&bytes, &refusal)) {
                    (Some(id), true) => self.decline_malformed(id, &refusal),
                    (None, true) => {}
                    (id, false) => {
                        let peeked =
                            || envelope::peek_id(&bytes).or_else(|| envelope::peek_id_at_end(&bytes));
                        self.fail_malformed(id.clone().or_else(peeked), &refusal);
                    }
                }
                self.logs.push_noise(&bytes);
                self.complain(&format!("not a message: {}", quote(&bytes, 120)));
            }
        }
    }

    /// Fails the call whose answer cannot be read, rather than let it wait for its deadline.
    fn fail_malformed(&self, id: Option<Id>, refusal: &Refusal) {
        let Some(pending) = id.and_then(|id| self.take(id.as_u64()?)) else { return };
        self.note_failed(&pending);
        pending.exchange.fail(self.malformed(&reason(refusal)));
    }

    /// Answers a question that cannot be read, rather than let the server wait. Its ids are not ours.
    fn decline_malformed(&self, id: &Id, refusal: &Refusal) {
        let fault = Fault::InvalidRequest(reason(refusal));
        self.push_droppable(envelope::error(Some(id), &fault.to_error(CodeSet::Standard)));
    }

    fn accept(&self, message: Message, call: Option<u64>) {
        match message {
            Message::Response { id, outcome } => match id.as_u64() {
                Some(id) => self.answer(id, outcome),
                None => self.complain("an answer that nobody waits for"),
            },
            Message::Request { .. } if !self.dialect().may_ask(self, call) => {
                self.complain("a request, which servers of its revision never send");
            }
            Message::Request { id, method, params } => {
                self.question(id, Call::new(method.into(), params), call)
            }
            Message::Notification { method, params } => self.notification(method.as_str(), params, call),
        }
    }

    fn answer(&self, id: u64, outcome: Outcome) {
        let pending = match self.take_unless_kept(id) {
            Taken::Pending(pending) => pending,
            Taken::Continuation => {
                self.note_answered();
                return self.answer_kept(id, outcome);
            }
            Taken::Nothing => {
                self.lock().attribution.answered(id);
                return self.complain("an answer that nobody waits for");
            }
        };
        if pending.origin == Origin::Client {
            self.note_answered();
        }
        if let Outcome::Error(error) = &outcome {
            self.note_failed(&pending);
            self.questions.urls.note_error(error, pending.exchange.client());
        }
        let reply = self.dialect().read(self, &pending, outcome);
        pending.exchange.finish(reply);
    }

    fn notification(&self, method: &str, params: Option<Raw>, call: Option<u64>) {
        let params = match self.dialect().hear_notification(self, method, params, call) {
            Heard::Taken => return,
            Heard::Left(params) => params,
        };
        match method {
            notification::PROGRESS => self.progress(params),
            notification::CANCELLED => {
                if let Some(id) = params.as_ref().and_then(|params| params.get("requestId")) {
                    self.questions.withdraw(&id, params.and_then(|params| params.get("reason")));
                }
            }
            _ if self.list_changed(method) => {}
            // Of interest to whoever subscribed, in whatever call the server says it.
            notification::RESOURCE_UPDATED | notification::TASKS => {
                self.host.notice(&self.server.key, method, params);
            }
            _ => self.aside(method, params, call),
        }
    }

    fn progress(&self, params: Option<Raw>) {
        let Some(params) = params else { return };
        let Some(id) = params.get("progressToken").and_then(|token| token.u64()) else { return };
        let Some((asker, token)) = self.lock().progressed(id) else { return };
        let Some(mut object) = params.object() else { return };
        object.set("progressToken", token);
        asker.progress(object.into_raw());
    }
}

/// Returns whether something that is JSON and no message was meant as a question or a notification.
fn asks(bytes: &Bytes, refusal: &Refusal) -> bool {
    match refusal.kind {
        RefusalKind::Parse | RefusalKind::Unfinished => false,
        RefusalKind::Invalid(_) | RefusalKind::Variant { .. } => {
            Raw::parse(bytes.clone()).is_ok_and(|message| message.get("method").is_some())
        }
    }
}

fn reason(refusal: &Refusal) -> String {
    match refusal.kind {
        RefusalKind::Invalid(reason) => reason.to_owned(),
        RefusalKind::Variant { of, .. } => Flaw::Variant { of }.to_string(),
        RefusalKind::Unfinished => "it is cut off".to_owned(),
        RefusalKind::Parse => "it is not valid JSON".to_owned(),
    }
}
