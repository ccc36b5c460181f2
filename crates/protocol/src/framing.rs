//! How messages are told apart on a byte stream.
//!
//! Each decoder has a `buffer` the reader reads into, a `next` to call until it returns nothing, and a
//! `finish` to call likewise when the stream has ended.

use bytes::Bytes;
#[cfg(test)]
use bytes::{BufMut, BytesMut};

mod buffer;
pub mod client;
pub mod content_length;
pub mod newline;
mod oversized;
pub mod sse;
pub mod triple_newline;

pub use client::{ClientDecoder, Frame, FrameError};
pub use content_length::ContentLengthDecoder;
pub use newline::{Line, LineDecoder};
pub use sse::{SseDecoder, SseEvent, SseItem};
pub use triple_newline::TripleNewlineDecoder;

/// What a decoder holds of a stream past its first message when another goes on with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// What was read and not yet given out.
    pub rest: Bytes,
    /// Head, tail and size of a message so long that it is being dropped.
    pub long: Option<(Bytes, Bytes, u64)>,
    /// How many newlines stood right before the rest of such a message.
    pub newlines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Newline,
    ContentLength,
}

/// Appends a message, which must be one line, with its frame: what `Frames` must come to.
#[cfg(test)]
pub(crate) fn encode(framing: Framing, message: &[u8], out: &mut BytesMut) {
    debug_assert!(memchr::memchr(b'\n', message).is_none(), "a message is one line");
    out.reserve(message.len() + 40);
    match framing {
        Framing::Newline => {
            out.put_slice(message);
            out.put_u8(b'\n');
        }
        Framing::ContentLength => {
            out.put_slice(format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes());
            out.put_slice(message);
        }
    }
}
