//! A strict JSON scanner (RFC 8259) that says where values lie and never copies them. What strings mean is not its affair:
//! an escape may be half of a surrogate pair, which is JSON and no text.
//!
//! [`Cursor`] walks a text that is whole; [`Scanner`] takes one in pieces. Neither recurses.

use std::ops::Range;

mod cursor;
mod step;
mod stream;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use cursor::Cursor;
pub use stream::{Progress, Scanner};

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    #[error("not JSON at byte {at}")]
    Syntax { at: usize },
    #[error("nested deeper than {MAX_DEPTH} levels at byte {at}")]
    TooDeep { at: usize },
    #[error("not UTF-8 at byte {at}")]
    Utf8 { at: usize },
    /// The text is a proper prefix of valid JSON.
    #[error("the JSON ends too early")]
    Unfinished,
}

/// Checks that `text` is one JSON value surrounded by optional whitespace.
pub fn validate(text: &[u8]) -> Result<(), ScanError> {
    value_span(text).map(drop)
}

/// Returns where the one value of `text` lies, without the whitespace around it.
pub(crate) fn value_span(text: &[u8]) -> Result<Range<usize>, ScanError> {
    check_utf8(text)?;
    let mut cursor = Cursor::new(text);
    cursor.skip_blank();
    let start = cursor.at();
    cursor.value()?;
    let end = cursor.at();
    cursor.end()?;
    Ok(start..end)
}

/// Checks the encoding of the whole text at once, so that the scan itself can go by bytes.
pub(crate) fn check_utf8(text: &[u8]) -> Result<(), ScanError> {
    let Err(error) = std::str::from_utf8(text) else { return Ok(()) };
    match Scanner::new().feed(text) {
        // Cut in the middle of a character: more bytes may still mend it.
        Progress::NeedMore => Err(ScanError::Unfinished),
        Progress::Done { .. } | Progress::Wrong { .. } => Err(ScanError::Utf8 { at: error.valid_up_to() }),
    }
}

#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    // Most bytes are not, and one comparison tells.
    byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the first position from `at` on that is not a plain byte of a string: a quote, a backslash, a
/// control character or the end.
#[inline]
pub(crate) fn plain_end(text: &[u8], mut at: usize) -> usize {
    let long = at + LONG_BYTES;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<{ step::BYTES }>) {
        if let Some(stop) = step::first_stop(chunk) {
            return at + stop;
        }
        at += step::BYTES;
        if at >= long {
            return long_plain_end(text, at);
        }
    }
    last_plain_end(text, at)
}

/// Does the same where less than one step is left.
fn last_plain_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        at += 1;
    }
    at
}

/// From here on a string is long, and worth a search with wider steps.
const LONG_BYTES: usize = 64;

/// Does the same in blocks: where they end is searched for, what is in them only looked at for control characters.
fn long_plain_end(text: &[u8], mut at: usize) -> usize {
    const BLOCK_BYTES: usize = 4096;
    loop {
        let block = text.get(at..text.len().min(at + BLOCK_BYTES)).unwrap_or_default();
        let plain = memchr::memchr2(b'"', b'\\', block).unwrap_or(block.len());
        let run = block.get(..plain).unwrap_or_default();
        // Without a branch per byte this is done sixteen at a time and more.
        if run.iter().fold(false, |found, &byte| found | (byte < 0x20)) {
            return at + run.iter().position(|&byte| byte < 0x20).unwrap_or(plain);
        }
        if plain < block.len() || block.len() < BLOCK_BYTES {
            return at + plain;
        }
        at += BLOCK_BYTES;
    }
}

/// Which containers are open: a bit each, set for an object.
struct Nesting {
    bits: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Nesting {
    fn new() -> Self {
        Self { bits: [0; MAX_DEPTH / 64], depth: 0 }
    }

    /// Returns false, and opens nothing, if that would be too deep.
    #[inline]
    fn push(&mut self, object: bool) -> bool {
        let (index, bit) = (self.depth / 64, self.depth % 64);
        let Some(word) = self.bits.get_mut(index) else { return false };
        *word = *word & !(1 << bit) | (u64::from(object) << bit);
        self.depth += 1;
        true
    }

    #[inline]
    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    #[inline]
    fn in_object(&self) -> bool {
        let top = self.depth.wrapping_sub(1);
        self.bits.get(top / 64).is_some_and(|word| word >> (top % 64) & 1 == 1)
    }
}
