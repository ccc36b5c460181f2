//! What a registry answered, kept on disk: it asks to be asked at most hourly, and without a network it is all there is.

use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::hash::hex_of;

/// A younger answer is not asked for again.
const FRESH: Duration = Duration::from_secs(3600);
/// The oldest go when there are more.
const MAX_FILES: usize = 256;
/// What stands before the answer: when it came, and what was asked.
const MAGIC: &str = "manifold-registry 1";

/// A folder of answers, or none.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// An answer from before.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) body: Vec<u8>,
    pub(crate) age: Duration,
}

impl Kept {
    pub(crate) fn is_fresh(&self) -> bool {
        self.age < FRESH
    }
}

impl Cache {
    /// Keeps answers in this folder; without one, nothing is kept.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// Returns what this address answered last.
    pub(crate) fn read(&self, url: &str, max_bytes: u64, now: SystemTime) -> Option<Kept> {
        let path = self.path(url)?;
        // What we write is a head of two lines longer than the answer.
        if fs::metadata(&path).ok()?.len() > max_bytes + 8192 {
            return None;
        }
        let text = fs::read(&path).ok()?;
        let mut parts = text.splitn(3, |byte| *byte == b'\n');
        let head = std::str::from_utf8(parts.next()?).ok()?;
        let at = head.strip_prefix(MAGIC)?.trim().parse().ok()?;
        if parts.next()? != url.as_bytes() {
            return None;
        }
        let body = parts.next()?.to_vec();
        // From the future: the clock was set back, and nobody knows how old it is.
        let age = now.duration_since(UNIX_EPOCH + Duration::from_secs(at)).unwrap_or(FRESH);
        Some(Kept { body, age })
    }

    /// Keeps an answer. A cache that cannot be written is no reason to fail.
    pub(crate) fn write(&self, url: &str, body: &[u8], now: SystemTime) {
        let (Some(folder), Some(path)) = (&self.folder, self.path(url)) else { return };
        let at = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let write = || -> std::io::Result<()> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            write!(file, "{MAGIC} {at}\n{url}\n")?;
            file.write_all(body)?;
            file.persist(&path)?;
            Ok(())
        };
        if write().is_ok() {
            prune(folder);
        }
    }

    fn path(&self, url: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(hex_of(url.as_bytes())))
    }
}

fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let written = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let mut files: Vec<_> = entries.flatten().filter_map(written).collect();
    if files.len() <= MAX_FILES {
        return;
    }
    files.sort();
    for (_, path) in &files[..files.len() - MAX_FILES] {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_fresh_for_an_hour_and_kept_for_longer() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().join("registry")));
        let now = SystemTime::now();
        assert!(cache.read("https://a", 100, now).is_none());
        cache.write("https://a", b"{}\nand more", now);
        let kept = cache.read("https://a", 100, now + Duration::from_secs(3000)).unwrap();
        assert_eq!((kept.body.as_slice(), kept.is_fresh()), (&b"{}\nand more"[..], true));
        assert!(!cache.read("https://a", 100, now + Duration::from_secs(4000)).unwrap().is_fresh());
        assert!(!cache.read("https://a", 100, now - Duration::from_secs(4000)).unwrap().is_fresh());
        assert!(cache.read("https://b", 100, now).is_none());
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().to_owned()));
        for number in 0..MAX_FILES + 20 {
            cache.write(&format!("https://a/{number}"), b"{}", SystemTime::now());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
    }
}
