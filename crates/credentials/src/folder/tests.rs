use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::{Signal, raise};

use super::*;

/// The step at which a process of a test ends itself, as `kill -9` would.
pub(crate) const CRASH_AT: &str = "MANIFOLD_TEST_CRASH_AT";
static STEPS: AtomicUsize = AtomicUsize::new(0);

pub(super) fn step() {
    let Some(at) = std::env::var(CRASH_AT).ok().and_then(|at| at.parse::<usize>().ok()) else { return };
    if STEPS.fetch_add(1, Ordering::Relaxed) + 1 == at {
        raise(Signal::SIGKILL).unwrap();
    }
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write_beside(&path, b"x").unwrap();
    let about = std::fs::metadata(&path).unwrap();
    judge_for(about.uid(), &path, &about, FILE_MODE).unwrap();
    let error = judge_for(about.uid() + 1, &path, &about, FILE_MODE).unwrap_err();
    assert!(matches!(&error, StoreError::ForeignOwner { path: named, .. } if *named == path), "{error}");
}

#[test]
fn a_new_file_is_ours_alone_and_never_takes_the_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write_beside(&path, b"one").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, FILE_MODE);
    write_beside(&path, b"two").unwrap_err();
    assert_eq!(read_own(&path, 10).unwrap().unwrap().as_slice(), b"one");
}

#[test]
fn what_a_crash_has_left_is_cleared_away_by_the_next_change() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::make(&home.path().join("store")).unwrap();
    let left = folder.file(".part-0123");
    std::fs::write(&left, "half").unwrap();
    let lock = folder.lock().unwrap();
    folder.replace("whole", b"x", &lock).unwrap();
    assert_eq!(folder.names().unwrap(), [".lock", "whole"]);
}

#[test]
fn a_pipe_in_a_files_place_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    assert!(matches!(read_own(&path, 10), Err(StoreError::WrongKind { .. })));
}
