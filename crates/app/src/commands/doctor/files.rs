//! Folders and files of our own: state, cache, logs, records for undo.

use std::fs;
use std::path::{Path, PathBuf};

use super::context::{Context, Mended, close, mode, remove, word};
use super::{Outcome, Trouble};

/// More than this is more than we would keep by ourselves.
const MUCH_STATE: u64 = 1 << 30;
const MUCH_LOG: u64 = 1 << 30;
/// No deeper: we make no deeper folders.
const MAX_DEPTH: usize = 6;

pub(super) fn state(context: &Context<'_>) -> Outcome {
    context.state().and_then(|folder| usable(&folder)).into()
}

pub(super) fn make_state(context: &Context<'_>) -> Vec<Mended> {
    context.state().map(|folder| made(&folder)).into_iter().collect()
}

pub(super) fn cache(context: &Context<'_>) -> Outcome {
    cache_of(context).and_then(|folder| usable(&folder)).into()
}

pub(super) fn make_cache(context: &Context<'_>) -> Vec<Mended> {
    cache_of(context).map(|folder| made(&folder)).into_iter().collect()
}

fn cache_of(context: &Context<'_>) -> Option<PathBuf> {
    Some(context.environment().cache_home()?.join("manifold"))
}

/// A folder that is not there yet is made when it is needed; one above it that is not there is not ours to judge.
fn usable(folder: &Path) -> Option<Trouble> {
    match fs::metadata(folder) {
        Ok(about) if !about.is_dir() => {
            let message = format!("{}: is no folder, so nothing can be kept there", folder.display());
            Some(Trouble::fail(message, format!("mv {0} {0}.old", word(folder))))
        }
        Ok(_) => {
            let rights = nix::unistd::AccessFlags::R_OK | nix::unistd::AccessFlags::W_OK;
            let error = nix::unistd::access(folder, rights).err()?;
            Some(Trouble::fail(
                format!("{}: {error}", folder.display()),
                format!("chmod 700 {}", word(folder)),
            ))
        }
        // A link that leads nowhere.
        Err(_) if fs::symlink_metadata(folder).is_ok() => {
            let message = format!("{}: is a link to a folder that is not there", folder.display());
            Some(Trouble::warn(message, format!("mkdir -p \"$(readlink -m {})\"", word(folder))))
        }
        Err(_) => None,
    }
}

/// Makes what a link leads to, or gives us our rights back. A file in the way is not ours to move.
fn made(folder: &Path) -> Mended {
    match fs::read_link(folder) {
        Ok(target) => {
            let target = folder.parent().unwrap_or(Path::new("/")).join(target);
            match fs::create_dir_all(&target) {
                Ok(()) => Ok(format!("made {}", target.display())),
                Err(error) => Err(format!("{}: {error}", target.display())),
            }
        }
        Err(_) if folder.is_dir() => close(folder, 0o700),
        Err(_) => Err(format!("{}: left as it is", folder.display())),
    }
}

pub(super) fn cache_files(context: &Context<'_>) -> Outcome {
    let told = |file: &PathBuf| {
        Trouble::warn(format!("{}: is not readable", file.display()), format!("rm {}", word(file)))
    };
    broken_cache(context).iter().map(told).collect::<Vec<_>>().into()
}

pub(super) fn drop_cache_files(context: &Context<'_>) -> Vec<Mended> {
    broken_cache(context).iter().map(|file| remove(file)).collect()
}

fn broken_cache(context: &Context<'_>) -> Vec<PathBuf> {
    let files = cache_of(context).map(|folder| entries(&folder)).unwrap_or_default();
    let is_json = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json") && path.is_file();
    let is_broken = |path: &PathBuf| {
        let text = fs::read(path).unwrap_or_default();
        serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err()
    };
    files.into_iter().filter(is_json).filter(is_broken).collect()
}

pub(super) fn state_size(context: &Context<'_>) -> Outcome {
    let is_log = |path: &Path| path.to_string_lossy().contains(".log");
    let size = context.state().map_or(0, |folder| size(&folder, MAX_DEPTH, &|path| !is_log(path)));
    much(context, size, MUCH_STATE, "state")
}

pub(super) fn log_size(context: &Context<'_>) -> Outcome {
    let is_log = |path: &Path| path.to_string_lossy().contains(".log");
    let size = context.state().map_or(0, |folder| size(&folder, MAX_DEPTH, &is_log));
    much(context, size, MUCH_LOG, "logs")
}

fn much(context: &Context<'_>, size: u64, most: u64, what: &str) -> Outcome {
    let folder = context.state().unwrap_or_default();
    let trouble = (size > most).then(|| {
        let message = format!("{}: {what} take {} MiB", folder.display(), size >> 20);
        Trouble::warn(message, format!("du -a {} | sort -n | tail", word(&folder)))
    });
    trouble.into()
}

fn size(folder: &Path, depth: usize, counts: &dyn Fn(&Path) -> bool) -> u64 {
    let of = |path: PathBuf| match fs::symlink_metadata(&path) {
        Ok(about) if about.is_dir() && depth > 0 => size(&path, depth - 1, counts),
        Ok(about) if about.is_file() && counts(&path) => about.len(),
        _ => 0,
    };
    entries(folder).into_iter().map(of).sum()
}

/// A folder without a record was left by a crash before anything was written, and is no trouble.
pub(super) fn records(context: &Context<'_>) -> Outcome {
    let is_broken = |folder: &PathBuf| {
        let record = fs::read(folder.join("record.json"));
        record.is_ok_and(|text| serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err())
    };
    let told = |folder: PathBuf| {
        let message = format!("{}: its record cannot be read, so it cannot be undone", folder.display());
        Trouble::warn(message, format!("rm -r {}", word(&folder)))
    };
    let folders = backups(context).map(|folder| entries(&folder)).unwrap_or_default();
    folders.into_iter().filter(is_broken).map(told).collect::<Vec<_>>().into()
}

pub(super) fn record_modes(context: &Context<'_>) -> Outcome {
    let told = |(path, wanted): &(PathBuf, u32)| {
        let message = format!("{}: others can read what stood in your files", path.display());
        Trouble::fail(message, format!("chmod {wanted:o} {}", word(path)))
    };
    open_records(context).iter().map(told).collect::<Vec<_>>().into()
}

pub(super) fn close_records(context: &Context<'_>) -> Vec<Mended> {
    open_records(context).iter().map(|(path, wanted)| close(path, *wanted)).collect()
}

/// Nobody can enter what is below a folder that is closed.
fn open_records(context: &Context<'_>) -> Vec<(PathBuf, u32)> {
    let folder = backups(context).filter(|folder| mode(folder).is_some_and(|mode| mode & 0o077 != 0));
    folder.map(|folder| (folder, 0o700)).into_iter().collect()
}

fn backups(context: &Context<'_>) -> Option<PathBuf> {
    Some(context.state()?.join("backups"))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
