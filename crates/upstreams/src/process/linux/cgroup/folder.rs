//! One cgroup's folder: who is in it, and the end of both.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill as send};
use nix::unistd::Pid;

/// How deep we follow what a server made below its own.
const MAX_DEPTH: u32 = 8;

/// How many folders are looked at in one try: a server may have made any number, and the next try finds the others.
const MAX_FOLDERS: usize = 1000;

/// Kills all that is in the cgroup and below it. Returns who that was, as far as it could be seen.
pub(super) fn kill(folder: &Path) -> Vec<Pid> {
    let mut pids = Vec::new();
    let mut left = MAX_FOLDERS;
    collect(folder, MAX_DEPTH, &mut left, &mut pids);
    if pids.is_empty() && left > 0 {
        return pids;
    }
    let killed = OpenOptions::new().write(true).open(folder.join("cgroup.kill"));
    if killed.and_then(|mut file| file.write_all(b"1")).is_err() {
        // Kernels before 5.14 have no such file. Who forks meanwhile is met at the next try.
        for pid in &pids {
            let _ = send(*pid, Signal::SIGKILL);
        }
    }
    pids
}

/// Removes the folder and those below it. Fails while anybody is in one of them, or where there are more than one try
/// takes.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    remove_to(folder, MAX_DEPTH, &mut { MAX_FOLDERS })
}

fn remove_to(folder: &Path, depth: u32, left: &mut usize) -> io::Result<()> {
    *left = left.checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if depth == 0 => Err(error),
        Err(error) => {
            let mut below = folders_in(folder).take(*left).peekable();
            if below.peek().is_none() {
                return Err(error);
            }
            for path in below.collect::<Vec<_>>() {
                remove_to(&path, depth - 1, left)?;
            }
            fs::remove_dir(folder)
        }
        Ok(()) => Ok(()),
    }
}

fn collect(folder: &Path, depth: u32, left: &mut usize, pids: &mut Vec<Pid>) {
    let Some(rest) = left.checked_sub(1) else { return };
    *left = rest;
    let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // Zero stands for a process that we cannot see, and to a signal it means our own group.
    let seen = listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).map(Pid::from_raw);
    pids.extend(seen.filter(|pid| *pid != Pid::this()));
    if depth > 0 {
        for path in folders_in(folder).take(*left).collect::<Vec<_>>() {
            collect(&path, depth - 1, left, pids);
        }
    }
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}
