//! The body of a request: by its length or in chunks, within limits of size, time and what is under way in all.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use manifold_engine::{Budget, Share};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::head::{Head, Length};
use super::wire::Wire;
use crate::http::body::{SLOWEST_BYTES_PER_MS, Unread};
use crate::http::connection::REQUEST_PATIENCE;
use crate::http::{Peer, Site};

/// Room is made for so much of an announced body at once; more only as it comes.
const AT_ONCE_BYTES: usize = 256 << 10;
/// The longest line with the size of a chunk, and the most that may follow the last one.
const MAX_CHUNK_LINE_BYTES: usize = 256;
const MAX_TRAILER_BYTES: usize = 8 << 10;

/// Reads the body that belongs to a head.
pub(super) async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    head: &Head,
    peer: &Peer,
    site: &Site,
) -> Result<Bytes, Unread> {
    let budget = &peer.budget;
    let mut reader = match head.length {
        Length::Known(0) => return Ok(Bytes::new()),
        Length::Known(length) if length > site.limit_bytes => return Err(Unread::TooLarge),
        Length::Known(length) if !budget.admits(length) => return Err(Unread::Overloaded),
        // Most bodies came with their head, and are used where they are.
        Length::Known(length) if wire.input.len() >= length => {
            return Ok(budget.hold(wire.input.split_to(length).freeze()));
        }
        Length::Known(_) | Length::Chunked => Reader::new(site.limit_bytes, budget),
    };
    if head.expects_continue && wire.input.is_empty() {
        wire.write(&[b"HTTP/1.1 100 Continue\r\n\r\n"]).await.map_err(|_| Unread::Broken)?;
    }
    match head.length {
        Length::Known(length) => reader.take(wire, length).await?,
        Length::Chunked => reader.take_chunks(wire).await?,
    }
    Ok(budget.hold(reader.body.freeze()))
}

/// A body as it comes in.
struct Reader {
    limit_bytes: usize,
    /// What is only announced counts for nothing: a client could keep others out with it.
    share: Share,
    began: Instant,
    body: BytesMut,
}

impl Reader {
    fn new(limit_bytes: usize, budget: &Budget) -> Self {
        Self { limit_bytes, share: budget.share(), began: Instant::now(), body: BytesMut::new() }
    }

    /// Reads so much more of the body.
    async fn take<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        wire: &mut Wire<S>,
        length: usize,
    ) -> Result<(), Unread> {
        let mut left = length;
        let ready = left.min(wire.input.len());
        self.admit(ready)?;
        self.make_room(left);
        self.body.put(wire.input.split_to(ready));
        left -= ready;
        while left > 0 {
            if self.body.len() == self.body.capacity() {
                self.make_room(left);
            }
            let mut room = (&mut self.body).limit(left);
            let read = wire.stream.read_buf(&mut room);
            let read = match timeout_at(deadline(self.began, self.share.bytes()), read).await {
                Err(_) => return Err(Unread::Stalled),
                Ok(Err(_) | Ok(0)) => return Err(Unread::Broken),
                Ok(Ok(read)) => read,
            };
            self.admit(read)?;
            left -= read;
        }
        Ok(())
    }

    async fn take_chunks<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        wire: &mut Wire<S>,
    ) -> Result<(), Unread> {
        loop {
            let size = self.chunk_size(wire).await?;
            if size == 0 {
                return self.skip_trailers(wire).await;
            }
            if size > self.limit_bytes.saturating_sub(self.body.len()) {
                return Err(Unread::TooLarge);
            }
            self.take(wire, size).await?;
            while wire.input.len() < 2 {
                self.fill(wire).await?;
            }
            if !wire.input.starts_with(b"\r\n") {
                return Err(Unread::Broken);
            }
            wire.input.advance(2);
        }
    }

    async fn chunk_size<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        wire: &mut Wire<S>,
    ) -> Result<usize, Unread> {
        loop {
            match httparse::parse_chunk_size(&wire.input) {
                Ok(httparse::Status::Complete((line, size))) => {
                    wire.input.advance(line);
                    return usize::try_from(size).map_err(|_| Unread::TooLarge);
                }
                Ok(httparse::Status::Partial) if wire.input.len() <= MAX_CHUNK_LINE_BYTES => {
                    self.fill(wire).await?;
                }
                Ok(httparse::Status::Partial) | Err(_) => return Err(Unread::Broken),
            }
        }
    }

    /// Nobody reads what follows the last chunk; it ends with an empty line.
    async fn skip_trailers<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        wire: &mut Wire<S>,
    ) -> Result<(), Unread> {
        let mut skipped = 0;
        loop {
            match memchr::memchr(b'\n', &wire.input) {
                Some(end) => {
                    let is_empty = matches!(&wire.input[..end], b"" | b"\r");
                    wire.input.advance(end + 1);
                    skipped += end + 1;
                    if is_empty {
                        return Ok(());
                    }
                }
                None => self.fill(wire).await?,
            }
            if skipped + wire.input.len().min(MAX_TRAILER_BYTES) > MAX_TRAILER_BYTES {
                return Err(Unread::Broken);
            }
        }
    }

    async fn fill<S: AsyncRead + AsyncWrite + Unpin>(&mut self, wire: &mut Wire<S>) -> Result<(), Unread> {
        match timeout_at(deadline(self.began, self.share.bytes()), wire.fill()).await {
            Err(_) => Err(Unread::Stalled),
            Ok(Err(_) | Ok(0)) => Err(Unread::Broken),
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Doubles the room, so that what came is seldom moved; but nobody gets much for announcing much.
    fn make_room(&mut self, left: usize) {
        self.body.reserve(left.min(self.body.len().max(AT_ONCE_BYTES)));
    }

    fn admit(&mut self, bytes: usize) -> Result<(), Unread> {
        if !self.share.admits(bytes) {
            return Err(Unread::Overloaded);
        }
        self.share.grow(bytes);
        Ok(())
    }
}

/// Each byte buys a little more time, so that a body that only trickles is not waited for (T30); what was bought does
/// not help one that has stopped coming.
fn deadline(began: Instant, read: usize) -> Instant {
    let bought = Duration::from_millis(read as u64 / SLOWEST_BYTES_PER_MS);
    (began + REQUEST_PATIENCE + bought).min(Instant::now() + REQUEST_PATIENCE)
}
