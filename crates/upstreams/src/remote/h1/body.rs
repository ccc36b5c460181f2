//! The body of an answer: most are whole as soon as their head is, others are read as they are wanted.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use manifold_http1::{Asked, Framing};
use tokio::io::AsyncReadExt;

use super::wire::{Begun, Lost, Wire};
use super::{Head, Pool, Stream};

/// Room is made for so much of an announced body at once; more only as it comes.
const AT_ONCE_BYTES: usize = 256 << 10;
/// What is at least this long is read straight to where it belongs.
const STRAIGHT_BYTES: usize = 8 << 10;

/// The body of an answer. Its connection is back in the pool once it has been read to its end.
pub(in crate::remote) enum Body {
    Whole(Bytes),
    Coming(Box<Coming>),
}

/// A body on its way.
pub(in crate::remote) struct Coming {
    wire: Box<Wire>,
    framing: Framing,
    /// What has come and was not taken.
    data: BytesMut,
    /// Whether another request may follow, if this ends well.
    keeps_alive: bool,
    pool: Arc<Pool>,
}

/// Writes the request that was begun and reads the head of its answer, and the body if it comes along.
pub(in crate::remote) async fn exchange(
    mut wire: Box<Wire>,
    asked: Asked,
    pool: &Arc<Pool>,
) -> Result<(Head, Body), Lost> {
    let Begun { head, framing, data, has_more } = wire.answer(asked).await?;
    let keeps_alive = head.keeps_alive && !has_more;
    if !framing.is_over() {
        let coming = Coming { wire, framing, data, keeps_alive, pool: Arc::clone(pool) };
        return Ok((head, Body::Coming(Box::new(coming))));
    }
    if keeps_alive && wire.is_free() {
        pool.put(wire);
    }
    Ok((head, Body::Whole(data.freeze())))
}

impl Body {
    /// Returns how long it is, if that is known.
    pub(in crate::remote) fn length(&self) -> Option<usize> {
        match self {
            Self::Whole(body) => Some(body.len()),
            Self::Coming(coming) => match coming.framing {
                Framing::Left(left) => left.checked_add(coming.data.len()),
                Framing::Chunks(_) | Framing::UntilClose => None,
            },
        }
    }

    /// Reads the next piece.
    pub(in crate::remote) async fn next(&mut self) -> Result<Option<Bytes>, Lost> {
        if let Self::Coming(coming) = self {
            while coming.data.is_empty() && !coming.is_over() {
                poll_fn(|context| coming.poll_more(context)).await?;
            }
            if !coming.is_over() {
                return Ok(Some(coming.data.split().freeze()));
            }
        }
        let last = match std::mem::replace(self, Self::Whole(Bytes::new())) {
            Self::Whole(last) => last,
            Self::Coming(over) => over.give_back(),
        };
        Ok(Some(last).filter(|last| !last.is_empty()))
    }

    /// Reads all of it within a limit.
    pub(in crate::remote) async fn read(self, limit_bytes: usize) -> Result<Bytes, Lost> {
        if self.length().is_some_and(|bytes| bytes > limit_bytes) {
            return Err(Lost::TooLarge(limit_bytes));
        }
        match self {
            Self::Whole(body) => Ok(body),
            Self::Coming(coming) => coming.read(limit_bytes).await,
        }
    }

    /// Gives up the connection as such, with what has come on it; `None` if it is back in the pool.
    pub(in crate::remote) fn into_stream(self) -> Option<(Box<dyn Stream>, Bytes)> {
        match self {
            Self::Whole(_) => None,
            Self::Coming(coming) => Some((coming.wire.into_stream(), coming.data.freeze())),
        }
    }
}

impl Coming {
    fn is_over(&self) -> bool {
        self.framing.is_over()
    }

    async fn read(mut self: Box<Self>, limit_bytes: usize) -> Result<Bytes, Lost> {
        while self.data.len() <= limit_bytes && !self.is_over() {
            poll_fn(|context| self.poll_more(context)).await?;
        }
        if self.data.len() > limit_bytes {
            return Err(Lost::TooLarge(limit_bytes));
        }
        Ok(self.give_back())
    }

    /// Gives the connection back, and the last of what has come.
    fn give_back(self) -> Bytes {
        if self.keeps_alive && self.wire.is_free() {
            self.pool.put(self.wire);
        }
        self.data.freeze()
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.wire.go_on_writing(context);
        let left = self.framing.data_left();
        if left >= STRAIGHT_BYTES || matches!(self.framing, Framing::Left(_)) {
            // Doubled as it comes, so that little is moved; but nobody gets much for announcing much.
            self.data.reserve(left.min(self.data.len().max(AT_ONCE_BYTES)));
            let mut room = (&mut self.data).limit(left);
            let read = pin!(self.wire.stream.read_buf(&mut room)).poll(context);
            return Poll::Ready(match ready!(read) {
                Ok(0) => Err(Lost::Closed),
                Ok(bytes) => {
                    self.framing.took(bytes);
                    Ok(())
                }
                Err(error) => Err(Lost::Broken(error)),
            });
        }
        let Self { wire, framing, data, keeps_alive, .. } = self;
        let taken = wire.poll_scratch(context, |came| match (came, &framing) {
            ([], Framing::UntilClose) => {
                *keeps_alive = false;
                *framing = Framing::Left(0);
                Ok(())
            }
            ([], _) => Err(Lost::Closed),
            (came, _) => {
                let taken = framing.take(came, data)?;
                *keeps_alive &= taken == came.len();
                Ok(())
            }
        });
        Poll::Ready(ready!(taken).unwrap_or_else(|error| Err(Lost::Broken(error))))
    }
}
