//! Where the guard begins when it is a program of its own: at the kernel's door, with no C library to open it.
#![expect(unsafe_code, reason = "without a C library the first instructions and `memcpy` are ours")]

use core::arch::{asm, global_asm};
use core::ffi::{CStr, c_char};
use core::panic::PanicInfo;

use crate::{MARKER, guard, kernel};

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl _start",
    "_start:",
    // No frame is below this one.
    "xor ebp, ebp",
    "mov rdi, rsp",
    "and rsp, -16",
    "call {begin}",
    begin = sym begin,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, xzr",
    "mov x30, xzr",
    "mov x0, sp",
    "bl {begin}",
    begin = sym begin,
);

/// Gets the stack as the kernel lays it out: a count, the arguments, a null, the environment, a null.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: that is the layout, so all of this is within it, and what it points to lives as long as the process.
    let marker = unsafe {
        let mut variable = stack.add(*stack + 2).cast::<*const c_char>();
        loop {
            if (*variable).is_null() {
                break None;
            }
            let text = CStr::from_ptr(*variable);
            if is_marker(text.to_bytes()) {
                break Some(text);
            }
            variable = variable.add(1);
        }
    };
    guard::run(marker)
}

fn is_marker(variable: &[u8]) -> bool {
    variable.strip_prefix(MARKER.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
}

/// The keepers hear of the guard's end from the kernel, the gateway of a keeper's by its socket; both act on it.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    kernel::exit(101)
}

// What the compiler takes for granted. Written so that it cannot take them for themselves.

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    let mut at = 0;
    while at < bytes {
        // SAFETY: the caller vouches for both ranges.
        unsafe { to.add(at).write(from.add(at).read()) };
        at += 1;
        hide();
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    if to.cast_const() <= from {
        // SAFETY: as above; each byte is read before it can be written over.
        return unsafe { memcpy(to, from, bytes) };
    }
    let mut at = bytes;
    while at > 0 {
        at -= 1;
        // SAFETY: as above, from the end.
        unsafe { to.add(at).write(from.add(at).read()) };
        hide();
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8 {
    let mut at = 0;
    while at < bytes {
        // SAFETY: the caller vouches for the range.
        unsafe { to.add(at).write(value as u8) };
        at += 1;
        hide();
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, bytes: usize) -> i32 {
    let mut at = 0;
    while at < bytes {
        // SAFETY: the caller vouches for both ranges.
        let (a, b) = unsafe { (*one.add(at), *other.add(at)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
        at += 1;
        hide();
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, bytes: usize) -> i32 {
    // SAFETY: the caller vouches for both ranges.
    unsafe { memcmp(one, other, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: the caller vouches for the null at its end.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
        hide();
    }
    length
}

/// Keeps a loop from being recognised.
#[inline(always)]
fn hide() {
    // SAFETY: it is empty.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}
