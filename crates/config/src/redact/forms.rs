//! What a value looks like when it is repeated in some encoding.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What is left as it is in an address: by the standard, by JavaScript's two functions, and by the kinds of client that
/// encode but what they must.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const COMPONENT: AsciiSet = UNRESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
const WHOLE: AsciiSet = COMPONENT
    .remove(b';')
    .remove(b',')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b'#');
const FORM: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*').remove(b' ');

/// Returns the value itself and what it looks like in base64, in an address and in quotes. None is shorter than the value.
pub(super) fn of(value: &str) -> BTreeSet<String> {
    let mut forms = bare(value);
    forms.extend([value.escape_debug().to_string(), in_json(value)]);
    for kept in [&UNRESERVED, &COMPONENT, &WHOLE, &FORM] {
        // Only a form leaves a space for this.
        let encoded = utf8_percent_encode(value, kept).to_string().replace(' ', "+");
        forms.insert(in_lower_case(&encoded));
        forms.insert(encoded);
    }
    forms
}

/// Returns the value itself and what it looks like in base64: what may be escaped on its way.
pub(super) fn bare(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([value.to_owned()]);
    for before in 0..3 {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.insert(in_base64(value, before, &engine));
        }
    }
    forms
}

fn in_json(value: &str) -> String {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

/// Writes `%2F` as `%2f`.
fn in_lower_case(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        written.push('%');
        written.push_str(&digits.to_ascii_lowercase());
        written.push_str(rest);
    }
    written
}

/// Encodes a value behind so many other bytes, as the password in `user:password` is, and returns what of it depends on
/// nothing else.
fn in_base64(value: &str, before: usize, engine: &impl Engine) -> String {
    let bytes = [&b"xx"[..before], value.as_bytes()].concat();
    let encoded = engine.encode(&bytes);
    let start = [0, 2, 3][before];
    let end = if bytes.len().is_multiple_of(3) { encoded.len() } else { encoded.len() - 1 };
    encoded[start..end].to_owned()
}
