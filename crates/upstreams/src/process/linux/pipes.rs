//! The ends of a server's pipes that are ours.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

use super::unix;

/// Where a server reads from. Dropping it is the end of its input.
#[derive(Debug)]
pub struct ServerInput(pub(super) pipe::Sender);

/// What a server writes.
#[derive(Debug)]
pub struct ServerOutput(pub(super) pipe::Receiver);

impl AsyncWrite for ServerInput {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl AsyncRead for ServerOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

/// Looks at a server's input without holding up its end for longer than the look is needed.
pub(crate) struct InputGauge(OwnedFd);

impl InputGauge {
    pub(crate) fn of(stdin: &ServerInput) -> io::Result<Self> {
        stdin.0.as_fd().try_clone_to_owned().map(Self)
    }

    /// Returns how much of what it was sent the server has not read.
    pub(crate) fn unread_bytes(&self) -> usize {
        unix::unread_bytes(&self.0)
    }
}
