//! The head of an answer: only what anybody asks for is kept.

use bytes::Bytes;
use manifold_http1::{Length, ResponseHead};

/// What an answer says before its body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Whether the body is a stream of events.
    pub(crate) is_events: bool,
    pub(super) length: Length,
    /// Whether another request may follow on the connection.
    pub(super) keeps_alive: bool,
    noted: Vec<(Noted, Bytes)>,
}

/// A header whose value somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    SessionId,
    Location,
    RetryAfter,
    /// `WWW-Authenticate`.
    Challenge,
    CacheControl,
    WebSocketAccept,
}

impl Head {
    /// Returns the value of a header.
    pub(crate) fn noted(&self, which: Noted) -> Option<&Bytes> {
        self.noted.iter().find(|(noted, _)| *noted == which).map(|(_, value)| value)
    }

    /// Returns each value of a header that may stand there several times.
    pub(crate) fn all_noted(&self, which: Noted) -> impl Iterator<Item = &str> {
        let all = self.noted.iter().filter(move |(noted, _)| *noted == which);
        all.filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    pub(crate) fn noted_text(&self, which: Noted) -> Option<&str> {
        self.noted(which).and_then(|value| std::str::from_utf8(value).ok())
    }
}

/// What is kept of the headers as they are read.
#[derive(Default)]
pub(super) struct Notes {
    is_events: bool,
    noted: Vec<(Noted, Bytes)>,
}

impl Notes {
    pub(super) fn take(&mut self, name: &str, value: &[u8]) {
        match field_of(name) {
            Some(Field::Kind) => self.is_events = is_events(value),
            Some(Field::Noted(noted)) => self.noted.push((noted, Bytes::copy_from_slice(value))),
            None => {}
        }
    }

    pub(super) fn into_head(self, head: ResponseHead) -> Head {
        let ResponseHead { status, length, keeps_alive } = head;
        Head { status, is_events: self.is_events, length, keeps_alive, noted: self.noted }
    }
}

/// The headers that we read.
enum Field {
    Kind,
    Noted(Noted),
}

/// Tells by the length of the name first: most headers are none of these.
fn field_of(name: &str) -> Option<Field> {
    let (expected, field) = match name.len() {
        8 => ("location", Field::Noted(Noted::Location)),
        11 => ("retry-after", Field::Noted(Noted::RetryAfter)),
        12 => ("content-type", Field::Kind),
        13 => ("cache-control", Field::Noted(Noted::CacheControl)),
        16 => ("www-authenticate", Field::Noted(Noted::Challenge)),
        14 => ("mcp-session-id", Field::Noted(Noted::SessionId)),
        20 => ("sec-websocket-accept", Field::Noted(Noted::WebSocketAccept)),
        _ => return None,
    };
    name.eq_ignore_ascii_case(expected).then_some(field)
}

fn is_events(kind: &[u8]) -> bool {
    const EVENTS: &[u8] = b"text/event-stream";
    kind.trim_ascii_start().get(..EVENTS.len()).is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
}
