//! A message per line.

use bytes::{Bytes, BytesMut};

use super::Unfinished;
use super::buffer::Buffer;
use super::oversized::Oversized;
use crate::scan::is_blank;

#[cfg(test)]
mod tests;

pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Cuts a stream into lines and holds no more than one of the allowed length.
pub struct LineDecoder {
    buffer: Buffer,
    max_bytes: usize,
    /// How much of the buffer is known to hold no newline.
    searched: usize,
    first: bool,
    long: Option<Oversized>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Without its end, never blank.
    Whole(Bytes),
    /// Longer than allowed and dropped as it came, but for its first 64 KiB and its last 4 KiB.
    TooLong { head: Bytes, tail: Bytes, bytes: u64 },
}

impl LineDecoder {
    pub fn new(max_bytes: usize) -> Self {
        Self { buffer: Buffer::default(), max_bytes, searched: 0, first: true, long: None }
    }

    /// Goes on with a stream whose start is past.
    pub(super) fn with_buffer(max_bytes: usize, buffer: Buffer) -> Self {
        Self { buffer, first: false, ..Self::new(max_bytes) }
    }

    /// Goes on where another decoder of the same stream stopped.
    pub fn resume(max_bytes: usize, unfinished: Unfinished) -> Self {
        let mut decoder = Self::with_buffer(max_bytes, Buffer::default());
        decoder.buffer().extend_from_slice(&unfinished.rest);
        decoder.long = unfinished.long.map(Oversized::from_parts);
        decoder
    }

    /// Stops for good. Returns what no line has been made of.
    pub fn into_unfinished(mut self) -> Unfinished {
        let rest = self.buffer.take(self.buffer.len());
        Unfinished { rest, long: self.long.map(Oversized::into_parts), newlines: 0 }
    }

    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.room()
    }

    #[expect(clippy::should_implement_trait, reason = "an end of lines is not the end of the stream")]
    pub fn next(&mut self) -> Option<Line> {
        loop {
            let unseen = self.buffer.bytes().get(self.searched..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unseen) else {
                self.keep_rest();
                return None;
            };
            let end = self.searched + at;
            let line = self.line(end);
            self.buffer.skip(1);
            if line.is_some() {
                return line;
            }
        }
    }

    /// Returns the last line if the stream ended without a newline.
    pub fn finish(&mut self) -> Option<Line> {
        self.next().or_else(|| self.line(self.buffer.len()))
    }

    /// Takes the line that ends at `end`; none if it is blank.
    fn line(&mut self, end: usize) -> Option<Line> {
        self.searched = 0;
        let first = std::mem::take(&mut self.first);
        // Counted before anything is stripped, so that it does not matter how the bytes arrived.
        if self.long.is_some() || end > self.max_bytes {
            let mut long = self.long.take().unwrap_or_default();
            long.absorb(self.buffer.bytes().get(..end).unwrap_or_default());
            self.buffer.skip(end);
            let (head, tail, bytes) = long.into_parts();
            return Some(Line::TooLong { head, tail, bytes });
        }
        let mut line = self.buffer.take(end);
        if first && line.starts_with(BOM) {
            line = line.slice(BOM.len()..);
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.iter().all(|&byte| is_blank(byte)) { None } else { Some(Line::Whole(line)) }
    }

    fn keep_rest(&mut self) {
        self.searched = self.buffer.len();
        if self.long.is_some() || self.searched > self.max_bytes {
            self.long.get_or_insert_default().absorb(self.buffer.bytes());
            self.buffer.skip(self.searched);
            self.searched = 0;
        }
    }
}
