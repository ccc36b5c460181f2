//! Who is the daemon, and who may start one: decided by locks that the kernel lets go of when their holder dies.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;

/// How often a lock that is held is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(2);
/// How often it is seen whether a lock has passed from one to another meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A lock that is held for as long as a descriptor of it is open, in any process.
#[derive(Debug)]
pub struct Lock(File);

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another holds it")]
    Held,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<TryLockError> for LockError {
    fn from(error: TryLockError) -> Self {
        match error {
            TryLockError::WouldBlock => Self::Held,
            TryLockError::Error(error) => Self::Io(error),
        }
    }
}

impl Lock {
    /// Takes the lock if it is free. Its file is made if need be, and never removed.
    pub fn try_take(path: &Path) -> Result<Self, LockError> {
        loop {
            let file = open(path)?;
            file.try_lock()?;
            if is_still(&file, path) {
                return Ok(Self(file));
            }
            // Its folder was removed and made again in between.
        }
    }

    /// Takes the lock, waiting for it no longer than this.
    pub fn take_until(path: &Path, until: Instant) -> Result<Self, LockError> {
        loop {
            match Self::try_take(path) {
                Err(LockError::Held) if Instant::now() < until => thread::sleep(ASK_AGAIN),
                other => return other,
            }
        }
    }

    /// Takes the lock when those who asked before have had it. However many they are, they are waited for; one of them that
    /// holds it for longer than this is not.
    pub fn take_in_turn(path: &Path, patience: Duration) -> Result<Self, LockError> {
        let lock = loop {
            let file = open(path)?;
            let lock = in_turn(file, path, patience)?;
            if lock.is_at(path) {
                break lock;
            }
        };
        // Tells those who wait that it has passed on: the file has changed.
        lock.0.write_all_at(std::process::id().to_string().as_bytes(), 0)?;
        Ok(lock)
    }

    /// Takes over a lock whose descriptor we were given by whoever took it.
    pub fn inherited(descriptor: OwnedFd, path: &Path) -> Result<Self, LockError> {
        let file = File::from(descriptor);
        file.try_lock()?;
        if is_still(&file, path) { Ok(Self(file)) } else { Err(LockError::Held) }
    }

    /// Takes over the lock of the program whose place we took, wherever its file is by now: it may have been removed.
    pub fn left(descriptor: OwnedFd) -> Result<Self, LockError> {
        let file = File::from(descriptor);
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Returns whether the file at the path is still the one that is locked.
    pub fn is_at(&self, path: &Path) -> bool {
        is_still(&self.0, path)
    }

    /// Gives the descriptor away: to a process that is to hold the lock from now on.
    pub fn into_descriptor(self) -> OwnedFd {
        self.0.into()
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits in the kernel's queue, which is a fair one, on a thread of its own: whoever gives up leaves it behind, and it lets
/// go of what it comes to hold.
fn in_turn(file: File, path: &Path, patience: Duration) -> Result<Lock, LockError> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("lock".into()).spawn(move || {
        // Nobody waits any more where it cannot be sent.
        let _ = sender.send(file.lock().map(|()| Lock(file)));
    })?;
    let changed = || path.metadata().and_then(|file| file.modified()).ok();
    let (mut seen, mut since) = (changed(), Instant::now());
    loop {
        match receiver.recv_timeout(patience.min(LOOK_AGAIN)) {
            Ok(locked) => return Ok(locked?),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that waits for it is gone").into());
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let now = changed();
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() >= patience {
            return Err(LockError::Held);
        }
    }
}

/// Opens the file, and makes it if need be; with rights for our user, whatever the umask is.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits());
    let ours = Permissions::from_mode(0o600);
    let file = match options.open(path) {
        // Another has just made it, and has not come to its rights yet.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            std::fs::set_permissions(path, ours.clone())?;
            options.open(path)?
        }
        opened => opened?,
    };
    if file.metadata()?.mode() & 0o777 != 0o600 {
        file.set_permissions(ours)?;
    }
    Ok(file)
}

fn is_still(file: &File, path: &Path) -> bool {
    let same = |ours: std::fs::Metadata, theirs: std::fs::Metadata| {
        (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
    };
    file.metadata().and_then(|ours| Ok(same(ours, path.symlink_metadata()?))).unwrap_or(false)
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

    #[test]
    fn whoever_waits_has_it_in_turn_and_gives_up_on_one_that_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let inside = std::sync::atomic::AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let lock = Lock::take_in_turn(&path, Duration::from_secs(60)).unwrap();
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(lock);
                });
            }
        });
        let kept = Lock::try_take(&path).unwrap();
        let waited = Lock::take_in_turn(&path, Duration::from_millis(20));
        assert!(matches!(waited, Err(LockError::Held)), "{waited:?}");
        drop(kept);
        // The thread that still waited lets go of it.
        Lock::take_in_turn(&path, Duration::from_secs(60)).unwrap();
    }
}
