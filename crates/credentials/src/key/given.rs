//! A key that somebody else takes care of: we read it, and neither make nor change it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::{Key, KeyError, KeyKind, Unusable};
use crate::error::StoreError;

/// The variable that holds the key.
const VARIABLE: &str = "MANIFOLD_KEY";
/// The variable that names a file with the key, as `--key-file` does.
const FILE_VARIABLE: &str = "MANIFOLD_KEY_FILE";
/// Where systemd puts what a unit's `LoadCredential=` names, and what we look for there.
const SYSTEMD_VARIABLE: &str = "CREDENTIALS_DIRECTORY";
const SYSTEMD_FILE: &str = "manifold-key";
/// A key in any spelling is shorter.
pub(super) const MAX_FILE_BYTES: usize = 4096;

/// Where a given key stands.
pub enum Given {
    Variable(Zeroizing<String>),
    File(PathBuf),
    Systemd(PathBuf),
}

impl Given {
    /// Returns the first there is: `MANIFOLD_KEY`, a file that is named, systemd's folder if it has one.
    pub fn among(variables: &BTreeMap<String, String>) -> Option<Self> {
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let text = set(VARIABLE).map(|text| Self::Variable(Zeroizing::new(text.clone())));
        let named = || set(FILE_VARIABLE).map(|path| Self::File(path.into()));
        let systemd = || {
            let path = Path::new(set(SYSTEMD_VARIABLE)?).join(SYSTEMD_FILE);
            path.exists().then_some(Self::Systemd(path))
        };
        text.or_else(named).or_else(systemd)
    }

    pub fn kind(&self) -> KeyKind {
        match self {
            Self::Variable(_) => KeyKind::Variable,
            Self::File(_) => KeyKind::File,
            Self::Systemd(_) => KeyKind::Systemd,
        }
    }

    /// Returns the key, or says what is wrong with it. Who may read a file is its owner's to say: systemd's belong to
    /// another user.
    pub fn read(&self) -> Result<Key, KeyError> {
        match self {
            Self::Variable(text) => Key::from_text(text)
                .map_err(|source| KeyError::Unusable { place: VARIABLE.to_owned(), source }),
            Self::File(path) | Self::Systemd(path) => match read_named(path) {
                Ok(bytes) => key_in(&bytes, path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Err(KeyError::NoFile(path.clone())),
                Err(error) => Err(KeyError::File(Box::new(StoreError::io(path, error)))),
            },
        }
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

fn read_named(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES));
    std::fs::File::open(path)?.take(MAX_FILE_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads 32 bytes as they are, or as text.
pub(super) fn key_in(bytes: &[u8], path: &Path) -> Result<Key, KeyError> {
    let text = || std::str::from_utf8(bytes).map_err(|_| Unusable).and_then(Key::from_text);
    Key::from_bytes(bytes)
        .or_else(|_| text())
        .map_err(|source| KeyError::Unusable { place: path.display().to_string(), source })
}
