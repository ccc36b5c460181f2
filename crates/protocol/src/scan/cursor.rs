use std::borrow::Cow;
use std::ops::Range;

use super::{MAX_DEPTH, Nesting, ScanError, is_blank, plain_end};
use crate::raw::unquote_bytes;

/// Walks a whole text once, checking all it passes. The encoding is the caller's to check.
///
/// ```text
/// cursor.enter()?;
/// while let Some(key) = cursor.next_key(first)? { cursor.value()?; }
/// cursor.end()?;
/// ```
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// How many containers were entered and not left.
    depth: usize,
}

/// Where a key stands, with its quotes.
pub(crate) struct Key {
    pub(crate) place: Range<usize>,
    has_escapes: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> &'a [u8] {
        self.text.get(range).unwrap_or_default()
    }

    pub(crate) fn skip_blank(&mut self) {
        self.at = skip_blank(self.text, self.at);
    }

    /// Checks that only whitespace follows.
    pub(crate) fn end(&mut self) -> Result<(), ScanError> {
        self.skip_blank();
        if self.at == self.text.len() { Ok(()) } else { wrong(self.at) }
    }

    /// Steps into the object or array that opens here.
    pub(crate) fn enter(&mut self) -> Result<(), ScanError> {
        if self.depth == MAX_DEPTH {
            return Err(ScanError::TooDeep { at: self.at });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Returns the next key with its quotes and stops before its value; at the end steps out of the object.
    #[inline]
    pub(crate) fn next_key(&mut self, first: bool) -> Result<Option<Key>, ScanError> {
        if !self.next_item(first, b'}')? {
            return Ok(None);
        }
        let key;
        (key, self.at) = self::key(self.text, self.at)?;
        Ok(Some(key))
    }

    /// Returns what a key says.
    #[inline(always)]
    pub(crate) fn name(&self, key: &Key) -> Cow<'a, [u8]> {
        // Called once per key of every message, and most keys are plain.
        let quoted = self.slice(key.place.clone());
        match quoted {
            [_, plain @ .., _] if !key.has_escapes => Cow::Borrowed(plain),
            _ => unquote_bytes(quoted),
        }
    }

    /// Stops before the next element; at the end steps out of the array and returns false.
    pub(crate) fn next_element(&mut self, first: bool) -> Result<bool, ScanError> {
        self.next_item(first, b']')
    }

    /// Passes one value, however deep.
    pub(crate) fn value(&mut self) -> Result<(), ScanError> {
        self.at = match byte(self.text, self.at)? {
            b'{' | b'[' => container(self.text, self.at, self.depth)?,
            first => scalar(self.text, self.at, first)?,
        };
        Ok(())
    }

    fn next_item(&mut self, first: bool, close: u8) -> Result<bool, ScanError> {
        self.skip_blank();
        match byte(self.text, self.at)? {
            byte if byte == close => {
                self.at += 1;
                self.depth -= 1;
                return Ok(false);
            }
            _ if first => {}
            b',' => self.at = skip_blank(self.text, self.at + 1),
            _ => return wrong(self.at),
        }
        Ok(true)
    }
}

// Each of these starts at `at` and returns where the thing ended.

fn container(text: &[u8], mut at: usize, depth: usize) -> Result<usize, ScanError> {
    let mut open = Nesting::new();
    loop {
        // Here a value starts.
        match byte(text, at)? {
            bracket @ (b'{' | b'[') => {
                let object = bracket == b'{';
                if depth + open.depth >= MAX_DEPTH || !open.push(object) {
                    return Err(ScanError::TooDeep { at });
                }
                at = skip_blank(text, at + 1);
                // An ASCII closing bracket is its opening one plus two.
                if byte(text, at)? != bracket + 2 {
                    if object {
                        (_, at) = key(text, at)?;
                    }
                    continue;
                }
                at += 1;
                open.pop();
            }
            first => at = scalar(text, at, first)?,
        }
        // Here one has ended, and perhaps with it those around it.
        loop {
            if open.depth == 0 {
                return Ok(at);
            }
            at = skip_blank(text, at);
            match (byte(text, at)?, open.in_object()) {
                (b',', object) => {
                    at = skip_blank(text, at + 1);
                    if object {
                        (_, at) = key(text, at)?;
                    }
                    break;
                }
                (b'}', true) | (b']', false) => {
                    at += 1;
                    open.pop();
                }
                _ => return wrong(at),
            }
        }
    }
}

/// Passes a key, its colon and the whitespace around that; returns the key and where all of it ended.
#[inline]
fn key(text: &[u8], start: usize) -> Result<(Key, usize), ScanError> {
    if byte(text, start)? != b'"' {
        return wrong(start);
    }
    let plain = plain_end(text, start + 1);
    let has_escapes = text.get(plain) != Some(&b'"');
    let end = if has_escapes { rest_of_string(text, plain)? } else { plain + 1 };
    let at = skip_blank(text, end);
    if byte(text, at)? != b':' {
        return wrong(at);
    }
    Ok((Key { place: start..end, has_escapes }, skip_blank(text, at + 1)))
}

#[inline]
fn scalar(text: &[u8], at: usize, first: u8) -> Result<usize, ScanError> {
    match first {
        b'"' => string(text, at),
        b'-' | b'0'..=b'9' => number(text, at),
        b't' => literal(text, at, b"true"),
        b'f' => literal(text, at, b"false"),
        b'n' => literal(text, at, b"null"),
        _ => wrong(at),
    }
}

fn literal(text: &[u8], at: usize, word: &[u8]) -> Result<usize, ScanError> {
    for (at, &expected) in (at..).zip(word) {
        if byte(text, at)? != expected {
            return wrong(at);
        }
    }
    Ok(at + word.len())
}

#[inline]
fn string(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let at = plain_end(text, at + 1);
    match text.get(at) {
        Some(b'"') => Ok(at + 1),
        _ => rest_of_string(text, at),
    }
}

/// Goes on with a string that has more than plain bytes.
#[inline(never)]
fn rest_of_string(text: &[u8], mut at: usize) -> Result<usize, ScanError> {
    loop {
        match byte(text, at)? {
            b'"' => return Ok(at + 1),
            b'\\' => at = escape(text, at)?,
            _ => return wrong(at),
        }
        at = plain_end(text, at);
    }
}

/// Which bytes after a backslash end the escape: asked once per line of any text, so by a table.
const IS_SHORT_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut letters: &[u8] = b"\"\\/bfnrt";
    while let [letter, rest @ ..] = letters {
        table[*letter as usize] = true;
        letters = rest;
    }
    table
};

#[inline]
fn escape(text: &[u8], at: usize) -> Result<usize, ScanError> {
    match byte(text, at + 1)? {
        letter if IS_SHORT_ESCAPE[usize::from(letter)] => Ok(at + 2),
        // Half of a surrogate pair is ASCII here, and whoever wants text of it must judge it (F7, M12).
        b'u' => hex_end(text, at + 2),
        _ => wrong(at + 1),
    }
}

/// Passes four hex digits.
fn hex_end(text: &[u8], at: usize) -> Result<usize, ScanError> {
    for at in at..at + 4 {
        if !byte(text, at)?.is_ascii_hexdigit() {
            return wrong(at);
        }
    }
    Ok(at + 4)
}

fn number(text: &[u8], mut at: usize) -> Result<usize, ScanError> {
    if byte(text, at)? == b'-' {
        at += 1;
    }
    at = if byte(text, at)? == b'0' { at + 1 } else { digits(text, at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let signed = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = digits(text, at + 1 + usize::from(signed))?;
    }
    Ok(at)
}

fn digits(text: &[u8], mut at: usize) -> Result<usize, ScanError> {
    if !byte(text, at)?.is_ascii_digit() {
        return wrong(at);
    }
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    Ok(at)
}

#[inline]
fn skip_blank(text: &[u8], at: usize) -> usize {
    // Few write any.
    if text.get(at).is_some_and(|&byte| is_blank(byte)) { blank_end(text, at) } else { at }
}

#[inline(never)]
fn blank_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

#[inline]
fn byte(text: &[u8], at: usize) -> Result<u8, ScanError> {
    text.get(at).copied().ok_or(ScanError::Unfinished)
}

fn wrong<T>(at: usize) -> Result<T, ScanError> {
    Err(ScanError::Syntax { at })
}
