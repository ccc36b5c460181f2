//! A command, put as a keeper can carry it out without thinking.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use manifold_guard::MARKER;
use manifold_guard::wire::{self, Unsendable, Writer};
use nix::errno::Errno;
use nix::unistd::{SysconfVar, sysconf};

use crate::process::{Limits, SpawnCommand, SpawnError};

/// Where to look when the server's environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the frame that asks a keeper to run the command.
pub(super) fn encode(command: &SpawnCommand) -> Result<Vec<u8>, SpawnError> {
    let mut writer = Writer::default();
    if let Some(cwd) = &command.cwd {
        writer.directory(cwd.as_os_str().as_bytes());
    }
    for candidate in candidates(command) {
        writer.program(candidate.as_os_str().as_bytes());
    }
    for arg in std::iter::once(&command.program).chain(&command.args) {
        writer.arg(arg.as_bytes());
    }
    // The last one of a name wins; the marker is the guard's to give.
    let variables: BTreeMap<&OsStr, &OsStr> =
        command.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect();
    for (name, value) in variables.into_iter().filter(|(name, _)| *name != MARKER) {
        writer.variable(name.as_bytes(), value.as_bytes());
    }
    let Limits { memory_mib, processes } = command.limits;
    writer.finish(wire::Limits { memory_mib, processes }, page_bytes()).map_err(|why| {
        let program = command.program.clone();
        match why {
            Unsendable::TooLarge => SpawnError::TooLarge { program },
            Unsendable::Null => SpawnError::Failed { program, source: io::Error::from(Errno::EINVAL) },
        }
    })
}

/// Returns where the program may be, best first. Which of them it is, the keeper finds out: `PATH` may lead to slow
/// places, and there nobody waits for it but this one server.
///
/// Relative paths, PATH's own included, start at the directory the server runs in.
pub(super) fn candidates(command: &SpawnCommand) -> Vec<PathBuf> {
    let program = &command.program;
    if program.is_empty() {
        return Vec::new();
    }
    // Absolute, since a script is told its path and may go elsewhere.
    let base = || std::path::absolute(command.cwd.as_deref().unwrap_or(Path::new("."))).unwrap_or_default();
    let whole = |path: PathBuf| if path.is_absolute() { path } else { base().join(path) };
    if program.as_bytes().contains(&b'/') {
        return vec![whole(PathBuf::from(program))];
    }
    std::env::split_paths(&path_of(command)).map(|directory| whole(directory.join(program))).collect()
}

fn path_of(command: &SpawnCommand) -> OsString {
    // The last one wins, as it does when the environment is built.
    let path = command.env.iter().rfind(|(name, _)| name == "PATH");
    path.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| value.clone())
}

fn page_bytes() -> u64 {
    let size = sysconf(SysconfVar::PAGE_SIZE);
    size.ok().flatten().and_then(|size| u64::try_from(size).ok()).unwrap_or(4096)
}
