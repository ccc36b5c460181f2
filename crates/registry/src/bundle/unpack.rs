//! Unpacking: beside its place first, and then there as a whole or not at all.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use zip::read::ZipFile;

use super::archive::MANIFEST;
use super::manifest::ServerType;
use super::{Bundle, BundleError, MAX_UNPACKED_BYTES};

/// What an unpacking that broke off is called.
const HALF: &str = ".half-";
/// No unpacking takes so long.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// A bundle in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    pub folder: PathBuf,
    /// Whether it was put there just now; if what comes next fails, `remove` takes it away again.
    pub is_new: bool,
}

impl Unpacked {
    /// Takes away what was put there just now.
    pub fn remove(&self) -> std::io::Result<()> {
        if self.is_new { fs::remove_dir_all(&self.folder) } else { Ok(()) }
    }
}

impl Bundle {
    /// Unpacks below the folder of all bundles. If anything is wrong nothing is left there.
    pub fn unpack(&mut self, bundles: &Path) -> Result<Unpacked, BundleError> {
        let folder = self.folder(bundles);
        // The folder is named after the content, and was put there as a whole.
        if folder.join(MANIFEST).is_file() {
            return Ok(Unpacked { folder, is_new: false });
        }
        DirBuilder::new().recursive(true).mode(0o700).create(bundles)?;
        sweep(bundles);
        let half = tempfile::Builder::new().prefix(HALF).tempdir_in(bundles)?;
        self.unpack_into(half.path(), MAX_UNPACKED_BYTES)?;
        fs::rename(half.path(), &folder)?;
        // It is no longer where its keeper would look for it.
        let _ = half.keep();
        Ok(Unpacked { folder, is_new: true })
    }

    /// Unpacks within a bound on what is really written, whatever the heads say.
    pub(super) fn unpack_into(&mut self, folder: &Path, max_bytes: u64) -> Result<(), BundleError> {
        let mut left = max_bytes;
        let mut buffer = vec![0; 64 << 10];
        let program = self.program_inside();
        let is_binary = self.manifest.server.kind == ServerType::Binary;
        for at in 0..self.archive.len() {
            let mut entry = self.archive.entry(at)?;
            // Checked when the bundle was opened: it stays below.
            let name = entry.name()?.into_owned();
            let path = folder.join(&name);
            if entry.is_dir() {
                make_folder(&path)?;
                continue;
            }
            if let Some(above) = path.parent() {
                make_folder(above)?;
            }
            let is_program = program.as_deref() == Some(name.as_str());
            let mode = if is_program || is_binary && is_executable(&entry) { 0o700 } else { 0o600 };
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
            loop {
                let read = entry.read(&mut buffer).map_err(unreadable)?;
                if read == 0 {
                    break;
                }
                left = left.checked_sub(read as u64).ok_or(BundleError::TooLargeUnpacked(max_bytes))?;
                file.write_all(&buffer[..read])?;
            }
        }
        Ok(())
    }
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn is_executable<R: Read>(entry: &ZipFile<'_, R>) -> bool {
    entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0)
}

/// What is packed wrongly shows only as it is read.
fn unreadable(error: std::io::Error) -> BundleError {
    BundleError::Zip(crate::text::described(&error.to_string()))
}

/// Takes away what a process that was killed has left.
fn sweep(bundles: &Path) {
    let Ok(entries) = fs::read_dir(bundles) else { return };
    for entry in entries.flatten() {
        let is_half = entry.file_name().to_string_lossy().starts_with(HALF);
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        if is_half && age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
