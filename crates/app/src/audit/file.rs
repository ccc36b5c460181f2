//! The file of the audit: appended to by several processes, and begun anew when it is full.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manifold_admin::AuditLine;
use manifold_rendezvous::Lock;
use nix::unistd::{AccessFlags, access};
use tokio::time::Instant;

/// What one file may hold.
const MAX_BYTES: u64 = 10 << 20;
/// How many there may be, the one that is written to included.
const MAX_FILES: usize = 5;
/// How long another process may take to write its line.
const PATIENCE: Duration = Duration::from_secs(10);
/// For our eyes only.
const PRIVATE: u32 = 0o600;

pub(super) struct AuditFile {
    path: PathBuf,
    max_bytes: u64,
    file: Option<File>,
}

impl AuditFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, MAX_BYTES)
    }

    pub(super) fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let mut audit = Self { path: path.to_owned(), max_bytes, file: None };
        audit.reopen()?;
        Ok(audit)
    }

    fn reopen(&mut self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        }
        let file = OpenOptions::new().create(true).read(true).append(true).mode(PRIVATE).open(&self.path)?;
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        Ok(file)
    }

    /// Returns the file that has the name now: another process may have begun a new one.
    fn current(&mut self) -> io::Result<File> {
        let there = fs::metadata(&self.path).ok().map(|there| (there.dev(), there.ino()));
        match self.file.take() {
            Some(file) if file.metadata().ok().map(|ours| (ours.dev(), ours.ino())) == there => Ok(file),
            _ => self.reopen(),
        }
    }

    /// Gives each file the next number; the last one goes.
    fn rotate(&self) -> io::Result<()> {
        for number in (1..MAX_FILES).rev() {
            match fs::rename(numbered(&self.path, number - 1), numbered(&self.path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Writes whole lines, or nothing of them.
impl Write for AuditFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let lock = self.path.with_extension("lock");
        let until = Instant::now().into_std() + PATIENCE;
        let mut file = self.current()?;
        let _lock = Lock::take_until(&lock, until).map_err(|error| io::Error::other(error.to_string()))?;
        self.file = Some(file);
        file = self.current()?;
        if file.metadata()?.len() + line.len() as u64 > self.max_bytes {
            self.rotate()?;
            file = self.reopen()?;
        }
        let before = file.metadata()?.len();
        // Whoever wrote last may have been killed in the middle of its line.
        let mut end = [b'\n'];
        if before > 0 {
            file.read_exact_at(&mut end, before - 1)?;
        }
        let torn: &[u8] = if end == [b'\n'] { b"" } else { b"\n" };
        if let Err(error) = file.write_all(&[torn, line].concat()) {
            // A disk that fills up takes half a line.
            let _ = file.set_len(before);
            return Err(error);
        }
        self.file = Some(file);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns why nothing can be written there, if that is so; nothing is made to find out.
pub(super) fn fault(path: &Path) -> Option<io::Error> {
    match OpenOptions::new().append(true).open(path) {
        Ok(_) => return None,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Some(error),
        Err(_) => {}
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok())?;
    match fs::metadata(folder) {
        Ok(about) if !about.is_dir() => Some(io::ErrorKind::NotADirectory.into()),
        Ok(_) => access(folder, AccessFlags::W_OK | AccessFlags::X_OK).err().map(Into::into),
        Err(error) => Some(error),
    }
}

/// Returns the last lines of the file and of those before it, the oldest first.
pub(super) fn last(path: &Path, lines: usize) -> io::Result<Vec<AuditLine>> {
    let mut found = Vec::new();
    for number in 0..MAX_FILES {
        let text = match fs::read(numbered(path, number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let read = text.split(|byte| *byte == b'\n').rev();
        let read = read.filter(|line| !line.is_empty()).filter_map(|line| serde_json::from_slice(line).ok());
        found.extend(read.take(lines - found.len()));
        if found.len() == lines {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

pub(super) fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if number > 0 {
        name.push(format!(".{number}"));
    }
    name.into()
}
