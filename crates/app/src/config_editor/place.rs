//! Where a config file really is, the lock of those who write it, and how a new text takes its place.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manifold_config::Environment;
use manifold_rendezvous::{Lock, LockError};
use tokio::time::Instant;

use crate::audit::digest;

/// How long another may take to write.
const PATIENCE: Duration = Duration::from_secs(30);
/// Links that lead to links, at most.
const MAX_LINKS: usize = 40;
/// A config may hold secrets.
const PRIVATE: u32 = 0o600;

/// The file itself, behind every link.
pub(super) struct Place {
    path: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// Follows the links to a file, which need not be there; its folder is made.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            let Some(folder) = path.parent() else { break };
            match fs::read_link(&path) {
                Ok(target) => path = folder.join(target),
                Err(_) => {
                    fs::create_dir_all(folder)?;
                    let folder = folder.canonicalize()?;
                    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
                    return Ok(Self { path: folder.join(name), folder });
                }
            }
        }
        Err(io::Error::other("its links lead nowhere"))
    }

    /// Takes the lock of those who write this file. It does not lie beside it: folders of users' files stay clean.
    pub(super) fn lock(&self, environment: &Environment) -> io::Result<Lock> {
        let runtime =
            environment.vars.get("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let homes = environment.state_home().into_iter().chain(runtime);
        let mut refused = io::Error::other("there is no folder for state to keep its lock in");
        for home in homes {
            match self.lock_in(&home.join("manifold/locks")) {
                Err(LockError::Io(error)) => refused = error,
                Err(LockError::Held) => return Err(io::Error::other("another program is changing it")),
                Ok(lock) => return Ok(lock),
            }
        }
        Err(refused)
    }

    fn lock_in(&self, folder: &Path) -> Result<Lock, LockError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let name = digest(self.path.as_os_str().as_encoded_bytes());
        Lock::take_until(&folder.join(format!("{}.lock", &name[..16])), Instant::now().into_std() + PATIENCE)
    }

    /// Puts a new text in the place of the old one, in one step; `AlreadyExists` if it is not the old one any more.
    pub(super) fn replace(&self, old: Option<&[u8]>, new: &[u8]) -> io::Result<()> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(metadata) = &metadata {
            self.check_writable(metadata)?;
        }
        let draft = Draft::new(&self.folder)?;
        if let Some(metadata) = &metadata {
            let ours = draft.file.metadata()?;
            if (ours.uid(), ours.gid()) != (metadata.uid(), metadata.gid()) {
                fchown(&draft.file, Some(metadata.uid()), Some(metadata.gid()))?;
            }
            draft.file.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))?;
        }
        (&draft.file).write_all(new)?;
        draft.file.sync_all()?;
        // The last look before it is replaced.
        let now = match fs::read(&self.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now.as_deref() != old {
            return Err(ErrorKind::AlreadyExists.into());
        }
        draft.rename(&self.path)?;
        // The name is kept by the folder.
        File::open(&self.folder)?.sync_all()
    }
}

impl Place {
    /// Refuses a file that its owner has kept from being written, though its folder lets it be replaced.
    fn check_writable(&self, metadata: &fs::Metadata) -> io::Result<()> {
        const WRITE: u32 = 0o222;
        if metadata.mode() & WRITE == 0 {
            return Err(ErrorKind::PermissionDenied.into());
        }
        OpenOptions::new().write(true).open(&self.path).map(drop)
    }
}

/// A file that goes unless it gets its name.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn new(folder: &Path) -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let path = folder.join(format!(".manifold-{:016x}.tmp", u64::from_ne_bytes(random)));
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path)?;
        Ok(Self { path, file })
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
