//! The head of a request: read by httparse, and judged where two readers could differ about where it ends (T31).

use std::mem::MaybeUninit;

use bytes::{Buf, Bytes, BytesMut};
use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Uri, Version};
use memchr::memmem;

use super::respond::Manner;
use crate::http::connection::MAX_HEAD_BYTES;

const MAX_HEADERS: usize = 100;
/// A longer head is not kept while its connection rests.
const KEPT_BYTES: usize = 2 << 10;

/// The head of a request.
pub(super) struct Head {
    pub(super) parts: Parts,
    pub(super) length: Length,
    /// The peer waits to be told that its body is wanted.
    pub(super) expects_continue: bool,
    keeps_alive: bool,
    /// Its own bytes; they share no memory with a body.
    text: Bytes,
    /// Where the one length is written.
    length_at: Option<(usize, usize)>,
    /// Whether the door has let it in.
    pub(super) is_let_in: bool,
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Known(usize),
    Chunked,
}

/// Why a head is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    Head,
    TooLarge,
    Length,
    Coding,
    /// It opens HTTP/2.
    Preface,
}

impl Malformed {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Head | Self::Preface => "the request could not be read",
            Self::TooLarge => "the request's headers are too large",
            Self::Length => "the request's length could not be read",
            Self::Coding => "a body may be chunked, but not coded in another way",
        }
    }
}

impl Head {
    /// Takes the next head off the input if it is this one again, with perhaps another length: those of one client mostly
    /// are. What was decided of it holds then. Its map of headers keeps the first length, which nobody reads.
    pub(super) fn again(&mut self, input: &mut BytesMut) -> bool {
        let Some((begin, end)) = self.length_at.filter(|_| self.is_let_in) else { return false };
        let Some(rest) = input.strip_prefix(&self.text[..begin]) else { return false };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, rest) = rest.split_at(digits);
        let after = &self.text[end..];
        let size = begin + digits + after.len();
        let Some(length) = parse_length(length).filter(|_| rest.starts_with(after) && size <= MAX_HEAD_BYTES)
        else {
            return false;
        };
        input.advance(size);
        self.length = Length::Known(length);
        true
    }

    /// Returns whether it may be met again, and costs little until then.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.is_let_in && self.length_at.is_some() && self.text.len() <= KEPT_BYTES
    }

    /// Lets go of what only the answer's beginning needed.
    pub(super) fn let_go(&mut self) {
        (self.parts.headers, self.parts.uri) = (HeaderMap::new(), Uri::default());
        (self.text, self.length_at) = (Bytes::new(), None);
    }

    pub(super) fn manner(&self) -> Manner {
        Manner {
            is_last: !self.keeps_alive,
            has_body: self.parts.method != Method::HEAD,
            has_chunks: self.parts.version == Version::HTTP_11,
        }
    }
}

/// Takes a head off the input if it is there whole. Where it was not found before, only what is new is searched.
pub(super) fn take(input: &mut BytesMut, searched: usize) -> Result<Option<Head>, Malformed> {
    let too_large = input.len() > MAX_HEAD_BYTES;
    if searched > 0 && !has_blank_line(&input[searched.saturating_sub(3)..]) {
        return if too_large { Err(Malformed::TooLarge) } else { Ok(None) };
    }
    let mut headers = [MaybeUninit::uninit(); MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let size = match request.parse_with_uninit_headers(input, &mut headers) {
        Ok(httparse::Status::Complete(size)) if size > MAX_HEAD_BYTES => return Err(Malformed::TooLarge),
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) if too_large => return Err(Malformed::TooLarge),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::TooLarge),
        Err(httparse::Error::Version) if input.starts_with(b"PRI * HTTP/2.0\r\n") => {
            return Err(Malformed::Preface);
        }
        Err(_) => return Err(Malformed::Head),
    };
    let layout = Layout::of(&request, input)?;
    let text = Bytes::copy_from_slice(&input[..size]);
    input.advance(size);
    layout.read(text).map(Some)
}

fn has_blank_line(text: &[u8]) -> bool {
    memmem::find(text, b"\n\r\n").is_some() || memmem::find(text, b"\n\n").is_some()
}

/// Where in the text of a head its parts are, so that they can share it.
struct Layout {
    method: Method,
    uri: (usize, usize),
    version: Version,
    headers: Vec<(HeaderName, (usize, usize))>,
}

impl Layout {
    fn of(request: &httparse::Request<'_, '_>, input: &[u8]) -> Result<Self, Malformed> {
        let place = |part: &[u8]| {
            let begin = part.as_ptr() as usize - input.as_ptr() as usize;
            (begin, begin + part.len())
        };
        let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version)
        else {
            return Err(Malformed::Head);
        };
        let mut headers = Vec::with_capacity(request.headers.len());
        for header in request.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| Malformed::Head)?;
            headers.push((name, place(header.value)));
        }
        Ok(Self {
            method: Method::from_bytes(method.as_bytes()).map_err(|_| Malformed::Head)?,
            uri: place(path.as_bytes()),
            version: if version == 0 { Version::HTTP_10 } else { Version::HTTP_11 },
            headers,
        })
    }

    fn read(self, text: Bytes) -> Result<Head, Malformed> {
        let part = |(begin, end): (usize, usize)| text.slice(begin..end);
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        let mut length_at = None;
        let mut lengths = 0;
        for (name, place) in self.headers {
            if name == CONTENT_LENGTH {
                lengths += 1;
                length_at = Some(place).filter(|_| lengths == 1);
            }
            let value = HeaderValue::from_maybe_shared(part(place)).map_err(|_| Malformed::Head)?;
            headers.append(name, value);
        }
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.method = self.method;
        parts.uri = Uri::from_maybe_shared(part(self.uri)).map_err(|_| Malformed::Head)?;
        parts.version = self.version;
        let length = length(&headers, self.version)?;
        let keeps_alive = keeps_alive(&headers, self.version);
        let expects_continue = self.version == Version::HTTP_11
            && headers
                .get(EXPECT)
                .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        parts.headers = headers;
        Ok(Head { parts, length, expects_continue, keeps_alive, text, length_at, is_let_in: false })
    }
}

/// RFC 9112, section 6: chunks go before a length; the door refuses whoever says both.
fn length(headers: &HeaderMap, version: Version) -> Result<Length, Malformed> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        let is_chunked = coding.as_bytes().eq_ignore_ascii_case(b"chunked");
        return match (is_chunked && codings.next().is_none(), version) {
            (true, Version::HTTP_11) => Ok(Length::Chunked),
            (true, _) => Err(Malformed::Length),
            (false, _) => Err(Malformed::Coding),
        };
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else { return Ok(Length::Known(0)) };
    if lengths.any(|other| other != length) {
        return Err(Malformed::Length);
    }
    parse_length(length.as_bytes()).map(Length::Known).ok_or(Malformed::Length)
}

/// Reads a length: digits, and nothing else.
fn parse_length(text: &[u8]) -> Option<usize> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn keeps_alive(headers: &HeaderMap, version: Version) -> bool {
    let says = |wanted: &str| {
        let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    if version == Version::HTTP_11 { !says("close") } else { says("keep-alive") }
}
