//! The path by which a client starts us: one that still leads to us after an update.

use std::path::{Path, PathBuf};

use manifold_config::Environment;

use crate::output::{Exit, Failure};

/// The path, and what is to be feared of it.
pub(super) struct Program {
    pub(super) path: String,
    pub(super) warning: Option<String>,
}

/// Returns the path. Where `PATH` has a link to us, the link is what an update turns to the next version.
pub(super) fn own_program(environment: &Environment) -> Result<Program, Failure> {
    let failed = |what: &str| {
        Failure::new(Exit::Failed, "failed", what.to_owned()).hint("start manifold by its full path")
    };
    let running =
        environment.program.as_ref().ok_or_else(|| failed("where this program lies is not known"))?;
    let mut found = on_path(running, environment);
    found.push(running.clone());
    let stays = found.iter().find(|path| fleeting(path, environment).is_none());
    let path = stays.unwrap_or(&found[0]);
    let warning = fleeting(path, environment).map(|why| {
        format!("{} {why}; install manifold for good, and run this again from there", path.display())
    });
    let path = path.to_str().ok_or_else(|| failed("the path of this program is no text"))?;
    Ok(Program { path: path.to_owned(), warning })
}

/// Returns the paths on `PATH` that lead to the program that runs.
fn on_path(running: &Path, environment: &Environment) -> Vec<PathBuf> {
    let path = environment.vars.get("PATH").map(String::as_str).unwrap_or_default();
    let names = [Some("manifold".as_ref()), running.file_name()];
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        for name in names.into_iter().flatten() {
            let file = folder.join(name);
            let leads_to_us = file.canonicalize().is_ok_and(|real| real == running);
            if leads_to_us && !found.contains(&file) {
                found.push(file);
            }
        }
    }
    found
}

/// Returns why a path will not be there for long, if so.
fn fleeting(path: &Path, environment: &Environment) -> Option<&'static str> {
    let is_cached =
        path.components().any(|part| part.as_os_str() == "_npx" || part.as_os_str() == "_cacache");
    let named = environment.vars.get("TMPDIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let mut folders = named.into_iter().chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
    if is_cached {
        Some("lies in the cache of npx, which is cleared")
    } else if folders.any(|folder| path.starts_with(folder)) {
        Some("lies in a folder for temporary files")
    } else {
        None
    }
}
