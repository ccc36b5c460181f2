//! Descriptors that another program takes over from us under their numbers, by `execve` in our own process.
#![expect(unsafe_code, reason = "a number becomes a descriptor again where the state says that it is one")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A descriptor that is written down as its number. Whoever reads the number owns it: a state is read once, by the process
/// it was left to.
#[derive(Debug)]
pub struct Descriptor(OwnedFd);

impl Descriptor {
    /// Lets it stay open for the program that takes our place.
    pub fn keep_across_exec(&self) -> io::Result<()> {
        Ok(fcntl(&self.0, FcntlArg::F_SETFD(FdFlag::empty())).map(drop)?)
    }

    /// Lets it close when another program is run, as all others do.
    pub fn close_on_exec(&self) -> io::Result<()> {
        Ok(fcntl(&self.0, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map(drop)?)
    }

    pub(crate) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Takes over what is open under a number, for ourselves alone.
    fn take(number: RawFd) -> io::Result<Self> {
        // The standard streams are never handed over.
        if number <= 2 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // SAFETY: the number is only looked up; it is not used any further where nothing is open under it.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        // SAFETY: it is open, and belongs to nobody else: whoever wrote the number down has let go of it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }
}

impl From<OwnedFd> for Descriptor {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

impl From<Descriptor> for OwnedFd {
    fn from(descriptor: Descriptor) -> Self {
        descriptor.0
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Serialize for Descriptor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.number())
    }
}

impl<'de> Deserialize<'de> for Descriptor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = RawFd::deserialize(deserializer)?;
        Self::take(number).map_err(|error| de::Error::custom(format_args!("descriptor {number}: {error}")))
    }
}
