//! JSON values kept as their own bytes.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

use crate::scan::{self, Cursor, ScanError};

mod array;
mod cuts;
mod object;
#[cfg(test)]
mod tests;
mod text;

pub use array::RawArray;
pub(crate) use cuts::Cuts;
pub use object::RawObject;
pub(crate) use text::unquote_bytes;
use text::{mended, unquote, unquote_lossy};

/// How many members or elements are listed at most; anything larger counts as none of ours.
pub const MAX_ITEMS: usize = 65_536;

/// A complete, valid JSON value as its own bytes. Cheap to clone; never re-serialised.
///
/// It keeps the message it is a slice of alive: use [`Raw::detached`] for what is to outlive it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Bytes);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Raw {
    /// Checks `text` and drops the whitespace around it.
    pub fn parse(text: impl Into<Bytes>) -> Result<Raw, ScanError> {
        let text = text.into();
        let span = scan::value_span(&text)?;
        Ok(Raw(text.slice(span)))
    }

    /// Takes a literal of our own code, which must be JSON.
    pub fn from_static(text: &'static str) -> Raw {
        debug_assert_eq!(scan::validate(text.as_bytes()), Ok(()), "{text}");
        Raw(Bytes::from_static(text.as_bytes()))
    }

    pub fn string(text: &str) -> Raw {
        if scan::plain_end(text.as_bytes(), 0) < text.len() {
            return Raw::serialize(text);
        }
        let mut quoted = BytesMut::with_capacity(text.len() + 2);
        quoted.put_u8(b'"');
        quoted.put_slice(text.as_bytes());
        quoted.put_u8(b'"');
        Raw(quoted.freeze())
    }

    pub fn number(number: u64) -> Raw {
        Raw(Bytes::from(number.to_string()))
    }

    pub fn boolean(value: bool) -> Raw {
        Raw::from_static(if value { "true" } else { "false" })
    }

    pub fn null() -> Raw {
        Raw::from_static("null")
    }

    /// Writes one of our own small messages; what cannot be written becomes null.
    pub fn serialize<T: Serialize + ?Sized>(value: &T) -> Raw {
        match serde_json::to_vec(value) {
            Ok(text) => Raw(Bytes::from(text)),
            Err(_) => Raw::null(),
        }
    }

    pub fn array(items: &[Raw]) -> Raw {
        let mut array = RawArray::new();
        array.reserve(items.iter().map(|item| item.0.len() + 1).sum());
        items.iter().for_each(|item| array.push(item));
        array.into_raw()
    }

    /// Takes bytes known to be one valid value.
    pub(crate) fn trusted(text: Bytes) -> Raw {
        debug_assert_eq!(scan::validate(&text), Ok(()));
        Raw(text)
    }

    /// Adds a member, given as the pieces of its text, behind all others of an object.
    pub(crate) fn appended(&self, member: &[&[u8]]) -> Raw {
        let whole: &[u8] = if self.kind() == Kind::Object { &self.0 } else { b"{}" };
        let (inner, close) = whole.split_at(inner_end(whole));
        let size: usize = member.iter().map(|piece| piece.len()).sum();
        let mut text = BytesMut::with_capacity(whole.len() + size + 1);
        text.put_slice(inner);
        if inner.len() > 1 {
            text.put_u8(b',');
        }
        member.iter().for_each(|piece| text.put_slice(piece));
        text.put_slice(close);
        Raw::trusted(text.freeze())
    }

    /// Returns whether a key could be spelled otherwise than it reads.
    pub(crate) fn has_escapes(&self) -> bool {
        memchr::memmem::find(&self.0, b"\\u").is_some()
    }

    /// Walks through an object's members, or the elements of an array.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.0)
    }

    /// Returns where an object's members end; what stands before the closing bracket stays there.
    pub(crate) fn inner_end(&self) -> usize {
        inner_end(&self.0)
    }

    pub(crate) fn text(&self) -> &Bytes {
        &self.0
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text; checks its encoding anew, so large values go by [`Raw::as_bytes`].
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub fn bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// Returns a copy that shares no memory with the message it came in.
    pub fn detached(&self) -> Raw {
        Raw(Bytes::copy_from_slice(&self.0))
    }

    pub fn kind(&self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Returns the decoded text of a string; none if half of a surrogate pair keeps it from being text.
    pub fn to_text(&self) -> Option<Cow<'_, str>> {
        if self.kind() == Kind::String { unquote(&self.0) } else { None }
    }

    /// Returns the text of a string for people to read, with U+FFFD for what is no text. Never to decide or look up by.
    pub fn to_lossy_text(&self) -> Option<Cow<'_, str>> {
        (self.kind() == Kind::String).then(|| unquote_lossy(&self.0))
    }

    /// Returns what a string says, for comparing: text or not, different strings differ.
    pub fn to_decoded(&self) -> Option<Cow<'_, [u8]>> {
        (self.kind() == Kind::String).then(|| unquote_bytes(&self.0))
    }

    /// Returns the JSON with U+FFFD for what is no text, for readers that take nothing else.
    pub fn mended(&self) -> Cow<'_, [u8]> {
        mended(&self.0)
    }

    /// Puts text before that of a string, whose own spelling stays.
    pub fn prefixed(&self, prefix: &str) -> Raw {
        let own = if self.kind() == Kind::String { &self.0[1..] } else { &b"\""[..] };
        let prefix = Raw::string(prefix);
        let head = prefix.0.strip_suffix(b"\"").unwrap_or_default();
        Raw::trusted([head, own].concat().into())
    }

    /// Returns a number that is spelled in digits alone.
    pub fn u64(&self) -> Option<u64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.0.iter().try_fold(0_u64, |number, byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        })
    }

    pub fn bool(&self) -> Option<bool> {
        match self.as_bytes() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    pub fn object(&self) -> Option<RawObject> {
        RawObject::parse(self)
    }

    /// Returns the elements of an array, as slices of it.
    pub fn elements(&self) -> Option<Vec<Raw>> {
        if self.kind() != Kind::Array {
            return None;
        }
        let mut cursor = Cursor::new(&self.0);
        let mut elements = Vec::new();
        cursor.enter().ok()?;
        while cursor.next_element(elements.is_empty()).ok()? {
            if elements.len() == MAX_ITEMS {
                return None;
            }
            let start = cursor.at();
            cursor.value().ok()?;
            elements.push(self.slice(start..cursor.at()));
        }
        Some(elements)
    }

    /// Returns the element of an array that stands at this place, as [`RawArray::end`] told it.
    pub fn element_at(&self, place: Range<usize>) -> Raw {
        self.slice(place)
    }

    /// Returns a member of an object, the first of that name. For several members take [`Raw::object`].
    pub fn get(&self, key: &str) -> Option<Raw> {
        self.find(key).map(|place| self.slice(place))
    }

    /// Returns where the value of that member stands.
    pub(crate) fn find(&self, key: &str) -> Option<Range<usize>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let mut cursor = Cursor::new(&self.0);
        cursor.enter().ok()?;
        let mut first = true;
        while let Some(found) = cursor.next_key(first).ok()? {
            first = false;
            let start = cursor.at();
            cursor.value().ok()?;
            if *cursor.name(&found) == *key.as_bytes() {
                return Some(start..cursor.at());
            }
        }
        None
    }

    /// Returns the same text with another value in this place, where one stands.
    pub(crate) fn replaced(&self, place: Range<usize>, value: &Raw) -> Raw {
        let (Some(before), Some(after)) = (self.0.get(..place.start), self.0.get(place.end..)) else {
            return self.clone();
        };
        let mut text = BytesMut::with_capacity(before.len() + value.0.len() + after.len());
        text.put_slice(before);
        text.put_slice(&value.0);
        text.put_slice(after);
        Raw::trusted(text.freeze())
    }

    pub fn path(&self, keys: &[&str]) -> Option<Raw> {
        keys.iter().try_fold(self.clone(), |value, key| value.get(key))
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> Raw {
        Raw(self.0.slice(range))
    }
}

fn inner_end(object: &[u8]) -> usize {
    let blanks = object.iter().rev().skip(1).take_while(|byte| scan::is_blank(**byte)).count();
    object.len() - 1 - blanks
}

/// Returns whether a valid JSON string, given with its quotes, is that text.
#[inline]
fn spells(quoted: &[u8], text: &str) -> bool {
    match (quoted.get(1), text.as_bytes().first()) {
        // Most differ in their first letter, which only an escape could hide.
        (Some(one), Some(other)) if one != other && *one != b'\\' => false,
        _ => *unquote_bytes(quoted) == *text.as_bytes(),
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.as_str();
        match text.char_indices().nth(200) {
            None => f.write_str(text),
            Some((cut, _)) => write!(f, "{}…", text.get(..cut).unwrap_or_default()),
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
