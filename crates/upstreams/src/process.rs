//! Server processes that cannot outlive us. What a caller sees is the same on every system; how the promise is kept is
//! the system's own ([`linux`]).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
compile_error!(
    "processes are only kept on Linux so far: a system needs its own module beside `process/linux.rs`"
);

pub(crate) use system::InputGauge;
pub use system::{
    Descriptor, ExitWatch, ProcessControl, ProcessHost, Processes, SavedHost, SavedKeeper, ServerInput,
    ServerOutput, guard_main_if_asked, own_all_orphans,
};

/// The variable that every process below a gateway has.
pub const TREE_MARKER: &str = system::TREE_MARKER;

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

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
    pub stdin: ServerInput,
    pub stdout: ServerOutput,
    pub stderr: ServerOutput,
    pub exit: ExitWatch,
    pub control: ProcessControl,
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

/// How much a server may use, with all that it starts; zero: as much as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub memory_mib: u32,
    pub processes: u32,
}

/// What a server used too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    Memory,
    Processes,
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
        never = drain([Some(stdout), Some(stderr)]) => match never {},
    }
}

/// Reads what a server still says and throws it away, for as long as it is polled.
pub(crate) async fn drain(outputs: [Option<ServerOutput>; 2]) -> Infallible {
    let [stdout, stderr] = outputs.map(|output| async {
        if let Some(mut output) = output {
            let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
        }
    });
    tokio::join!(stdout, stderr);
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
            Self::Signal(number) => match system::signal_name(number) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {number}"),
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
