//! Where a user's file really is, whether we may write it, and how a new text takes the place of the old one.

mod draft;
mod guard;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use manifold_rendezvous::Lock;
use nix::fcntl::OFlag;

use crate::error::{Refusal, WriteError};
use crate::locks::Locks;
pub(crate) use draft::Draft;

/// A config that is larger is a mistake, or a trap.
pub const MAX_BYTES: u64 = 64 << 20;
/// Links that lead to links, at most.
const MAX_LINKS: usize = 40;

/// Which files may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rules {
    /// Our own: wherever the user named it. A link in this home folder, if it is known, leads to what is ours and in it.
    Own { home: Option<PathBuf> },
    /// Another program's: a link stays within this home folder and leads to what is ours.
    Client { home: PathBuf },
}

/// A user's file, behind every link. It need not be there.
#[derive(Debug, Clone)]
pub struct TargetFile {
    named: PathBuf,
    path: PathBuf,
    rules: Rules,
    /// Folders on the way that are not there yet, the outermost first.
    missing: Vec<PathBuf>,
}

impl TargetFile {
    /// Follows the links to a file and looks whether we may write it. Nothing is written.
    pub fn find(named: &Path, rules: &Rules) -> Result<Self, WriteError> {
        let refused = |why| WriteError::refused(named, why);
        if named.to_str().is_none() {
            return Err(refused(Refusal::NotText));
        }
        let (target, is_link) = follow(named).ok_or_else(|| refused(Refusal::LinksLeadNowhere))?;
        let (path, missing) = real(&target).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => refused(Refusal::LinksLeadNowhere),
            _ => WriteError::io(named, error),
        })?;
        let file = Self { named: named.to_owned(), path, rules: rules.clone(), missing };
        file.check(is_link)?;
        Ok(file)
    }

    /// Returns the path as it was given.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Returns the path behind every link.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn missing_folders(&self) -> &[PathBuf] {
        &self.missing
    }

    /// Takes the lock of those who write this file. Blocks while another has it.
    pub fn lock(&self, locks: &Locks) -> Result<Lock, WriteError> {
        locks.take(&self.path)
    }

    /// Reads the file; `None` if it is not there.
    pub fn read(&self) -> Result<Option<Vec<u8>>, WriteError> {
        let refused = |why| WriteError::refused(&self.named, why);
        let failed = |error| WriteError::io(&self.named, error);
        // What is no file could keep us waiting.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).bits();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(refused(Refusal::NotAFile));
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(refused(Refusal::TooLarge));
        }
        Ok(Some(bytes))
    }

    /// Puts a new text in the place of the old one, in one step; [`WriteError::Changed`] if it is not the old one any more.
    pub fn replace(&self, old: Option<&[u8]>, new: &[u8]) -> Result<(), WriteError> {
        let draft = Draft::name_in(self.folder()).map_err(|error| WriteError::io(&self.named, error))?;
        self.replace_by(&draft, old, new, None)
    }

    /// Does so by way of a draft at this path. A file that was not there gets the mode; without one, only we may read it.
    pub(crate) fn replace_by(
        &self,
        draft: &Path,
        old: Option<&[u8]>,
        new: &[u8],
        mode: Option<u32>,
    ) -> Result<(), WriteError> {
        let failed = |error| WriteError::io(&self.named, error);
        let metadata = self.metadata()?;
        if let Some(metadata) = &metadata {
            self.check_writable(metadata)?;
        }
        fs::create_dir_all(self.folder()).map_err(failed)?;
        let draft = Draft::create(draft).map_err(failed)?;
        draft.write(new, metadata.as_ref(), mode).map_err(failed)?;
        // The last look before it is replaced.
        if self.read()?.as_deref() != old {
            return Err(WriteError::Changed(self.named.clone()));
        }
        draft.rename(&self.path).map_err(failed)?;
        self.sync_folder().map_err(failed)
    }

    /// Removes the file if this is what stands in it.
    pub(crate) fn remove(&self, old: &[u8]) -> Result<(), WriteError> {
        let failed = |error| WriteError::io(&self.named, error);
        if let Some(metadata) = self.metadata()? {
            self.check_writable(&metadata)?;
        }
        if self.read()?.as_deref() != Some(old) {
            return Err(WriteError::Changed(self.named.clone()));
        }
        fs::remove_file(&self.path).map_err(failed)?;
        self.sync_folder().map_err(failed)
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The name is kept by the folder.
    fn sync_folder(&self) -> io::Result<()> {
        File::open(self.folder())?.sync_all()
    }

    pub(crate) fn metadata(&self) -> Result<Option<fs::Metadata>, WriteError> {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WriteError::io(&self.named, error)),
        }
    }
}

impl Draft {
    /// Writes the text, with the rights and the owner of the file it is to replace.
    fn write(&self, new: &[u8], replaced: Option<&fs::Metadata>, mode: Option<u32>) -> io::Result<()> {
        let mut file = self.file();
        if let Some(replaced) = replaced {
            let ours = file.metadata()?;
            if (ours.uid(), ours.gid()) != (replaced.uid(), replaced.gid()) {
                fchown(file, Some(replaced.uid()), Some(replaced.gid()))?;
            }
        }
        if let Some(mode) = replaced.map(MetadataExt::mode).or(mode) {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        file.write_all(new)?;
        file.sync_all()
    }
}

/// Follows the links at the end of a path; tells whether there were any.
fn follow(named: &Path) -> Option<(PathBuf, bool)> {
    let mut path = named.to_path_buf();
    for links in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent()?.join(target),
            Err(_) => return Some((path, links > 0)),
        }
    }
    None
}

/// Returns a file's path without links among its folders, and those of them that are not there.
fn real(target: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut there = target.parent().ok_or(ErrorKind::InvalidInput)?;
    let mut below = Vec::new();
    let mut folder = loop {
        match there.canonicalize() {
            Ok(folder) => break folder,
            // A link to what is not there is not ours to make something of.
            Err(error) if error.kind() != ErrorKind::NotFound || there.is_symlink() => return Err(error),
            Err(_) => {
                below.push(there.file_name().ok_or(ErrorKind::InvalidInput)?);
                there = there.parent().ok_or(ErrorKind::InvalidInput)?;
            }
        }
    };
    let mut missing = Vec::new();
    for name in below.into_iter().rev() {
        folder.push(name);
        missing.push(folder.clone());
    }
    Ok((folder.join(name), missing))
}
