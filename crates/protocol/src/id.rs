//! Request ids, echoed as they were spelled.

use std::fmt;
use std::sync::Arc;

use bytes::{BufMut, Bytes};

use crate::raw::{Kind, Raw};

#[cfg(test)]
mod tests;

/// A JSON string or number as spelled; `1`, `1.0` and `"1"` differ.
///
/// It holds no part of the message it came in, so a waiting call does not keep its buffer alive.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Spelling);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Spelling {
    /// Plain digits. JSON allows no leading zero, so the number is its spelling.
    Digits(u64),
    Other(Arc<str>),
}

impl Id {
    pub fn number(number: u64) -> Id {
        Id(Spelling::Digits(number))
    }

    pub fn from_raw(raw: &Raw) -> Option<Id> {
        match raw.kind() {
            Kind::Number => Some(Id(match raw.u64() {
                Some(number) => Spelling::Digits(number),
                None => Spelling::Other(raw.as_str().into()),
            })),
            Kind::String => Some(Id(Spelling::Other(raw.as_str().into()))),
            _ => None,
        }
    }

    /// Returns the number if it is spelled in digits alone.
    pub fn as_u64(&self) -> Option<u64> {
        match self.0 {
            Spelling::Digits(number) => Some(number),
            Spelling::Other(_) => None,
        }
    }

    pub fn to_raw(&self) -> Raw {
        match &self.0 {
            Spelling::Digits(number) => Raw::number(*number),
            Spelling::Other(text) => Raw::trusted(Bytes::copy_from_slice(text.as_bytes())),
        }
    }

    pub(crate) fn write(&self, out: &mut impl BufMut) {
        match &self.0 {
            Spelling::Digits(number) => put_decimal(*number, out),
            Spelling::Other(text) => out.put_slice(text.as_bytes()),
        }
    }

    /// Returns how many bytes [`Id::write`] needs at most.
    pub(crate) fn max_len(&self) -> usize {
        match &self.0 {
            Spelling::Digits(_) => 20,
            Spelling::Other(text) => text.len(),
        }
    }
}

/// Writes a number, as `write!` would at several times the cost.
pub fn put_decimal(mut number: u64, out: &mut impl BufMut) {
    let mut digits = [0; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    out.put_slice(digits.get(20 - used..).unwrap_or_default());
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Spelling::Digits(number) => number.fmt(f),
            Spelling::Other(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
