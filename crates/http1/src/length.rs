//! Where the body of a message ends, by what its head says: one rule for both legs (RFC 9112, 6).

use crate::Malformed;

/// A longer number is no length of anything.
const MAX_DIGITS: usize = 18;

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Known(usize),
    Chunked,
    /// It ends with the connection.
    Open,
}

/// What a head says of its body and its connection.
#[derive(Default)]
pub(crate) struct Claims<'t> {
    length: Option<&'t [u8]>,
    lengths: usize,
    is_chunked: bool,
    says_close: bool,
    says_keep_alive: bool,
}

impl<'t> Claims<'t> {
    /// Takes note of a header, if it says anything of this.
    pub(crate) fn note(&mut self, name: &str, value: &'t [u8]) -> Result<(), Malformed> {
        // By the length of the name first: most headers are none of these.
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                self.says_close |= lists(value, b"close");
                self.says_keep_alive |= lists(value, b"keep-alive");
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                if self.length.is_some_and(|other| other != value) {
                    return Err(Malformed::Length);
                }
                self.length = Some(value);
                self.lengths += 1;
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Malformed::Coding);
                }
                self.is_chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns how long the body is, if that is said: by a length or by chunks, which HTTP/1.0 has not.
    pub(crate) fn body(&self, is_1_1: bool) -> Result<Option<Length>, Malformed> {
        match (self.is_chunked, self.length) {
            (true, None) if is_1_1 => Ok(Some(Length::Chunked)),
            (true, _) => Err(Malformed::Length),
            (false, Some(text)) => {
                decimal(text).map(|bytes| Some(Length::Known(bytes))).ok_or(Malformed::Length)
            }
            (false, None) => Ok(None),
        }
    }

    /// Returns the one length that is said.
    pub(crate) fn only_length(&self) -> Option<&'t [u8]> {
        self.length.filter(|_| self.lengths == 1)
    }

    /// Returns whether another message may follow.
    pub(crate) fn keeps_alive(&self, is_1_1: bool) -> bool {
        !self.says_close && (is_1_1 || self.says_keep_alive)
    }
}

/// Reads a length: digits, and nothing else.
pub(crate) fn decimal(text: &[u8]) -> Option<usize> {
    if !(1..=MAX_DIGITS).contains(&text.len()) || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn lists(value: &[u8], wanted: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|word| word.trim_ascii().eq_ignore_ascii_case(wanted))
}
