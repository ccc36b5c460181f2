use bytes::Bytes;

use crate::envelope::{peek_id, peek_id_at_end};
use crate::id::Id;

const HEAD_BYTES: usize = 64 * 1024;
const TAIL_BYTES: usize = 4 * 1024;

/// What is kept of a message too long to keep: enough to look for its id.
#[derive(Debug, Default)]
pub(super) struct Oversized {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

impl Oversized {
    pub(super) fn absorb(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let room = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend_from_slice(piece.get(..room).unwrap_or(piece));
        match piece.len().checked_sub(TAIL_BYTES) {
            Some(start) => {
                self.tail.clear();
                self.tail.extend_from_slice(piece.get(start..).unwrap_or_default());
            }
            None => {
                let surplus = (self.tail.len() + piece.len()).saturating_sub(TAIL_BYTES);
                self.tail.drain(..surplus);
                self.tail.extend_from_slice(piece);
            }
        }
    }

    pub(super) fn id(&self) -> Option<Id> {
        peek_id(&self.head).or_else(|| peek_id_at_end(&self.tail))
    }

    /// Goes on with what is kept of one.
    pub(super) fn from_parts((head, tail, bytes): (Bytes, Bytes, u64)) -> Self {
        Self { head: head.into(), tail: tail.into(), bytes }
    }

    pub(super) fn into_parts(self) -> (Bytes, Bytes, u64) {
        (self.head.into(), self.tail.into(), self.bytes)
    }
}
