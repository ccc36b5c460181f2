//! A body in chunks (RFC 9112, 7.1), decoded as it comes: nothing is held back, wherever it was cut.

use bytes::BytesMut;

use super::Malformed;

/// The longest line with the size of a chunk, and the most that may follow the last one.
const MAX_LINE_BYTES: usize = 256;
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// Where in a body we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// In the digits of a size.
    Size {
        size: usize,
        digits: u8,
    },
    /// In what may follow a size on its line.
    Extension {
        size: usize,
        bytes: usize,
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
    /// In the lines that follow the last chunk; an empty one ends the body.
    Trailer {
        bytes: usize,
        is_empty: bool,
    },
    Over,
}

impl Chunks {
    pub(super) const NEW: Self = Self::Size { size: 0, digits: 0 };

    /// Takes what came, appends what is data, and returns how much of it belongs to this body.
    pub(super) fn take(&mut self, input: &[u8], out: &mut BytesMut) -> Result<usize, Malformed> {
        let mut rest = input;
        while *self != Self::Over {
            let Some((&byte, after)) = rest.split_first() else { break };
            if let Self::Data { left } = self {
                let (data, after) = rest.split_at(rest.len().min(*left));
                out.extend_from_slice(data);
                *left -= data.len();
                rest = after;
                if *left == 0 {
                    *self = Self::DataEnd;
                }
                continue;
            }
            *self = self.step(byte)?;
            rest = after;
        }
        Ok(input.len() - rest.len())
    }

    /// Returns how many of the bytes that come next are data for certain.
    pub(super) fn data_left(self) -> usize {
        if let Self::Data { left } = self { left } else { 0 }
    }

    /// Counts data that was read past this decoder.
    pub(super) fn took(&mut self, bytes: usize) {
        if let Self::Data { left } = self {
            *left -= bytes;
            if *left == 0 {
                *self = Self::DataEnd;
            }
        }
    }

    fn step(self, byte: u8) -> Result<Self, Malformed> {
        Ok(match (self, byte) {
            // Sixteen digits are all that a size may have.
            (Self::Size { size, digits: digits @ 0..16 }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default() as usize;
                let size = size.checked_mul(16).ok_or(Malformed::Chunk)? + digit;
                Self::Size { size, digits: digits + 1 }
            }
            (Self::Size { size, digits: 1.. }, b'\r') => Self::SizeEnd { size },
            (Self::Size { size, digits: 1.. }, b' ' | b'\t' | b';') => Self::Extension { size, bytes: 0 },
            (Self::Extension { size, .. }, b'\r') => Self::SizeEnd { size },
            (Self::Extension { size, bytes: bytes @ 0..MAX_LINE_BYTES }, b'\t' | b' '..) => {
                Self::Extension { size, bytes: bytes + 1 }
            }
            (Self::SizeEnd { size: 0 }, b'\n') => Self::Trailer { bytes: 0, is_empty: true },
            (Self::SizeEnd { size }, b'\n') => Self::Data { left: size },
            (Self::DataEnd, b'\r') => Self::DataNewline,
            (Self::DataNewline, b'\n') => Self::NEW,
            (Self::Trailer { is_empty: true, .. }, b'\n') => Self::Over,
            (Self::Trailer { bytes, .. }, b'\n') => Self::Trailer { bytes, is_empty: true },
            (Self::Trailer { bytes: bytes @ 0..MAX_TRAILER_BYTES, is_empty }, _) => {
                Self::Trailer { bytes: bytes + 1, is_empty: is_empty && byte == b'\r' }
            }
            _ => return Err(Malformed::Chunk),
        })
    }
}
