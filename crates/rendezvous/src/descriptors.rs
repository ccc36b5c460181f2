//! One line over a socket, with descriptors beside it.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

/// No line of a handshake is longer; the variables of a client are the longest part.
const MAX_LINE_BYTES: usize = 4 << 20;

/// Sends a line, with descriptors attached to its first byte. The socket may be non-blocking.
pub fn send_line(
    socket: &UnixStream,
    line: &[u8],
    with: &[BorrowedFd<'_>],
    until: Instant,
) -> io::Result<()> {
    let raw: Vec<RawFd> = with.iter().map(AsRawFd::as_raw_fd).collect();
    let mut rest = line;
    while !rest.is_empty() {
        let attached = [ControlMessage::ScmRights(&raw)];
        let attached = if rest.len() == line.len() && !raw.is_empty() { &attached[..] } else { &[] };
        match sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(rest)], attached, MsgFlags::MSG_NOSIGNAL, None)
        {
            Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => wait_ready(socket, PollFlags::POLLOUT, until)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A line as it comes in, and the descriptor that came with it.
#[derive(Debug, Default)]
pub struct IncomingLine {
    line: Vec<u8>,
    descriptor: Option<OwnedFd>,
}

impl IncomingLine {
    /// Takes what is there of the line, and not a byte behind it: frames follow. Returns whether it is whole; would block
    /// where more must come.
    pub fn take(&mut self, socket: &impl AsFd) -> io::Result<bool> {
        loop {
            // What is there is looked at first.
            let mut looked_at = [0; 4096];
            let seen = match peek(socket, &mut looked_at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(seen) => looked_at.get(..seen).unwrap_or_default(),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let end = seen.iter().position(|byte| *byte == b'\n');
            let mut chunk = vec![0; end.map_or(seen.len(), |end| end + 1)];
            let (count, came) = take(socket, &mut chunk)?;
            self.descriptor = self.descriptor.take().or(came);
            self.line.extend_from_slice(chunk.get(..count).unwrap_or_default());
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
                return Ok(true);
            }
            if self.line.len() > MAX_LINE_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }

    pub fn into_parts(self) -> (Vec<u8>, Option<OwnedFd>) {
        (self.line, self.descriptor)
    }
}

/// Reads a line, waiting for it until then.
pub fn receive_line(socket: &UnixStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut incoming = IncomingLine::default();
    loop {
        match incoming.take(socket) {
            Ok(_) => return Ok(incoming.line),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait_ready(socket, PollFlags::POLLIN, until)?
            }
            Err(error) => return Err(error),
        }
    }
}

fn peek(socket: &impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    nix::sys::socket::recv(socket.as_fd().as_raw_fd(), into, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT)
}

fn take(socket: &impl AsFd, into: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    // As many as one message can bring: those that do not fit would stay open, and be nobody's.
    let mut room = nix::cmsg_space!([RawFd; 253]);
    let mut parts = [IoSliceMut::new(into)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut parts, Some(&mut room), flags)?;
    let mut first = None;
    for attached in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(came) = attached {
            for owned in came.into_iter().map(own) {
                first.get_or_insert(owned);
            }
        }
    }
    Ok((message.bytes, first))
}

#[expect(unsafe_code, reason = "a descriptor that the kernel has just given us is ours")]
fn own(descriptor: RawFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: it came with this message and is known to nobody else in this process.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Waits until a descriptor is ready; an error once the time is over.
pub fn wait_ready(descriptor: &impl AsFd, events: PollFlags, until: Instant) -> io::Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // Never zero, or the last millisecond would be spent asking.
        let left = PollTimeout::try_from(left.as_millis().max(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(descriptor.as_fd(), events)], left) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]
    use super::*;

    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    /// Whoever sends many would else use up what we have.
    #[test]
    fn of_many_descriptors_one_is_kept_and_none_is_left_open() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let many = [ours.as_fd(); 250];
        let soon = || Instant::now() + std::time::Duration::from_secs(60);
        let before = open_descriptors();
        for _ in 0..3 {
            send_line(&theirs, b"line\nand more", &many, soon()).unwrap();
            let mut incoming = IncomingLine::default();
            assert!(incoming.take(&ours).unwrap());
            let (line, kept) = incoming.into_parts();
            assert_eq!(line, b"line");
            assert!(kept.is_some());
            let mut rest = [0; 8];
            assert_eq!(take(&ours, &mut rest).unwrap().0, 8);
        }
        // Other tests open some too, but not hundreds.
        assert!(open_descriptors() < before + 100);
    }
}
