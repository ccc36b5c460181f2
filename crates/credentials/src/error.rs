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
        "{}: this store is sealed with another key, {recorded}, and not with {given}; give that key, or move the folder away",
        .path.display()
    )]
    OtherKey { path: PathBuf, recorded: KeyKind, given: KeyKind },
    #[error("{}: is missing, though sealed files are there; bring it back, or move the folder away", .path.display())]
    NoRecord { path: PathBuf },
    #[error("{}: another process has held it for ten seconds; end that one, or try again", .path.display())]
    Busy { path: PathBuf },
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
            | Self::NoRecord { path }
            | Self::Busy { path } => Some(path),
            Self::Key(error) => error.path(),
            Self::TooLong { .. } => None,
        }
    }
}
