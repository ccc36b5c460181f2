use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::Raw;
use crate::outgoing::OutgoingBuilder;

/// So many members can be left out.
const MOST: usize = 4;

/// An object's text without some of its members; the others, and what stands between them, keep their bytes.
pub(crate) struct Cuts {
    text: Bytes,
    places: [(usize, usize); MOST],
    len: usize,
    /// Where the first member begins.
    first_key: Option<usize>,
    /// Where the member before ended.
    end: usize,
    /// Whether one has stayed so far.
    kept_any: bool,
}

impl Cuts {
    pub(crate) fn of(object: &Raw) -> Self {
        let text = object.bytes();
        Self { text, places: Default::default(), len: 0, first_key: None, end: 0, kept_any: false }
    }

    /// Notes that the next member stays.
    pub(crate) fn keep(&mut self, key: &Range<usize>, value_end: usize) {
        let first_key = *self.first_key.get_or_insert(key.start);
        if !self.kept_any && self.len > 0 {
            // The first that stays comes without what stood before it.
            self.places[0] = (first_key, key.start);
        }
        self.kept_any = true;
        self.end = value_end;
    }

    /// Leaves the next member out, with what stands before it. Returns false if there are too many.
    pub(crate) fn cut(&mut self, key: &Range<usize>, value_end: usize) -> bool {
        let first_key = *self.first_key.get_or_insert(key.start);
        let start = if self.kept_any { self.end } else { first_key };
        self.end = value_end;
        match self.places.get_mut(..self.len).and_then(<[_]>::last_mut) {
            Some(last) if last.1 == start || !self.kept_any => last.1 = value_end,
            _ => {
                let Some(place) = self.places.get_mut(self.len) else { return false };
                *place = (start, value_end);
                self.len += 1;
            }
        }
        true
    }

    /// Returns how long it can be.
    pub(crate) fn max_len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn pack(&self, builder: &mut OutgoingBuilder) {
        self.parts(|part| builder.put_part(&self.text, part));
    }

    pub(crate) fn into_raw(self) -> Raw {
        if self.len == 0 {
            return Raw(self.text);
        }
        let mut out = BytesMut::with_capacity(self.text.len());
        self.parts(|part| out.extend_from_slice(self.text.get(part).unwrap_or_default()));
        Raw::trusted(out.freeze())
    }

    fn parts(&self, mut put: impl FnMut(Range<usize>)) {
        let mut from = 0;
        for (start, end) in self.places.iter().take(self.len) {
            put(from..*start);
            from = *end;
        }
        put(from..self.text.len());
    }
}
