//! HTTP/1.1 towards a server, without a task per connection: whoever asks takes a connection from the pool, writes the
//! request in one piece, reads the answer and puts the connection back. Letting go of an answer closes its connection.

mod body;
mod head;
mod pool;
mod wire;

use std::pin::Pin;
use std::task::{Context, Waker};

pub(super) use manifold_http1::Asked;
pub(crate) use manifold_http1::Fields;
use manifold_http1::Malformed;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) use self::body::{Body, exchange};
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

/// Says why an answer cannot be read (RFC 9112; where two readers could differ about its end it is refused, T31).
fn message(malformed: Malformed) -> &'static str {
    match malformed {
        Malformed::Head | Malformed::Preface => "its answer is no HTTP",
        Malformed::TooLarge => "the headers of its answer are too large",
        Malformed::Length => "the length of its answer can be read in two ways",
        Malformed::Coding => "its answer is coded in a way nobody asked for",
        Malformed::Chunk => "a chunk of its answer cannot be read",
        Malformed::Switched => "it switched to another protocol (HTTP 101), which nobody asked for",
        Malformed::Interim => "it goes on with interim answers (HTTP 1xx) and gives none",
    }
}

#[cfg(test)]
mod tests;
