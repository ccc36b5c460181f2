//! Starting a daemon that is nobody's child.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{PipeReader, Read as _, pipe};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use manifold_rendezvous::Lock;
use manifold_rendezvous::hello::{ELSEWHERE, READY};
use nix::poll::PollFlags;

use super::{NoDaemon, Patience};

/// How a daemon is started. The lock comes on its standard input, and word of its readiness is awaited from its standard
/// output; it starts itself once more, so that nobody who looks for children of the client finds it.
pub struct Start {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: BTreeMap<String, String>,
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    Ready,
    /// Its folder is another by now, where somebody else may be the daemon: look again.
    Elsewhere,
}

impl Start {
    /// Starts it and waits until it can be reached; says why where it cannot.
    pub fn run(self, lock: Lock, patience: &mut Patience<'_>) -> Result<Begun, NoDaemon> {
        let failed = |why: String| Err(NoDaemon::NotStarted(why));
        let (said, says) = pipe()?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env).current_dir("/");
        command.stdin(Stdio::from(lock.into_descriptor())).stdout(Stdio::from(says)).stderr(Stdio::null());
        let spawned = command.spawn();
        // Its copy of the pipe would keep us from seeing the end.
        drop(command);
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return failed(format!("`{}` cannot be started: {error}", self.program.display())),
        };
        let heard = hear(said, patience);
        // One that hangs is not waited for.
        let _ = if heard.is_ok() { child.wait().map(Some) } else { child.try_wait() };
        match heard {
            Ok(word) if word == READY => Ok(Begun::Ready),
            Ok(word) if word == ELSEWHERE => Ok(Begun::Elsewhere),
            Ok(word) if word.is_empty() => failed("it ended as it started".to_owned()),
            Ok(word) => failed(String::from_utf8_lossy(&word).trim().replace('\n', "; ")),
            Err(NoDaemon::Silent) => failed("it did not start in time".to_owned()),
            Err(other) => Err(other),
        }
    }
}

/// Reads to the end, or to the word.
fn hear(mut pipe: PipeReader, patience: &mut Patience<'_>) -> Result<Vec<u8>, NoDaemon> {
    let mut heard = Vec::new();
    loop {
        patience.wait_ready(&pipe, PollFlags::POLLIN)?;
        let mut chunk = [0; 4096];
        match pipe.read(&mut chunk) {
            Ok(0) | Err(_) => return Ok(heard),
            Ok(count) => heard.extend_from_slice(chunk.get(..count).unwrap_or_default()),
        }
        if heard == READY {
            return Ok(heard);
        }
    }
}
