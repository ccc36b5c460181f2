//! Whether the programs a bundle needs are here, and new enough.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use manifold_registry::{Runtime, satisfies};

use super::RegistryClient;

/// A program that does not say its version by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns what is to be said of a program: that it is missing, or too old or new.
pub(super) fn remark(needed: &Runtime, client: &RegistryClient<'_>) -> Option<String> {
    let Runtime { program, versions } = needed;
    let Some(path) = client.find(program) else {
        return Some(format!(
            "it needs `{program}`, which is not here; install it before the server is used"
        ));
    };
    if versions.is_empty() {
        return None;
    }
    let found = version(&path)?;
    let is_fine = satisfies(&found, versions)?;
    (!is_fine).then(|| format!("it needs `{program}` {versions}, and here is {found}"))
}

/// Returns the version a program says it has: the last word of `Python 3.11.2` or `v22.1.0`.
fn version(path: &Path) -> Option<String> {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    let (said, heard) = mpsc::channel();
    thread::spawn(move || said.send(command.output()));
    let output = heard.recv_timeout(PATIENCE).ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next()?.split_whitespace().last().map(|word| word.trim_start_matches('v').to_owned())
}
