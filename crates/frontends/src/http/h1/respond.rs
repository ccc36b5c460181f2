//! An answer on its way out: head and body in one write, a stream in chunks as its parts come.

use std::future::poll_fn;
use std::io;
use std::io::Write as _;
use std::iter::once;
use std::task::Poll;

use bytes::Bytes;
use hyper::header::{CONNECTION, CONTENT_LENGTH, DATE};
use hyper::{HeaderMap, Response, StatusCode};
use manifold_engine::Budget;
use manifold_http1::{LAST_CHUNK, put_chunk, put_chunk_size};
use tokio::io::{AsyncRead, AsyncWrite};

use super::wire::Wire;
use crate::http::body::Body;
use crate::http::date::with_date;

/// A body up to this size is copied behind its head; a longer one is written from where it is.
const COPIED_BYTES: usize = 8 << 10;
/// A stream's parts that are ready are written together up to this size.
const TOGETHER_BYTES: usize = 64 << 10;

/// How a request wants to be answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// No other request follows on this connection.
    pub(super) is_last: bool,
    /// False for HEAD.
    pub(super) has_body: bool,
    /// Whether the peer can read chunks; else a stream ends with the connection.
    pub(super) has_chunks: bool,
}

impl Manner {
    /// For a request that could not be read.
    pub(super) const LAST: Self = Self { is_last: true, has_body: true, has_chunks: true };
}

/// Writes an answer to its end. It counts where its client's does, or else in the connection's `budget`. Returns how: the
/// one to a request whose body was not read is always the last.
pub(super) async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    response: Response<Body>,
    manner: Manner,
    budget: &Budget,
) -> io::Result<Manner> {
    let manner = Manner { is_last: manner.is_last || wire.owes_body, ..manner };
    write_all(wire, response, manner, budget).await?;
    Ok(manner)
}

async fn write_all<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    response: Response<Body>,
    manner: Manner,
    budget: &Budget,
) -> io::Result<()> {
    let (parts, body) = response.into_parts();
    let owed = body.owed_to();
    let mut out = Vec::with_capacity(512);
    match body.into_whole() {
        Ok(message) => {
            encode_head(&mut out, parts.status, &parts.headers, manner, Some(message.len()));
            if !manner.has_body {
                return wire.write(&[&out]).await;
            }
            if message.len() <= COPIED_BYTES {
                message.pieces().for_each(|piece| out.extend_from_slice(piece));
                return wire.write(&[&out]).await;
            }
            // What is owed to a session counts there already.
            let message = if owed.is_some() { message } else { message.map(|piece| budget.hold(piece)) };
            let pieces: Vec<&[u8]> = once(&out[..]).chain(message.pieces().map(|piece| &piece[..])).collect();
            wire.write_for(Some(owed.as_ref().unwrap_or(budget)), &pieces).await
        }
        Err(body) => {
            encode_head(&mut out, parts.status, &parts.headers, manner, None);
            drop(parts);
            if !manner.has_body {
                return wire.write(&[&out]).await;
            }
            write_stream(wire, out, body, manner.has_chunks, owed.as_ref().unwrap_or(budget)).await
        }
    }
}

async fn write_stream<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    head: Vec<u8>,
    mut body: Body,
    has_chunks: bool,
    unread: &Budget,
) -> io::Result<()> {
    let mut out = head;
    loop {
        // What is ready goes out together with the head, or with what was ready before it.
        let has_ended = loop {
            match poll_fn(|context| Poll::Ready(body.poll_bytes(context))).await {
                Poll::Ready(Some(bytes)) if bytes.len() > TOGETHER_BYTES => {
                    write_large(wire, std::mem::take(&mut out), bytes, has_chunks, unread).await?;
                }
                Poll::Ready(Some(bytes)) => push_part(&mut out, &bytes, has_chunks),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
            if out.len() > TOGETHER_BYTES {
                break false;
            }
        };
        if has_ended {
            if has_chunks {
                out.extend_from_slice(LAST_CHUNK);
            }
            return write_part(wire, out, unread).await;
        }
        // A stream at rest holds no buffer (F37).
        write_part(wire, std::mem::take(&mut out), unread).await?;
        let part: Option<Bytes> = tokio::select! {
            biased;
            part = poll_fn(|context| body.poll_bytes(context)) => part,
            () = wire.hung_up() => return Err(io::ErrorKind::ConnectionReset.into()),
        };
        match part {
            Some(bytes) if bytes.len() > TOGETHER_BYTES => {
                write_large(wire, Vec::new(), bytes, has_chunks, unread).await?;
            }
            Some(bytes) => push_part(&mut out, &bytes, has_chunks),
            None => {
                let end: &[u8] = if has_chunks { LAST_CHUNK } else { b"" };
                return wire.write(&[end]).await;
            }
        }
    }
}

/// Writes a part of a stream, which counts until it is written.
async fn write_part<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    part: Vec<u8>,
    unread: &Budget,
) -> io::Result<()> {
    let mut share = unread.share();
    share.grow(part.len());
    wire.write_for(Some(unread), &[&part]).await
}

/// Writes a large part from where it is, behind what is ready before it.
async fn write_large<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    mut before: Vec<u8>,
    part: Bytes,
    has_chunks: bool,
    unread: &Budget,
) -> io::Result<()> {
    let part = unread.hold(part);
    if !has_chunks {
        return wire.write_for(Some(unread), &[&before, &part]).await;
    }
    put_chunk_size(&mut before, part.len());
    wire.write_for(Some(unread), &[&before, &part, b"\r\n"]).await
}

fn push_part(out: &mut Vec<u8>, bytes: &[u8], has_chunks: bool) {
    out.reserve(bytes.len() + 16);
    if has_chunks {
        put_chunk(out, bytes);
    } else {
        out.extend_from_slice(bytes);
    }
}

fn encode_head(
    out: &mut Vec<u8>,
    status: StatusCode,
    headers: &HeaderMap,
    manner: Manner,
    length: Option<usize>,
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("").as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        if *name != CONNECTION && *name != CONTENT_LENGTH {
            push_header(out, name.as_str(), value.as_bytes());
        }
    }
    let has_none =
        status.is_informational() || status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED;
    match length {
        Some(length) if !has_none => {
            let _ = write!(out, "content-length: {length}\r\n");
        }
        None if manner.has_chunks => push_header(out, "transfer-encoding", b"chunked"),
        Some(_) | None => {}
    }
    // Without chunks the end of the connection is the end of a stream.
    let word = headers.get(CONNECTION);
    if let Some(word) = word.filter(|_| status.is_informational() || !manner.is_last) {
        push_header(out, "connection", word.as_bytes());
    } else if manner.is_last || (length.is_none() && !manner.has_chunks) {
        push_header(out, "connection", b"close");
    } else if !manner.has_chunks {
        push_header(out, "connection", b"keep-alive");
    }
    if !headers.contains_key(DATE) {
        push_date(out);
    }
    out.extend_from_slice(b"\r\n");
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn push_date(out: &mut Vec<u8>) {
    with_date(|date| push_header(out, "date", date.as_bytes()));
}
