//! A body in chunks (RFC 9112, 7.1), decoded as it comes: nothing is held back, wherever it was cut. A line ends with
//! CR LF and holds neither of them otherwise, nor another control character: a front that splits at LF alone would
//! find another message in it (M5).

use std::io::Write as _;

use bytes::BytesMut;

use crate::Malformed;
use crate::fields::{is_text, is_token};

/// What ends a body in chunks.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// More digits than any chunk has; they fit into 64 bits.
const MAX_DIGITS: u8 = 15;
/// What may follow the size of a chunk on its line, and what may in all.
const MAX_LINE_BYTES: u16 = 256;
const MAX_EXTENSION_BYTES: u16 = 8 << 10;
/// What may follow the last chunk.
const MAX_TRAILER_BYTES: u16 = 8 << 10;
const MAX_TRAILERS: u8 = 100;

/// Appends a chunk; one of no bytes would be the last.
pub fn put_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        put_chunk_size(out, data.len());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends what goes before the data of a chunk; CR LF goes behind it.
pub fn put_chunk_size(out: &mut Vec<u8>, size: usize) {
    let _ = write!(out, "{size:x}\r\n");
}

/// A body in chunks, as far as it has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chunks {
    state: State,
    /// The bytes of extensions so far.
    extensions: u16,
    /// The bytes and the lines that have followed the last chunk.
    trailer_bytes: u16,
    trailers: u8,
}

/// Where in a body we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the digits of a size.
    Size {
        size: usize,
        digits: u8,
    },
    /// In the blanks that may follow a size.
    Blank {
        size: usize,
        bytes: u16,
    },
    Extension {
        size: usize,
        bytes: u16,
    },
    /// Before the newline that ends the line of a size.
    SizeEnd {
        size: usize,
    },
    Data {
        left: usize,
    },
    DataEnd,
    DataNewline,
    /// Where a line begins that follows the last chunk; an empty one ends the body.
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerEnd,
    End,
    Over,
}

impl Default for State {
    fn default() -> Self {
        Self::Size { size: 0, digits: 0 }
    }
}

impl Chunks {
    /// Takes what came, appends what is data, and returns how much of it belongs to this body.
    pub(crate) fn take(&mut self, input: &[u8], out: &mut BytesMut) -> Result<usize, Malformed> {
        let mut rest = input;
        while self.state != State::Over {
            let Some((&byte, after)) = rest.split_first() else { break };
            if let State::Data { left } = self.state {
                let (data, after) = rest.split_at(rest.len().min(left));
                out.extend_from_slice(data);
                self.took(data.len());
                rest = after;
                continue;
            }
            self.state = self.step(byte).ok_or(Malformed::Chunk)?;
            rest = after;
        }
        Ok(input.len() - rest.len())
    }

    pub(crate) fn is_over(self) -> bool {
        self.state == State::Over
    }

    /// Returns how many of the bytes that come next are data for certain.
    pub(crate) fn data_left(self) -> usize {
        if let State::Data { left } = self.state { left } else { 0 }
    }

    /// Counts data that was read past this decoder.
    pub(crate) fn took(&mut self, bytes: usize) {
        if let State::Data { left } = &mut self.state {
            *left -= bytes;
            if *left == 0 {
                self.state = State::DataEnd;
            }
        }
    }

    fn step(&mut self, byte: u8) -> Option<State> {
        Some(match (self.state, byte) {
            (
                State::Size { size, digits: digits @ 0..MAX_DIGITS },
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
            ) => {
                let digit = char::from(byte).to_digit(16)? as usize;
                State::Size { size: size.checked_mul(16)? + digit, digits: digits + 1 }
            }
            (
                State::Size { size, digits: 1.. } | State::Blank { size, .. } | State::Extension { size, .. },
                b'\r',
            ) => State::SizeEnd { size },
            (State::Size { size, digits: 1.. }, b' ' | b'\t') => State::Blank { size, bytes: 1 },
            (State::Blank { size, bytes: bytes @ 0..MAX_LINE_BYTES }, b' ' | b'\t') => {
                State::Blank { size, bytes: bytes + 1 }
            }
            (State::Size { size, digits: 1.. }, b';') => State::Extension { size, bytes: 0 },
            (State::Blank { size, bytes }, b';') => State::Extension { size, bytes },
            (State::Extension { size, bytes: bytes @ 0..MAX_LINE_BYTES }, _) if is_text(byte) => {
                self.extensions = counted(self.extensions, MAX_EXTENSION_BYTES)?;
                State::Extension { size, bytes: bytes + 1 }
            }
            (State::SizeEnd { size: 0 }, b'\n') => State::Trailer,
            (State::SizeEnd { size }, b'\n') => State::Data { left: size },
            (State::DataEnd, b'\r') => State::DataNewline,
            (State::DataNewline, b'\n') => State::default(),
            (State::End, b'\n') => State::Over,
            (State::Trailer, b'\r') => State::End,
            (state, _) => {
                self.trailer_bytes = counted(self.trailer_bytes, MAX_TRAILER_BYTES)?;
                self.step_in_trailer(state, byte)?
            }
        })
    }

    /// A trailer is a header: nobody reads it, but it must be one.
    fn step_in_trailer(&mut self, state: State, byte: u8) -> Option<State> {
        Some(match (state, byte) {
            (State::Trailer | State::TrailerName, _) if is_token(byte) => State::TrailerName,
            (State::TrailerName, b':') => State::TrailerValue,
            (State::TrailerValue, _) if is_text(byte) => State::TrailerValue,
            (State::TrailerValue, b'\r') => State::TrailerEnd,
            (State::TrailerEnd, b'\n') if self.trailers < MAX_TRAILERS => {
                self.trailers += 1;
                State::Trailer
            }
            _ => return None,
        })
    }
}

fn counted(bytes: u16, limit: u16) -> Option<u16> {
    (bytes < limit).then_some(bytes + 1)
}
