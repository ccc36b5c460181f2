//! A stream of which something was read before it was known what is spoken on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use manifold_engine::delegate_io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct Rewind<S> {
    read: Bytes,
    stream: S,
}

impl<S> Rewind<S> {
    pub(super) fn new(stream: S, read: Bytes) -> Self {
        Self { read, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewind<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let size = self.read.len().min(buffer.remaining());
        buffer.put_slice(&self.read[..size]);
        self.read.advance(size);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewind<S> {
    delegate_io!(write: stream);
}
