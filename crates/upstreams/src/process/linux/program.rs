//! The program that is the guard: a small one that we carry, or we ourselves.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use manifold_guard::{GUARD_NAME, MARKER, PROGRAM};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use tokio::process::{Child, Command};

/// The hidden first argument with which our binary is a guard.
const GUARD_ARG: &str = "__guard";

/// How our own binary is found, wherever it was moved meanwhile.
const OURSELVES: &str = "/proc/self/exe";

/// Runs the guard and exits, if this process was started to be one. To be called first thing in `main`.
pub fn guard_main_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == GUARD_ARG) {
        let marker = std::env::var_os(MARKER).and_then(|trees| {
            let mut variable = OsString::from(format!("{MARKER}="));
            variable.push(trees);
            CString::new(variable.into_vec()).ok()
        });
        manifold_guard::run(marker.as_deref());
    }
}

/// What is started as the guard.
#[derive(Debug)]
pub(super) enum GuardProgram {
    /// The small one, and ourselves where it cannot be run.
    Carried,
    /// One whose `main` begins with [`guard_main_if_asked`].
    At(PathBuf),
}

impl GuardProgram {
    /// Starts the guard. It returns once the kernel has loaded the program, which for the small one is at once.
    pub(super) fn start(&self, door: &OwnedFd, trees: &OsStr) -> io::Result<Child> {
        match self {
            Self::Carried => start_carried(door, trees).or_else(|error| {
                tracing::debug!(%error, "the small guard cannot be run");
                start_at(Path::new(OURSELVES), door, trees)
            }),
            Self::At(path) => start_at(path, door, trees),
        }
    }
}

fn start_carried(door: &OwnedFd, trees: &OsStr) -> io::Result<Child> {
    let file = carried().ok_or(io::ErrorKind::Unsupported)?;
    spawn(Command::new(format!("/proc/self/fd/{}", file.as_raw_fd())), door, trees)
}

fn start_at(program: &Path, door: &OwnedFd, trees: &OsStr) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.arg(GUARD_ARG);
    spawn(command, door, trees)
}

fn spawn(mut command: Command, door: &OwnedFd, trees: &OsStr) -> io::Result<Child> {
    // It reads no variable but the marker, and the others may hold secrets (M10).
    command.arg0(GUARD_NAME).env_clear().env(MARKER, trees);
    command.stdin(door.try_clone()?).stdout(Stdio::null()).spawn()
}

/// Returns the small program as a file without a name. It is written once; nobody can change it after.
fn carried() -> Option<&'static File> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let write = || {
        let file =
            memfd_create(GUARD_NAME, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING | executable())
                // Kernels before 6.3 know no such flag, and need none.
                .or_else(|_| memfd_create(GUARD_NAME, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING));
        let mut file = File::from(file.ok()?);
        file.write_all(PROGRAM).ok()?;
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::all())).ok()?;
        Some(file)
    };
    if PROGRAM.is_empty() { None } else { FILE.get_or_init(write).as_ref() }
}

fn executable() -> MFdFlags {
    MFdFlags::from_bits_retain(nix::libc::MFD_EXEC)
}
