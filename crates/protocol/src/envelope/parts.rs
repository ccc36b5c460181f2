use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::{Message, MethodName, Outcome, Refusal, RefusalKind};
use crate::id::Id;
use crate::members::{self, Flaw, Watch};
use crate::raw::{Kind, Raw, unquote_bytes};
use crate::scan::{Cursor, ScanError};

/// Where the members of one envelope lie.
#[derive(Default)]
pub(super) struct Parts {
    jsonrpc: Option<Range<usize>>,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    /// What is wrong with its keys or those of what it holds, as far as they have meaning.
    flaw: Option<(Flaw, Within)>,
    two_ids: bool,
}

/// Where a flaw is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Params,
    Elsewhere,
}

impl Parts {
    /// Walks the object that opens here to its end.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Parts, ScanError> {
        let mut parts = Parts::default();
        let mut others = Watch::new(&members::ENVELOPE);
        let mut inner_flaw = None;
        let mut first = true;
        cursor.enter()?;
        while let Some(key) = cursor.next_key(first)? {
            first = false;
            let key = cursor.name(&key);
            let start = cursor.at();
            let (place, inner) = match &*key {
                b"jsonrpc" => (&mut parts.jsonrpc, None),
                b"id" => (&mut parts.id, None),
                b"method" => (&mut parts.method, None),
                b"params" => (&mut parts.params, Some(&members::PARAMS)),
                b"result" => (&mut parts.result, Some(&members::RESULT)),
                b"error" => (&mut parts.error, Some(&members::ERROR)),
                _ => {
                    cursor.value()?;
                    parts.foreign(key, &mut others);
                    continue;
                }
            };
            match inner {
                Some(inner) => inner.pass(cursor, &mut inner_flaw)?,
                None => cursor.value()?,
            }
            let twice = place.replace(start..cursor.at()).is_some();
            if twice || inner_flaw.is_some() {
                parts.note(&key, twice, inner_flaw);
            }
        }
        Ok(parts)
    }

    /// Takes a key that is none of ours, or only looks like one.
    fn foreign<'a>(&mut self, key: Cow<'a, [u8]>, others: &mut Watch<'a>) {
        let mut flaw = None;
        others.add(key, &mut flaw);
        // Which of two is the id nobody can tell.
        self.two_ids |= flaw == Some(Flaw::Variant { of: "id" });
        self.flaw = self.flaw.or(flaw.map(|flaw| (flaw, Within::Elsewhere)));
    }

    /// Notes what is wrong with one of our own members; the first flaw counts.
    #[cold]
    fn note(&mut self, key: &[u8], twice: bool, inner: Option<Flaw>) {
        self.two_ids |= twice && key == b"id";
        let within = if key == b"params" { Within::Params } else { Within::Elsewhere };
        let inner = inner.map(|flaw| (flaw, within));
        self.flaw = self.flaw.or(inner).or(twice.then_some((Flaw::Twice, Within::Elsewhere)));
    }

    pub(super) fn message(self, text: &Bytes) -> Result<Message, Refusal> {
        let raw = |range: &Range<usize>| Raw::trusted(text.slice(range.clone()));
        // Some peers write every member of theirs and fill the empty ones with null.
        let unless_null =
            |range: &Option<Range<usize>>| range.as_ref().map(raw).filter(|value| value.kind() != Kind::Null);
        let has_id = self.id.is_some();
        let id = self.id.as_ref().filter(|_| !self.two_ids).and_then(|range| Id::from_raw(&raw(range)));
        let refuse = |why| Err(Refusal::invalid(id.clone(), why));

        if let Some((flaw, within)) = self.flaw {
            let kind = match flaw {
                Flaw::Twice => RefusalKind::Invalid("a member occurs twice"),
                Flaw::TooMany => RefusalKind::Invalid("too many members"),
                Flaw::Variant { of } => RefusalKind::Variant { of, in_params: within == Within::Params },
            };
            return Err(Refusal { id, kind });
        }
        if !self.jsonrpc.as_ref().is_some_and(|range| is_version(text.get(range.clone()))) {
            return refuse("jsonrpc must be \"2.0\"");
        }
        if has_id && id.is_none() {
            return refuse("id must be a string or a number");
        }
        let Some(method) = &self.method else {
            let outcome = match (&self.result, unless_null(&self.error)) {
                (Some(result), None) => Outcome::Result(raw(result)),
                (Some(result), Some(error)) if raw(result).kind() == Kind::Null => Outcome::Error(error),
                (None, Some(error)) => Outcome::Error(error),
                (Some(_), Some(_)) => return refuse("a response has either a result or an error"),
                (None, None) => return refuse("there is no method"),
            };
            return match (outcome, id) {
                (_, None) => Err(Refusal::invalid(None, "a response needs an id")),
                (Outcome::Error(error), id) if error.kind() != Kind::Object => {
                    Err(Refusal::invalid(id, "error must be an object"))
                }
                (outcome, Some(id)) => Ok(Message::Response { id, outcome }),
            };
        };
        if unless_null(&self.result).is_some() || unless_null(&self.error).is_some() {
            return refuse("a request has neither result nor error");
        }
        let method = match method_name(text, method) {
            Ok(method) => method,
            Err(why) => return refuse(why),
        };
        let params = unless_null(&self.params);
        let has_object = params.as_ref().is_none_or(|params| params.kind() == Kind::Object);
        match id {
            Some(_) if !has_object => refuse("params must be an object"),
            Some(id) => Ok(Message::Request { id, method, params }),
            // JSON-RPC allows a list here, and nobody waits for an answer; MCP gives it no meaning.
            None => Ok(Message::Notification { method, params: params.filter(|_| has_object) }),
        }
    }
}

fn is_version(quoted: Option<&[u8]>) -> bool {
    // As nearly all write it; escapes are as good.
    quoted.is_some_and(|quoted| {
        quoted == br#""2.0""# || (quoted.starts_with(b"\"") && *unquote_bytes(quoted) == *b"2.0")
    })
}

fn method_name(text: &Bytes, range: &Range<usize>) -> Result<MethodName, &'static str> {
    let quoted =
        text.get(range.clone()).filter(|value| value.starts_with(b"\"")).ok_or("method must be a string")?;
    Ok(MethodName(match unquote_bytes(quoted) {
        Cow::Borrowed(_) => text.slice(range.start + 1..range.end - 1),
        Cow::Owned(method) => match String::from_utf8(method) {
            Ok(method) => Bytes::from(method),
            Err(_) => return Err("method has half of a surrogate pair, which is no text"),
        },
    }))
}
