//! A file that goes unless it gets its name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A config may hold secrets.
const PRIVATE: u32 = 0o600;

pub(crate) struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    /// Returns a name that no file in this folder has.
    pub(crate) fn name_in(folder: &Path) -> io::Result<PathBuf> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(folder.join(format!(".manifold-{:016x}.tmp", u64::from_ne_bytes(random))))
    }

    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn rename(mut self, to: &Path) -> io::Result<()> {
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
