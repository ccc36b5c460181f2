//! Id and method of a request at a glance, where it is written as nearly all are. The daemon reads it whole, and judges it.

use std::ops::Range;

use memchr::memchr2;

#[cfg(test)]
mod tests;

/// Numbers of so many digits are the same to everybody.
const MAX_DIGITS: usize = 15;

/// A request that was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Glance<'m> {
    /// Where its id is written.
    pub(crate) id: Range<usize>,
    pub(crate) method: &'m [u8],
}

/// Looks at a message. None where it is no plain request in one piece: then it must be read.
pub(crate) fn glance(message: &[u8]) -> Option<Glance<'_>> {
    let mut rest = past_blanks(message.strip_prefix(b"{")?);
    let (mut id, mut method, mut seen) = (None, None, 0_u8);
    loop {
        let (key, after) = plain_string(rest)?;
        let value = past_blanks(past_blanks(after).strip_prefix(b":")?);
        let (bit, after) = match key {
            b"jsonrpc" => (1, value.strip_prefix(b"\"2.0\"")?),
            b"id" => {
                let after = past_id(value)?;
                let place = message.len() - value.len()..message.len() - after.len();
                id = Some(place);
                (2, after)
            }
            b"method" => {
                let (name, after) = plain_string(value)?;
                method = Some(name);
                (4, after)
            }
            b"params" => (8, past_object(value)?),
            _ => return None,
        };
        if seen & bit != 0 {
            return None;
        }
        seen |= bit;
        match past_blanks(after) {
            b"}" => break,
            [b',', more @ ..] => rest = past_blanks(more),
            _ => return None,
        }
    }
    Some(Glance { id: id?, method: method? })
}

/// Returns what follows the blanks that many put behind colons and commas.
fn past_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

/// Returns what a string says that has no escapes, and what follows it.
fn plain_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = text.strip_prefix(b"\"")?;
    let end = memchr2(b'"', b'\\', inside)?;
    match inside.split_at_checked(end)? {
        (said, [b'"', rest @ ..]) => Some((said, rest)),
        _ => None,
    }
}

/// Returns what follows an id of digits, or of plain text.
fn past_id(text: &[u8]) -> Option<&[u8]> {
    if text.first() == Some(&b'"') {
        let (said, rest) = plain_string(text)?;
        let is_plain = said.iter().all(|byte| matches!(byte, b' '..=b'~'));
        return is_plain.then_some(rest);
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = digits == 1 || (2..=MAX_DIGITS).contains(&digits) && text.first() != Some(&b'0');
    text.get(digits..).filter(|_| is_number)
}

/// Returns what follows an object, told by its brackets alone.
fn past_object(text: &[u8]) -> Option<&[u8]> {
    if text.first() != Some(&b'{') {
        return None;
    }
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => at = string_end(text, at + 1)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return text.get(at + 1..);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns where the quote is that ends a string.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}
