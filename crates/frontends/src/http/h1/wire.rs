//! The bytes of a connection, both ways.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use manifold_engine::{Budget, busy_poll};
use manifold_http1::MAX_HEAD_BYTES;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;
use tracing::debug;

use crate::http::rewind::Rewind;
use crate::http::timeouts::{WRITE_PATIENCE, overdue};

/// What is read at once; requests are mostly smaller.
const SCRATCH_BYTES: usize = 32 << 10;
/// How long a peer may take to hear the last answer, and how much more of it we read meanwhile.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 4 << 20;

thread_local! {
    /// Bytes are read into here and only kept at their size, so that a connection at rest holds no buffer (F37).
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice());
}

/// A connection, and what was read from it and not yet used.
pub(super) struct Wire<S> {
    pub(super) stream: S,
    pub(super) input: BytesMut,
    /// Whether the body of the present request has not been read to its end. No other request is looked for behind it:
    /// the answer is the last, whoever gives it (H1).
    pub(super) owes_body: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, input: BytesMut::new(), owes_body: false }
    }

    /// Gives the connection back with what was read of it and not used.
    pub(super) fn rewound(self) -> Rewind<S> {
        Rewind::new(self.stream, self.input.freeze())
    }

    /// Reads some more and returns how much; nothing is the end.
    pub(super) async fn fill(&mut self) -> io::Result<usize> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            busy_poll::mark();
            self.input.extend_from_slice(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }

    /// Resolves when the peer is gone. What it says ahead of its turn is kept, up to a limit.
    pub(super) async fn hung_up(&mut self) {
        while self.input.len() < MAX_HEAD_BYTES {
            match self.fill().await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        std::future::pending().await
    }

    /// Writes pieces to the end, together where the stream can.
    pub(super) async fn write(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        self.write_for(None, pieces).await
    }

    /// Does the same for a client with so much to read. One that takes nothing is waited for only so long, and not long
    /// at all where it has left too much unread already (F20).
    pub(super) async fn write_for(&mut self, owed: Option<&Budget>, pieces: &[&[u8]]) -> io::Result<()> {
        let mut many;
        let mut one;
        let mut left: &mut [IoSlice<'_>] = match pieces {
            [piece] => {
                one = [IoSlice::new(piece)];
                &mut one
            }
            pieces => {
                many = pieces.iter().map(|piece| IoSlice::new(piece)).collect::<Vec<_>>();
                &mut many
            }
        };
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let write = poll_fn(|context| {
                let stream = Pin::new(&mut self.stream);
                match &*left {
                    [one] => stream.poll_write(context, one),
                    several => stream.poll_write_vectored(context, several),
                }
            });
            let wrote = tokio::select! {
                biased;
                wrote = timeout(WRITE_PATIENCE, write) => wrote.map_err(|_| io::ErrorKind::TimedOut)?,
                () = overdue(owed) => {
                    debug!("a connection is closed: its client leaves too much unread");
                    return Err(io::ErrorKind::TimedOut.into());
                }
            };
            match wrote? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                wrote => IoSlice::advance_slices(&mut left, wrote),
            }
            if let Some(owed) = owed {
                owed.note_taken();
            }
        }
        // Without TLS there is nothing to flush.
        self.stream.flush().await
    }

    /// Ends the connection so that the last answer is heard: closing it over unread bytes would take the answer back.
    pub(super) async fn linger(&mut self) {
        if self.stream.shutdown().await.is_err() {
            return;
        }
        let drain = async {
            let mut read = 0;
            while read < LINGER_BYTES {
                self.input.clear();
                match self.fill().await {
                    Ok(0) | Err(_) => return,
                    Ok(more) => read += more,
                }
            }
        };
        let _ = timeout(LINGER, drain).await;
    }
}
