use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::{Kind, MAX_ITEMS, Raw, spells, unquote_bytes, unquote_lossy};
use crate::outgoing::OutgoingBuilder;
use crate::scan::Cursor;

/// An object whose members keep their order and their bytes.
///
/// Edits are spliced into the original text when it is written: what was not edited stays byte for byte,
/// whitespace included, and an unedited object is the very same bytes.
#[derive(Debug, Clone)]
pub struct RawObject {
    text: Bytes,
    /// The original ones first, then the added.
    members: Vec<Member>,
    edited: bool,
}

#[derive(Debug, Clone)]
enum Member {
    Original { key: Range<usize>, value: Range<usize>, edit: Edit },
    Added { key: Raw, value: Raw },
}

/// Room for so many members is made at once.
const USUAL_MEMBERS: usize = 6;

/// A part of an object's text.
enum Part<'a> {
    Original(Range<usize>),
    New(&'a [u8]),
}

#[derive(Debug, Clone)]
enum Edit {
    None,
    Set(Raw),
    Removed,
}

impl Default for RawObject {
    fn default() -> Self {
        Self::new()
    }
}

impl RawObject {
    pub fn new() -> Self {
        Self { text: Bytes::from_static(b"{}"), members: Vec::new(), edited: false }
    }

    pub(super) fn parse(raw: &Raw) -> Option<Self> {
        if raw.kind() != Kind::Object {
            return None;
        }
        let mut cursor = Cursor::new(&raw.0);
        let mut members = Vec::with_capacity(USUAL_MEMBERS);
        cursor.enter().ok()?;
        while let Some(key) = cursor.next_key(members.is_empty()).ok()? {
            if members.len() == MAX_ITEMS {
                return None;
            }
            let start = cursor.at();
            cursor.value().ok()?;
            members.push(Member::Original { key: key.place, value: start..cursor.at(), edit: Edit::None });
        }
        Some(Self { text: raw.bytes(), members, edited: false })
    }

    /// Returns the first member of that name; keys compare decoded, in exact case.
    pub fn get(&self, key: &str) -> Option<Raw> {
        self.living().find(|member| self.is_named(member, key)).map(|member| self.value(member))
    }

    pub fn contains(&self, key: &str) -> bool {
        self.living().any(|member| self.is_named(member, key))
    }

    /// Replaces the member of that name where it stands, or appends one. Others of that name go.
    pub fn set(&mut self, key: &str, new: Raw) {
        self.edited = true;
        match self.keep_first(key).and_then(|index| self.members.get_mut(index)) {
            Some(Member::Original { edit, .. }) => *edit = Edit::Set(new),
            Some(Member::Added { value, .. }) => *value = new,
            None => self.members.push(Member::Added { key: Raw::string(key), value: new }),
        }
    }

    pub fn remove(&mut self, key: &str) {
        let Some(index) = self.keep_first(key) else { return };
        self.edited = true;
        self.drop_member(index);
    }

    /// Removes the members whose keys are among these.
    pub fn remove_all(&mut self, keys: &[&str]) {
        for index in (0..self.members.len()).rev() {
            let Some(member) = self.members.get(index).filter(|member| member.lives()) else { continue };
            if keys.iter().any(|key| self.is_named(member, key)) {
                self.edited = true;
                self.drop_member(index);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.living().count()
    }

    pub fn is_empty(&self) -> bool {
        self.living().next().is_none()
    }

    /// Returns the keys, with U+FFFD for what is no text.
    pub fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.living().map(|member| self.key(member))
    }

    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, Raw)> {
        self.living().map(|member| (self.key(member), self.value(member)))
    }

    /// Returns the members by what their keys say, text or not: different keys differ.
    pub fn iter_decoded(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, Raw)> {
        self.living().map(|member| (unquote_bytes(self.quoted_key(member)), self.value(member)))
    }

    /// Returns a key that occurs twice.
    pub fn duplicate(&self) -> Option<Cow<'_, str>> {
        let mut seen = HashSet::with_capacity(self.members.len());
        let mut keys = self.living().map(|member| (member, unquote_bytes(self.quoted_key(member))));
        keys.find_map(|(member, key)| (!seen.insert(key)).then(|| self.key(member)))
    }

    pub fn into_raw(self) -> Raw {
        if self.edited { Raw::trusted(self.splice()) } else { Raw(self.text) }
    }

    fn splice(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.text.len() + self.new_bytes());
        self.write(|part| match part {
            Part::Original(range) => out.extend_from_slice(self.slice(range)),
            Part::New(text) => out.extend_from_slice(text),
        });
        out.freeze()
    }

    /// Writes it as part of a message; what is large stays where it is.
    pub(crate) fn pack(&self, builder: &mut OutgoingBuilder) {
        self.write(|part| match part {
            Part::Original(range) => builder.put(self.text.slice(range)),
            Part::New(text) => builder.put(Bytes::copy_from_slice(text)),
        });
    }

    /// A member brings along what stood between it and the one before; the first brings nothing.
    fn write(&self, mut put: impl FnMut(Part<'_>)) {
        if !self.edited {
            return put(Part::Original(0..self.text.len()));
        }
        let mut end = match self.members.first() {
            Some(Member::Original { key, .. }) => key.start,
            _ => 1,
        };
        put(Part::Original(0..end));
        let mut first = true;
        for member in &self.members {
            let gap = match member {
                Member::Original { key, value, .. } => {
                    Part::Original(std::mem::replace(&mut end, value.end)..key.start)
                }
                Member::Added { .. } => Part::New(b","),
            };
            if !member.lives() {
                continue;
            }
            if !first {
                put(gap);
            }
            first = false;
            match member {
                Member::Original { key, value, edit: Edit::Set(new) } => {
                    put(Part::Original(key.start..value.start));
                    put(Part::New(new.as_bytes()));
                }
                Member::Original { key, value, .. } => put(Part::Original(key.start..value.end)),
                Member::Added { key, value } => {
                    put(Part::New(key.as_bytes()));
                    put(Part::New(b":"));
                    put(Part::New(value.as_bytes()));
                }
            }
        }
        put(Part::Original(end..self.text.len()));
    }

    fn new_bytes(&self) -> usize {
        let size = |member: &Member| match member {
            Member::Original { edit: Edit::Set(new), .. } => new.0.len(),
            Member::Original { .. } => 0,
            Member::Added { key, value } => key.0.len() + value.0.len() + 2,
        };
        self.members.iter().map(size).sum()
    }

    /// Returns the index of the first member of that name and drops the others.
    fn keep_first(&mut self, key: &str) -> Option<usize> {
        let named = |index: &usize| {
            self.members.get(*index).is_some_and(|member| member.lives() && self.is_named(member, key))
        };
        let mut found = (0..self.members.len()).filter(named);
        let first = found.next()?;
        let others: Vec<usize> = found.collect();
        others.into_iter().rev().for_each(|index| self.drop_member(index));
        Some(first)
    }

    fn drop_member(&mut self, index: usize) {
        match self.members.get_mut(index) {
            Some(Member::Original { edit, .. }) => *edit = Edit::Removed,
            Some(Member::Added { .. }) => drop(self.members.remove(index)),
            None => {}
        }
    }

    fn living(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.lives())
    }

    fn is_named(&self, member: &Member, key: &str) -> bool {
        spells(self.quoted_key(member), key)
    }

    fn key<'a>(&'a self, member: &'a Member) -> Cow<'a, str> {
        unquote_lossy(self.quoted_key(member))
    }

    fn quoted_key<'a>(&'a self, member: &'a Member) -> &'a [u8] {
        match member {
            Member::Original { key, .. } => self.slice(key.clone()),
            Member::Added { key, .. } => key.as_bytes(),
        }
    }

    fn value(&self, member: &Member) -> Raw {
        match member {
            Member::Original { edit: Edit::Set(value), .. } | Member::Added { value, .. } => value.clone(),
            Member::Original { value, .. } => Raw(self.text.slice(value.clone())),
        }
    }

    fn slice(&self, range: Range<usize>) -> &[u8] {
        self.text.get(range).unwrap_or_default()
    }
}

impl Member {
    fn lives(&self) -> bool {
        !matches!(self, Member::Original { edit: Edit::Removed, .. })
    }
}
