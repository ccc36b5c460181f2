//! Where the key is looked for. A keyring is one more [`KeySource`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::{Key, KeyKind, Unusable};
use crate::error::StoreError;
use crate::folder;

/// The variable that holds the key.
const VARIABLE: &str = "MANIFOLD_KEY";
/// The variable that names a file with the key, as `--key-file` does.
const FILE_VARIABLE: &str = "MANIFOLD_KEY_FILE";
/// Where systemd puts what a unit's `LoadCredential=` names, and what we look for there.
const SYSTEMD_VARIABLE: &str = "CREDENTIALS_DIRECTORY";
const SYSTEMD_FILE: &str = "manifold-key";
/// A key in any spelling is shorter.
const MAX_FILE_BYTES: usize = 4096;

/// Gives the key of a store.
pub trait KeySource: Send + Sync {
    /// Returns what kind of place it is.
    fn kind(&self) -> KeyKind;

    /// Returns the place itself, to be named in messages.
    fn place(&self) -> String;

    /// Returns the key that is there. `None` means that there surely is none: a place that cannot be asked is an error.
    fn find(&self) -> Result<Option<Key>, KeyError>;

    /// Makes a key for a store that has none yet, and keeps it there.
    fn make(&self) -> Result<Key, KeyError>;
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("{place}: {source}")]
    Unusable { place: String, source: Unusable },
    #[error("{}: there is no key in it; put one there (`openssl rand -hex 32` makes one)", .0.display())]
    NoFile(PathBuf),
    #[error("{0}: the key that opens the store is gone; bring it back, or remove the store and its values")]
    Gone(String),
    #[error(transparent)]
    File(Box<StoreError>),
    #[error("the keyring does not answer: {0}")]
    Keyring(String),
}

impl KeyError {
    /// Returns the file it is about, if it is about one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::NoFile(path) => Some(path),
            Self::File(error) => error.path(),
            Self::Unusable { .. } | Self::Gone(_) | Self::Keyring(_) => None,
        }
    }
}

/// Chooses where the key comes from, once, by what is given: `MANIFOLD_KEY`, a file that is named, systemd's folder if it
/// has one, else the file beside the store.
pub fn choose_key(variables: &BTreeMap<String, String>, data_home: &Path) -> Box<dyn KeySource> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(text) = set(VARIABLE) {
        return Box::new(GivenKey(Zeroizing::new(text.clone())));
    }
    if let Some(path) = set(FILE_VARIABLE) {
        return Box::new(FileKey(path.into()));
    }
    if let Some(path) = set(SYSTEMD_VARIABLE).map(|folder| Path::new(folder).join(SYSTEMD_FILE))
        && path.exists()
    {
        return Box::new(FileKey(path));
    }
    Box::new(BesideKey::of(data_home))
}

/// A key given as text.
pub struct GivenKey(Zeroizing<String>);

impl GivenKey {
    pub fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }
}

impl KeySource for GivenKey {
    fn kind(&self) -> KeyKind {
        KeyKind::Variable
    }

    fn place(&self) -> String {
        VARIABLE.to_owned()
    }

    fn find(&self) -> Result<Option<Key>, KeyError> {
        let unusable = |source| KeyError::Unusable { place: self.place(), source };
        Key::from_text(&self.0).map(Some).map_err(unusable)
    }

    fn make(&self) -> Result<Key, KeyError> {
        Err(KeyError::Unusable { place: self.place(), source: Unusable })
    }
}

/// A key in a file that somebody else takes care of. We neither make nor change it, and who may read it is theirs to say:
/// systemd's belong to another user.
pub struct FileKey(pub PathBuf);

impl KeySource for FileKey {
    fn kind(&self) -> KeyKind {
        KeyKind::File
    }

    fn place(&self) -> String {
        self.0.display().to_string()
    }

    fn find(&self) -> Result<Option<Key>, KeyError> {
        match read_named(&self.0) {
            Ok(bytes) => key_in(&bytes, &self.0).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(KeyError::NoFile(self.0.clone())),
            Err(error) => Err(KeyError::File(Box::new(StoreError::io(&self.0, error)))),
        }
    }

    fn make(&self) -> Result<Key, KeyError> {
        Err(KeyError::NoFile(self.0.clone()))
    }
}

fn read_named(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    use io::Read as _;
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES));
    std::fs::File::open(path)?.take(MAX_FILE_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads 32 bytes as they are, or as text.
fn key_in(bytes: &[u8], path: &Path) -> Result<Key, KeyError> {
    let text = || std::str::from_utf8(bytes).map_err(|_| Unusable).and_then(Key::from_text);
    Key::from_bytes(bytes)
        .or_else(|_| text())
        .map_err(|source| KeyError::Unusable { place: path.display().to_string(), source })
}

/// A key in a file of ours beside the store. Who can read the one can read the other: it keeps values out of backups of
/// the folder alone, out of a search by words and off a screen, and no more.
pub struct BesideKey {
    path: PathBuf,
}

impl BesideKey {
    /// Returns the one of a data folder.
    pub fn of(data_home: &Path) -> Self {
        Self { path: data_home.join("manifold/credentials.key") }
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl KeySource for BesideKey {
    fn kind(&self) -> KeyKind {
        KeyKind::Beside
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn find(&self) -> Result<Option<Key>, KeyError> {
        match folder::read_own(&self.path, MAX_FILE_BYTES) {
            Ok(Some(bytes)) => key_in(&bytes, &self.path).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(KeyError::File(Box::new(error))),
        }
    }

    fn make(&self) -> Result<Key, KeyError> {
        let failed = |error| KeyError::File(Box::new(error));
        let unusable = |source| KeyError::Unusable { place: self.place(), source };
        let key = Key::random().map_err(unusable)?;
        folder::write_new(&self.path, format!("{}\n", *key.to_text()).as_bytes()).map_err(failed)?;
        Ok(key)
    }
}
