//! Which files we do not write, whatever the kernel would let us do.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{getegid, geteuid, getgroups};

use super::{MAX_BYTES, Rules, TargetFile};
use crate::error::{Refusal, WriteError};

/// Folders that are no user's.
const OF_THE_SYSTEM: [&str; 11] =
    ["/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/private/etc"];

impl TargetFile {
    /// Refuses a file that we are not to write. `is_link`: its path ends in a link.
    pub(super) fn check(&self, is_link: bool) -> Result<(), WriteError> {
        let metadata = self.metadata()?;
        let home = match &self.rules {
            Rules::Client { home } => Some(home),
            // A file that is named where it is may lie anywhere.
            Rules::Own { home } => home.as_ref().filter(|home| self.named.starts_with(home)),
        };
        if let Some(home) = home {
            self.check_place(home, is_link, metadata.as_ref())
                .map_err(|why| WriteError::refused(&self.named, why))?;
        }
        match metadata {
            Some(metadata) => self.check_writable(&metadata),
            None => Ok(()),
        }
    }

    fn check_place(
        &self,
        home: &Path,
        is_link: bool,
        metadata: Option<&fs::Metadata>,
    ) -> Result<(), Refusal> {
        let target = || self.path.clone();
        let real_home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let is_at_home = self.path.starts_with(&real_home);
        if !is_at_home && OF_THE_SYSTEM.iter().any(|folder| self.path.starts_with(folder)) {
            return Err(Refusal::OfTheSystem(target()));
        }
        // Where a folder on the way is a link, a path in the home folder may leave it too.
        let in_home = self.named.strip_prefix(home);
        let is_linked = is_link || in_home.is_ok_and(|path| real_home.join(path) != self.path);
        if is_linked && !is_at_home {
            return Err(Refusal::LinkOutside(target()));
        }
        let owner = match metadata {
            Some(metadata) => Some(metadata.uid()),
            None => self.first_folder().map(|folder| folder.uid()),
        };
        if is_linked && owner.is_some_and(|owner| owner != geteuid().as_raw()) {
            return Err(Refusal::LinkNotOurs(target()));
        }
        Ok(())
    }

    /// Returns the innermost folder that is there.
    fn first_folder(&self) -> Option<fs::Metadata> {
        self.path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok())
    }

    /// Refuses a file that its owner has kept from being written, though its folder lets it be replaced.
    pub(super) fn check_writable(&self, metadata: &fs::Metadata) -> Result<(), WriteError> {
        let refused = |why| Err(WriteError::refused(&self.named, why));
        if !metadata.is_file() {
            return refused(Refusal::NotAFile);
        }
        if metadata.len() > MAX_BYTES {
            return refused(Refusal::TooLarge);
        }
        if metadata.mode() & our_write_bit(metadata) == 0 {
            return refused(Refusal::ReadOnly);
        }
        match OpenOptions::new().write(true).open(&self.path) {
            Ok(_) => Ok(()),
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                refused(Refusal::ReadOnly)
            }
            Err(error) => Err(WriteError::io(&self.named, error)),
        }
    }
}

/// Returns the bit that lets us write a file. The superuser needs none, and is held to the owner's.
fn our_write_bit(metadata: &fs::Metadata) -> u32 {
    let us = geteuid();
    if us.is_root() || us.as_raw() == metadata.uid() {
        0o200
    } else if getgroups()
        .unwrap_or_default()
        .iter()
        .chain([&getegid()])
        .any(|group| group.as_raw() == metadata.gid())
    {
        0o020
    } else {
        0o002
    }
}
