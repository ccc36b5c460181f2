//! What our own clients write to us: either framing, told by the first bytes and then kept.

use bytes::{Bytes, BytesMut};

use super::Framing;
use super::buffer::Buffer;
use super::content_length::{CONTENT, ContentLengthDecoder};
use super::newline::{BOM, LineDecoder};
use crate::id::Id;
use crate::scan::is_blank;

mod gather;
#[cfg(test)]
pub(crate) mod tests;

use gather::MessageDecoder;

/// Decodes a client's stream.
///
/// A message that turns out [`Unfinished`](crate::envelope::RefusalKind::Unfinished) is to be handed back with
/// [`ClientDecoder::gather`]: its other lines are still to come.
pub struct ClientDecoder {
    max_bytes: usize,
    mode: Mode,
    refused: Option<Frame>,
}

enum Mode {
    Undecided(Start),
    Newline(MessageDecoder),
    ContentLength(ContentLengthDecoder),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Message(Bytes),
    Refused { id: Option<Id>, why: FrameError },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("not JSON")]
    Parse,
    #[error("the message is too long")]
    TooLong,
    #[error("the header has no valid Content-Length")]
    BadHeader,
}

impl ClientDecoder {
    pub fn new(max_bytes: usize, forced: Option<Framing>) -> Self {
        let mode = match forced {
            None => Mode::Undecided(Start::default()),
            Some(Framing::Newline) => Mode::newline(max_bytes, LineDecoder::new(max_bytes)),
            Some(Framing::ContentLength) => Mode::ContentLength(ContentLengthDecoder::new(max_bytes)),
        };
        Self { max_bytes, mode, refused: None }
    }

    /// Returns the framing once it is known.
    pub fn framing(&self) -> Option<Framing> {
        match self.mode {
            Mode::Undecided(_) => None,
            Mode::Newline(_) => Some(Framing::Newline),
            Mode::ContentLength(_) => Some(Framing::ContentLength),
        }
    }

    pub fn buffer(&mut self) -> &mut BytesMut {
        match &mut self.mode {
            Mode::Undecided(start) => start.buffer.room(),
            Mode::Newline(messages) => messages.buffer(),
            Mode::ContentLength(frames) => frames.buffer(),
        }
    }

    #[expect(clippy::should_implement_trait, reason = "an end of frames is not the end of the stream")]
    pub fn next(&mut self) -> Option<Frame> {
        if let Mode::Undecided(start) = &mut self.mode {
            let framing = start.detect()?;
            self.decide(framing);
        }
        match &mut self.mode {
            Mode::Undecided(_) => None,
            Mode::Newline(messages) => messages.next(),
            Mode::ContentLength(frames) => self.refused.take().or_else(|| frames.next()),
        }
    }

    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next() {
            return Some(frame);
        }
        if let Mode::Undecided(_) = self.mode {
            self.decide(Framing::Newline);
        }
        match &mut self.mode {
            Mode::Undecided(_) => None,
            Mode::Newline(messages) => messages.finish(),
            Mode::ContentLength(frames) => frames.finish(),
        }
    }

    /// Takes back a message that ended too early. It becomes the start of one over several lines, or with a
    /// counted frame, where nothing can follow, an error.
    pub fn gather(&mut self, message: Bytes) {
        match &mut self.mode {
            Mode::Newline(messages) => messages.gather(message),
            Mode::Undecided(_) | Mode::ContentLength(_) => {
                self.refused = Some(Frame::Refused { id: None, why: FrameError::Parse });
            }
        }
    }

    fn decide(&mut self, framing: Framing) {
        let Mode::Undecided(start) = &mut self.mode else { return };
        let buffer = std::mem::take(&mut start.buffer);
        self.mode = match framing {
            Framing::Newline => {
                Mode::newline(self.max_bytes, LineDecoder::with_buffer(self.max_bytes, buffer))
            }
            Framing::ContentLength => {
                Mode::ContentLength(ContentLengthDecoder::with_buffer(self.max_bytes, buffer))
            }
        };
    }
}

impl Mode {
    fn newline(max_bytes: usize, lines: LineDecoder) -> Self {
        Mode::Newline(MessageDecoder::new(max_bytes, lines))
    }
}

/// The stream before its first byte that is not blank.
#[derive(Default)]
struct Start {
    buffer: Buffer,
    past_bom: bool,
}

impl Start {
    /// Tells the framing, if enough has come.
    fn detect(&mut self) -> Option<Framing> {
        if !self.past_bom {
            let bytes = self.buffer.bytes();
            if bytes.len() < BOM.len() && BOM.starts_with(bytes) {
                return None;
            }
            self.past_bom = true;
            if bytes.starts_with(BOM) {
                self.buffer.skip(BOM.len());
            }
        }
        let blank = self.buffer.bytes().iter().take_while(|&&byte| is_blank(byte)).count();
        self.buffer.skip(blank);
        let bytes = self.buffer.bytes();
        let start = bytes.get(..CONTENT.len()).unwrap_or(bytes);
        match CONTENT.get(..start.len()) {
            Some(word) if start.eq_ignore_ascii_case(word) => {
                (start.len() == CONTENT.len()).then_some(Framing::ContentLength)
            }
            _ => Some(Framing::Newline),
        }
    }
}
