//! What a JSON string says. Its escapes may hold half of a surrogate pair, which is JSON and no text: such a string passes
//! as it came, and only who must read it refuses it (F7, M12).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

// Each of these takes a valid JSON string with its quotes, and copies only if it has escapes.

/// Returns the text, or none if there is half of a pair in it.
pub(super) fn unquote(quoted: &[u8]) -> Option<Cow<'_, str>> {
    match plain(quoted) {
        Some(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
        None => serde_json::from_slice(quoted).ok().map(Cow::Owned),
    }
}

/// Returns the text for people to read: half of a pair is U+FFFD.
pub(super) fn unquote_lossy(quoted: &[u8]) -> Cow<'_, str> {
    match plain(quoted) {
        Some(text) => String::from_utf8_lossy(text),
        None => Cow::Owned(serde_json::from_slice(&mended(quoted)).unwrap_or_default()),
    }
}

/// Returns the text for comparing: half of a pair is as UTF-8 would write it, so that what differs still does.
#[inline]
pub(crate) fn unquote_bytes(quoted: &[u8]) -> Cow<'_, [u8]> {
    match plain(quoted) {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(serde_json::from_slice(quoted).map_or_else(|_| Vec::new(), |Decoded(text)| text)),
    }
}

/// Returns what is between the quotes if that is what it says.
#[inline]
fn plain(quoted: &[u8]) -> Option<&[u8]> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    (!inner.contains(&b'\\')).then_some(inner)
}

/// Returns JSON with U+FFFD in the place of each half of a pair, for readers that take none. It is as long as before.
pub(super) fn mended(json: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Cow::Borrowed(json);
    let mut at = 0;
    // A backslash stands in strings only.
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match (unit(json, at), unit(json, at + 6)) {
            (None, _) => 2,
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                if let Some(digits) = mended.to_mut().get_mut(at + 2..at + 6) {
                    digits.copy_from_slice(b"fffd");
                }
                6
            }
            (Some(_), _) => 6,
        };
    }
    mended
}

/// Returns the number in the `\uXXXX` that stands here, if one does.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The bytes of a string, as serde_json gives them to who does not ask for text.
struct Decoded(Vec<u8>);

impl<'de> Deserialize<'de> for Decoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Decoded;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Decoded, E> {
                Ok(Decoded(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
