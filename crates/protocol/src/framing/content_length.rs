//! Messages behind a `Content-Length` header, as in the Language Server Protocol.

use bytes::BytesMut;

use super::buffer::Buffer;
use super::client::{Frame, FrameError};
use super::oversized::Oversized;
use crate::scan::is_blank;

#[cfg(test)]
mod tests;

pub(super) const CONTENT: &[u8] = b"content-";
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// A longer body is not believed: waiting for its end would be the end of the session.
const MAX_LENGTH: u64 = 4 << 30;

/// Reads headers in any order and case, with `\r\n` or `\n`; counts bytes, not characters.
pub struct ContentLengthDecoder {
    buffer: Buffer,
    max_bytes: usize,
    state: State,
}

enum State {
    Header(Header),
    Body {
        len: usize,
    },
    Discarding {
        left: u64,
        seen: Oversized,
    },
    /// After a broken header: up to the next one. `fresh` if a header may start right here.
    Lost {
        fresh: bool,
    },
}

/// What one block of header lines has said so far.
#[derive(Default)]
struct Header {
    length: Option<u64>,
    wrong: bool,
    lines: usize,
    bytes: usize,
    /// How much of the buffer is known to hold no newline.
    searched: usize,
}

impl ContentLengthDecoder {
    pub fn new(max_bytes: usize) -> Self {
        Self::with_buffer(max_bytes, Buffer::default())
    }

    pub(super) fn with_buffer(max_bytes: usize, buffer: Buffer) -> Self {
        Self { buffer, max_bytes, state: State::Header(Header::default()) }
    }

    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.room()
    }

    #[expect(clippy::should_implement_trait, reason = "an end of frames is not the end of the stream")]
    pub fn next(&mut self) -> Option<Frame> {
        loop {
            match &mut self.state {
                State::Header(_) => {
                    self.state = self.header_line()?;
                    if let State::Lost { .. } = self.state {
                        return Some(Frame::Refused { id: None, why: FrameError::BadHeader });
                    }
                }
                State::Body { len } => {
                    let len = *len;
                    if self.buffer.len() < len {
                        return None;
                    }
                    self.state = State::Header(Header::default());
                    return Some(Frame::Message(self.buffer.take(len)));
                }
                State::Discarding { left, seen } => {
                    let piece = self.buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    seen.absorb(self.buffer.bytes().get(..piece).unwrap_or_default());
                    *left -= piece as u64;
                    self.buffer.skip(piece);
                    if *left > 0 {
                        return None;
                    }
                    let id = seen.id();
                    self.state = State::Header(Header::default());
                    return Some(Frame::Refused { id, why: FrameError::TooLong });
                }
                State::Lost { .. } => self.find_header()?,
            }
        }
    }

    /// Says what was cut off at the end of the stream.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next() {
            return Some(frame);
        }
        let rest = self.buffer.take(self.buffer.len());
        let (id, why) = match std::mem::replace(&mut self.state, State::Header(Header::default())) {
            State::Header(header) if header.lines == 0 && rest.iter().all(|&byte| is_blank(byte)) => {
                return None;
            }
            State::Header(_) => (None, FrameError::BadHeader),
            State::Body { .. } => (None, FrameError::Parse),
            State::Discarding { seen, .. } => (seen.id(), FrameError::TooLong),
            State::Lost { .. } => return None,
        };
        Some(Frame::Refused { id, why })
    }

    /// Reads one line of a header; none if it has not ended yet.
    fn header_line(&mut self) -> Option<State> {
        let State::Header(header) = &mut self.state else { return None };
        let unseen = self.buffer.bytes().get(header.searched..).unwrap_or_default();
        let end = memchr::memchr(b'\n', unseen).map(|at| header.searched + at);
        if header.bytes + end.unwrap_or(self.buffer.len()) > MAX_HEADER_BYTES {
            return Some(State::Lost { fresh: false });
        }
        let Some(end) = end else {
            header.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.bytes().get(..end).unwrap_or_default().trim_ascii_end();
        let next = if line.is_empty() {
            header.end(self.max_bytes)
        } else if header.read(line) {
            State::Header(Header { bytes: header.bytes + end + 1, searched: 0, ..*header })
        } else {
            // Not a header line at all: perhaps the body, with the next header somewhere in it.
            return Some(State::Lost { fresh: false });
        };
        self.buffer.skip(end + 1);
        Some(next)
    }

    /// Drops everything before the next `Content-` at the start of a line or right behind a body.
    fn find_header(&mut self) -> Option<()> {
        let State::Lost { fresh } = self.state else { return Some(()) };
        let bytes = self.buffer.bytes();
        let starts = |at: usize| {
            let after_break = match at.checked_sub(1) {
                None => fresh,
                Some(before) => matches!(bytes.get(before), Some(b'\n' | b'}' | b']')),
            };
            after_break
                && bytes.get(at..at + CONTENT.len()).is_some_and(|word| word.eq_ignore_ascii_case(CONTENT))
        };
        match (0..bytes.len()).find(|&at| starts(at)) {
            Some(at) => {
                self.buffer.skip(at);
                self.state = State::Header(Header::default());
                Some(())
            }
            None => {
                // The last bytes may be the start of one, and the one before them tells.
                let done = bytes.len().saturating_sub(CONTENT.len());
                if done > 0 {
                    self.state = State::Lost { fresh: false };
                    self.buffer.skip(done);
                }
                None
            }
        }
    }
}

impl Header {
    /// Returns false if this is no header line.
    fn read(&mut self, line: &[u8]) -> bool {
        let colon = memchr::memchr(b':', line);
        let Some((name, value)) = colon.and_then(|at| line.split_at_checked(at)) else { return false };
        let token = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if name.is_empty() || !name.iter().all(token) {
            return false;
        }
        self.lines += 1;
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = parse_length(value.get(1..).unwrap_or_default());
            self.wrong |= length.is_none() || self.length.is_some() && self.length != length;
            self.length = length;
        }
        true
    }

    /// Ends the block at a blank line; blank lines before it are let pass.
    fn end(&self, max_bytes: usize) -> State {
        match self.length {
            _ if self.lines == 0 => State::Header(Header::default()),
            Some(length) if !self.wrong => match usize::try_from(length) {
                Ok(len) if len <= max_bytes => State::Body { len },
                _ => State::Discarding { left: length, seen: Oversized::default() },
            },
            _ => State::Lost { fresh: true },
        }
    }
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let length = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (length <= MAX_LENGTH).then_some(length)
}
