//! Messages of LiteMCP: each ends at three newlines in a row (S4-2).

use bytes::BytesMut;

use super::Unfinished;
use super::buffer::Buffer;
use super::client::{Frame, FrameError};
use super::newline::BOM;
use super::oversized::Oversized;
use crate::scan::is_blank;

#[cfg(test)]
mod tests;

pub const TERMINATOR: &str = "\n\n\n";

/// Cuts a stream into messages, over as many lines as they like, and holds no more than one of the allowed length.
///
/// JSON can hold no bare newline but between its parts, so a terminator inside a string is always escaped. A `\r`
/// beside the newlines does not count. What follows a message that was too long is read again from its terminator on.
pub struct TripleNewlineDecoder {
    buffer: Buffer,
    max_bytes: usize,
    /// How much of the buffer is known to hold no end.
    searched: usize,
    /// How many newlines stand right before that place.
    newlines: usize,
    first: bool,
    long: Option<Oversized>,
}

impl TripleNewlineDecoder {
    pub fn new(max_bytes: usize) -> Self {
        let buffer = Buffer::default();
        Self { buffer, max_bytes, searched: 0, newlines: 0, first: true, long: None }
    }

    /// Goes on where another decoder of the same stream stopped.
    pub fn resume(max_bytes: usize, unfinished: Unfinished) -> Self {
        let mut decoder = Self { first: false, ..Self::new(max_bytes) };
        decoder.buffer().extend_from_slice(&unfinished.rest);
        decoder.long = unfinished.long.map(Oversized::from_parts);
        // Where nothing of the message is left to be searched again, what stood before its rest still counts.
        decoder.newlines = if decoder.long.is_some() { unfinished.newlines } else { 0 };
        decoder
    }

    /// Stops for good. Returns what no message has been made of.
    pub fn into_unfinished(mut self) -> Unfinished {
        let rest = self.buffer.take(self.buffer.len());
        Unfinished { rest, long: self.long.map(Oversized::into_parts), newlines: self.newlines }
    }

    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.room()
    }

    #[expect(clippy::should_implement_trait, reason = "an end of messages is not the end of the stream")]
    pub fn next(&mut self) -> Option<Frame> {
        loop {
            self.skip_noise();
            if !self.find_end() {
                self.keep_rest();
                return None;
            }
            let frame = self.message(self.searched);
            if frame.is_some() {
                return frame;
            }
        }
    }

    /// Returns the last message if the stream ended without a terminator.
    pub fn finish(&mut self) -> Option<Frame> {
        self.next().or_else(|| self.message(self.buffer.len()))
    }

    /// Drops blanks before a message, so that they never count as part of one.
    fn skip_noise(&mut self) {
        if self.searched == 0 && self.long.is_none() {
            let noise = self.buffer.bytes().iter().take_while(|&&byte| is_blank(byte)).count();
            self.buffer.skip(noise);
        }
    }

    /// Searches on for the third newline in a row; `searched` is then right behind it.
    fn find_end(&mut self) -> bool {
        while let Some(unseen) = self.buffer.bytes().get(self.searched..).filter(|unseen| !unseen.is_empty())
        {
            match (self.newlines, unseen.first()) {
                (0, _) => match memchr::memchr(b'\n', unseen) {
                    Some(at) => {
                        self.searched += at + 1;
                        self.newlines = 1;
                    }
                    None => self.searched += unseen.len(),
                },
                (_, Some(b'\n')) => {
                    self.searched += 1;
                    self.newlines += 1;
                }
                (_, Some(b'\r')) => self.searched += 1,
                _ => self.newlines = 0,
            }
            if self.newlines == TERMINATOR.len() {
                return true;
            }
        }
        false
    }

    /// Takes the message that ends at `end`, terminator included; none if it is blank.
    fn message(&mut self, end: usize) -> Option<Frame> {
        self.searched = 0;
        self.newlines = 0;
        let first = std::mem::take(&mut self.first);
        // Counted before anything is stripped, so that it does not matter how the bytes arrived.
        if self.long.is_some() || self.is_too_long(end) {
            let mut long = self.long.take().unwrap_or_default();
            long.absorb(self.buffer.bytes().get(..end).unwrap_or_default());
            self.buffer.skip(end);
            return Some(Frame::Refused { id: long.id(), why: FrameError::TooLong });
        }
        let mut message = self.buffer.take(end);
        if first && message.starts_with(BOM) {
            message = message.slice(BOM.len()..);
        }
        let text = message.trim_ascii();
        if text.is_empty() {
            return None;
        }
        Some(Frame::Message(message.slice_ref(text)))
    }

    fn is_too_long(&self, end: usize) -> bool {
        end > self.max_bytes.saturating_add(TERMINATOR.len())
    }

    fn keep_rest(&mut self) {
        if self.long.is_some() || self.is_too_long(self.searched) {
            self.long.get_or_insert_default().absorb(self.buffer.bytes());
            self.buffer.skip(self.searched);
            self.searched = 0;
        }
    }
}
