//! Finds a value where any of its characters may be written as an escape: of JSON, of an address, of HTML. Encoders differ
//! in which characters they escape, so no list of forms could hold them all.

/// Escapes within escapes are followed this deep.
const MAX_DEPTH: usize = 4;
/// No escape is longer, unless it is one within another.
pub(super) const LONGEST: usize = 12;

/// How far a text goes along with a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Walk {
    /// Where the value ends, if the text has all of it.
    pub(super) end: Option<usize>,
    /// The text ends before the value does, and may have gone on with it.
    pub(super) is_cut: bool,
}

/// Returns whether a text has anything that begins an escape.
pub(super) fn may_have_escapes(text: &str) -> bool {
    memchr::memchr3(b'\\', b'%', b'&', text.as_bytes()).is_some()
}

/// Returns whether an escape may begin with this byte.
pub(super) fn is_mark(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&')
}

/// Follows a value from the beginning of a text.
pub(super) fn walk(text: &[u8], value: &str) -> Walk {
    // As far as the value stands there as it is, there is but one way.
    let is_plain = |(at, c): &(usize, char)| {
        let end = at + c.len_utf8();
        !c.is_ascii_punctuation() && text.get(*at..end) == Some(&value.as_bytes()[*at..end])
    };
    let same = value.char_indices().find(|one| !is_plain(one)).map_or(value.len(), |(at, _)| at);
    let (mut ends, mut next, mut is_cut) = (vec![same], Vec::new(), false);
    for c in value[same..].chars() {
        for at in ends.drain(..) {
            is_cut |= at > 0 && may_go_on(&text[at..]);
            push_ends(text, at, c, &mut next);
        }
        next.sort_unstable();
        next.dedup();
        std::mem::swap(&mut ends, &mut next);
        if ends.is_empty() {
            break;
        }
    }
    Walk { end: ends.last().copied(), is_cut }
}

/// Returns whether nothing follows, or an escape that is not whole.
fn may_go_on(rest: &[u8]) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match rest {
        [] => true,
        [b'\\', ..] => {
            let run = rest.iter().take_while(|byte| **byte == b'\\').count();
            match &rest[run..] {
                [] => true,
                // The first half of a pair.
                [b'u', b'd' | b'D', ..] => rest.len() < LONGEST + run,
                [b'u', digits @ ..] => digits.len() < 4 && is_hex(digits),
                [b'x', digits @ ..] => digits.len() < 2 && is_hex(digits),
                _ => false,
            }
        }
        [b'%', digits @ ..] => {
            let mut digits = digits;
            while let [b'2', b'5', more @ ..] = digits {
                digits = more;
            }
            digits.len() < 2 && is_hex(digits)
        }
        [b'&', name @ ..] => {
            name.len() < LONGEST
                && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"#;".contains(byte))
        }
        _ => false,
    }
}

/// Adds where a character ends that may begin here, in any spelling.
pub(super) fn push_ends(text: &[u8], at: usize, c: char, ends: &mut Vec<usize>) {
    let mut buffer = [0; 4];
    let literal = c.encode_utf8(&mut buffer).as_bytes();
    let rest = &text[at..];
    if rest.starts_with(literal) {
        ends.push(at + literal.len());
    }
    match rest.first() {
        Some(b'+') if c == ' ' => ends.push(at + 1),
        Some(b'%') => push_bytes(text, at, literal, percent_ends, ends),
        Some(b'&') => push_entities(text, at + 1, c, ends),
        Some(b'\\') => {
            push_bytes(text, at, literal, hex_ends, ends);
            let run = rest.iter().take_while(|byte| **byte == b'\\').take(2 * MAX_DEPTH).count();
            for depth in 1..=run {
                push_backslashed(text, at + depth, depth, c, ends);
            }
        }
        _ => {}
    }
}

/// `\"`, `\/`, `\n`, `\u0026`, also with more backslashes where a text was quoted more than once.
fn push_backslashed(text: &[u8], at: usize, depth: usize, c: char, ends: &mut Vec<usize>) {
    let rest = &text[at..];
    let mut buffer = [0; 4];
    let literal = c.encode_utf8(&mut buffer).as_bytes();
    if rest.starts_with(literal) {
        ends.push(at + literal.len());
    }
    let short = match c {
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => b'u',
    };
    if short != b'u' && rest.first() == Some(&short) {
        ends.push(at + 1);
    }
    let mut units = [0; 2];
    let mut end = at;
    for (nth, unit) in c.encode_utf16(&mut units).iter().enumerate() {
        let slashes = if nth == 0 { 0 } else { depth };
        let Some(tail) = text.get(end..).filter(|tail| tail.len() >= slashes + 5) else { return };
        let is_it = tail[..slashes].iter().all(|byte| *byte == b'\\')
            && tail[slashes] == b'u'
            && number(&tail[slashes + 1..slashes + 5], 16) == Some(u32::from(*unit));
        if !is_it {
            return;
        }
        end += slashes + 5;
    }
    ends.push(end);
}

/// Adds where the bytes of a character end, each an escape of its own.
fn push_bytes(
    text: &[u8],
    at: usize,
    bytes: &[u8],
    escape: fn(&[u8], usize, u8, &mut Vec<usize>),
    ends: &mut Vec<usize>,
) {
    let mut here = vec![at];
    for byte in bytes {
        let mut next = Vec::new();
        here.iter().for_each(|at| escape(text, *at, *byte, &mut next));
        here = next;
    }
    ends.extend(here);
}

/// `%26`, and `%2526` where an address was put into another.
fn percent_ends(text: &[u8], at: usize, byte: u8, ends: &mut Vec<usize>) {
    if text.get(at) != Some(&b'%') {
        return;
    }
    for depth in 0..=MAX_DEPTH {
        let digits = at + 1 + 2 * depth;
        if is_byte(text, digits, byte) {
            ends.push(digits + 2);
        }
        if text.get(digits..digits + 2) != Some(b"25") {
            return;
        }
    }
}

/// `\x26`, as some write bytes.
fn hex_ends(text: &[u8], at: usize, byte: u8, ends: &mut Vec<usize>) {
    let run = text[at..].iter().take_while(|byte| **byte == b'\\').take(2 * MAX_DEPTH).count();
    if run > 0 && text.get(at + run) == Some(&b'x') && is_byte(text, at + run + 1, byte) {
        ends.push(at + run + 3);
    }
}

fn is_byte(text: &[u8], at: usize, byte: u8) -> bool {
    text.get(at..at + 2).and_then(|digits| number(digits, 16)) == Some(u32::from(byte))
}

/// `&lt;`, `&#60;`, `&#x3c;`, and `&amp;lt;` where that was put into another page.
fn push_entities(text: &[u8], mut at: usize, c: char, ends: &mut Vec<usize>) {
    let name: &[u8] = match c {
        '&' => b"amp;",
        '<' => b"lt;",
        '>' => b"gt;",
        '"' => b"quot;",
        '\'' => b"apos;",
        _ => b"#",
    };
    for _ in 0..=MAX_DEPTH {
        let rest = &text[at..];
        if c.is_ascii() && name != b"#" && rest.starts_with(name) {
            ends.push(at + name.len());
        }
        if let Some(length) = numeric_entity(rest, c) {
            ends.push(at + length);
        }
        if !rest.starts_with(b"amp;") {
            return;
        }
        at += 4;
    }
}

fn numeric_entity(rest: &[u8], c: char) -> Option<usize> {
    let digits = rest.strip_prefix(b"#")?;
    let end = digits.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let value = match &digits[..end] {
        [b'x' | b'X', digits @ ..] => number(digits, 16),
        digits => number(digits, 10),
    };
    (value == Some(u32::from(c))).then_some(end + 2)
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    // A sign would be read as well.
    let digits =
        std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, radix).ok()
}
