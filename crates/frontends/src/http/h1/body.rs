//! The body of a request: by its length or in chunks, within limits of size, time and what is under way in all.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use manifold_engine::{Budget, Share};
use manifold_http1::{Framing, Length, RequestHead};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::wire::Wire;
use crate::http::body::Unread;
use crate::http::peer::Peer;
use crate::http::site::Site;
use crate::http::timeouts::{REQUEST_PATIENCE, SLOWEST_BYTES_PER_MS};

/// Room is made for so much of an announced body at once; more only as it comes.
const AT_ONCE_BYTES: usize = 256 << 10;
/// Reads the body that belongs to a head. Only one that came to its end is no longer owed.
pub(super) async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    head: &RequestHead,
    peer: &Peer,
    site: &Site,
) -> Result<Bytes, Unread> {
    let budget = &peer.budget;
    match head.length {
        // Whether anything comes is not said, and nobody waits for it.
        Length::Known(0) | Length::Open => return Ok(Bytes::new()),
        Length::Known(length) if length > site.limit_bytes => return Err(Unread::TooLarge),
        Length::Known(length) if !budget.admits(length) => return Err(Unread::Overloaded),
        // Most bodies came with their head, and are used where they are.
        Length::Known(length) if wire.input.len() >= length => {
            wire.owes_body = false;
            return Ok(budget.hold(wire.input.split_to(length).freeze()));
        }
        Length::Known(_) | Length::Chunked => {}
    }
    if head.expects_continue && wire.input.is_empty() {
        wire.write(&[b"HTTP/1.1 100 Continue\r\n\r\n"]).await.map_err(|_| Unread::Broken)?;
    }
    let mut reader = Reader::new(site.limit_bytes, budget, head.length);
    reader.read(wire).await?;
    wire.owes_body = false;
    Ok(budget.hold(reader.body.freeze()))
}

/// A body as it comes in.
struct Reader {
    limit_bytes: usize,
    /// What is only announced counts for nothing: a client could keep others out with it.
    share: Share,
    began: Instant,
    framing: Framing,
    body: BytesMut,
}

impl Reader {
    fn new(limit_bytes: usize, budget: &Budget, length: Length) -> Self {
        let (share, framing) = (budget.share(), Framing::new(length));
        Self { limit_bytes, share, began: Instant::now(), framing, body: BytesMut::new() }
    }

    /// Reads to the end of the body.
    async fn read<S: AsyncRead + AsyncWrite + Unpin>(&mut self, wire: &mut Wire<S>) -> Result<(), Unread> {
        loop {
            let before = self.body.len();
            self.make_room(self.framing.data_left());
            let taken = self.framing.take(&wire.input, &mut self.body).map_err(|_| Unread::Broken)?;
            wire.input.advance(taken);
            self.admit(self.body.len() - before)?;
            if self.framing.is_over() {
                return Ok(());
            }
            match self.framing.data_left() {
                0 => self.fill(wire).await?,
                left => self.read_data(wire, left).await?,
            }
        }
    }

    /// Reads so much more of the body straight to where it belongs.
    async fn read_data<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        wire: &mut Wire<S>,
        length: usize,
    ) -> Result<(), Unread> {
        let mut left = length;
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
            self.framing.took(read);
            self.admit(read)?;
            left -= read;
        }
        Ok(())
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

    /// Counts what came, which may be too much: of all, or of this body with what is announced of it.
    fn admit(&mut self, bytes: usize) -> Result<(), Unread> {
        if self.body.len().saturating_add(self.framing.data_left()) > self.limit_bytes {
            return Err(Unread::TooLarge);
        }
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
