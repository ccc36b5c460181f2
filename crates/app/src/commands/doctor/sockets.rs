//! The folder of sockets and locks: is it ours alone, and is nothing in it left over?

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use manifold_rendezvous::Lock;
use serde_json::Value;

use super::context::{Context, Mended, close, mode, remove, word};
use super::processes::is_alive;
use super::{Outcome, Trouble};

pub(super) fn runtime_dir(context: &Context<'_>) -> Outcome {
    let named = context.environment().vars.get("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let gone = named.filter(|folder| !Path::new(folder).is_absolute() || !Path::new(folder).is_dir());
    let told = gone.map(|folder| {
        let message =
            format!("XDG_RUNTIME_DIR is `{folder}`, which is no folder; sockets lie in the folder for state");
        Trouble::warn(message, "export XDG_RUNTIME_DIR=/run/user/$(id -u)")
    });
    told.into()
}

/// Returns our folder of sockets, whether it is there or not.
fn place(context: &Context<'_>) -> Option<PathBuf> {
    let runtime = context.environment().vars.get("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|folder| folder.is_absolute() && folder.is_dir()) {
        Some(runtime) => Some(runtime.join("manifold")),
        None => Some(context.state()?.join("run")),
    }
}

pub(super) fn folder(context: &Context<'_>) -> Outcome {
    let Some(folder) = place(context) else { return Outcome::Well };
    let Ok(about) = fs::symlink_metadata(&folder) else { return Outcome::Well };
    let shown = folder.display();
    let trouble = if !about.is_dir() {
        let message = format!("{shown}: is no folder, but a link or a file, so no daemon can be reached");
        Some(Trouble::fail(message, format!("rm {}", word(&folder))))
    } else if about.uid() != nix::unistd::geteuid().as_raw() {
        let message = format!("{shown}: belongs to user {}, so no daemon can be reached", about.uid());
        Some(Trouble::fail(message, format!("sudo rm -r {}", word(&folder))))
    } else {
        (about.mode() & 0o077 != 0).then(|| {
            let message = format!("{shown}: has mode {:04o}, so others can enter it", about.mode() & 0o7777);
            Trouble::fail(message, format!("chmod 700 {}", word(&folder)))
        })
    };
    trouble.into()
}

pub(super) fn close_folder(context: &Context<'_>) -> Vec<Mended> {
    let ours = place(context).filter(|folder| {
        let about = fs::symlink_metadata(folder);
        about.is_ok_and(|about| about.is_dir() && about.uid() == nix::unistd::geteuid().as_raw())
    });
    ours.map(|folder| close(&folder, 0o700)).into_iter().collect()
}

fn files(context: &Context<'_>) -> Vec<PathBuf> {
    let entries = place(context).map(fs::read_dir);
    let mut files: Vec<_> =
        entries.into_iter().flatten().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

pub(super) fn modes(context: &Context<'_>) -> Outcome {
    let told = |path: PathBuf| {
        let message = format!("{}: others can use it", path.display());
        Trouble::warn(message, format!("chmod 600 {}", word(&path)))
    };
    open_files(context).into_iter().map(told).collect::<Vec<_>>().into()
}

pub(super) fn close_files(context: &Context<'_>) -> Vec<Mended> {
    open_files(context).iter().map(|path| close(path, 0o600)).collect()
}

fn open_files(context: &Context<'_>) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| {
        ["sock", "lock", "spawn"].iter().any(|ending| path.extension().is_some_and(|of| of == *ending))
    };
    let is_open = |path: &PathBuf| mode(path).is_some_and(|mode| mode & 0o077 != 0);
    files(context).into_iter().filter(is_ours).filter(is_open).collect()
}

pub(super) fn stale(context: &Context<'_>) -> Outcome {
    let told = |path: PathBuf| {
        Trouble::warn(
            format!("{}: nobody listens there any more", path.display()),
            format!("rm {}", word(&path)),
        )
    };
    stale_sockets(context).into_iter().map(told).collect::<Vec<_>>().into()
}

pub(super) fn drop_stale(context: &Context<'_>) -> Vec<Mended> {
    stale_sockets(context).iter().map(|path| remove_unless_held(path)).collect()
}

fn stale_sockets(context: &Context<'_>) -> Vec<PathBuf> {
    let is_socket =
        |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    let is_stale = |path: &PathBuf| {
        UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    files(context).into_iter().filter(is_socket).filter(is_stale).collect()
}

/// What a daemon that was killed has left to tell of itself.
pub(super) fn left(context: &Context<'_>) -> Outcome {
    let told = |path: PathBuf| {
        let message = format!("{}: tells of a daemon that is gone", path.display());
        Trouble::warn(message, format!("rm {}", word(&path)))
    };
    left_files(context).into_iter().map(told).collect::<Vec<_>>().into()
}

pub(super) fn drop_left(context: &Context<'_>) -> Vec<Mended> {
    left_files(context).iter().map(|path| remove_unless_held(path)).collect()
}

fn left_files(context: &Context<'_>) -> Vec<PathBuf> {
    let pid = |path: &Path| -> Option<u32> {
        let about: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        about.get("pid")?.as_u64()?.try_into().ok()
    };
    let is_about = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    let is_left = |path: &PathBuf| pid(path).is_some_and(|pid| !is_alive(pid));
    files(context).into_iter().filter(is_about).filter(is_left).collect()
}

/// Removes a file of a daemon, unless one has come to life meanwhile: it would hold the lock.
fn remove_unless_held(path: &Path) -> Mended {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next());
    let lock = path.with_file_name(format!("{}.lock", name.unwrap_or_default()));
    let _held = match lock.exists().then(|| Lock::try_take(&lock)).transpose() {
        Ok(held) => held,
        Err(error) => return Err(format!("{}: left as it is: {error}", path.display())),
    };
    remove(path)
}
