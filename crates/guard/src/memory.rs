//! Memory by the page, given back at once: what guard and keepers hold at rest is a page or two of stack.
#![expect(unsafe_code, reason = "without an allocator, pages come straight from the kernel")]

use core::slice;

use crate::kernel::{self, Errno};

/// Plain values, zero at first, in pages of their own.
pub(crate) struct Pages<T: Zero> {
    start: *mut T,
    count: usize,
}

/// A type of which all bytes zero are a value.
///
/// # Safety
/// They have to be.
pub(crate) unsafe trait Zero: Copy {}

// SAFETY: a number of zero bytes is zero.
unsafe impl Zero for u8 {}
// SAFETY: as above.
unsafe impl Zero for i32 {}
// SAFETY: this is the null pointer.
unsafe impl Zero for *const u8 {}

impl<T: Zero> Pages<T> {
    pub(crate) const fn none() -> Self {
        Self { start: core::ptr::dangling_mut(), count: 0 }
    }

    pub(crate) fn with_room_for(count: usize) -> Result<Self, Errno> {
        match count {
            0 => Ok(Self::none()),
            _ => Ok(Self { start: kernel::map(count * size_of::<T>())?.cast(), count }),
        }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: so many were mapped, or there are none, and zero is a value.
        unsafe { slice::from_raw_parts(self.start, self.count) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and they are ours alone.
        unsafe { slice::from_raw_parts_mut(self.start, self.count) }
    }
}

impl<T: Zero> Drop for Pages<T> {
    fn drop(&mut self) {
        if self.count > 0 {
            // SAFETY: it was mapped with this size, and every borrow has ended.
            unsafe { kernel::unmap(self.start.cast(), self.count * size_of::<T>()) };
        }
    }
}

/// A list of processes. Where there is no memory left it does not grow: who is not on it is met another time.
pub(crate) struct Pids {
    pages: Pages<i32>,
    length: usize,
}

impl Pids {
    pub(crate) const fn new() -> Self {
        Self { pages: Pages::none(), length: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[i32] {
        self.pages.as_slice().get(..self.length).unwrap_or_default()
    }

    pub(crate) fn contains(&self, pid: i32) -> bool {
        self.as_slice().contains(&pid)
    }

    pub(crate) fn add(&mut self, pid: i32) {
        if self.length == self.pages.count {
            let Ok(mut larger) = Pages::with_room_for((self.length * 2).max(FIRST_PIDS)) else { return };
            for (to, from) in larger.as_mut_slice().iter_mut().zip(self.as_slice()) {
                *to = *from;
            }
            self.pages = larger;
        }
        if let Some(place) = self.pages.as_mut_slice().get_mut(self.length) {
            *place = pid;
            self.length += 1;
        }
    }

    pub(crate) fn remove(&mut self, pid: i32) {
        let Some(at) = self.as_slice().iter().position(|known| *known == pid) else { return };
        self.length -= 1;
        self.pages.as_mut_slice().swap(at, self.length);
    }
}

/// As many as a page holds.
const FIRST_PIDS: usize = 1024;

#[cfg(test)]
mod tests;
