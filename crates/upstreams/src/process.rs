//! Server processes that cannot outlive us.
//!
//! Three kinds of process take part. The *gateway* starts one *guard* with the first server: a small program that it
//! carries (`crates/guard`), or itself where that one cannot be run. The guard forks one *keeper* per server, and the
//! keeper starts the server:
//!
//! ```text
//! gateway ─── guard ─┬─ keeper ─── server ─── whatever it starts
//!                    └─ keeper ─── server …
//! ```
//!
//! Guard and keepers are subreapers: an orphan is re-parented to its nearest such ancestor, whatever session it moved
//! to and however often it forked. So everything a server ever started stays below its keeper, and nothing else does:
//! no guessing which process belongs to whom. Each keeper holds one end of a socket whose other end is in the gateway
//! alone. When that end closes, by a dropped handle or because the gateway was killed, the keeper kills all it has.
//! When a keeper dies, its orphans fall to the guard, which kills them; when the guard dies, the kernel tells the
//! keepers, which kill theirs and exit. The gateway is a subreaper too, for the case that both are killed: what falls to
//! it then it knows by the variable `MANIFOLD_TREE`, which guard, keepers and servers carry, by the guard's session, or
//! because nothing else can: see [`own_all_orphans`]. Where the system lets it, the gateway also makes a cgroup for each
//! server, which is killed as one ([`cgroup`]). Neither guard nor keepers have any other variable, and nobody but root can
//! look into them.

mod cgroup;
mod client;
mod link;
mod orphans;
mod program;
mod request;
mod tree;
mod unix;

#[cfg(test)]
mod tests;

pub use client::ProcessHost;
pub use link::{ExitWatch, ProcessControl};
pub use manifold_guard::wire::{Excess, Limits};
pub use nix::sys::signal::Signal;
pub use orphans::own_all_orphans;
pub use program::guard_main_if_asked;

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::unix::pipe;

/// What to run. The environment is the whole one: nothing is added but the marker of the tree.
#[derive(Clone, PartialEq, Eq)]
pub struct SpawnCommand {
    /// A path, or a name to be looked up on the `PATH` of [`env`](Self::env).
    pub program: OsString,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs; without one, where the gateway runs.
    pub cwd: Option<PathBuf>,
    pub limits: Limits,
}

/// A running server: its three pipes, its end, and the power over it.
///
/// Dropping `control` kills the server and everything it started.
#[derive(Debug)]
pub struct ServerProcess {
    pub pid: u32,
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub exit: ExitWatch,
    pub control: ProcessControl,
}

/// Looks at a server's input without holding up its end for longer than the look is needed.
pub(crate) struct InputGauge(std::os::fd::OwnedFd);

impl InputGauge {
    pub(crate) fn of(stdin: &pipe::Sender) -> io::Result<Self> {
        use std::os::fd::AsFd;
        stdin.as_fd().try_clone_to_owned().map(Self)
    }

    /// Returns how much of what it was sent the server has not read.
    pub(crate) fn unread_bytes(&self) -> usize {
        unix::unread_bytes(&self.0)
    }
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatusInfo {
    Code(i32),
    Signal(i32),
    /// It was ended for what it used.
    Over(Excess),
    /// Its keeper ended before it could tell; the server is dead all the same.
    Lost,
}

/// How long a server may take over each step of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopGrace {
    /// From the end of its stdin to SIGTERM.
    pub after_close: Duration,
    /// From SIGTERM to SIGKILL.
    pub after_term: Duration,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("no such program `{}`; is it installed and on PATH?", .program.display())]
    NotFound { program: OsString },
    #[error("`{}` may not be executed; is it a program, and its x bit set?", .program.display())]
    PermissionDenied { program: OsString },
    #[error("`{}` needs an interpreter that is not there; see its first line", .program.display())]
    MissingInterpreter { program: OsString },
    #[error("`{}` is no directory to run in; does it exist?", .cwd.display())]
    WorkingDirectory { cwd: PathBuf },
    #[error("the arguments and environment of `{}` are larger than the system allows", .program.display())]
    TooLarge { program: OsString },
    #[error("`{}` could not be started", .program.display())]
    Failed {
        program: OsString,
        #[source]
        source: io::Error,
    },
    #[error("the guard that starts server processes failed")]
    Guard(#[source] io::Error),
    #[error("the gateway is shutting down and starts no more processes")]
    ShuttingDown,
}

/// Ends a server as gently as it lets us: closes its stdin, then SIGTERM to its group, then SIGKILL to its whole tree.
///
/// Its output is read and thrown away meanwhile, so a server that flushes before it leaves is not stuck on a full pipe.
pub async fn stop(process: ServerProcess, grace: StopGrace) -> ExitStatusInfo {
    let ServerProcess { stdin, stdout, stderr, control, .. } = process;
    drop(stdin);
    tokio::select! {
        status = control.stop(grace) => status,
        never = drain(stdout, stderr) => match never {},
    }
}

async fn drain(mut stdout: pipe::Receiver, mut stderr: pipe::Receiver) -> Infallible {
    let (mut no_output, mut no_errors) = (tokio::io::sink(), tokio::io::sink());
    let _ = tokio::join!(
        tokio::io::copy(&mut stdout, &mut no_output),
        tokio::io::copy(&mut stderr, &mut no_errors)
    );
    pending().await
}

/// Decision 17: all is gone within a second.
impl Default for StopGrace {
    fn default() -> Self {
        Self { after_close: Duration::from_millis(300), after_term: Duration::from_millis(500) }
    }
}

impl fmt::Display for ExitStatusInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                Err(_) => write!(f, "was killed by signal {number}"),
            },
            Self::Over(Excess::Memory) => f.write_str("was ended because it used more memory than it may"),
            Self::Over(Excess::Processes) => {
                f.write_str("was ended because it had more processes than it may")
            }
            Self::Lost => f.write_str("was lost with its keeper"),
        }
    }
}

impl fmt::Debug for SpawnCommand {
    /// Shows the names of the environment only: its values are often secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish()
    }
}
