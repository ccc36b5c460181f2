//! Who is the daemon, and who may start one: decided by locks that the kernel lets go of when their holder dies.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FlockArg, OFlag};
use nix::libc;

/// How often a lock that is held is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// A lock that is held for as long as a descriptor of it is open, in any process.
#[derive(Debug)]
pub struct Lock(OwnedFd);

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another holds it")]
    Held,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Lock {
    /// Takes the lock if it is free. Its file is made if need be, and never removed.
    pub fn try_take(path: &Path) -> Result<Self, LockError> {
        loop {
            let file = open(path)?;
            match flock(&file, FlockArg::LockExclusiveNonblock) {
                Ok(()) if is_still(&file, path) => return Ok(Self(file.into())),
                // Its folder was removed and made again in between.
                Ok(()) => {}
                Err(Errno::EWOULDBLOCK) => return Err(LockError::Held),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// Takes the lock, waiting for it no longer than this.
    pub fn take_until(path: &Path, until: Instant) -> Result<Self, LockError> {
        loop {
            match Self::try_take(path) {
                Err(LockError::Held) if Instant::now() < until => sleep(ASK_AGAIN),
                other => return other,
            }
        }
    }

    /// Takes over a lock whose descriptor we were given by whoever took it.
    pub fn inherited(descriptor: OwnedFd, path: &Path) -> Result<Self, LockError> {
        let file = File::from(descriptor);
        match flock(&file, FlockArg::LockExclusiveNonblock) {
            Ok(()) if is_still(&file, path) => Ok(Self(file.into())),
            Ok(()) | Err(Errno::EWOULDBLOCK) => Err(LockError::Held),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Returns whether the file at the path is still the one that is locked.
    pub fn is_at(&self, path: &Path) -> bool {
        self.0.try_clone().is_ok_and(|descriptor| is_still(&File::from(descriptor), path))
    }

    /// Gives the descriptor away: to a process that is to hold the lock from now on.
    pub fn into_descriptor(self) -> OwnedFd {
        self.0
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits()).open(path)
}

fn is_still(file: &File, path: &Path) -> bool {
    let same = |ours: std::fs::Metadata, theirs: std::fs::Metadata| {
        (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
    };
    file.metadata().and_then(|ours| Ok(same(ours, path.symlink_metadata()?))).unwrap_or(false)
}

#[expect(
    unsafe_code,
    reason = "the safe interface lets go of the lock when it is dropped, in every process at once"
)]
fn flock(file: &File, how: FlockArg) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let how = match how {
        FlockArg::LockExclusiveNonblock => libc::LOCK_EX | libc::LOCK_NB,
        _ => libc::LOCK_EX,
    };
    // SAFETY: a call with a descriptor that is open.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), how) }).map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]
    use super::*;

    #[test]
    fn one_holds_it_until_every_descriptor_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let first = Lock::try_take(&path).unwrap();
        assert!(matches!(Lock::try_take(&path), Err(LockError::Held)));
        let copy = first.as_fd().try_clone_to_owned().unwrap();
        drop(first);
        assert!(
            matches!(Lock::try_take(&path), Err(LockError::Held)),
            "a copy of the descriptor holds it too"
        );
        let inherited = Lock::inherited(copy, &path).unwrap();
        assert!(inherited.is_at(&path));
        drop(inherited);
        Lock::try_take(&path).unwrap();
    }

    #[test]
    fn a_lock_whose_file_was_replaced_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let first = Lock::try_take(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(!first.is_at(&path));
        let second = Lock::try_take(&path).unwrap();
        assert!(second.is_at(&path) && !first.is_at(&path));
    }
}
