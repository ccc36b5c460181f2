//! The client's input, cut into messages as its language has them.

use bytes::{Bytes, BytesMut};
use manifold_protocol::framing::{ClientDecoder, Frame, Framing, TripleNewlineDecoder};

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// MCP, framed so; `None`: as its first bytes say.
    Mcp(Option<Framing>),
    LiteMcp,
}

pub(crate) enum Decoder {
    Mcp(ClientDecoder),
    LiteMcp(TripleNewlineDecoder),
}

impl Decoder {
    pub(crate) fn new(language: Language, limit_bytes: usize) -> Self {
        match language {
            Language::Mcp(framing) => Self::Mcp(ClientDecoder::new(limit_bytes, framing)),
            Language::LiteMcp => Self::LiteMcp(TripleNewlineDecoder::new(limit_bytes)),
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        match self {
            Self::Mcp(decoder) => decoder.buffer(),
            Self::LiteMcp(decoder) => decoder.buffer(),
        }
    }

    /// Cuts off the next message; once the input has ended, the rest of it too.
    pub(crate) fn next(&mut self, ended: bool) -> Option<Frame> {
        match self {
            Self::Mcp(decoder) => decoder.next().or_else(|| ended.then(|| decoder.finish())?),
            Self::LiteMcp(decoder) => decoder.next().or_else(|| ended.then(|| decoder.finish())?),
        }
    }

    /// Returns the framing once it is known.
    pub(crate) fn framing(&self) -> Option<Framing> {
        match self {
            Self::Mcp(decoder) => decoder.framing(),
            Self::LiteMcp(_) => None,
        }
    }

    /// Takes back a message that ended too early.
    pub(crate) fn gather(&mut self, message: Bytes) {
        if let Self::Mcp(decoder) = self {
            decoder.gather(message);
        }
    }
}
