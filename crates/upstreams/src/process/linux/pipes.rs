//! The ends of a server's pipes that are ours.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use manifold_engine::delegate_io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

use super::{Descriptor, unix};

/// Where a server reads from. Dropping it is the end of its input.
#[derive(Debug)]
pub struct ServerInput(pub(super) pipe::Sender);

/// What a server writes.
#[derive(Debug)]
pub struct ServerOutput(pub(super) pipe::Receiver);

impl ServerInput {
    /// Lets go of it without its end, for whoever takes our place.
    pub(crate) fn suspend(self) -> io::Result<Descriptor> {
        self.0.into_nonblocking_fd().map(Descriptor::from)
    }

    pub(crate) fn take_over(descriptor: Descriptor) -> io::Result<Self> {
        pipe::Sender::from_owned_fd(descriptor.into()).map(Self)
    }
}

impl ServerOutput {
    /// Lets go of it without its end, for whoever takes our place.
    pub(crate) fn suspend(self) -> io::Result<Descriptor> {
        self.0.into_nonblocking_fd().map(Descriptor::from)
    }

    pub(crate) fn take_over(descriptor: Descriptor) -> io::Result<Self> {
        pipe::Receiver::from_owned_fd(descriptor.into()).map(Self)
    }
}

impl AsyncWrite for ServerInput {
    delegate_io!(write: 0);
}

impl AsyncRead for ServerOutput {
    delegate_io!(read: 0);
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
