//! Reading a response that is a stream of events.

use bytes::Bytes;
use manifold_protocol::framing::{Line, SseDecoder, SseEvent, SseItem};

use super::client::{Answer, Unreached};
use crate::connection::Connection;

/// A stream of events being read.
pub(super) struct Events {
    answer: Answer,
    decoder: SseDecoder,
    /// Bytes since the last event.
    unfinished: usize,
}

/// What is larger than this is read in turn.
const LARGE_BYTES: usize = 32 << 10;

impl Events {
    pub(super) fn new(answer: Answer, limit_bytes: usize) -> Self {
        Self { answer, decoder: SseDecoder::new(limit_bytes), unfinished: 0 }
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

    /// Returns the next event as `next` does, taking in large ones in turn.
    pub(super) async fn next_with_permit(
        &mut self,
        connection: &Connection,
    ) -> Result<Option<SseItem>, Unreached> {
        connection.room().await;
        let mut turn = None;
        loop {
            if let Some(item) = self.decoder.next() {
                self.unfinished = 0;
                return Ok(Some(item));
            }
            if self.unfinished > LARGE_BYTES && turn.is_none() {
                turn = connection.large_permit().await;
            }
            match self.answer.next().await? {
                Some(bytes) => {
                    self.unfinished += bytes.len();
                    self.decoder.push(&bytes);
                }
                None => return Ok(None),
            }
        }
    }

    pub(super) fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }
}

/// Reads a body that is one message, a large one in turn.
pub(super) async fn read_with_permit(
    answer: Answer,
    limit_bytes: usize,
    connection: &Connection,
) -> Result<Bytes, Unreached> {
    connection.room().await;
    let is_small = answer.length().is_some_and(|bytes| bytes <= LARGE_BYTES);
    let _turn = if is_small { None } else { connection.large_permit().await };
    answer.read(limit_bytes).await
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
