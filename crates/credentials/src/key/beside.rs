//! The key in a file of ours beside the store, as stores had it that were made before there were plain ones. Who can
//! read the one can read the other.

use std::path::{Path, PathBuf};

use super::given::{MAX_FILE_BYTES, key_in};
use super::{Key, KeyError};
use crate::folder;

pub(crate) struct BesideKey {
    path: PathBuf,
}

impl BesideKey {
    /// Returns the one of a data folder.
    pub(crate) fn of(data_home: &Path) -> Self {
        Self { path: data_home.join("manifold/credentials.key") }
    }

    pub(crate) fn find(&self) -> Result<Key, KeyError> {
        match folder::read_own(&self.path, MAX_FILE_BYTES) {
            Ok(Some(bytes)) => key_in(&bytes, &self.path),
            Ok(None) => Err(KeyError::Gone(self.path.display().to_string())),
            Err(error) => Err(KeyError::File(Box::new(error))),
        }
    }

    /// Removes it, when nothing is sealed with it any longer.
    pub(crate) fn forget(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
