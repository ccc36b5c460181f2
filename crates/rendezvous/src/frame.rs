//! What goes over the socket once both ends know each other: a head of eight bytes, then so many of payload.
//!
//! ```text
//! u32 length of the payload | u8 kind | u8 zero | u16 slot        little-endian
//! ```
//!
//! The slot is the request's place in the shim's table, zero where there is none. An answer bears the slot of its request,
//! so that the shim need not read what it passes on.

use bytes::{Buf, Bytes, BytesMut};

#[cfg(test)]
mod tests;

pub const HEAD_BYTES: usize = 8;

/// No message may be longer, whatever the limits of the config say.
pub const MAX_BYTES: usize = 1 << 30;

/// Why input was refused: the first byte of such a payload.
pub const REFUSED_PARSE: u8 = 0;
pub const REFUSED_TOO_LONG: u8 = 1;
pub const REFUSED_BAD_HEADER: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One message of the protocol, as it is.
    Message,
    /// A question of a server's, which the client must answer.
    Question,
    /// The client's input could not be cut into messages; the payload's first byte says why, the rest is the id if one was
    /// seen.
    Refused,
    /// The daemon is about to be replaced in place: say nothing more, and come back when the socket closes.
    Hold,
    /// The daemon ends by order: come back with the client's next request, not before.
    Stopping,
    /// The session is over; nothing more will be said.
    Over,
    /// A line for people.
    Note,
    /// A request that the daemon before has handed to a server: its answer is waited for, it is not asked again.
    Kept,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Message,
        Self::Question,
        Self::Refused,
        Self::Hold,
        Self::Stopping,
        Self::Over,
        Self::Note,
        Self::Kept,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    pub slot: u16,
    pub payload: Bytes,
}

/// The other end does not keep to the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what came over the daemon's socket is no frame")]
pub struct Malformed;

/// Returns the head of a frame. A payload that is longer than any may be has none.
pub fn head(kind: Kind, slot: u16, payload_bytes: usize) -> Option<[u8; HEAD_BYTES]> {
    let length = u32::try_from(payload_bytes).ok().filter(|_| payload_bytes <= MAX_BYTES)?.to_le_bytes();
    let slot = slot.to_le_bytes();
    Some([length[0], length[1], length[2], length[3], kind as u8, 0, slot[0], slot[1]])
}

/// Cuts the next frame off what was read. A kind that is not known, which a newer end may use, is passed over.
pub fn next(read: &mut BytesMut) -> Result<Option<Frame>, Malformed> {
    loop {
        let Some(&[l0, l1, l2, l3, kind, _, s0, s1]) = read.first_chunk::<HEAD_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_BYTES {
            return Err(Malformed);
        }
        if read.len() < HEAD_BYTES + length {
            read.reserve(HEAD_BYTES + length - read.len());
            return Ok(None);
        }
        read.advance(HEAD_BYTES);
        let payload = read.split_to(length).freeze();
        if let Some(kind) = Kind::from_byte(kind) {
            return Ok(Some(Frame { kind, slot: u16::from_le_bytes([s0, s1]), payload }));
        }
    }
}
