//! A body as it comes.

use bytes::BytesMut;

use crate::chunks::Chunks;
use crate::{Length, Malformed};

/// What is still to come of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Left(usize),
    Chunks(Chunks),
    UntilClose,
}

impl Framing {
    pub fn new(length: Length) -> Self {
        match length {
            Length::Known(bytes) => Self::Left(bytes),
            Length::Chunked => Self::Chunks(Chunks::default()),
            Length::Open => Self::UntilClose,
        }
    }

    /// Takes what came, appends what is data, and returns how much of it belongs to this body.
    pub fn take(&mut self, input: &[u8], out: &mut BytesMut) -> Result<usize, Malformed> {
        let taken = match self {
            Self::Left(left) => {
                let taken = input.len().min(*left);
                *left -= taken;
                taken
            }
            Self::Chunks(chunks) => return chunks.take(input, out),
            Self::UntilClose => input.len(),
        };
        out.extend_from_slice(&input[..taken]);
        Ok(taken)
    }

    pub fn is_over(self) -> bool {
        match self {
            Self::Left(left) => left == 0,
            Self::Chunks(chunks) => chunks.is_over(),
            Self::UntilClose => false,
        }
    }

    /// Returns how many of the bytes that come next are data for certain.
    pub fn data_left(self) -> usize {
        match self {
            Self::Left(left) => left,
            Self::Chunks(chunks) => chunks.data_left(),
            Self::UntilClose => 0,
        }
    }

    /// Counts data that was read straight to where it belongs.
    pub fn took(&mut self, bytes: usize) {
        match self {
            Self::Left(left) => *left -= bytes,
            Self::Chunks(chunks) => chunks.took(bytes),
            Self::UntilClose => {}
        }
    }
}
