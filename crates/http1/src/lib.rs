//! HTTP/1.1 as both legs read it (RFC 9112): heads, lengths, chunks. Bytes in, decisions out; connections, timers and
//! buffers belong to those who ask. Where two readers could differ about where a message ends, there is none (T31).

mod chunks;
mod fields;
mod framing;
mod head;
mod length;
mod request;
mod response;

pub use self::chunks::{LAST_CHUNK, put_chunk, put_chunk_size};
pub use self::fields::Fields;
pub use self::framing::Framing;
pub use self::head::MAX_HEAD_BYTES;
pub use self::length::Length;
pub use self::request::RequestHead;
pub use self::response::{Answers, Asked, ResponseHead};

/// Why a message is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    Head,
    TooLarge,
    Length,
    Coding,
    Chunk,
    /// It opens HTTP/2.
    Preface,
    /// It changes to a protocol that nobody asked for.
    Switched,
    /// One interim answer (1xx) follows another, and no end.
    Interim,
}
