//! Clears away what nobody has use for: definitions change, and each leaves a file behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tracing::debug;

const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
const MAX_BYTES: u64 = 256 << 20;
/// Nobody takes as long to write a file.
const DRAFT_FOR: Duration = Duration::from_secs(3600);

struct Found {
    path: PathBuf,
    bytes: u64,
    unused_for: Duration,
}

/// Removes files that were not used for 30 days, then the least used ones until all take up no more than 256 MiB.
pub(super) fn prune(folder: &Path, now: SystemTime) {
    let mut kept = Vec::new();
    for found in files(folder, now) {
        match is_memory(&found.path) {
            true if found.unused_for < UNUSED_FOR => kept.push(found),
            true => remove(&found.path),
            false if is_draft(&found.path) && found.unused_for > DRAFT_FOR => remove(&found.path),
            false => {}
        }
    }
    kept.sort_by_key(|found| found.unused_for);
    let mut total = 0_u64;
    for found in kept {
        total = total.saturating_add(found.bytes);
        if total > MAX_BYTES {
            remove(&found.path);
        }
    }
}

fn files(folder: &Path, now: SystemTime) -> impl Iterator<Item = Found> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        // A date in the future is no date: the clock was set back.
        let unused_for = now.duration_since(found.modified().ok()?).unwrap_or_default();
        Some(Found { path: entry.path(), bytes: found.len(), unused_for })
    })
}

/// Tells whether a file is named as what is remembered of a server is; others are not ours to touch.
pub(super) fn is_memory(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
        && path.file_stem().and_then(|stem| stem.to_str()).is_some_and(is_fingerprint)
}

fn is_draft(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let first = name.split('.').next().unwrap_or_default();
    name.ends_with(".tmp") && (first == "salt" || is_fingerprint(first))
}

fn is_fingerprint(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn remove(path: &Path) {
    match fs::remove_file(path) {
        Ok(()) => debug!(file = %path.display(), "what was known of a server is cleared away"),
        Err(error) => debug!(file = %path.display(), %error, "it cannot be cleared away"),
    }
}
