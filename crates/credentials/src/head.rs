//! The first line of a file, which says in clear what the rest is: the format, the name and the generation.

use serde::{Deserialize, Serialize};

use crate::name::{Kind, Name};

/// The longest first line.
pub(crate) const MAX_HEAD: usize = 32 * 1024;

/// What stands in a file in clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: Name,
    /// Counts how often the value was stored.
    pub(crate) generation: u64,
}

/// What follows the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Sealed,
    Plain,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    manifold: &'a str,
    kind: Kind,
    name: String,
    generation: u64,
}

/// A file, cut where its parts meet.
pub(crate) struct Split<'a> {
    pub(crate) head: Head,
    pub(crate) format: Format,
    /// The first line with its end, as it stands there.
    pub(crate) line: &'a [u8],
    pub(crate) rest: &'a [u8],
}

/// Why a file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    Damaged(&'static str),
    NotOpened,
}

impl Unread {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Damaged(why) => why,
            Self::NotOpened => "cannot be opened",
        }
    }
}

impl Format {
    /// Returns what the first line begins with, so that a later format is told from a broken file.
    fn word(self) -> &'static str {
        match self {
            Self::Sealed => "credential 1",
            Self::Plain => "plain credential 1",
        }
    }
}

/// Returns what a file says of itself. Nothing vouches for it before the rest is read.
pub(crate) fn head(file: &[u8]) -> Result<Head, Unread> {
    split(file).map(|split| split.head)
}

pub(crate) fn split(file: &[u8]) -> Result<Split<'_>, Unread> {
    if file.is_empty() {
        return Err(Unread::Damaged("is empty"));
    }
    let end = file.iter().take(MAX_HEAD).position(|byte| *byte == b'\n');
    let (line, rest) = file.split_at(end.ok_or(Unread::Damaged("is no file of a store"))? + 1);
    let read: Line<'_> =
        serde_json::from_slice(line).map_err(|_| Unread::Damaged("is no file of a store"))?;
    let known = [Format::Sealed, Format::Plain].into_iter().find(|format| format.word() == read.manifold);
    let format = known.ok_or(Unread::Damaged("is of a format this version does not know"))?;
    let name = Name::new(read.kind, &read.name).map_err(|_| Unread::Damaged("has a name that cannot be"))?;
    Ok(Split { head: Head { name, generation: read.generation }, format, line, rest })
}

pub(crate) fn line(head: &Head, format: Format) -> Result<Vec<u8>, Unread> {
    let name = head.name.as_str().to_owned();
    let line = Line { manifold: format.word(), kind: head.name.kind(), name, generation: head.generation };
    let mut bytes = serde_json::to_vec(&line).map_err(|_| Unread::Damaged("its name cannot be written"))?;
    bytes.push(b'\n');
    Ok(bytes)
}
