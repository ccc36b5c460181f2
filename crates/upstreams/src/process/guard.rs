//! The guard: forks a keeper for each server, and leaves nothing behind when the gateway is gone.
//!
//! It has one thread, no async runtime, and next to no memory of its own, so that nothing but SIGKILL ends it.

use std::collections::HashSet;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::exit;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, dup2_stdin, setsid};

use super::wire::Report;
use super::{keeper, tree, unix};

/// The hidden first argument with which our binary is a guard.
pub const GUARD_ARG: &str = "__guard";

/// Names the guard where processes are listed. It differs from ours on purpose: a `pkill -9` by our name takes the
/// gateway and spares the one that cleans up after it.
pub(super) const GUARD_NAME: &str = "mcp-guard";

/// The variable that marks guard, keepers and servers as ours. A gateway below a gateway adds a word to it.
pub(super) const MARKER: &str = "MANIFOLD_TREE";

/// How long after the last start the guard takes itself to be idle.
const QUIET_MS: u16 = 500;

/// Runs the guard and exits, if this process was started to be one. To be called first thing in `main`.
pub fn guard_main_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == GUARD_ARG) {
        // Nobody reads our output; the status is all there is to say.
        exit(if run().is_ok() { 0 } else { 1 });
    }
}

fn run() -> io::Result<()> {
    // Away from the terminal: Ctrl-C and the kill of a whole group must not reach us. Fails for a leader, who is away.
    let _ = setsid();
    prctl::set_name(c"mcp-guard")?;
    prctl::set_child_subreaper(true)?;
    unix::close_inherited_descriptors();
    unix::reset_signal_dispositions();
    SigSet::all().thread_set_mask()?;
    let mut watched = SigSet::empty();
    watched.add(Signal::SIGCHLD);
    watched.add(keeper::GUARD_DIED);
    let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;

    let stdin = io::stdin();
    let ended = serve(stdin.as_fd(), &signals, &unix::MappedCode::find());
    tree::kill_all_below(&signals, |_, _| {});
    ended
}

/// Serves until the gateway closes its end.
fn serve(door: BorrowedFd<'_>, signals: &SignalFd, code: &unix::MappedCode) -> io::Result<()> {
    let mut keepers = HashSet::new();
    let mut patience = PollTimeout::from(QUIET_MS);
    loop {
        let (asked, signalled) = wait_for(door, signals, patience)?;
        if !asked && !signalled {
            // Nothing may happen for days.
            code.forget();
            patience = PollTimeout::NONE;
            continue;
        }
        patience = PollTimeout::from(QUIET_MS);
        if signalled {
            tree::drain_signals(signals);
            tree::reap_all(|pid, _| {
                keepers.remove(&pid);
            });
            // Orphans stop at their keeper. Who comes as far as this has lost it, and his end brings his own children.
            for stray in tree::children_of(Pid::this()).into_iter().filter(|pid| !keepers.contains(pid)) {
                let _ = kill(stray, Signal::SIGKILL);
            }
        }
        if asked {
            let (bytes, mut descriptors) = unix::receive_with_descriptors(door, &mut [0])?;
            match descriptors.pop() {
                Some(control) => keepers.extend(start_keeper(control, signals, code)),
                None if bytes == 0 => return Ok(()),
                None => {}
            }
        }
    }
}

/// Waits until the gateway's socket, the signals or both have something to tell, or patience is over.
pub(super) fn wait_for(
    socket: BorrowedFd<'_>,
    signals: &SignalFd,
    patience: PollTimeout,
) -> io::Result<(bool, bool)> {
    let mut wanted =
        [PollFd::new(socket, PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    match poll(&mut wanted, patience) {
        Ok(_) => Ok((wanted[0].any() == Some(true), wanted[1].any() == Some(true))),
        Err(Errno::EINTR) => Ok((false, false)),
        Err(errno) => Err(errno.into()),
    }
}

fn start_keeper(control: OwnedFd, signals: &SignalFd, code: &unix::MappedCode) -> Option<Pid> {
    let guard = Pid::this();
    match unix::fork() {
        Ok(Some(keeper)) => Some(keeper),
        Ok(None) => {
            // Takes the place of the guard's own socket, which must have no second holder.
            let taken = dup2_stdin(&control);
            drop(control);
            if taken.is_ok() {
                keeper::run(io::stdin().as_fd(), signals, guard, code);
            }
            exit(0)
        }
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or_default();
            let _ = UnixStream::from(control).write_all(&Report::Failed { errno }.encode());
            None
        }
    }
}
