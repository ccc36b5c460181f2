//! How far each request of a shim has come, in a page of memory that both ends share. It outlives the daemon, so that a
//! shim knows after a crash what may have run and what cannot have.
#![expect(unsafe_code, reason = "memory is shared with another process")]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::stat::fstat;
use nix::unistd::ftruncate;

#[cfg(test)]
mod tests;

/// How many requests of one shim can be in flight, with one more place that stands for none.
pub const SLOTS: usize = 1 << 16;

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Sent by the shim, if that.
    Sent = 0,
    /// Read by the daemon.
    Received = 1,
    /// Handed to a server: it may have run.
    Dispatched = 2,
}

/// The shared page: one byte for each slot.
pub struct Stages {
    memory: NonNull<AtomicU8>,
}

// SAFETY: the memory is only ever used as atomics, and mapped for as long as this lives.
unsafe impl Send for Stages {}
// SAFETY: as above.
unsafe impl Sync for Stages {}

impl Stages {
    /// Makes a page, and the descriptor by which another process gets at it. Its size is fixed for good.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let memory = memfd_create(c"manifold-stages", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        ftruncate(&memory, SLOTS as i64)?;
        let fixed = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&memory, FcntlArg::F_ADD_SEALS(fixed))?;
        Ok((Self::map(&memory)?, memory))
    }

    /// Maps the page of another process. One that could shrink under us is not taken.
    pub fn open(memory: &OwnedFd) -> io::Result<Self> {
        let seals = SealFlag::from_bits_truncate(fcntl(memory, FcntlArg::F_GET_SEALS)?);
        if !seals.contains(SealFlag::F_SEAL_SHRINK) || fstat(memory)?.st_size != SLOTS as i64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(memory)
    }

    fn map(memory: impl AsFd) -> io::Result<Self> {
        let length = NonZeroUsize::new(SLOTS).unwrap_or(NonZeroUsize::MIN);
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh mapping of a file whose size is sealed, unmapped when this is dropped.
        let memory = unsafe { mmap(None, length, rights, MapFlags::MAP_SHARED, memory, 0)? };
        Ok(Self { memory: memory.cast() })
    }

    /// Notes how far the request of a slot has come.
    pub fn set(&self, slot: u16, stage: Stage) {
        self.at(slot).store(stage as u8, Ordering::Relaxed);
    }

    /// Returns how far the request of a slot has come. What nobody could have written counts as furthest.
    pub fn get(&self, slot: u16) -> Stage {
        match self.at(slot).load(Ordering::Relaxed) {
            0 => Stage::Sent,
            1 => Stage::Received,
            _ => Stage::Dispatched,
        }
    }

    fn at(&self, slot: u16) -> &AtomicU8 {
        // SAFETY: every `u16` lies within the mapping, and an `AtomicU8` may be any byte.
        unsafe { self.memory.add(usize::from(slot)).as_ref() }
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody else has it.
        let _ = unsafe { munmap(self.memory.cast(), SLOTS) };
    }
}
