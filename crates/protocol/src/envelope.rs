//! JSON-RPC messages: one pass finds id, method and payload, and checks everything on the way.

use std::fmt;

use bytes::Bytes;

use crate::id::Id;
use crate::raw::Raw;
use crate::scan::{self, Cursor, ScanError};

mod parts;
mod peek;
#[cfg(test)]
mod tests;
mod write;

use parts::Parts;
pub use peek::{looks_like_batch, peek_id, peek_id_at_end};
pub use write::{error, error_without_id, list, notification, request, result, result_object};
pub(crate) use write::{request_with, result_cut};

/// How many messages a batch may hold.
pub const MAX_BATCH: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    One(Message),
    Batch(Vec<Result<Message, Refusal>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Request { id: Id, method: MethodName, params: Option<Raw> },
    Notification { method: MethodName, params: Option<Raw> },
    Response { id: Id, outcome: Outcome },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Result(Raw),
    Error(Raw),
}

/// Why a text is no message of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The id, if one could be read for certain.
    pub id: Option<Id>,
    pub kind: RefusalKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// -32700: not JSON, nested too deep or not UTF-8.
    Parse,
    /// -32700 too, unless more can come: the text is a proper prefix of valid JSON.
    Unfinished,
    /// -32600: JSON, but not a message, for this reason.
    Invalid(&'static str),
    /// -32602 in the parameters, else -32600: a member is spelled like this one but for its case.
    Variant { of: &'static str, in_params: bool },
}

/// The decoded method; a slice of the message unless it was spelled with escapes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MethodName(Bytes);

/// Reads a message or a batch of them.
pub fn parse(message: Bytes) -> Result<Incoming, Refusal> {
    scan::check_utf8(&message)?;
    let mut cursor = Cursor::new(&message);
    cursor.skip_blank();
    match cursor.peek() {
        Some(b'{') => {
            let parts = Parts::read(&mut cursor)?;
            cursor.end()?;
            Ok(Incoming::One(parts.message(&message)?))
        }
        Some(b'[') => {
            let batch = read_batch(&mut cursor, &message)?;
            cursor.end()?;
            Ok(Incoming::Batch(batch))
        }
        _ => {
            cursor.value()?;
            cursor.end()?;
            Err(Refusal::invalid(None, "a message must be an object"))
        }
    }
}

fn read_batch(cursor: &mut Cursor<'_>, message: &Bytes) -> Result<Vec<Result<Message, Refusal>>, Refusal> {
    let mut batch = Vec::new();
    cursor.enter()?;
    while cursor.next_element(batch.is_empty())? {
        if batch.len() == MAX_BATCH {
            return Err(Refusal::invalid(None, "the batch is too long"));
        }
        if cursor.peek() == Some(b'{') {
            batch.push(Parts::read(cursor)?.message(message));
        } else {
            cursor.value()?;
            batch.push(Err(Refusal::invalid(None, "a message must be an object")));
        }
    }
    if batch.is_empty() {
        return Err(Refusal::invalid(None, "the batch is empty"));
    }
    Ok(batch)
}

impl Refusal {
    fn invalid(id: Option<Id>, why: &'static str) -> Self {
        Self { id, kind: RefusalKind::Invalid(why) }
    }
}

impl From<ScanError> for Refusal {
    fn from(error: ScanError) -> Self {
        let kind = match error {
            ScanError::Unfinished => RefusalKind::Unfinished,
            ScanError::Syntax { .. } | ScanError::TooDeep { .. } | ScanError::Utf8 { .. } => {
                RefusalKind::Parse
            }
        };
        Self { id: None, kind }
    }
}

impl MethodName {
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl From<&str> for MethodName {
    fn from(method: &str) -> Self {
        Self(Bytes::copy_from_slice(method.as_bytes()))
    }
}

impl fmt::Debug for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
