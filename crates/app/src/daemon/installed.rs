//! The program that is installed where we were started from: whether it is another one by now, and whether it may take
//! our place.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// How often we look for a newer one.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a program may take to say that it could take our place: whoever ordered it hears within ten seconds.
const PATIENCE: Duration = Duration::from_secs(8);

/// What a program says of itself when it is asked whether it could take our place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SelfCheck {
    pub(crate) version: String,
    /// The states it can read, from the oldest to the newest.
    pub(crate) states: [u32; 2],
}

/// Why a program is not to take our place.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// Which it says it is.
    pub(crate) version: Option<String>,
    pub(crate) why: String,
}

impl From<String> for Unfit {
    fn from(why: String) -> Self {
        Self { version: None, why }
    }
}

/// The program's file, as it was when we looked last.
pub(crate) struct Installed {
    path: PathBuf,
    seen: Option<Look>,
    /// It may not take our place as it is. Who may write it, and where it lies, may have been why.
    is_unfit: bool,
}

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    /// Which file it is.
    file: (u64, u64, i64, i64),
    /// What else may decide whether it is fit: when its rights changed, and whose its folders are.
    rights: (i64, i64, Vec<(u32, u32)>),
}

impl Installed {
    pub(crate) fn new(path: PathBuf) -> Self {
        let seen = look(&path);
        Self { path, seen, is_unfit: false }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Notes whether the file that was seen last could take our place.
    pub(crate) fn judged(&mut self, is_fit: bool) {
        self.is_unfit = !is_fit;
    }

    /// Resolves when another file lies there and is written no more, or when one that could not take our place may be fit by
    /// now.
    pub(crate) async fn changed(&mut self) {
        let mut before = self.seen.clone();
        loop {
            sleep(LOOK_EVERY).await;
            let now = look(&self.path);
            let is_other = match (&now, &self.seen) {
                (None, _) => false,
                (Some(now), Some(seen)) => {
                    now.file != seen.file || self.is_unfit && now.rights != seen.rights
                }
                (Some(_), None) => true,
            };
            if is_other && now == before {
                self.seen = now;
                return;
            }
            before = now;
        }
    }
}

/// Asks a program whether it could take our place, with a state of this version. Says why not where it cannot.
pub(crate) async fn check(program: PathBuf, state: u32) -> Result<SelfCheck, Unfit> {
    let path = program.display();
    let metadata = program.metadata().map_err(|error| format!("`{path}`: {error}"))?;
    may_be_run(&metadata).map_err(|why| format!("`{path}` {why}"))?;
    may_stay(&program).map_err(|why| format!("`{path}` {why}"))?;
    let mut command = Command::new(&program);
    command.args(["daemon", "self-check"]).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    command.kill_on_drop(true);
    let output = match timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) if output.status.success() => output.stdout,
        Ok(Ok(output)) => {
            return Err(format!("`{path}` failed its self-check: {}", output.status).into());
        }
        Ok(Err(error)) => return Err(format!("`{path}` cannot be run: {error}").into()),
        Err(_) => return Err(format!("`{path}` did not end its self-check in time").into()),
    };
    let said: SelfCheck = serde_json::from_slice(&output)
        .map_err(|_| format!("`{path}` does not say what a Manifold that could take over would"))?;
    let why = if !(said.states[0]..=said.states[1]).contains(&state) {
        "cannot go on from where this one is"
    } else if is_older(&said.version, env!("CARGO_PKG_VERSION")) {
        "is older than this one"
    } else {
        return Ok(said);
    };
    let why = format!("`{path}` is {}, which {why}", said.version);
    Err(Unfit { version: Some(said.version), why })
}

/// Whoever could put another in its place could run anything as us. A link to it can be replaced where it lies, too.
fn may_stay(program: &Path) -> Result<(), String> {
    let real = program.canonicalize().map_err(|error| error.to_string())?;
    for folder in [program.parent(), real.parent()].into_iter().flatten() {
        let found = folder.metadata().map_err(|error| error.to_string())?;
        may_hold(&found).map_err(|why| format!("lies in the folder `{}`, which {why}", folder.display()))?;
    }
    Ok(())
}

fn look(path: &Path) -> Option<Look> {
    let found = path.metadata().ok()?;
    let real = path.canonicalize().ok()?;
    let folders = [path.parent(), real.parent()].into_iter().flatten();
    let owners = folders.filter_map(|folder| folder.metadata().ok()).map(|found| (found.uid(), found.mode()));
    Some(Look {
        file: (found.dev(), found.ino(), found.mtime(), found.mtime_nsec()),
        rights: (found.ctime(), found.ctime_nsec(), owners.collect()),
    })
}

/// Whoever could write it could run anything as us.
fn may_be_run(file: &Metadata) -> Result<(), &'static str> {
    if !file.is_file() {
        return Err("is no file");
    }
    if file.uid() != 0 && file.uid() != geteuid().as_raw() {
        return Err("belongs to another user, who could change it");
    }
    if file.mode() & 0o022 != 0 {
        return Err("can be written by others");
    }
    Ok(())
}

/// In a sticky folder a file is its owner's to remove, whoever else may write there.
fn may_hold(folder: &Metadata) -> Result<(), &'static str> {
    if folder.uid() != 0 && folder.uid() != geteuid().as_raw() {
        return Err("belongs to another user, who could replace it");
    }
    if folder.mode() & 0o022 != 0 && folder.mode() & 0o1000 == 0 {
        return Err("can be written by others");
    }
    Ok(())
}

/// Compares versions by their numbers.
fn is_older(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    numbers(one) < numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_can_write_is_trusted_if_it_is_sticky() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for (mode, is_trusted) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true)] {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(may_hold(&folder.path().metadata().unwrap()).is_ok(), is_trusted, "{mode:o}");
        }
    }

    /// Whoever ordered an upgrade hears of it within ten seconds; the clock is the test's.
    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_end_its_self_check_is_given_up_in_time() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("manifold");
        std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let began = tokio::time::Instant::now();
        let why = check(program, 1).await.unwrap_err().why;
        assert!(why.contains("in time"), "{why}");
        assert!(began.elapsed() <= Duration::from_secs(9));
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_older("0.9.0", "0.10.0") && is_older("1.2.3", "2.0.0"));
        assert!(!is_older("0.1.0", "0.1.0") && !is_older("0.1.1-rc.1", "0.1.0"));
    }
}
