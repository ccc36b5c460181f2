use std::borrow::Cow;
use std::collections::HashSet;

use super::Flaw;
use crate::raw::MAX_ITEMS;

const FEW: usize = 16;

/// The keys of one object, to notice a second of a name. The usual few cost no allocation.
#[derive(Default)]
pub(super) struct Keys<'a> {
    few: [&'a [u8]; FEW],
    len: usize,
    many: Option<HashSet<Cow<'a, [u8]>>>,
}

impl<'a> Keys<'a> {
    /// Returns what is wrong with this key, if anything.
    pub(super) fn add(&mut self, key: Cow<'a, [u8]>) -> Option<Flaw> {
        let known = self.few.get(..self.len).unwrap_or_default();
        if known.contains(&key.as_ref()) {
            return Some(Flaw::Twice);
        }
        if let (Cow::Borrowed(key), None, Some(slot)) = (&key, &self.many, self.few.get_mut(self.len)) {
            *slot = key;
            self.len += 1;
            return None;
        }
        let many = self.many.get_or_insert_default();
        if many.len() == MAX_ITEMS {
            return Some(Flaw::TooMany);
        }
        (!many.insert(key)).then_some(Flaw::Twice)
    }
}
