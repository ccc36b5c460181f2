//! Finds the program a command names, as the shell would in the server's place.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::{SpawnCommand, SpawnError};

/// Where to look when the server's environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the path to execute. Relative paths, PATH's own included, start at the directory the server runs in.
pub(super) fn resolve(command: &SpawnCommand) -> Result<PathBuf, SpawnError> {
    let cwd = command.cwd.as_deref();
    if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
        return Err(SpawnError::WorkingDirectory { cwd: cwd.to_owned() });
    }
    // Absolute, since it is executed from within that directory.
    let base = std::path::absolute(cwd.unwrap_or(Path::new("."))).unwrap_or_default();
    let program = &command.program;
    let mut forbidden = false;
    for candidate in candidates(program, path_of(command)) {
        let candidate = base.join(candidate);
        match judge(&candidate) {
            Verdict::Runs => return Ok(candidate),
            Verdict::Forbidden => forbidden = true,
            Verdict::Absent => {}
        }
    }
    Err(if forbidden {
        SpawnError::PermissionDenied { program: program.clone() }
    } else {
        SpawnError::NotFound { program: program.clone() }
    })
}

enum Verdict {
    Runs,
    Forbidden,
    Absent,
}

fn candidates(program: &OsStr, path: OsString) -> Vec<PathBuf> {
    if program.is_empty() {
        Vec::new()
    } else if program.as_bytes().contains(&b'/') {
        vec![PathBuf::from(program)]
    } else {
        std::env::split_paths(&path).map(|directory| directory.join(program)).collect()
    }
}

fn path_of(command: &SpawnCommand) -> OsString {
    // The last one wins, as it does when the environment is built.
    let path = command.env.iter().rfind(|(name, _)| name == "PATH");
    path.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| value.clone())
}

fn judge(candidate: &Path) -> Verdict {
    match candidate.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Verdict::Forbidden,
        Err(_) => Verdict::Absent,
        Ok(found) if found.is_file() && access(candidate, AccessFlags::X_OK).is_ok() => Verdict::Runs,
        Ok(_) => Verdict::Forbidden,
    }
}
