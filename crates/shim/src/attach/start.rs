//! Starting a daemon that is nobody's child.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{PipeReader, Read as _, pipe};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use manifold_rendezvous::hello::{ELSEWHERE, READY};
use manifold_rendezvous::{Lock, wait_ready};
use nix::poll::PollFlags;

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
    pub fn run(self, lock: Lock, until: Instant) -> Result<Begun, String> {
        let (said, says) = pipe().map_err(|error| format!("it cannot be started: {error}"))?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env).current_dir("/");
        command.stdin(Stdio::from(lock.into_descriptor())).stdout(Stdio::from(says)).stderr(Stdio::null());
        let spawned = command.spawn();
        // Its copy of the pipe would keep us from seeing the end.
        drop(command);
        let mut child =
            spawned.map_err(|error| format!("`{}` cannot be started: {error}", self.program.display()))?;
        let heard = hear(said, until);
        let _ = child.wait();
        match heard {
            Some(word) if word == READY => Ok(Begun::Ready),
            Some(word) if word == ELSEWHERE => Ok(Begun::Elsewhere),
            Some(word) if word.is_empty() => Err("it ended as it started".to_owned()),
            Some(word) => Err(String::from_utf8_lossy(&word).trim().replace('\n', "; ")),
            None => Err("it did not start in time".to_owned()),
        }
    }
}

/// Reads to the end, or to the word; none where the time is over before.
fn hear(mut pipe: PipeReader, until: Instant) -> Option<Vec<u8>> {
    let mut heard = Vec::new();
    loop {
        wait_ready(&pipe, PollFlags::POLLIN, until).ok()?;
        let mut chunk = [0; 4096];
        match pipe.read(&mut chunk) {
            Ok(0) | Err(_) => return Some(heard),
            Ok(count) => heard.extend_from_slice(chunk.get(..count).unwrap_or_default()),
        }
        if heard == READY {
            return Some(heard);
        }
    }
}
