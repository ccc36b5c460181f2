//! A message as it is written.

use std::ops::Range;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::framing::Framing;
use crate::raw::Raw;

/// A payload up to this size is copied between its head and tail: cheaper than three pieces.
pub(crate) const COPIED_BYTES: usize = 16 << 10;

/// A message of one line, ready to be written: in one piece, or with what is large in its payload left where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outgoing {
    first: Bytes,
    rest: Vec<Bytes>,
}

impl Outgoing {
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        self.pieces().map(Bytes::len).sum()
    }

    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Returns it in one piece, which may mean copying it.
    pub fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() {
            return self.first;
        }
        let mut whole = BytesMut::with_capacity(self.len());
        self.pieces().for_each(|piece| whole.put_slice(piece));
        whole.freeze()
    }

    /// Puts a few bytes before it.
    pub fn behind(self, head: &[u8]) -> Self {
        if self.rest.is_empty() && self.first.len() <= COPIED_BYTES {
            return Bytes::from([head, &self.first].concat()).into();
        }
        let rest = std::iter::once(self.first).chain(self.rest).collect();
        Self { first: Bytes::copy_from_slice(head), rest }
    }

    /// Replaces its pieces, by others that count somewhere while they are held.
    pub fn map(self, hold: impl Fn(Bytes) -> Bytes) -> Self {
        Self { first: hold(self.first), rest: self.rest.into_iter().map(hold).collect() }
    }
}

impl From<Bytes> for Outgoing {
    fn from(message: Bytes) -> Self {
        Self { first: message, rest: Vec::new() }
    }
}

/// Puts a message together. What is small is copied, what is large stays where it is.
#[derive(Debug)]
pub(crate) struct OutgoingBuilder {
    done: Vec<Bytes>,
    small: BytesMut,
}

impl OutgoingBuilder {
    /// Goes on behind what is written already.
    pub(crate) fn new(start: BytesMut) -> Self {
        Self { done: Vec::new(), small: start }
    }

    /// Adds our own words.
    pub(crate) fn say(&mut self, text: &[u8]) {
        self.small.put_slice(text);
    }

    /// Adds a part of a payload.
    pub(crate) fn put(&mut self, load: Bytes) {
        if load.len() <= COPIED_BYTES || has_line_end(&load) {
            let begin = self.small.len();
            self.small.put_slice(&load);
            return blank_line_ends(&mut self.small[begin..]);
        }
        if !self.small.is_empty() {
            self.done.push(self.small.split().freeze());
        }
        self.done.push(load);
    }

    /// Adds a part of a payload, given as where it stands.
    pub(crate) fn put_part(&mut self, text: &Bytes, part: Range<usize>) {
        if part.len() > COPIED_BYTES {
            return self.put(text.slice(part));
        }
        let begin = self.small.len();
        self.small.put_slice(text.get(part).unwrap_or_default());
        blank_line_ends(&mut self.small[begin..]);
    }

    /// Adds a whole value.
    pub(crate) fn put_all(&mut self, value: &Raw) {
        self.put_part(value.text(), 0..value.as_bytes().len());
    }

    /// Adds an object with one more member, given as the pieces of its text, behind all others.
    pub(crate) fn put_with(&mut self, object: &Raw, member: &[&[u8]]) {
        let inner = object.inner_end();
        self.put_part(object.text(), 0..inner);
        if inner > 1 {
            self.say(b",");
        }
        member.iter().for_each(|piece| self.say(piece));
        self.put_part(object.text(), inner..object.as_bytes().len());
    }

    pub(crate) fn finish(mut self) -> Outgoing {
        let last = self.small.freeze();
        if self.done.is_empty() {
            return last.into();
        }
        self.done.push(last);
        let mut pieces = self.done.into_iter();
        Outgoing { first: pieces.next().unwrap_or_default(), rest: pieces.collect() }
    }
}

fn has_line_end(text: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', text).is_some()
}

/// A bare newline in valid JSON is only whitespace: blanking it keeps one line per frame.
pub(crate) fn blank_line_ends(text: &mut [u8]) {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (done, after) = rest.split_at_mut(at + 1);
        if let Some(byte) = done.last_mut() {
            *byte = b' ';
        }
        rest = after;
    }
}

/// Framed messages on their way to a stream: small ones together, large payloads from where they are.
#[derive(Debug, Default)]
pub struct Frames {
    /// Written before `small`.
    pieces: std::collections::VecDeque<Bytes>,
    small: BytesMut,
}

impl Frames {
    pub fn push(&mut self, framing: Framing, message: Outgoing) {
        match framing {
            Framing::Newline => self.push_with(message, "\n"),
            Framing::ContentLength => {
                let head = format!("Content-Length: {}\r\n\r\n", message.len());
                self.push_after(|out| out.put_slice(head.as_bytes()), message);
            }
        }
    }

    /// Adds a message behind what `head` writes.
    pub fn push_after(&mut self, head: impl FnOnce(&mut BytesMut), message: Outgoing) {
        head(&mut self.small);
        self.push_with(message, "");
    }

    /// Adds a message that is known by its end.
    pub fn push_with(&mut self, message: Outgoing, end: &str) {
        self.put(message.first);
        message.rest.into_iter().for_each(|piece| self.put(piece));
        self.small.put_slice(end.as_bytes());
    }

    fn put(&mut self, piece: Bytes) {
        if piece.len() <= COPIED_BYTES {
            return self.small.put(piece);
        }
        self.close_small();
        self.pieces.push_back(piece);
    }

    fn close_small(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push_back(self.small.split().freeze());
        }
    }
}

impl Buf for Frames {
    fn remaining(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum::<usize>() + self.small.len()
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&self.small, |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [std::io::IoSlice<'a>]) -> usize {
        let pieces = self.pieces.iter().map(|piece| &piece[..]).chain([&self.small[..]]);
        let filled = pieces.filter(|piece| !piece.is_empty()).zip(slices.iter_mut());
        filled.map(|(piece, slice)| *slice = std::io::IoSlice::new(piece)).count()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let Some(first) = self.pieces.front_mut() else { return self.small.advance(count) };
            let step = count.min(first.len());
            first.advance(step);
            if first.is_empty() {
                self.pieces.pop_front();
            }
            count -= step;
        }
    }
}

#[cfg(test)]
mod tests;
