//! The system calls that guard and keepers need, and nothing between them and the kernel.
#![expect(unsafe_code, reason = "system calls have no safe interface without a C library")]

mod numbers;

use core::arch::asm;
use core::ffi::CStr;
use core::mem::size_of_val;
use core::ptr::null_mut;

use numbers as number;

/// The kernel's word for why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    pub(crate) const ENOENT: Self = Self(2);
    pub(crate) const ENOEXEC: Self = Self(8);
    pub(crate) const EINTR: Self = Self(4);
    pub(crate) const EBADF: Self = Self(9);
    pub(crate) const EACCES: Self = Self(13);
    pub(crate) const ENODEV: Self = Self(19);
    pub(crate) const ENOTDIR: Self = Self(20);
    pub(crate) const EPIPE: Self = Self(32);
    pub(crate) const ENAMETOOLONG: Self = Self(36);
    pub(crate) const ELOOP: Self = Self(40);
    pub(crate) const EBADMSG: Self = Self(74);
    pub(crate) const ETIMEDOUT: Self = Self(110);
    pub(crate) const ESTALE: Self = Self(116);
}

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

/// An open descriptor, closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Fd(i32);

impl Fd {
    /// Returns the standard input. Only for the one place that has it for good.
    pub(crate) const fn stdin() -> Self {
        Self(0)
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        let _ = plain(number::CLOSE, [self.0 as usize, 0, 0]);
    }
}

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

/// Sends a signal to a process, or to a process group by its number below zero.
pub(crate) fn kill(pid: i32, signal: Signal) -> Result<(), Errno> {
    plain(number::KILL, [pid as usize, usize::from(signal.0), 0]).map(drop)
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

/// Waits until one of two descriptors has something to read, and tells which; or for so long.
pub(crate) fn wait_for(wanted: [&Fd; 2], patience_ms: Option<u32>) -> Result<[bool; 2], Errno> {
    #[repr(C)]
    struct Polled {
        fd: i32,
        wanted: i16,
        found: i16,
    }
    const POLLIN: i16 = 1;
    let mut polled = wanted.map(|fd| Polled { fd: fd.0, wanted: POLLIN, found: 0 });
    let mut time = patience_ms.map(|ms| [i64::from(ms / 1000), i64::from(ms % 1000) * 1_000_000]);
    let time = time.as_mut().map_or(null_mut(), |time| time.as_mut_ptr());
    let arguments = [polled.as_mut_ptr() as usize, polled.len(), time as usize, 0, 0, 0];
    // SAFETY: two such structures are there to be written to, and a time, of which what is left is written back, or none.
    match unsafe { call(number::PPOLL, arguments) } {
        Ok(_) => Ok(polled.map(|polled| polled.found != 0)),
        Err(Errno::EINTR) => Ok([false; 2]),
        Err(errno) => Err(errno),
    }
}

/// Opens a file to read it.
pub(crate) fn open(path: &CStr) -> Result<Fd, Errno> {
    // SAFETY: the kernel reads the string.
    unsafe { call(number::OPENAT, [HERE, path.as_ptr() as usize, CLOEXEC, 0, 0, 0]) }.map(|fd| Fd(fd as i32))
}

pub(crate) fn exists(path: &CStr) -> bool {
    // SAFETY: the kernel reads the string.
    unsafe { call(number::FACCESSAT, [HERE, path.as_ptr() as usize, 0, 0, 0, 0]) }.is_ok()
}

pub(crate) fn change_directory(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the kernel reads the string.
    unsafe { call(number::CHDIR, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Reads what is there. Nothing means the end.
pub(crate) fn read(fd: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    fill_from(number::READ, fd, buffer)
}

/// Reads a few entries of a directory, as the kernel writes them.
pub(crate) fn read_entries(fd: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    fill_from(number::GETDENTS64, fd, buffer)
}

fn fill_from(number: usize, fd: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        let arguments = [fd.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
        // SAFETY: the kernel writes no more than the buffer holds.
        match unsafe { call(number, arguments) } {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

pub(crate) fn write(fd: &Fd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads these bytes.
    unsafe { call(number::WRITE, [fd.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Sends into a socket, whose other end may be gone.
pub(crate) fn send(fd: &Fd, bytes: &[u8]) -> Result<usize, Errno> {
    const MSG_NOSIGNAL: usize = 0x4000;
    let arguments = [fd.0 as usize, bytes.as_ptr() as usize, bytes.len(), MSG_NOSIGNAL, 0, 0];
    // SAFETY: the kernel reads these bytes.
    unsafe { call(number::SENDTO, arguments) }
}

/// Receives bytes and up to four descriptors. No bytes mean that the other side closed.
pub(crate) fn receive(fd: &Fd, buffer: &mut [u8]) -> Result<(usize, [Option<Fd>; 4]), Errno> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    #[repr(C)]
    struct Slice {
        start: *mut u8,
        bytes: usize,
    }
    /// The one control message there can be.
    #[repr(C)]
    struct Attached {
        bytes: usize,
        level: i32,
        kind: i32,
        fds: [i32; 4],
    }
    #[repr(C)]
    struct Message {
        address: usize,
        address_bytes: u32,
        slices: *mut Slice,
        slice_count: usize,
        attached: *mut Attached,
        attached_bytes: usize,
        flags: i32,
    }
    const SOL_SOCKET: i32 = 1;
    const SCM_RIGHTS: i32 = 1;
    let mut slice = Slice { start: buffer.as_mut_ptr(), bytes: buffer.len() };
    let mut attached = Attached { bytes: 0, level: 0, kind: 0, fds: [-1; 4] };
    let mut message = Message {
        address: 0,
        address_bytes: 0,
        slices: &raw mut slice,
        slice_count: 1,
        attached: &raw mut attached,
        attached_bytes: size_of::<Attached>(),
        flags: 0,
    };
    let arguments = [fd.0 as usize, (&raw mut message) as usize, MSG_CMSG_CLOEXEC, 0, 0, 0];
    // SAFETY: everything the message points to is there and as large as it says.
    let count = loop {
        match unsafe { call(number::RECVMSG, arguments) } {
            Err(Errno::EINTR) => {}
            result => break result?,
        }
    };
    let mut fds = [None, None, None, None];
    if (attached.level, attached.kind) == (SOL_SOCKET, SCM_RIGHTS) {
        let came = attached.bytes.saturating_sub(ATTACHED_HEAD) / size_of::<i32>();
        for (place, fd) in fds.iter_mut().zip(attached.fds).take(came) {
            // The kernel has just made it for us, and nobody else knows it.
            *place = Some(Fd(fd));
        }
    }
    Ok((count, fds))
}

const ATTACHED_HEAD: usize = size_of::<usize>() + 2 * size_of::<i32>();

/// Makes a descriptor take the place of another, by its number; it then stays open in the programs we start.
pub(crate) fn put_in_place(fd: &Fd, place: i32) -> Result<(), Errno> {
    plain(number::DUP3, [fd.0 as usize, place as usize, 0]).map(drop)
}

/// Opens a pipe: what is written into the second comes out of the first.
pub(crate) fn pipe() -> Result<(Fd, Fd), Errno> {
    let mut ends = [0_i32; 2];
    // SAFETY: there is room for two.
    unsafe { call(number::PIPE2, [ends.as_mut_ptr() as usize, CLOEXEC, 0, 0, 0, 0]) }?;
    Ok((Fd(ends[0]), Fd(ends[1])))
}

/// Closes every descriptor from this number on. Fails where the kernel is older than this call (5.9).
pub(crate) fn close_from(first: u32) -> Result<(), Errno> {
    plain(number::CLOSE_RANGE, [first as usize, u32::MAX as usize, 0]).map(drop)
}

/// Closes a descriptor of which nothing but the number is known.
pub(crate) fn close_number(number: i32) {
    drop(Fd(number));
}

/// Asks for memory, all zero, in whole pages.
pub(crate) fn map(bytes: usize) -> Result<*mut u8, Errno> {
    const READ_AND_WRITE: usize = 3;
    const PRIVATE_AND_ANONYMOUS: usize = 0x22;
    // SAFETY: new memory is in nobody's way.
    let at = unsafe { call(number::MMAP, [0, bytes, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, usize::MAX, 0]) }?;
    Ok(at as *mut u8)
}

/// Gives memory back.
///
/// # Safety
/// It came from [`map`] with this size, and nothing points to it.
pub(crate) unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: the caller vouches for it.
    let _ = unsafe { call(number::MUNMAP, [at as usize, bytes, 0, 0, 0, 0]) };
}

const CLOEXEC: usize = 0o2_000_000;
const NONBLOCK: usize = 0o4000;
/// Paths start at the current directory.
const HERE: usize = -100_isize as usize;

/// Makes a call that is handed no memory.
fn plain(number: usize, [a, b, c]: [usize; 3]) -> Result<usize, Errno> {
    // SAFETY: no argument is an address, so no memory of ours is read or written.
    unsafe { call(number, [a, b, c, 0, 0, 0]) }
}

/// Makes a call.
///
/// # Safety
/// What the arguments point to must be what the kernel expects there.
#[inline(never)]
unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel changes nothing but what is named here, and what the caller vouches for.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
            in("x4") e, in("x5") f, options(nostack));
    }
    #[cfg(target_arch = "riscv64")]
    // SAFETY: as above.
    unsafe {
        asm!("ecall", in("a7") number, inlateout("a0") a => result, in("a1") b, in("a2") c, in("a3") d,
            in("a4") e, in("a5") f, options(nostack));
    }
    // The last page of all addresses is never mapped: its numbers are free to mean errors.
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}
