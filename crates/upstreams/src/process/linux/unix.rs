//! The few calls to the kernel that Rust cannot check for us.
#![expect(unsafe_code, reason = "wait, ioctl and pidfd_open have no safe interface that does what we need")]

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

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

/// Returns a descriptor that is readable once a child has ended.
pub(super) fn watch_child(child: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the call takes two numbers and touches no memory of ours.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, child.as_raw(), 0) };
    let Some(number) = RawFd::try_from(opened).ok().filter(|number| *number >= 0) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel has just given it to us, and to nobody else.
    let pidfd = unsafe { OwnedFd::from_raw_fd(number) };
    // SAFETY: it is open for as long as it is owned, and whoever watches it owns it.
    Ok(unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }?)
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
