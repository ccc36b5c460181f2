//! The head of a request: read by httparse, and judged where two readers could differ about where it ends (T31).

use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{EXPECT, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Uri, Version};

use crate::head::{MAX_HEADERS, check_line_ends, may_be_whole, place, text_of};
use crate::length::{Claims, decimal};
use crate::{Length, MAX_HEAD_BYTES, Malformed};

/// What HTTP/2 begins with, as far as it could be a request.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// The head of a request.
#[derive(Debug)]
pub struct RequestHead {
    pub parts: Parts,
    pub length: Length,
    /// The peer waits to be told that its body is wanted.
    pub expects_continue: bool,
    /// Whether another request may follow on the connection.
    pub keeps_alive: bool,
    /// Its own bytes; they share no memory with a body.
    text: Bytes,
    /// Where the one length is written.
    length_at: Option<Range<usize>>,
}

impl RequestHead {
    /// Takes a head off the input if it is there whole. Where it was not found before, only what is new is searched.
    pub fn take(input: &mut BytesMut, searched: usize) -> Result<Option<Self>, Malformed> {
        if !may_be_whole(input, searched)? {
            return Ok(None);
        }
        let mut headers = [MaybeUninit::uninit(); MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(input, &mut headers);
        if parsed == Err(httparse::Error::Version) {
            if input.starts_with(PREFACE) {
                return Err(Malformed::Preface);
            }
            // httparse refuses it at the `2`, but the rest may still come.
            if PREFACE.starts_with(input) {
                return Ok(None);
            }
        }
        let Some(text) = text_of(parsed, input)? else { return Ok(None) };
        let layout = Layout::of(&request, text)?;
        let text = Bytes::copy_from_slice(text);
        input.advance(text.len());
        layout.read(text).map(Some)
    }

    /// Takes the next head off the input if it is this one again, with perhaps another length: those of one client mostly
    /// are. Its map of headers keeps the first length, which nobody reads.
    pub fn again(&mut self, input: &mut BytesMut) -> bool {
        let Some(Range { start, end }) = self.length_at else { return false };
        let Some(rest) = input.strip_prefix(&self.text[..start]) else { return false };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, rest) = rest.split_at(digits);
        let after = &self.text[end..];
        let size = start + digits + after.len();
        let Some(length) = decimal(length).filter(|_| rest.starts_with(after) && size <= MAX_HEAD_BYTES)
        else {
            return false;
        };
        input.advance(size);
        self.length = Length::Known(length);
        true
    }

    /// Returns how many bytes are held to know it again; `None` if it is not known again.
    pub fn kept_bytes(&self) -> Option<usize> {
        self.length_at.as_ref().map(|_| self.text.len())
    }

    /// Lets go of what only the answer's beginning needs.
    pub fn let_go(&mut self) {
        (self.parts.headers, self.parts.uri) = (HeaderMap::new(), Uri::default());
        (self.text, self.length_at) = (Bytes::new(), None);
    }
}

/// Where in the text of a head its parts are, so that they can share it.
struct Layout {
    method: Method,
    uri: Range<usize>,
    version: Version,
    headers: Vec<(HeaderName, Range<usize>)>,
    length: Length,
    length_at: Option<Range<usize>>,
    keeps_alive: bool,
}

impl Layout {
    fn of(request: &httparse::Request<'_, '_>, text: &[u8]) -> Result<Self, Malformed> {
        let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version)
        else {
            return Err(Malformed::Head);
        };
        // Empty lines may go before it (RFC 9112, 2.2).
        let blank = &text[..place(text, method.as_bytes()).start];
        if blank.chunks(2).any(|line| line != b"\r\n") {
            return Err(Malformed::Head);
        }
        check_line_ends(text, request.headers)?;
        let mut headers = Vec::with_capacity(request.headers.len());
        let mut claims = Claims::default();
        for header in request.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| Malformed::Head)?;
            claims.note(name.as_str(), header.value)?;
            headers.push((name, place(text, header.value)));
        }
        let is_1_1 = version == 1;
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| Malformed::Head)?;
        Ok(Self {
            uri: place(text, path.as_bytes()),
            version: if is_1_1 { Version::HTTP_11 } else { Version::HTTP_10 },
            headers,
            length: claims.body(is_1_1)?.unwrap_or_else(|| unsaid(&method, is_1_1)),
            length_at: claims.only_length().map(|value| place(text, value)),
            keeps_alive: claims.keeps_alive(is_1_1),
            method,
        })
    }

    fn read(self, text: Bytes) -> Result<RequestHead, Malformed> {
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, place) in self.headers {
            let value = HeaderValue::from_maybe_shared(text.slice(place)).map_err(|_| Malformed::Head)?;
            headers.append(name, value);
        }
        let expects_continue = self.version == Version::HTTP_11
            && headers
                .get(EXPECT)
                .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.method = self.method;
        parts.uri = Uri::from_maybe_shared(text.slice(self.uri)).map_err(|_| Malformed::Head)?;
        parts.version = self.version;
        parts.headers = headers;
        let Self { length, length_at, keeps_alive, .. } = self;
        Ok(RequestHead { parts, length, expects_continue, keeps_alive, text, length_at })
    }
}

/// Returns the length of a body that says none. A request has none then; but some of those who speak HTTP/1.0 end it
/// with the connection, and no other request may be found in it (H1).
fn unsaid(method: &Method, is_1_1: bool) -> Length {
    if is_1_1 || matches!(*method, Method::GET | Method::HEAD) { Length::Known(0) } else { Length::Open }
}

#[cfg(test)]
mod tests;
