//! Server-sent events as a client reads them (HTML Living Standard, 9.2.6), cut out of a stream as it comes.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// `event:`, empty for the default kind.
    pub kind: String,
    /// The lines of `data:`, joined by newlines.
    pub data: Bytes,
    /// The last `id:` seen on the stream, this event's included.
    pub id: Option<String>,
    /// `retry:` in milliseconds.
    pub retry_ms: Option<u64>,
}

/// What comes out of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    Event(SseEvent),
    /// An event over the limit; it was dropped as it came.
    TooLong,
}

/// Cuts events out of bytes.
#[derive(Debug)]
pub struct SseDecoder {
    buffer: BytesMut,
    /// Bytes of the buffer known to hold no line end.
    scanned: usize,
    max_bytes: usize,
    event: Pending,
    last_id: Option<String>,
    /// The last line ended in `\r`; a `\n` right after it belongs to the same end.
    after_return: bool,
    started: bool,
    /// The line being read was too long: its rest is no line of its own.
    skipping: bool,
}

#[derive(Debug, Default)]
struct Pending {
    kind: String,
    data: BytesMut,
    has_data: bool,
    retry_ms: Option<u64>,
    too_long: bool,
}

impl SseDecoder {
    pub fn new(max_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            scanned: 0,
            max_bytes,
            event: Pending::default(),
            last_id: None,
            after_return: false,
            started: false,
            skipping: false,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the last id seen, with which a broken stream is taken up again.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns the next whole event. Call until `None` after each `push`.
    #[expect(clippy::should_implement_trait, reason = "it can go on after `None`, which no iterator may")]
    pub fn next(&mut self) -> Option<SseItem> {
        loop {
            let line = self.next_line()?;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.is_empty() {
                if let Some(item) = self.dispatch() {
                    return Some(item);
                }
            } else {
                self.field(&line);
            }
        }
    }

    fn next_line(&mut self) -> Option<Bytes> {
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer.first() == Some(&b'\n') {
                self.skip(1);
            }
        }
        if !self.started && self.buffer.len() >= 3 {
            self.started = true;
            if self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.skip(3);
            }
        }
        match memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) {
            Some(found) => {
                let end = self.scanned + found;
                self.after_return = self.buffer[end] == b'\r';
                let mut line = self.buffer.split_to(end + 1);
                line.truncate(end);
                self.scanned = 0;
                self.started = true;
                Some(line.freeze())
            }
            None => {
                self.scanned = self.buffer.len();
                if self.buffer.len() > self.max_bytes {
                    // Nothing of this line will be used; forget it as it comes, to its end.
                    self.event.too_long = true;
                    self.skipping = true;
                    self.buffer.clear();
                    self.scanned = 0;
                }
                None
            }
        }
    }

    fn skip(&mut self, count: usize) {
        self.buffer.advance(count);
        self.scanned = self.scanned.saturating_sub(count);
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            // A comment: a sign of life.
            Some(0) => return,
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match name {
            b"data" => {
                if self.event.data.len() + value.len() > self.max_bytes {
                    self.event.too_long = true;
                    self.event.data.clear();
                }
                if self.event.too_long {
                    return;
                }
                if self.event.has_data {
                    self.event.data.extend_from_slice(b"\n");
                }
                self.event.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.kind = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.last_id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                self.event.retry_ms = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<SseItem> {
        let event = std::mem::take(&mut self.event);
        if event.too_long {
            return Some(SseItem::TooLong);
        }
        // An id or a delay alone is news too: it tells where and when to go on.
        if !event.has_data && event.retry_ms.is_none() && event.kind.is_empty() {
            return None;
        }
        Some(SseItem::Event(SseEvent {
            kind: event.kind,
            data: event.data.freeze(),
            id: self.last_id.clone(),
            retry_ms: event.retry_ms,
        }))
    }
}

#[cfg(test)]
mod tests;
