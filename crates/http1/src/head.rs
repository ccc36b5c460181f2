//! What the heads of requests and of answers have in common: their limits, and how their lines end.

use std::ops::Range;

use httparse::{Error, Header, Status};
use memchr::memmem;

use crate::Malformed;

/// The longest head we read.
pub const MAX_HEAD_BYTES: usize = 64 << 10;
pub(crate) const MAX_HEADERS: usize = 100;

/// Returns whether it is worth reading a head of which so much was searched before, in vain.
pub(crate) fn may_be_whole(text: &[u8], searched: usize) -> Result<bool, Malformed> {
    let new = &text[searched.saturating_sub(3)..];
    if searched == 0 || memmem::find(new, b"\n\r\n").is_some() || memmem::find(new, b"\n\n").is_some() {
        return Ok(true);
    }
    if text.len() > MAX_HEAD_BYTES { Err(Malformed::TooLarge) } else { Ok(false) }
}

/// Returns the text of a head that httparse has read; `None` if it has not come whole.
pub(crate) fn text_of(parsed: httparse::Result<usize>, input: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    match parsed {
        Ok(Status::Complete(size)) if size <= MAX_HEAD_BYTES => Ok(Some(&input[..size])),
        Ok(Status::Partial) if input.len() <= MAX_HEAD_BYTES => Ok(None),
        Ok(_) | Err(Error::TooManyHeaders) => Err(Malformed::TooLarge),
        Err(_) => Err(Malformed::Head),
    }
}

/// Refuses a head with a line that a bare LF ends: httparse takes it for the end, others may not (M5). Between the
/// lines of two headers there is nothing else, so that looking before each name is looking at each line.
pub(crate) fn check_line_ends(text: &[u8], headers: &[Header<'_>]) -> Result<(), Malformed> {
    let ends_well = |header: &Header<'_>| {
        let name = place(text, header.name.as_bytes());
        text[..name.start].ends_with(b"\r\n")
    };
    let all = headers.iter().all(ends_well) && text.ends_with(b"\r\n\r\n");
    all.then_some(()).ok_or(Malformed::Head)
}

/// Returns where in a text a part of it is.
pub(crate) fn place(text: &[u8], part: &[u8]) -> Range<usize> {
    let begin = part.as_ptr() as usize - text.as_ptr() as usize;
    begin..begin + part.len()
}
