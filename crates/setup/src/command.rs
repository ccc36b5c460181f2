//! A client's own command: found on `PATH`, run without a shell, within a bound of time, what it says kept.

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use manifold_config::Environment;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// How long one may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long what it wrote may be on its way once it has ended: a child of its own may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// So much of what it says is kept.
const MAX_SAID: u64 = 64 << 10;

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    /// What it wrote, cut to a bound. It is foreign text.
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("`{0}` is not on PATH")]
    NotFound(String),
    #[error("`{program}` cannot be started: {source}")]
    NotStarted { program: String, source: io::Error },
    #[error("`{program}` took longer than {} s and was ended", .patience.as_secs())]
    TimedOut { program: String, patience: Duration },
}

/// Returns where `PATH` has a program. Only absolute folders count: what lies in the folder we are in is not looked at.
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && is_program(path));
    }
    let folders = environment.vars.get("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let mut folders = folders.into_iter().flatten().filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join(name)).filter(is_program))
}

/// Runs a command with this environment, in its folder, and waits for it.
pub fn run(argv: &[String], environment: &Environment, patience: Duration) -> Result<Finished, CommandError> {
    let Some((name, args)) = argv.split_first() else {
        return Err(CommandError::NotFound(String::new()));
    };
    let program = find_program(name, environment).ok_or_else(|| CommandError::NotFound(name.clone()))?;
    let failed = |source| CommandError::NotStarted { program: name.clone(), source };
    let mut child = command(&program, args, environment).spawn().map_err(failed)?;
    let stdout = listen(child.stdout.take());
    let stderr = listen(child.stderr.take());
    let status = wait(&mut child, patience).map_err(failed)?;
    let Some(status) = status else {
        return Err(CommandError::TimedOut { program: name.clone(), patience });
    };
    Ok(Finished { status, stdout: said(&stdout), stderr: said(&stderr) })
}

fn command(program: &Path, args: &[String], environment: &Environment) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(&environment.vars).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if environment.cwd.is_dir() {
        command.current_dir(&environment.cwd);
    }
    command
}

/// Waits for the end; one that takes too long is ended with all it has started, and is `None`.
fn wait(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            let group = i32::try_from(child.id()).map(Pid::from_raw);
            if group.is_ok_and(|group| killpg(group, Signal::SIGKILL).is_ok()) {
                child.wait()?;
            }
            return Ok(None);
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Reads a pipe to its end, on a thread of its own, and keeps the beginning.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (say, said) = channel();
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut bytes = Vec::new();
        let _ = (&mut pipe).take(MAX_SAID).read_to_end(&mut bytes);
        let _ = say.send(String::from_utf8_lossy(&bytes).into_owned());
        // The rest, so that it is not stopped by a full pipe.
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    said
}

fn said(said: &Receiver<String>) -> String {
    said.recv_timeout(LAST_WORDS).unwrap_or_default()
}
