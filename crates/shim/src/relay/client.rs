//! What the client says.

use bytes::Bytes;
use manifold_protocol::dialect::litemcp;
use manifold_protocol::envelope::{self, Incoming, Message, Refusal, RefusalKind};
use manifold_protocol::framing::{Frame, FrameError};
use manifold_protocol::{Id, Raw};
use manifold_rendezvous::Stage;
use manifold_rendezvous::frame::{Kind, REFUSED_BAD_HEADER, REFUSED_PARSE, REFUSED_TOO_LONG};

use super::{Held, Link, Relay};
use crate::class::{Class, class, lasting};
use crate::decoder::Language;
use crate::glance::{Glance, glance};
use crate::in_flight::{Asker, Ids, Request, read_id};

/// What is to be done with a message of the client's.
pub(crate) enum Taken {
    Done,
    /// It is the beginning of one; the rest must follow.
    Unfinished(Bytes),
}

impl Relay {
    /// Takes what was cut off the client's input.
    pub(crate) fn client_said(&mut self, frame: Frame) -> Taken {
        let message = match frame {
            Frame::Message(message) => message,
            Frame::Refused { id, why } => {
                self.pass(Kind::Refused, refusal(id.as_ref(), why));
                return Taken::Done;
            }
        };
        if self.language == Language::LiteMcp {
            self.lite_message(message);
            return Taken::Done;
        }
        if let Some(Glance { id, method }) = glance(&message) {
            let (class, lasting) = (class(method), lasting(method));
            self.request(message.clone(), Ids::Written(id), class, lasting);
            return Taken::Done;
        }
        match envelope::parse(message.clone()) {
            Ok(Incoming::One(Message::Request { id, method, .. })) => {
                let method = method.as_str().as_bytes();
                let lasting = lasting(method);
                self.request(message, Ids::Read(vec![id]), class(method), lasting);
            }
            Ok(Incoming::One(Message::Notification { method, params })) => match method.as_str() {
                "notifications/cancelled" => self.cancelled(message, params.as_ref()),
                "notifications/initialized" => {
                    self.memory.initialized = Some(Bytes::copy_from_slice(&message));
                    self.pass(Kind::Message, message);
                }
                _ => self.pass(Kind::Message, message),
            },
            // One that nobody waits for is a late answer to a question of a daemon that is gone.
            Ok(Incoming::One(Message::Response { id, .. })) => {
                if self.memory.answered(&id) {
                    self.pass(Kind::Message, message);
                }
            }
            Ok(Incoming::Batch(messages)) => self.batch(message, &messages),
            Err(Refusal { kind: RefusalKind::Unfinished, .. }) => return Taken::Unfinished(message),
            // The daemon says what is wrong with it.
            Err(_) => self.pass(Kind::Message, message),
        }
        Taken::Done
    }

    /// LiteMCP asks what a tool is, or calls it.
    fn lite_message(&mut self, message: Bytes) {
        match litemcp::Message::parse(message.clone()) {
            // The daemon of its first use may be gone.
            Ok(litemcp::Message { id, .. }) if !self.memory.used_ids.note(&id) => {}
            Ok(litemcp::Message { id, word: litemcp::Word::Get, .. }) => {
                self.request(message, Ids::Read(vec![id]), Class::Again, None);
            }
            Ok(litemcp::Message { id, .. }) => {
                self.request(message, Ids::Read(vec![id]), Class::MayHaveRun, None)
            }
            // The daemon's log says what is wrong with it; there is nobody to be told.
            Err(_) => self.pass(Kind::Message, message),
        }
    }

    fn request(
        &mut self,
        message: Bytes,
        mut ids: Ids,
        class: Class,
        lasting: Option<crate::class::Lasting>,
    ) {
        let kept = self.in_flight.copy(&message);
        // What is not kept cannot be read later.
        if let (None, Ids::Written(place)) = (&kept, &ids) {
            ids = Ids::Read(message.get(place.clone()).and_then(read_id).into_iter().collect());
        }
        let request = Request {
            number: 0,
            ids,
            class,
            lasting,
            message: kept,
            was_asked_again: false,
            is_kept: false,
            is_acknowledged: false,
            asker: Asker::Client,
        };
        let slot = self.in_flight.insert(request);
        self.stages.set(slot, Stage::Sent);
        if self.link == Link::Up {
            return self.send(Kind::Message, slot, &message);
        }
        self.is_dormant = false;
        self.held_bytes += message.len();
        self.held.push_back(Held::Request { slot, message });
    }

    /// A batch is answered as a whole, so it is one request to us.
    fn batch(&mut self, message: Bytes, messages: &[Result<Message, Refusal>]) {
        let mut ids = Vec::new();
        let mut worst = Class::Again;
        for one in messages.iter().flatten() {
            if let Message::Request { id, method, .. } = one {
                ids.push(id.clone());
                worst = match (worst, class(method.as_str().as_bytes())) {
                    (Class::MayHaveRun, _) | (_, Class::MayHaveRun) => Class::MayHaveRun,
                    (Class::AgainOnce, _) | (_, Class::AgainOnce) => Class::AgainOnce,
                    _ => Class::Again,
                };
            }
        }
        if ids.is_empty() {
            return self.pass(Kind::Message, message);
        }
        self.request(message, Ids::Read(ids), worst, None);
    }

    /// A request that nobody has seen yet is cancelled here; of others the daemon hears.
    fn cancelled(&mut self, message: Bytes, params: Option<&Raw>) {
        let id = params.and_then(|params| Id::from_raw(&params.get("requestId")?));
        let slot = id.and_then(|id| self.in_flight.find(&id));
        let Some(slot) = slot else { return self.pass(Kind::Message, message) };
        let waiting =
            self.held.iter().position(|held| matches!(held, Held::Request { slot: one, .. } if *one == slot));
        if let Some(Held::Request { message, .. }) = waiting.and_then(|at| self.held.remove(at)) {
            self.held_bytes -= message.len();
            self.in_flight.remove(slot);
            return;
        }
        match self.link {
            // Its slot is free once the daemon says that no answer will come, or an answer has.
            Link::Up => {
                if let Some(request) = self.in_flight.get_mut(slot).filter(|one| !one.is_batch()) {
                    request.asker = Asker::Nobody;
                }
                self.send(Kind::Message, 0, &message);
            }
            Link::Held | Link::Stopping => self.pass(Kind::Message, message),
            Link::Down => drop(self.in_flight.remove(slot)),
        }
    }

    /// Sends on what is no request, or holds it.
    fn pass(&mut self, kind: Kind, payload: Bytes) {
        if self.link == Link::Up {
            return self.send(kind, 0, &payload);
        }
        self.held_bytes += payload.len();
        self.held.push_back(Held::Other { kind, payload: Bytes::copy_from_slice(&payload) });
    }
}

/// Returns why input was refused, as the daemon reads it.
fn refusal(id: Option<&Id>, why: FrameError) -> Bytes {
    let code = match why {
        FrameError::Parse => REFUSED_PARSE,
        FrameError::TooLong => REFUSED_TOO_LONG,
        FrameError::BadHeader => REFUSED_BAD_HEADER,
    };
    let mut payload = vec![code];
    if let Some(id) = id {
        payload.extend_from_slice(id.to_raw().as_bytes());
    }
    payload.into()
}
