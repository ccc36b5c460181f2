//! What the daemon says.

use std::hash::BuildHasher;

use bytes::Bytes;
use foldhash::fast::FixedState;
use manifold_protocol::dialect::modern::listen::tag_of;
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};
use manifold_protocol::{Id, Raw, notification};
use manifold_rendezvous::frame::{Frame, Kind};

use super::{Link, Relay};
use crate::class::{Lasting, ListKind};
use crate::in_flight::{Asker, Request};

/// Something for people, which the relay has no screen for.
pub(crate) type Note = Option<Bytes>;

impl Relay {
    /// Takes a frame of the daemon's. Returns a line for people, if it is one.
    pub(crate) fn daemon_said(&mut self, frame: Frame) -> Note {
        let Frame { kind, slot, payload } = frame;
        match kind {
            Kind::Message if slot != 0 => self.answer(slot, &payload),
            Kind::Message => self.say(&payload),
            Kind::Question => {
                match envelope::parse(payload.clone()) {
                    Ok(Incoming::One(Message::Request { id, .. })) => self.memory.asked(&id),
                    Ok(Incoming::One(Message::Notification { method, params }))
                        if method.as_str() == notification::ACKNOWLEDGED
                            && self.was_acknowledged(params.as_ref()) =>
                    {
                        return None;
                    }
                    _ => {}
                }
                self.say(&payload);
            }
            Kind::Hold => self.link = Link::Held,
            Kind::Stopping => self.link = Link::Stopping,
            Kind::Over => self.is_over = true,
            Kind::Note => return Some(payload),
            Kind::Refused | Kind::Kept => {}
        }
        None
    }

    /// Notes that the client hears by which request it listens. Returns whether it has heard so from a daemon before.
    fn was_acknowledged(&mut self, params: Option<&Raw>) -> bool {
        let id = tag_of(params).and_then(|tag| Id::from_raw(&tag));
        let slot = id.and_then(|id| self.in_flight.find(&id));
        let request = slot.and_then(|slot| self.in_flight.get_mut(slot));
        request.is_some_and(|request| std::mem::replace(&mut request.is_acknowledged, true))
    }

    /// Passes an answer on. An empty one says that none will come.
    fn answer(&mut self, slot: u16, payload: &Bytes) {
        let Some(request) = self.in_flight.remove(slot) else { return };
        if payload.is_empty() {
            return;
        }
        if let Some(lasting) = request.lasting {
            self.note(lasting, &request, payload);
        }
        if request.asker == Asker::Client {
            self.say(payload);
        }
    }

    /// Notes what the next daemon must be told, where this one said yes to it.
    fn note(&mut self, lasting: Lasting, request: &Request, payload: &Bytes) {
        let parsed = envelope::parse(payload.clone());
        let Ok(Incoming::One(Message::Response { outcome: Outcome::Result(result), .. })) = parsed else {
            return;
        };
        let memory = &mut self.memory;
        match lasting {
            Lasting::Initialize => memory.initialize.clone_from(&request.message),
            Lasting::Level => memory.level.clone_from(&request.message),
            Lasting::Subscribe => {
                if let Some((uri, message)) = uri_of(request).zip(request.message.clone()) {
                    memory.subscriptions.insert(uri, message);
                }
            }
            Lasting::Unsubscribe => {
                if let Some(uri) = uri_of(request) {
                    memory.subscriptions.remove(&uri);
                }
            }
            Lasting::List(kind) => {
                let found = FixedState::default().hash_one(result.as_bytes());
                let before = memory.lists.insert(kind, found);
                if request.asker == Asker::Ourselves && before != Some(found) {
                    self.tell_changed(kind);
                }
            }
        }
    }

    fn tell_changed(&mut self, kind: ListKind) {
        self.say(&envelope::notification(kind.changed(), None));
    }
}

/// Returns the URI that a request names, as it spells it.
fn uri_of(request: &Request) -> Option<Bytes> {
    let Ok(Incoming::One(Message::Request { params, .. })) = envelope::parse(request.message.clone()?) else {
        return None;
    };
    Some(Bytes::copy_from_slice(params?.get("uri")?.as_bytes()))
}
