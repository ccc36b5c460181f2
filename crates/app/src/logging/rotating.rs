//! A log file that begins anew when it is full; older ones are kept as `.1`, `.2` and so on, the newest first.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// For our eyes only: servers say all kinds of things (M11).
const PRIVATE: u32 = 0o600;

pub(crate) struct RotatingFile {
    path: PathBuf,
    /// `None` after a failure: the next line tries again.
    file: Option<File>,
    bytes: u64,
    max_bytes: u64,
    /// How many files there may be, this one included.
    max_files: usize,
}

impl RotatingFile {
    pub(crate) fn open(path: &Path, max_bytes: u64, max_files: usize) -> io::Result<Self> {
        let mut log = Self { path: path.to_owned(), file: None, bytes: 0, max_bytes, max_files };
        // Older ones may have been written when nobody saw to that.
        (1..max_files).for_each(|number| keep_private(&log.numbered(number)));
        log.file = Some(log.opened()?);
        Ok(log)
    }

    /// Takes the open file, or opens it.
    fn opened(&mut self) -> io::Result<File> {
        if let Some(file) = self.file.take() {
            return Ok(file);
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(PRIVATE).open(&self.path)?;
        keep_private(&self.path);
        self.bytes = file.metadata()?.len();
        Ok(file)
    }

    /// Gives each file the next number; the last one goes.
    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        for number in (1..self.max_files).rev() {
            match fs::rename(self.numbered(number - 1), self.numbered(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.max_files == 1 {
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name: OsString = self.path.clone().into();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        name.into()
    }
}

/// Takes a file from other eyes. What is no file, such as a terminal, stays as it is.
fn keep_private(path: &Path) {
    let others_see = |found: &Metadata| found.is_file() && found.permissions().mode() & 0o077 != 0;
    if fs::symlink_metadata(path).is_ok_and(|found| others_see(&found)) {
        let _ = fs::set_permissions(path, Permissions::from_mode(PRIVATE));
    }
}

/// Writes whole lines, or nothing of them.
impl Write for RotatingFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes > self.max_bytes {
            self.rotate()?;
        }
        let mut file = self.opened()?;
        if let Err(error) = file.write_all(line) {
            // A disk that fills up takes half a line, and the next one would go on from there.
            let _ = file.set_len(self.bytes);
            return Err(error);
        }
        self.file = Some(file);
        self.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
