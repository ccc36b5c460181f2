//! Processes: how they begin, what they are known by, how their end is told.

use core::ffi::CStr;
use core::mem::size_of_val;

use super::{CLOEXEC, Errno, Fd, Signal, call, numbers as number, plain, write};

/// Which of the two processes after a fork this is.
pub(crate) enum Fork {
    Parent { child: i32 },
    Child,
}

/// What a look for ended children found.
pub(crate) enum Wait {
    Ended(i32, Status),
    AllRunning,
    NoChildren,
}

/// How a process ended.
#[derive(Clone, Copy)]
pub(crate) enum Status {
    Code(i32),
    Signal(i32),
}

pub(crate) fn exit(code: i32) -> ! {
    loop {
        let _ = plain(number::EXIT_GROUP, [code as usize, 0, 0]);
    }
}

/// Forks. Only for a process with a single thread: no lock can be held then by a thread that the child lacks.
pub(crate) fn fork() -> Result<Fork, Errno> {
    match plain(number::CLONE, [usize::from(Signal::CHLD.0), 0, 0])? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent { child: child as i32 }),
    }
}

/// Forks like [`fork`], and the child begins in the cgroup whose folder this is. Fails where that is not allowed or the
/// kernel is older than this call (5.7). A process moved there later would cost a wait of some ten milliseconds.
pub(crate) fn fork_into(cgroup: &Fd) -> Result<Fork, Errno> {
    const INTO_CGROUP: u64 = 1 << 33;
    let mut wanted = [0_u64; 11];
    let [flags, _, _, _, signal, .., folder] = &mut wanted;
    (*flags, *signal, *folder) =
        (INTO_CGROUP, u64::from(Signal::CHLD.0), u64::from(cgroup.0.cast_unsigned()));
    let arguments = [wanted.as_ptr() as usize, size_of_val(&wanted), 0, 0, 0, 0];
    // SAFETY: the kernel reads so many bytes. No memory is shared and no stack given: it is a fork like the other.
    match unsafe { call(number::CLONE3, arguments) }? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent { child: child as i32 }),
    }
}

/// Kills all that is in the cgroup whose folder this is, and below it. Fails where the kernel is older than this (5.14).
pub(crate) fn kill_cgroup(folder: &Fd) -> Result<(), Errno> {
    const WRITE_ONLY: usize = 1;
    let arguments = [folder.0 as usize, c"cgroup.kill".as_ptr() as usize, CLOEXEC | WRITE_ONLY, 0, 0, 0];
    // SAFETY: the kernel reads the string.
    let file = unsafe { call(number::OPENAT, arguments) }.map(|fd| Fd(fd as i32))?;
    write(&file, b"1").map(drop)
}

/// Becomes another program. Returns only if that failed.
///
/// # Safety
/// Both lists end with a null, and all before it are strings.
pub(crate) unsafe fn execute(path: &CStr, args: *const *const u8, variables: *const *const u8) -> Errno {
    let arguments = [path.as_ptr() as usize, args as usize, variables as usize, 0, 0, 0];
    // SAFETY: the caller vouches for the lists; on success there is no process left to be harmed.
    match unsafe { call(number::EXECVE, arguments) } {
        Ok(_) => Errno::EBADMSG,
        Err(errno) => errno,
    }
}

/// Reaps one ended child, any or the one given; only the latter is waited for.
pub(crate) fn reap(child: Option<i32>) -> Wait {
    const WNOHANG: usize = 1;
    let (who, how) = child.map_or((-1, WNOHANG), |child| (child, 0));
    let mut status: i32 = 0;
    loop {
        // SAFETY: `status` is a valid place for an int.
        match unsafe { call(number::WAIT4, [who as usize, (&raw mut status) as usize, how, 0, 0, 0]) } {
            Ok(0) => return Wait::AllRunning,
            Ok(pid) => return Wait::Ended(pid as i32, Status::from_raw(status)),
            Err(Errno::EINTR) => {}
            Err(_) => return Wait::NoChildren,
        }
    }
}

impl Status {
    fn from_raw(raw: i32) -> Self {
        match raw & 0x7f {
            0 => Self::Code(raw >> 8 & 0xff),
            signal => Self::Signal(signal),
        }
    }
}

pub(crate) fn own_id() -> i32 {
    plain(number::GETPID, [0; 3]).unwrap_or_default() as i32
}

pub(crate) fn parent_id() -> i32 {
    plain(number::GETPPID, [0; 3]).unwrap_or_default() as i32
}

/// Leaves session, group and terminal. Fails for a leader, who is away already.
pub(crate) fn start_session() -> Result<(), Errno> {
    plain(number::SETSID, [0; 3]).map(drop)
}

/// Starts a process group with this process alone.
pub(crate) fn start_group() -> Result<(), Errno> {
    plain(number::SETPGID, [0; 3]).map(drop)
}

/// Sets the name under which this process is listed.
pub(crate) fn set_name(name: &CStr) -> Result<(), Errno> {
    const PR_SET_NAME: usize = 15;
    // SAFETY: the kernel reads the string and nothing after it.
    unsafe { call(number::PRCTL, [PR_SET_NAME, name.as_ptr() as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Keeps others of the same user from looking into this process: its memory, environment and descriptors. Keepers
/// inherit it; a program that is run is as usual again. It leaves no core behind either.
pub(crate) fn forbid_inspection() -> Result<(), Errno> {
    const PR_SET_DUMPABLE: usize = 4;
    plain(number::PRCTL, [PR_SET_DUMPABLE, 0, 0]).map(drop)
}

/// Makes this process the parent of every orphan below it.
pub(crate) fn adopt_orphans() -> Result<(), Errno> {
    const PR_SET_CHILD_SUBREAPER: usize = 36;
    plain(number::PRCTL, [PR_SET_CHILD_SUBREAPER, 1, 0]).map(drop)
}

/// Has the kernel send us a signal when our parent ends.
pub(crate) fn hear_of_parents_end(signal: Signal) -> Result<(), Errno> {
    const PR_SET_PDEATHSIG: usize = 1;
    plain(number::PRCTL, [PR_SET_PDEATHSIG, usize::from(signal.0), 0]).map(drop)
}
