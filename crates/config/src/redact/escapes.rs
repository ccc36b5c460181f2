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

/// Returns what the first byte may be of what a text begins with, escaped or not; each once. There are few, so that a flood
/// of escapes costs no more than other text.
pub(super) fn first_bytes(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut found = [0; 2 + 2 * MAX_DEPTH];
    let mut count = 0;
    let mut note = |byte: u8| {
        if count < found.len() && !found[..count].contains(&byte) {
            found[count] = byte;
            count += 1;
        }
    };
    if let Some(first) = text.first() {
        note(*first);
    }
    match text {
        [b'\\', ..] => {
            let run = backslashes(text);
            let rest = &text[run..];
            rest.first().into_iter().for_each(|byte| note(*byte));
            match rest {
                [b'n', ..] => note(b'\n'),
                [b'r', ..] => note(b'\r'),
                [b't', ..] => note(b'\t'),
                [b'b', ..] => note(b'\x08'),
                [b'f', ..] => note(b'\x0c'),
                [b'u', digits @ ..] => {
                    let unit = digits.get(..4).and_then(|digits| number(digits, 16));
                    match unit {
                        Some(0xd800..=0xdbff) => (0xf0..=0xf4).for_each(note),
                        unit => unit.and_then(lead).into_iter().for_each(note),
                    }
                }
                [b'x', ..] => byte_at(rest, 1).into_iter().for_each(note),
                _ => {}
            }
        }
        [b'%', ..] => {
            for digits in (1..).step_by(2).take(MAX_DEPTH + 1) {
                byte_at(text, digits).into_iter().for_each(&mut note);
                if text.get(digits..digits + 2) != Some(b"25") {
                    break;
                }
            }
        }
        [b'&', rest @ ..] => {
            let mut rest = rest;
            for _ in 0..=MAX_DEPTH {
                let named = NAMES.iter().find(|(_, name)| rest.starts_with(name)).map(|(c, _)| *c as u8);
                named
                    .or_else(|| numeric(rest).and_then(|(code, _)| lead(code)))
                    .into_iter()
                    .for_each(&mut note);
                let Some(within) = rest.strip_prefix(b"amp;") else { break };
                rest = within;
            }
        }
        _ => {}
    }
    found.into_iter().take(count)
}

/// Returns the first byte of a character.
fn lead(code: u32) -> Option<u8> {
    char::from_u32(code).map(|c| c.encode_utf8(&mut [0; 4]).as_bytes()[0])
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
    // Most differ here, and cost no more than the look.
    if let (Some(wanted), Some(found)) = (value.as_bytes().get(same), text.get(same))
        && wanted != found
        && !is_mark(*found)
        && *found != b'+'
    {
        return Walk::default();
    }
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
fn push_ends(text: &[u8], at: usize, c: char, ends: &mut Vec<usize>) {
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
            for depth in 1..=backslashes(rest) {
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
    let run = backslashes(&text[at..]);
    if run > 0 && text.get(at + run) == Some(&b'x') && is_byte(text, at + run + 1, byte) {
        ends.push(at + run + 3);
    }
}

fn is_byte(text: &[u8], at: usize, byte: u8) -> bool {
    byte_at(text, at) == Some(byte)
}

/// Returns the byte that two digits stand for.
fn byte_at(text: &[u8], at: usize) -> Option<u8> {
    text.get(at..at + 2).and_then(|digits| number(digits, 16)).and_then(|value| u8::try_from(value).ok())
}

/// Returns how many backslashes there are, up to as many as are followed.
fn backslashes(text: &[u8]) -> usize {
    text.iter().take(2 * MAX_DEPTH).take_while(|byte| **byte == b'\\').count()
}

const NAMES: [(char, &[u8]); 5] =
    [('&', b"amp;"), ('<', b"lt;"), ('>', b"gt;"), ('"', b"quot;"), ('\'', b"apos;")];

/// `&lt;`, `&#60;`, `&#x3c;`, and `&amp;lt;` where that was put into another page.
fn push_entities(text: &[u8], mut at: usize, c: char, ends: &mut Vec<usize>) {
    let name = NAMES.iter().find(|(named, _)| *named == c).map(|(_, name)| *name);
    for _ in 0..=MAX_DEPTH {
        let rest = &text[at..];
        if let Some(name) = name.filter(|name| rest.starts_with(name)) {
            ends.push(at + name.len());
        }
        if let Some((_, length)) = numeric(rest).filter(|(code, _)| *code == u32::from(c)) {
            ends.push(at + length);
        }
        if !rest.starts_with(b"amp;") {
            return;
        }
        at += 4;
    }
}

/// Returns what `#60;` or `#x3c;` stands for, and its length.
fn numeric(rest: &[u8]) -> Option<(u32, usize)> {
    let digits = rest.strip_prefix(b"#")?;
    let end = digits.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let code = match &digits[..end] {
        [b'x' | b'X', digits @ ..] => number(digits, 16),
        digits => number(digits, 10),
    };
    Some((code?, end + 2))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    // A sign would be read as well.
    let digits =
        std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, radix).ok()
}
