//! Where the locks of those who write a file are kept. They do not lie beside it: folders of users' files stay clean.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manifold_config::Environment;
use manifold_rendezvous::{Lock, LockError};

use crate::digest;
use crate::error::WriteError;

/// How long one other may take to write.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The folders that locks may be in; the first that can be written is taken.
#[derive(Debug, Clone)]
pub struct Locks {
    folders: Vec<PathBuf>,
}

impl Locks {
    /// Returns the folders that this user's locks are in.
    pub fn of(environment: &Environment) -> Self {
        let runtime =
            environment.vars.get("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let homes = environment.state_home().into_iter().chain(runtime);
        Self { folders: homes.map(|home| in_home(&home)).collect() }
    }

    pub(crate) fn of_state(state_home: &Path) -> Self {
        Self { folders: vec![in_home(state_home)] }
    }

    /// Takes the lock of those who write this file. Blocks while another has it.
    pub(crate) fn take(&self, path: &Path) -> Result<Lock, WriteError> {
        let mut refused = io::Error::other("there is no folder for state to keep its lock in");
        for folder in &self.folders {
            match take_in(folder, path) {
                Err(LockError::Io(error)) => refused = error,
                Err(LockError::Held) => return Err(WriteError::Busy(path.to_owned())),
                Ok(lock) => return Ok(lock),
            }
        }
        Err(WriteError::io(path, refused))
    }
}

fn in_home(home: &Path) -> PathBuf {
    home.join("manifold/locks")
}

fn take_in(folder: &Path, path: &Path) -> Result<Lock, LockError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let name = digest(path.as_os_str().as_encoded_bytes());
    Lock::take_in_turn(&folder.join(format!("{}.lock", &name[..16])), PATIENCE)
}
