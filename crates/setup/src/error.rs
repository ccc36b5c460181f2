//! Why a file was not written.

use std::io;
use std::path::{Path, PathBuf};

use crate::file::MAX_BYTES;

/// Why a file was not written; it is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody else wrote it in between.
    #[error("{} has changed since it was read", .0.display())]
    Changed(PathBuf),
    /// It is none of those that we write.
    #[error("{} cannot be changed: {why}", .path.display())]
    Refused { path: PathBuf, why: Refusal },
    #[error("{} cannot be changed: another program is at it", .0.display())]
    Busy(PathBuf),
    #[error("{} cannot be changed: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// What cannot be undone is not done.
    #[error("nothing is written, for no record to undo it by can be kept in {}: {source}", .folder.display())]
    Record { folder: PathBuf, source: io::Error },
}

/// What speaks against writing a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("its permissions keep us from writing it")]
    ReadOnly,
    #[error("it is a link to {}, outside of the home folder", .0.display())]
    LinkOutside(PathBuf),
    #[error("it is a link to {}, which belongs to another user", .0.display())]
    LinkNotOurs(PathBuf),
    #[error("{} belongs to the system", .0.display())]
    OfTheSystem(PathBuf),
    #[error("it is no regular file")]
    NotAFile,
    #[error("it has more than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    #[error("its links lead nowhere")]
    LinksLeadNowhere,
    #[error("its path is no text")]
    NotText,
}

impl WriteError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let said = match self {
            Self::Changed(_) => "run the command again",
            Self::Busy(_) => "wait until it is done, and run the command again",
            Self::Refused { path, why } => return Some(why.hint(path)),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "check the permissions of the file and of its folder"
            }
            Self::Io { .. } => return None,
            Self::Record { .. } => {
                "check the permissions of that folder, or name another with XDG_STATE_HOME"
            }
        };
        Some(said.to_owned())
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn refused(path: &Path, why: Refusal) -> Self {
        Self::Refused { path: path.to_owned(), why }
    }
}

impl Refusal {
    fn hint(&self, path: &Path) -> String {
        match self {
            Self::ReadOnly => format!("if it may be written: chmod u+w '{}'", path.display()),
            Self::LinkOutside(target) | Self::LinkNotOurs(target) | Self::OfTheSystem(target) => {
                format!("change {} by hand, or put a file of your own in its place", target.display())
            }
            Self::NotAFile | Self::LinksLeadNowhere | Self::NotText => {
                "put a plain file in its place".to_owned()
            }
            Self::TooLarge => "a config of that size is a mistake: look what is in it".to_owned(),
        }
    }
}
