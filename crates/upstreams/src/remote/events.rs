//! Reading a response that is a stream of events.

use bytes::Bytes;
use manifold_protocol::framing::{Line, SseDecoder, SseEvent, SseItem};

use super::client::{Answer, Unreached};
use crate::connection::Connection;

/// A stream of events being read.
pub(super) struct Events {
    answer: Answer,
    decoder: SseDecoder,
}

impl Events {
    pub(super) fn new(answer: Answer, limit_bytes: usize) -> Self {
        Self { answer, decoder: SseDecoder::new(limit_bytes) }
    }

    /// Returns the next event, `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<SseItem>, Unreached> {
        loop {
            if let Some(item) = self.decoder.next() {
                return Ok(Some(item));
            }
            match self.answer.next().await? {
                Some(bytes) => self.decoder.push(&bytes),
                None => return Ok(None),
            }
        }
    }

    pub(super) fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }

    /// Gives the connection of a stream that has ended back.
    pub(super) fn give_back(self) {
        self.answer.give_back();
    }
}

/// Hands an event's message to the connection; `call` is what the stream answers.
pub(super) fn receive(connection: &Connection, event: SseEvent, call: Option<u64>) {
    let is_message = event.kind.is_empty() || event.kind == "message";
    if is_message && !event.data.is_empty() {
        connection.receive_within(Line::Whole(event.data), call);
    }
}

/// Reports an event that was too long to keep.
pub(super) fn too_long(connection: &Connection) {
    connection.receive(Line::TooLong { head: Bytes::new(), tail: Bytes::new(), bytes: 0 });
}
