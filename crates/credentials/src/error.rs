//! What stands between us and a credential. Each message names the file and what to do.

use std::io;
use std::path::PathBuf;

use crate::key::{KeyError, KeyKind};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: is a link; put what it leads to in its place", .path.display())]
    Link { path: PathBuf },
    #[error("{}: is not a {expected}; move it away", .path.display())]
    WrongKind { path: PathBuf, expected: &'static str },
    #[error("{}: belongs to user {owner}, not to us; move it away, or `chown` it", .path.display())]
    ForeignOwner { path: PathBuf, owner: u32 },
    #[error("{}: has mode {mode:o}, so others can use it; `chmod {wanted:o}` it", .path.display())]
    OpenToOthers { path: PathBuf, mode: u32, wanted: u32 },
    #[error("{}: {why}; remove it and store the value again", .path.display())]
    Damaged { path: PathBuf, why: &'static str },
    #[error("{}: holds `{found}`, which belongs in another file; remove it and store the value again", .path.display())]
    Misplaced { path: PathBuf, found: String },
    #[error("{}: cannot be opened: it was changed, or sealed with another key; remove it and store the value again", .path.display())]
    NotOpened { path: PathBuf },
    #[error(
        "{}: this store is {}, and a key is given, {given}, that is not its own; {}",
        .path.display(), sealed_with(*recorded), what_to_give(*recorded)
    )]
    OtherKey { path: PathBuf, recorded: KeyKind, given: KeyKind },
    #[error(
        "{}: this store is sealed with a key that is not given, {recorded}; give it by MANIFOLD_KEY or --key-file",
        .path.display()
    )]
    KeyNotGiven { path: PathBuf, recorded: KeyKind },
    #[error("{}: is missing, though sealed files are there; bring it back, or move the folder away", .path.display())]
    NoRecord { path: PathBuf },
    #[error("{}: another process has held it for a minute; end that one, or try again", .path.display())]
    Busy { path: PathBuf },
    #[error(
        "{}: was changed by another process: it has {}, and not {}",
        .path.display(), generation(*found), generation(*expected)
    )]
    OtherGeneration { path: PathBuf, expected: Option<u64>, found: Option<u64> },
    #[error("{}: {why}", .path.display())]
    BadBackup { path: PathBuf, why: &'static str },
    #[error("{}: cannot be opened: this is not its passphrase or key, or the file was changed", .path.display())]
    BackupNotOpened { path: PathBuf },
    #[error("the value has more than {max} bytes")]
    TooLong { max: usize },
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl StoreError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.into(), source: source.into() }
    }

    /// Returns the file it is about, if it is about one.
    pub fn path(&self) -> Option<&std::path::Path> {
        match self {
            Self::Io { path, .. }
            | Self::Link { path }
            | Self::WrongKind { path, .. }
            | Self::ForeignOwner { path, .. }
            | Self::OpenToOthers { path, .. }
            | Self::Damaged { path, .. }
            | Self::Misplaced { path, .. }
            | Self::NotOpened { path }
            | Self::OtherKey { path, .. }
            | Self::KeyNotGiven { path, .. }
            | Self::NoRecord { path }
            | Self::OtherGeneration { path, .. }
            | Self::BadBackup { path, .. }
            | Self::BackupNotOpened { path }
            | Self::Busy { path } => Some(path),
            Self::Key(error) => error.path(),
            Self::TooLong { .. } => None,
        }
    }
}

fn sealed_with(kind: KeyKind) -> String {
    match kind {
        KeyKind::Plain => "plain".to_owned(),
        kind => format!("sealed with another key, {kind}"),
    }
}

fn what_to_give(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Plain | KeyKind::Beside | KeyKind::Keyring => {
            "`manifold secret rekey` seals it with the given key; or give none"
        }
        KeyKind::Variable | KeyKind::File | KeyKind::Systemd => "give that key, or move the folder away",
    }
}

fn generation(number: Option<u64>) -> String {
    number.map_or_else(|| "no value".to_owned(), |number| format!("generation {number}"))
}
