//! The system calls that guard and keepers need, and nothing between them and the kernel.
#![expect(unsafe_code, reason = "system calls have no safe interface without a C library")]

mod files;
mod numbers;
mod process;
mod signals;

use core::arch::asm;

use numbers as number;

pub(crate) use files::{
    change_directory, close_from, close_number, exists, open, pipe, put_in_place, read, read_entries,
    receive, send, wait_for, write,
};
pub(crate) use process::{
    Fork, Status, Wait, adopt_orphans, execute, exit, forbid_inspection, fork, fork_into,
    hear_of_parents_end, kill_cgroup, own_id, parent_id, reap, set_name, start_group, start_session,
};
pub(crate) use signals::{Signal, block_signals, kill, reset_signals, unblock_signals, watch_signals};

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
