//! An answer of HTTP/1.1: its head, and a body of a stated length, in chunks, or to the end of the connection.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;

use crate::{ClientError, MAX_ANSWER_BYTES};

/// No head is longer, and no line of one.
const MAX_HEAD_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) is_event_stream: bool,
    socket: BufReader<UnixStream>,
    framing: Framing,
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    /// So many bytes of this chunk are still to come; `None`: before the next chunk's size.
    Chunks(Option<u64>),
    /// It has been reached.
    Ended,
    /// The connection ends with it.
    Close,
}

impl Response {
    /// Reads the head of the answer.
    pub(crate) fn read(socket: UnixStream) -> Result<Self, ClientError> {
        let mut socket = BufReader::new(socket);
        loop {
            let (status, lines) = head(&mut socket)?;
            // What comes before the answer says nothing about it.
            if (100..200).contains(&status) {
                continue;
            }
            let framing = framing(status, &lines).ok_or(ClientError::NoDaemon)?;
            let is_event_stream = value(&lines, "content-type")
                .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"));
            return Ok(Self { status, is_event_stream, socket, framing });
        }
    }

    /// Reads the whole body.
    pub(crate) fn all(mut self) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        loop {
            let part = self.part()?;
            if part.is_empty() {
                return Ok(body);
            }
            if body.len() + part.len() > MAX_ANSWER_BYTES {
                return Err(ClientError::NoDaemon);
            }
            body.extend_from_slice(part);
            let count = part.len();
            self.consume(count);
        }
    }

    /// Returns what has come of the body, waiting for some; empty at its end. What of it is used must be consumed.
    pub(crate) fn part(&mut self) -> Result<&[u8], ClientError> {
        if matches!(self.framing, Framing::Chunks(None)) {
            self.framing = next_chunk(&mut self.socket)?;
        }
        let most = match self.framing {
            Framing::Length(0) | Framing::Ended => return Ok(&[]),
            Framing::Length(left) | Framing::Chunks(Some(left)) => {
                usize::try_from(left).unwrap_or(usize::MAX)
            }
            Framing::Chunks(None) => 0,
            Framing::Close => usize::MAX,
        };
        let is_to_come = self.framing != Framing::Close;
        let part = self.socket.fill_buf().map_err(waited)?;
        if part.is_empty() && is_to_come {
            return Err(cut());
        }
        Ok(&part[..part.len().min(most)])
    }

    /// Returns whether something has come that was not read yet. The line that ends a chunk says nothing of the next.
    pub(crate) fn has_more(&self) -> bool {
        self.socket.buffer().len() > b"\r\n".len()
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.socket.consume(count);
        let less = |left: u64| left.saturating_sub(count as u64);
        self.framing = match self.framing {
            Framing::Length(left) => Framing::Length(less(left)),
            Framing::Chunks(Some(left)) if less(left) == 0 => Framing::Chunks(None),
            Framing::Chunks(Some(left)) => Framing::Chunks(Some(less(left))),
            other => other,
        };
    }
}

/// Reads a head: its status, and its lines but the first.
fn head(socket: &mut BufReader<UnixStream>) -> Result<(u16, Vec<String>), ClientError> {
    let first = line(socket)?;
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or(ClientError::NoDaemon)?;
    let (mut lines, mut length) = (Vec::new(), 0);
    loop {
        let line = line(socket)?;
        length += line.len();
        match line.is_empty() {
            true => return Ok((status, lines)),
            false if length > MAX_HEAD_BYTES => return Err(ClientError::NoDaemon),
            false => lines.push(line),
        }
    }
}

fn framing(status: u16, lines: &[String]) -> Option<Framing> {
    if status == 204 || status == 304 {
        return Some(Framing::Ended);
    }
    if let Some(coding) = value(lines, "transfer-encoding") {
        return coding.eq_ignore_ascii_case("chunked").then_some(Framing::Chunks(None));
    }
    match value(lines, "content-length") {
        Some(length) => length.parse().ok().map(Framing::Length),
        None => Some(Framing::Close),
    }
}

fn value<'l>(lines: &'l [String], name: &str) -> Option<&'l str> {
    let of = |line: &'l String| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    };
    lines.iter().find_map(of)
}

/// Reads the size of the next chunk; after the last, what follows it too.
fn next_chunk(socket: &mut BufReader<UnixStream>) -> Result<Framing, ClientError> {
    let mut size = line(socket)?;
    // The line that ends the chunk before; the first chunk has none.
    if size.is_empty() {
        size = line(socket)?;
    }
    let digits = size.split(';').next().unwrap_or_default().trim();
    match u64::from_str_radix(digits, 16) {
        Ok(0) => {
            while !line(socket)?.is_empty() {}
            Ok(Framing::Ended)
        }
        Ok(size) => Ok(Framing::Chunks(Some(size))),
        Err(_) => Err(ClientError::NoDaemon),
    }
}

/// Reads one line, without its end.
fn line(socket: &mut BufReader<UnixStream>) -> Result<String, ClientError> {
    let mut line = Vec::new();
    let count = socket.by_ref().take(MAX_HEAD_BYTES as u64).read_until(b'\n', &mut line).map_err(waited)?;
    if line.pop() != Some(b'\n') {
        return Err(if count < MAX_HEAD_BYTES { cut() } else { ClientError::NoDaemon });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| ClientError::NoDaemon)
}

fn cut() -> ClientError {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended before the answer did").into()
}

pub(crate) fn waited(error: io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::Silent,
        _ => error.into(),
    }
}
