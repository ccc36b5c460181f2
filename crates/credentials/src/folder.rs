//! Files that only we may read: opened without following links, their owner and mode looked at on the open file, and
//! replaced as a whole.

#[cfg(test)]
pub(crate) mod tests;

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use zeroize::Zeroizing;

use crate::error::StoreError;
use crate::name::hex;

pub(crate) const FILE_MODE: u32 = 0o600;
pub(crate) const FOLDER_MODE: u32 = 0o700;
/// How files that are not whole yet begin.
const PART: &str = ".part-";
const LOCK: &str = ".lock";
/// How often, and after which pause, a lock that is held is asked for again: a minute in all.
const LOCK_TRIES: u32 = 12_000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// A folder that is ours alone.
pub(crate) struct Folder {
    path: PathBuf,
}

/// Held while files are changed; the kernel lets go of it when we die.
pub(crate) struct Lock {
    _file: File,
}

impl Folder {
    /// Opens the folder; `None` if there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        match no_link(OpenOptions::new().read(true), OFlag::O_DIRECTORY).open(path) {
            Ok(file) => {
                let about = file.metadata().map_err(|error| StoreError::io(path, error))?;
                judge(path, &about, FOLDER_MODE)?;
                Ok(Some(Self { path: path.to_owned() }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(path, error, "folder")),
        }
    }

    /// Opens the folder, and makes it if there is none.
    pub(crate) fn make(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = Self::open(path)? {
            return Ok(folder);
        }
        make_folder(path)?;
        Self::open(path)?.ok_or_else(|| StoreError::io(path, Errno::ENOENT))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the names of all files.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = |error| StoreError::io(&self.path, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn read(&self, name: &str, most: usize) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        read_own(&self.file(name), most)
    }

    /// Returns when a file was last replaced.
    pub(crate) fn changed(&self, name: &str) -> Option<std::time::SystemTime> {
        std::fs::symlink_metadata(self.file(name)).ok()?.modified().ok()
    }

    /// Replaces a file as a whole: whoever reads sees the old bytes or the new ones, also after a crash.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8], _lock: &Lock) -> Result<(), StoreError> {
        let mut random = [0; 8];
        let path = self.file(name);
        aws_lc_rs::rand::fill(&mut random).map_err(|_| StoreError::io(&path, Errno::EIO))?;
        let part = self.file(&format!("{PART}{}", hex(&random)));
        step();
        let written = write_whole(&part, bytes).and_then(|()| {
            step();
            std::fs::rename(&part, &path)?;
            step();
            File::open(&self.path)?.sync_all()
        });
        step();
        written.map_err(|error| {
            let _ = std::fs::remove_file(&part);
            StoreError::io(&path, error)
        })
    }

    /// Lets a file take the place of another.
    pub(crate) fn put_in_place(&self, name: &str, place: &str, _lock: &Lock) -> Result<(), StoreError> {
        let path = self.file(place);
        step();
        let moved = std::fs::rename(self.file(name), &path).and_then(|()| {
            step();
            File::open(&self.path)?.sync_all()
        });
        moved.map_err(|error| StoreError::io(path, error))
    }

    /// Removes a file, whatever it is; tells whether there was one.
    pub(crate) fn remove(&self, name: &str, _lock: &Lock) -> Result<bool, StoreError> {
        let path = self.file(name);
        match std::fs::remove_file(&path) {
            Ok(()) => File::open(&self.path).and_then(|folder| folder.sync_all()).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
        .map_err(|error| StoreError::io(path, error))
    }

    /// Waits until nobody else changes files here, and clears away what a crash has left.
    pub(crate) fn lock(&self) -> Result<Lock, StoreError> {
        for _ in 0..LOCK_TRIES {
            if let Some(file) = self.try_lock_file(LOCK)? {
                self.clear_parts()?;
                return Ok(Lock { _file: file });
            }
            sleep(LOCK_PAUSE);
        }
        Err(StoreError::Busy { path: self.file(LOCK) })
    }

    /// Locks a file of its own, which is made if need be; `None` if another has it.
    pub(crate) fn try_lock_file(&self, name: &str) -> Result<Option<File>, StoreError> {
        let path = self.file(name);
        let file = open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::io(path, error)),
        }
    }

    /// Writes a few bytes into a file that is locked by whom it may, and that is never replaced.
    pub(crate) fn write_lock_file(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.file(name);
        let file = open_lock(&path)?;
        // One write of a few bytes, the longer number over the shorter: there is no moment in between.
        let written = file.write_all_at(text.as_bytes(), 0).and_then(|()| file.sync_all());
        written.map_err(|error| StoreError::io(path, error))
    }

    fn clear_parts(&self) -> Result<(), StoreError> {
        for name in self.names()?.iter().filter(|name| name.starts_with(PART)) {
            let _ = std::fs::remove_file(self.file(name));
        }
        Ok(())
    }
}

fn open_lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
    let file =
        no_link(&mut options, OFlag::O_NONBLOCK).open(path).map_err(|error| refused(path, error, "file"))?;
    let about = file.metadata().map_err(|error| StoreError::io(path, error))?;
    judge(path, &about, FILE_MODE)?;
    Ok(file)
}

/// Reads a file of ours; `None` if there is none.
pub(crate) fn read_own(path: &Path, most: usize) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
    // A pipe in its place must not keep us waiting.
    let file = match no_link(OpenOptions::new().read(true), OFlag::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, error, "file")),
    };
    let about = file.metadata().map_err(|error| StoreError::io(path, error))?;
    if !about.is_file() {
        return Err(StoreError::WrongKind { path: path.to_owned(), expected: "file" });
    }
    judge(path, &about, FILE_MODE)?;
    let mut bytes =
        Zeroizing::new(Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0).min(most) + 1));
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| StoreError::io(path, error))?;
    if bytes.len() > most {
        return Err(StoreError::Damaged { path: path.to_owned(), why: "is too long" });
    }
    Ok(Some(bytes))
}

/// Writes a file that must not be there yet, wherever that is: it is there whole, or not at all.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_whole(path, bytes).map_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = std::fs::remove_file(path);
        }
        StoreError::io(path, error)
    })
}

/// Reads a file that somebody names, wherever it is and whosever.
pub(crate) fn read_any(path: &Path, most: usize) -> Result<Vec<u8>, StoreError> {
    let failed = |error| StoreError::io(path, error);
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() > most {
        true => Err(StoreError::Damaged { path: path.to_owned(), why: "is too long" }),
        false => Ok(bytes),
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(FILE_MODE);
    let mut file = no_link(&mut options, OFlag::empty()).open(path)?;
    // Whatever the umask is.
    file.set_permissions(std::fs::Permissions::from_mode(FILE_MODE))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes a folder and those above it, for us alone.
fn make_folder(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .map_err(|error| StoreError::io(path, error))
}

/// Where a test may end the process: before and after each change on disk.
#[cfg(not(test))]
fn step() {}

#[cfg(test)]
fn step() {
    tests::step();
}

fn no_link(options: &mut OpenOptions, more: OFlag) -> &mut OpenOptions {
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | more).bits())
}

/// Refuses what is not ours, or not ours alone.
fn judge(path: &Path, about: &Metadata, wanted: u32) -> Result<(), StoreError> {
    judge_for(nix::unistd::geteuid().as_raw(), path, about, wanted)
}

fn judge_for(us: u32, path: &Path, about: &Metadata, wanted: u32) -> Result<(), StoreError> {
    if about.uid() != us {
        return Err(StoreError::ForeignOwner { path: path.to_owned(), owner: about.uid() });
    }
    let mode = about.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(StoreError::OpenToOthers { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}

fn refused(path: &Path, error: io::Error, expected: &'static str) -> StoreError {
    let path = path.to_owned();
    let is_link = || std::fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink());
    match error.raw_os_error().map(Errno::from_raw) {
        // Linux says that a link is no folder.
        Some(Errno::ELOOP | Errno::ENOTDIR | Errno::EMLINK) if is_link() => StoreError::Link { path },
        Some(Errno::ENOTDIR | Errno::EISDIR) => StoreError::WrongKind { path, expected },
        _ => StoreError::Io { path, source: error },
    }
}
