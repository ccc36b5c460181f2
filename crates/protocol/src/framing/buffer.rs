use bytes::{Buf, Bytes, BytesMut};

/// The least room a reader finds.
const READ_BYTES: usize = 16 * 1024;
/// A buffer that grew beyond this is given back.
const KEPT_BYTES: usize = 128 * 1024;

/// Bytes as they came in. Grows for a large message and shrinks again after it.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: BytesMut,
    grown: bool,
}

impl Buffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the buffer to read into, with room in it.
    pub(super) fn room(&mut self) -> &mut BytesMut {
        self.settle();
        if self.bytes.capacity() - self.bytes.len() < READ_BYTES / 4 {
            self.bytes.reserve(READ_BYTES);
        }
        &mut self.bytes
    }

    pub(super) fn take(&mut self, len: usize) -> Bytes {
        self.grown |= self.bytes.len() > KEPT_BYTES;
        self.bytes.split_to(len.min(self.bytes.len())).freeze()
    }

    pub(super) fn skip(&mut self, len: usize) {
        self.grown |= self.bytes.len() > KEPT_BYTES;
        self.bytes.advance(len.min(self.bytes.len()));
    }

    /// Moves what is left out of an allocation made for a large message. Otherwise it would be used again as
    /// soon as the message is dropped, and stay for good.
    fn settle(&mut self) {
        if self.grown && self.bytes.len() <= KEPT_BYTES / 2 {
            let mut fresh = BytesMut::with_capacity(self.bytes.len() + READ_BYTES);
            fresh.extend_from_slice(&self.bytes);
            self.bytes = fresh;
            self.grown = false;
        }
    }
}
