//! The few calls to the kernel that Rust cannot check for us.
#![expect(unsafe_code, reason = "wait and ioctl have no safe interface that does what we need")]

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::Pid;

/// What a look for an ended child found.
pub(super) enum Wait {
    Running,
    Gone,
}

/// Reaps a child if it has ended, without waiting for it.
pub(super) fn reap(child: Pid) -> Wait {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int. nix's own `waitpid` loses a child killed by a real-time signal.
        match unsafe { libc::waitpid(child.as_raw(), &raw mut status, libc::WNOHANG) } {
            0 => return Wait::Running,
            -1 if Errno::last() == Errno::EINTR => {}
            _ => return Wait::Gone,
        }
    }
}

/// Returns how much of what was written into a pipe nobody has read; it can be asked at either end.
pub(super) fn unread_bytes(pipe: impl AsFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: `bytes` is a valid place for an int, which is what this request writes.
    let asked = unsafe { libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    if asked == 0 { usize::try_from(bytes).unwrap_or_default() } else { 0 }
}

/// Sends bytes with descriptors attached to the first of them. Returns how many bytes went.
pub(super) fn send_with_descriptors(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let raw: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let attached = [ControlMessage::ScmRights(&raw)];
    let socket = socket.as_fd().as_raw_fd();
    Ok(sendmsg::<()>(socket, &[IoSlice::new(bytes)], &attached, MsgFlags::MSG_NOSIGNAL, None)?)
}
