//! The files of recordings: only their owner may read them, and together they have a bound.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::format::EXTENSION;
use crate::reader::Recorded;

/// Opens a file to append to, which only its owner may read. It is locked as long as it is open, so that nobody takes it
/// for one that nobody writes.
pub fn open_file(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.try_lock().map_err(io::Error::from)?;
    Ok(Box::new(file))
}

/// Cuts off what is no whole line, and a footer. Returns the length, the frames and the losses that stay.
pub(super) fn mend(path: &Path) -> io::Result<(u64, u64, u64)> {
    let mut bytes = Vec::new();
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    file.read_to_end(&mut bytes)?;
    let recorded = Recorded::parse(&bytes).map_err(io::Error::other)?;
    let mut length = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if recorded.footer.is_some() {
        let before = bytes.get(..length.saturating_sub(1)).unwrap_or_default();
        length = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    }
    file.set_len(length as u64)?;
    Ok((length as u64, recorded.frames().count() as u64, recorded.lost()))
}

/// Returns the path under which the file being written is kept when another takes its place.
pub(super) fn next_part(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let mut last = 0;
    for entry in fs::read_dir(folder)?.filter_map(Result::ok) {
        let file = entry.file_name();
        let part = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('.'));
        let part = part.and_then(|rest| rest.strip_suffix(EXTENSION)?.strip_suffix('.'));
        last = last.max(part.and_then(|part| part.parse::<u64>().ok()).unwrap_or(0));
    }
    Ok(folder.join(format!("{name}.{}.{EXTENSION}", last + 1)))
}

/// Removes the oldest files until the rest fits. One that is being written stays, and what cannot be removed does too.
pub(super) fn prune(folder: &Path, total_bytes: u64) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == EXTENSION))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in files {
        if total <= total_bytes {
            return;
        }
        let is_written = File::open(&path).is_ok_and(|file| file.try_lock().is_err());
        if !is_written && fs::remove_file(&path).is_ok() {
            total -= length;
        }
    }
}
