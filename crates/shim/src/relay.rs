//! The relay as a machine without sockets: what comes from the client and from the daemon goes in, what is to be written
//! to either comes out.

mod again;
mod client;
mod daemon;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use manifold_protocol::dialect::litemcp::{CallResult, Message, Word};
use manifold_protocol::framing::{Framing, triple_newline};
use manifold_protocol::{Id, Raw, envelope};
use manifold_rendezvous::frame::{self, Kind};
use manifold_rendezvous::{Stage, Stages};

use crate::class::{Class, Lasting};
use crate::decoder::Language;
use crate::in_flight::{Asker, Ids, InFlight, Request};
use crate::memory::Memory;
pub(crate) use client::Taken;

/// What may be held for a daemon that is not there before the client is read no more.
const MAX_HELD_BYTES: usize = 16 << 20;

/// What may wait for a client that does not read before the daemon is read no more.
const CROWDED_BYTES: usize = 1 << 20;

/// How things stand with the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Up,
    /// It said that it will be replaced: nothing more is sent, and calls with servers go on.
    Held,
    /// It ends by order: nothing more is sent, and nobody starts another before the client asks for something.
    Stopping,
    Down,
}

pub(crate) struct Relay {
    link: Link,
    /// Whether the daemon ended by order, or none can be had: another is only looked for when the client asks.
    is_dormant: bool,
    in_flight: InFlight,
    memory: Memory,
    stages: Stages,
    to_client: BytesMut,
    to_daemon: BytesMut,
    /// What came from the client while there was no daemon to send it to.
    held: VecDeque<Held>,
    held_bytes: usize,
    language: Language,
    is_over: bool,
}

/// Something of the client's that waits for a daemon.
enum Held {
    Request { slot: u16, message: Bytes },
    Other { kind: Kind, payload: Bytes },
}

impl Relay {
    pub(crate) fn new(stages: Stages, language: Language) -> Self {
        Self {
            link: Link::Up,
            is_dormant: false,
            in_flight: InFlight::default(),
            memory: Memory::default(),
            stages,
            to_client: BytesMut::new(),
            to_daemon: BytesMut::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            language,
            is_over: false,
        }
    }

    /// Tells how the client frames its messages, once that is known.
    pub(crate) fn set_framing(&mut self, found: Option<Framing>) {
        if let Language::Mcp(framing) = &mut self.language {
            *framing = found;
        }
    }

    pub(crate) fn link(&self) -> Link {
        self.link
    }

    /// Returns whether the daemon has ended the session: nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether a daemon should be had now: somebody waits for one, or may hear from one.
    pub(crate) fn wants_daemon(&self) -> bool {
        self.link == Link::Down && !self.is_dormant
    }

    /// Returns whether more of the client's can be taken.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight.has_room() && self.held_bytes < MAX_HELD_BYTES && self.to_daemon.len() < MAX_HELD_BYTES
    }

    /// Returns whether the client takes what it is owed.
    pub(crate) fn client_keeps_up(&self) -> bool {
        self.to_client.len() < CROWDED_BYTES
    }

    pub(crate) fn client_queue(&mut self) -> &mut BytesMut {
        &mut self.to_client
    }

    pub(crate) fn daemon_queue(&mut self) -> &mut BytesMut {
        &mut self.to_daemon
    }

    /// Returns how many requests are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns whether an answer of the daemon's is waited for.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.link != Link::Down && self.in_flight.has_awaited()
    }

    /// Returns whether nobody waits for anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.len() == 0
    }

    pub(crate) fn questions_asked(&self) -> u64 {
        self.memory.questions_asked
    }

    fn send(&mut self, kind: Kind, slot: u16, payload: &[u8]) {
        if let Some(head) = frame::head(kind, slot, payload.len()) {
            self.to_daemon.extend_from_slice(&head);
            self.to_daemon.extend_from_slice(payload);
        }
    }

    fn say(&mut self, message: &[u8]) {
        let end = match self.language {
            Language::Mcp(Some(Framing::ContentLength)) => {
                let head = format!("Content-Length: {}\r\n\r\n", message.len());
                self.to_client.extend_from_slice(head.as_bytes());
                ""
            }
            Language::Mcp(_) => "\n",
            Language::LiteMcp => triple_newline::TERMINATOR,
        };
        self.to_client.extend_from_slice(message);
        self.to_client.extend_from_slice(end.as_bytes());
    }

    /// Answers a request with an error of ours; a batch with one for each.
    fn fail(&mut self, ids: &[Id], error: &'static str) {
        let error = Raw::from_static(error);
        match ids {
            [id] if self.language == Language::LiteMcp => {
                let text = error.get("message");
                let text = text.as_ref().and_then(Raw::to_text).unwrap_or_default();
                let data = CallResult::failure(None, &text).encode();
                self.say(Message::new(id.clone(), Word::Result, Some(data)).encode().as_bytes());
            }
            [id] => self.say(&envelope::error(Some(id), &error)),
            ids => {
                let errors: Vec<Bytes> = ids.iter().map(|id| envelope::error(Some(id), &error)).collect();
                self.say(&[b"[", &errors.join(&b","[..])[..], b"]"].concat());
            }
        }
    }

    /// Asks for ourselves what the client must not hear of.
    fn ask(&mut self, message: Bytes, lasting: Option<Lasting>) {
        let slot = self.in_flight.insert(Request {
            number: 0,
            ids: Ids::Read(Vec::new()),
            class: Class::Again,
            lasting,
            message: Some(message.clone()),
            was_asked_again: false,
            is_kept: false,
            is_acknowledged: false,
            asker: Asker::Ourselves,
        });
        self.stages.set(slot, Stage::Sent);
        self.send(Kind::Message, slot, &message);
    }
}
