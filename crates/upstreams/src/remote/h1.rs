//! HTTP/1.1 towards a server, without a task per connection: whoever asks takes a connection from the pool, writes the
//! request in one piece, reads the answer and puts the connection back. Letting go of an answer closes its connection.

mod chunks;
mod coming;
mod fields;
mod framing;
mod head;
mod pool;
mod wire;

use std::pin::Pin;
use std::task::{Context, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) use self::coming::{Body, exchange};
pub(crate) use self::fields::Fields;
pub(crate) use self::head::{Head, Noted};
pub(super) use self::pool::Pool;
pub(super) use self::wire::{Lost, Wire};

/// What HTTP is spoken over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    /// Returns how many bytes have left us in all, below any encryption.
    fn sent_bytes(&self) -> u64;

    /// Returns whether the peer has neither said anything unasked nor hung up, as far as is known without asking.
    fn is_quiet(&mut self) -> bool {
        let (mut byte, mut context) = ([0], Context::from_waker(Waker::noop()));
        Pin::new(self).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

/// Why an answer cannot be read (RFC 9112; where two readers could differ about its end it is refused, T31).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    Head,
    TooLarge,
    Length,
    Coding,
    Chunk,
}

impl Malformed {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Head => "its answer is no HTTP",
            Self::TooLarge => "the headers of its answer are too large",
            Self::Length => "the length of its answer can be read in two ways",
            Self::Coding => "its answer is coded in a way nobody asked for",
            Self::Chunk => "a chunk of its answer cannot be read",
        }
    }
}

#[cfg(test)]
mod tests;
