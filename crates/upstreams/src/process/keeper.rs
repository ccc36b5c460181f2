//! The keeper: one process between the guard and each server, to which all that the server leaves behind falls.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::poll::PollTimeout;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::MsgFlags;
use nix::unistd::{Pid, getppid};

use super::guard::{MARKER, wait_for};
use super::wire::{self, Report};
use super::{Excess, Limits, tree, unix};

/// How often a server with limits is looked at.
const LOOK_MS: u16 = 200;

/// The signal the kernel sends us when the guard ends.
pub(super) const GUARD_DIED: Signal = Signal::SIGTERM;

/// Runs one server from its start to the end of everything it started.
pub(super) fn run(control: BorrowedFd<'_>, signals: &SignalFd, guard: Pid, code: &unix::MappedCode) {
    let ready = prctl::set_name(c"mcp-keeper")
        .and_then(|()| prctl::set_child_subreaper(true))
        .and_then(|()| prctl::set_pdeathsig(GUARD_DIED));
    if ready.is_err() {
        return;
    }
    let (server, limits) = match receive(control).and_then(|(body, pipes)| start(&body, pipes)) {
        Ok(started) => started,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            return send(control, Report::Failed { errno });
        }
    };
    send(control, Report::Spawned { pid: server.as_raw().cast_unsigned() });
    // There is one keeper per server, and most of what it ever does is done.
    code.forget();

    let (mut status, mut excess) = (None, None);
    match watch(server, limits, control, signals, guard) {
        End::Ended(how) => status = Some(how),
        End::Over(which) => excess = Some(which),
        End::Unwanted => {}
    }
    let mut swept = 0;
    tree::kill_all_below(signals, |pid, how| {
        if pid == server {
            status = Some(how);
        } else {
            swept += 1;
        }
    });
    // Told only now, so whoever hears of the end may start anew: nothing of the old is in the way.
    if let Some(excess) = excess {
        return send(control, Report::Over { excess, swept });
    }
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => send(control, Report::Exited { code, swept }),
        Some((None, Some(signal))) => send(control, Report::Killed { signal, swept }),
        _ => {}
    }
}

/// Why a watch is over.
enum End {
    /// The server ended by itself.
    Ended(ExitStatus),
    /// It must end for what it uses.
    Over(Excess),
    /// It must end because nobody wants it any more.
    Unwanted,
}

/// Watches until the server ends or has to.
fn watch(server: Pid, limits: Limits, control: BorrowedFd<'_>, signals: &SignalFd, guard: Pid) -> End {
    let look = if limits == Limits::default() { PollTimeout::NONE } else { PollTimeout::from(LOOK_MS) };
    loop {
        let Ok((asked, signalled)) = wait_for(control, signals, look) else { return End::Unwanted };
        if let Some(excess) = tree::excess_below(Pid::this(), limits) {
            return End::Over(excess);
        }
        if signalled {
            tree::drain_signals(signals);
            let mut status = None;
            tree::reap_all(|pid, how| {
                if pid == server {
                    status = Some(how);
                }
            });
            if let Some(status) = status {
                return End::Ended(status);
            }
        }
        // Anyone can send the signal; only the guard's death gives us a new parent.
        if getppid() != guard {
            return End::Unwanted;
        }
        if asked {
            let mut numbers = [0; 16];
            let count = match nix::unistd::read(control, &mut numbers) {
                Ok(0) => return End::Unwanted,
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(_) => return End::Unwanted,
            };
            for number in &numbers[..count] {
                if let Ok(signal) = Signal::try_from(i32::from(*number)) {
                    let _ = nix::sys::signal::killpg(server, signal);
                }
            }
        }
    }
}

/// Receives a whole request and the descriptors that came with its first byte.
fn receive(control: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut head = [0; wire::HEAD_BYTES];
    let (filled, descriptors) = unix::receive_with_descriptors(control, &mut head)?;
    fill(control, &mut head[filled..])?;
    let length = u32::from_le_bytes(head) as usize;
    if length > wire::MAX_REQUEST_BYTES {
        return Err(Errno::EBADMSG.into());
    }
    let mut body = vec![0; length];
    fill(control, &mut body)?;
    Ok((body, descriptors))
}

fn fill(control: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match nix::unistd::read(control, &mut buffer[filled..]) {
            Ok(0) => return Err(Errno::EPIPE.into()),
            Ok(count) => filled += count,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Starts the server in a process group of its own. Our copies of its pipes are closed on return.
fn start(body: &[u8], pipes: Vec<OwnedFd>) -> io::Result<(Pid, Limits)> {
    let (path, wanted) = wire::decode_request(body).ok_or(Errno::EBADMSG)?;
    let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(pipes).map_err(|_| Errno::EBADF)?;
    let mut command = Command::new(path);
    command.arg0(wanted.program).args(wanted.args).env_clear().envs(wanted.env);
    command.env(MARKER, std::env::var_os(MARKER).as_deref().unwrap_or(OsStr::new("")));
    if let Some(cwd) = wanted.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
    command.process_group(0);
    unix::unblock_signals_and_die_with_parent(&mut command);
    Ok((Pid::from_raw(command.spawn()?.id().cast_signed()), wanted.limits))
}

/// Tells the gateway, which may be gone.
fn send(control: BorrowedFd<'_>, report: Report) {
    let _ = nix::sys::socket::send(control.as_raw_fd(), &report.encode(), MsgFlags::MSG_NOSIGNAL);
}
