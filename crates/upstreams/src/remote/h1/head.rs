//! The head of an answer: read by httparse, and only what anybody asks for is kept.

use std::mem::MaybeUninit;

use bytes::Bytes;

use super::Malformed;

/// The longest head we read.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;

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

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Known(usize),
    Chunked,
    /// It ends with the connection.
    Open,
}

/// A header whose value somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    SessionId,
    Location,
    RetryAfter,
    WebSocketAccept,
}

impl Head {
    /// Returns the value of a header.
    pub(crate) fn noted(&self, which: Noted) -> Option<&Bytes> {
        self.noted.iter().find(|(noted, _)| *noted == which).map(|(_, value)| value)
    }

    pub(crate) fn noted_text(&self, which: Noted) -> Option<&str> {
        self.noted(which).and_then(|value| std::str::from_utf8(value).ok())
    }

    pub(super) fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..=199)
    }

    /// Has the body of an answer that has none.
    pub(super) fn without_body(mut self) -> Self {
        self.length = Length::Known(0);
        self
    }
}

/// Reads the head that the text begins with, and returns it with its length; `None` if it is not there whole. Where it
/// was not found before, only what is new is searched.
pub(super) fn parse(text: &[u8], searched: usize) -> Result<Option<(Head, usize)>, Malformed> {
    let too_large = text.len() > MAX_HEAD_BYTES;
    if searched > 0 && !has_blank_line(&text[searched.saturating_sub(3)..]) {
        return if too_large { Err(Malformed::TooLarge) } else { Ok(None) };
    }
    let mut headers = [MaybeUninit::uninit(); MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, text, &mut headers) {
        Ok(httparse::Status::Complete(size)) if size <= MAX_HEAD_BYTES => {
            judge(&response).map(|head| Some((head, size)))
        }
        Ok(httparse::Status::Partial) if !too_large => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(Malformed::TooLarge),
        Err(_) => Err(Malformed::Head),
    }
}

fn has_blank_line(text: &[u8]) -> bool {
    text.windows(2).any(|pair| pair == b"\n\n") || text.windows(3).any(|three| three == b"\n\r\n")
}

fn judge(response: &httparse::Response<'_, '_>) -> Result<Head, Malformed> {
    let (Some(status), Some(version)) = (response.code, response.version) else {
        return Err(Malformed::Head);
    };
    let is_new = version == 1;
    let (mut length, mut is_chunked) = (None, false);
    let mut head =
        Head { status, is_events: false, length: Length::Open, keeps_alive: is_new, noted: Vec::new() };
    for header in response.headers.iter() {
        match field_of(header.name) {
            Some(Field::Length) => {
                let said = decimal(header.value).ok_or(Malformed::Length)?;
                if length.replace(said).is_some_and(|other| other != said) {
                    return Err(Malformed::Length);
                }
            }
            Some(Field::Coding) => {
                if is_chunked || !header.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Malformed::Coding);
                }
                is_chunked = true;
            }
            Some(Field::Connection) => {
                if says(header.value, b"close") {
                    head.keeps_alive = false;
                } else if !is_new && says(header.value, b"keep-alive") {
                    head.keeps_alive = true;
                }
            }
            Some(Field::Kind) => head.is_events = is_events(header.value),
            Some(Field::Noted(noted)) => head.noted.push((noted, Bytes::copy_from_slice(header.value))),
            None => {}
        }
    }
    head.length = match (status, is_chunked, length) {
        // Whatever they say: these have none (RFC 9112, 6.3).
        (100 | 102..=199 | 204 | 304, ..) => Length::Known(0),
        (101, ..) => Length::Open,
        (_, true, Some(_)) => return Err(Malformed::Length),
        (_, true, None) if !is_new => return Err(Malformed::Length),
        (_, true, None) => Length::Chunked,
        (_, false, Some(length)) => Length::Known(length),
        (_, false, None) => Length::Open,
    };
    Ok(head)
}

/// The headers that we read.
enum Field {
    Length,
    Coding,
    Connection,
    Kind,
    Noted(Noted),
}

/// Tells by the length of the name first: most headers are none of these.
fn field_of(name: &str) -> Option<Field> {
    let (expected, field) = match name.len() {
        8 => ("location", Field::Noted(Noted::Location)),
        10 => ("connection", Field::Connection),
        11 => ("retry-after", Field::Noted(Noted::RetryAfter)),
        12 => ("content-type", Field::Kind),
        14 if name.as_bytes()[0].eq_ignore_ascii_case(&b'c') => ("content-length", Field::Length),
        14 => ("mcp-session-id", Field::Noted(Noted::SessionId)),
        17 => ("transfer-encoding", Field::Coding),
        20 => ("sec-websocket-accept", Field::Noted(Noted::WebSocketAccept)),
        _ => return None,
    };
    name.eq_ignore_ascii_case(expected).then_some(field)
}

fn decimal(text: &[u8]) -> Option<usize> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if is_number { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

fn says(value: &[u8], wanted: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|word| word.trim_ascii().eq_ignore_ascii_case(wanted))
}

fn is_events(kind: &[u8]) -> bool {
    const EVENTS: &[u8] = b"text/event-stream";
    kind.trim_ascii_start().get(..EVENTS.len()).is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
}
