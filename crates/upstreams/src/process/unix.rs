//! The few calls to the kernel that Rust cannot check for us.
#![expect(
    unsafe_code,
    reason = "fork, wait, ioctl, madvise, signal dispositions and received descriptors have no safe interface"
)]

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::unistd::{ForkResult, Pid};

/// What a look for ended children found.
pub(super) enum Wait {
    Ended(Pid, ExitStatus),
    AllRunning,
    NoChildren,
}

/// Reaps one ended child, any or the one given, without waiting for it.
pub(super) fn reap(child: Option<Pid>) -> Wait {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int. nix's own `waitpid` loses a child killed by a real-time signal.
        let pid = unsafe { libc::waitpid(child.map_or(-1, Pid::as_raw), &raw mut status, libc::WNOHANG) };
        match pid {
            0 => return Wait::AllRunning,
            1.. => return Wait::Ended(Pid::from_raw(pid), ExitStatus::from_raw(status)),
            _ if Errno::last() == Errno::EINTR => {}
            _ => return Wait::NoChildren,
        }
    }
}

/// Forks; returns the child's id in the parent and nothing in the child. Only for a process with a single thread.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: guard and keepers have one thread, so no lock can be held by a thread that the child lacks.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(Some(child)),
        ForkResult::Child => Ok(None),
    }
}

/// Gives every signal its default meaning: an ignored SIGCHLD, say, is inherited and would hide our children's ends.
pub(super) fn reset_signal_dispositions() {
    for each in Signal::iterator().filter(|s| !matches!(s, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: no handler is installed, so none can run at a bad moment.
        let _ = unsafe { signal(each, SigHandler::SigDfl) };
    }
}

/// Lets the program start with no signal blocked, and die with the process that starts it.
pub(super) fn unblock_signals_and_die_with_parent(command: &mut Command) {
    // SAFETY: both are plain system calls without allocation, fit for the time between fork and exec.
    unsafe {
        command.pre_exec(|| {
            SigSet::empty().thread_set_mask()?;
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            Ok(())
        });
    }
}

/// Returns how much of what was written into a pipe nobody has read; it can be asked at either end.
pub(super) fn unread_bytes(pipe: impl AsFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: `bytes` is a valid place for an int, which is what this request writes.
    let asked = unsafe { libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    if asked == 0 { usize::try_from(bytes).unwrap_or_default() } else { 0 }
}

/// The code that is mapped into this process.
pub(super) struct MappedCode(Vec<(usize, usize)>);

impl MappedCode {
    /// Looks where code is mapped, here and in every process forked from here.
    pub(super) fn find() -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let code = maps.lines().filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (from, to) = fields.next()?.split_once('-')?;
            let (kind, file) = (fields.next()?, fields.nth(3)?);
            let number = |text| usize::from_str_radix(text, 16).ok();
            (kind == "r-xp" && file.starts_with('/')).then_some((number(from)?, number(to)?))
        });
        Self(code.collect())
    }

    /// Unmaps what was used so far; what is needed again comes back from the file when it is run.
    pub(super) fn forget(&self) {
        for &(from, to) in &self.0 {
            // SAFETY: pages of a file that cannot be written have no content of their own; the kernel maps the same
            // bytes again at the next touch.
            unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_DONTNEED) };
        }
    }
}

/// Closes what an ancestor left open without close-on-exec, lest every server inherit it.
pub(super) fn close_inherited_descriptors() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        let _ = nix::unistd::close(descriptor);
    }
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

/// Receives bytes and up to three descriptors. No bytes mean that the other side closed.
pub(super) fn receive_with_descriptors(
    socket: impl AsFd,
    bytes: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = cmsg_space!([RawFd; 3]);
    let mut slices = [IoSliceMut::new(bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut slices, Some(&mut space), flags)?;
    let mut descriptors = Vec::new();
    for attached in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = attached {
            // SAFETY: the kernel has just made these descriptors for us, and nobody else knows them.
            descriptors.extend(raw.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }));
        }
    }
    Ok((message.bytes, descriptors))
}
