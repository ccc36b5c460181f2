//! Signals: sent, blocked, and read from a descriptor.

use core::mem::size_of_val;

use super::{CLOEXEC, Errno, Fd, NONBLOCK, call, numbers as number, plain};

/// The number of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signal(pub(crate) u8);

impl Signal {
    pub(crate) const KILL: Self = Self(9);
    pub(crate) const TERM: Self = Self(15);
    pub(crate) const CHLD: Self = Self(17);
    const LAST: u8 = 64;
}

/// A set of signals, a bit for each.
#[derive(Clone, Copy)]
struct Signals(u64);

/// Sends a signal to a process, or to a process group by its number below zero.
pub(crate) fn kill(pid: i32, signal: Signal) -> Result<(), Errno> {
    plain(number::KILL, [pid as usize, usize::from(signal.0), 0]).map(drop)
}

/// Gives every signal its default meaning: an ignored SIGCHLD, say, is inherited and would hide our children's ends.
pub(crate) fn reset_signals() {
    // No handler, no flags, no mask: whatever the order of these is on this machine.
    let default = [0_u64; 4];
    for signal in 1..=usize::from(Signal::LAST) {
        let arguments = [signal, default.as_ptr() as usize, 0, size_of_val(&0_u64), 0, 0];
        // SAFETY: the kernel reads no more than that. No handler is installed, so none can run at a bad moment.
        let _ = unsafe { call(number::RT_SIGACTION, arguments) };
    }
}

/// Holds back every signal that can be held back.
pub(crate) fn block_signals() -> Result<(), Errno> {
    set_mask(Signals(u64::MAX))
}

pub(crate) fn unblock_signals() -> Result<(), Errno> {
    set_mask(Signals(0))
}

fn set_mask(blocked: Signals) -> Result<(), Errno> {
    const SIG_SETMASK: usize = 2;
    let arguments = [SIG_SETMASK, (&raw const blocked.0) as usize, 0, size_of_val(&blocked.0), 0, 0];
    // SAFETY: the kernel reads one set of that size.
    unsafe { call(number::RT_SIGPROCMASK, arguments) }.map(drop)
}

/// Opens a descriptor that becomes readable when one of these signals is held back.
pub(crate) fn watch_signals(watched: [Signal; 2]) -> Result<Fd, Errno> {
    let set = watched.iter().fold(0_u64, |set, signal| set | 1 << (signal.0 - 1));
    let arguments = [usize::MAX, (&raw const set) as usize, size_of_val(&set), CLOEXEC | NONBLOCK, 0, 0];
    // SAFETY: the kernel reads one set of that size.
    unsafe { call(number::SIGNALFD4, arguments) }.map(|fd| Fd(fd as i32))
}
