//! The commands that serve clients, and the flags that only some of them can use.

use clap::Subcommand;
use clap::error::ErrorKind;
use manifold_config::Profile;

use super::Task;
use super::flags::{Flags, ModeFlags};

#[derive(Debug, Subcommand)]
pub(super) enum ServeCommand {
    /// Serve (over stdio unless told otherwise)
    Serve,
    /// Serve one client on standard input and output
    Stdio,
    /// Serve over HTTP
    Http,
    /// Serve LiteMCP on standard input and output
    Litemcp {
        /// The one tool to serve, by its exposed or its own name [default: one that calls all others]
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
    },
}

/// What is wrong with a command line.
pub(super) type Wrong = (ErrorKind, String);

fn conflict(what: &str) -> Wrong {
    (ErrorKind::ArgumentConflict, what.to_owned())
}

impl ServeCommand {
    pub(super) fn task(self, mode: &ModeFlags) -> Result<Task, Wrong> {
        match self {
            Self::Stdio if mode.http => Err(conflict("`stdio` and --http cannot be used together")),
            Self::Http if mode.stdio => Err(conflict("`http` and --stdio cannot be used together")),
            Self::Litemcp { .. } if mode.http => Err(conflict(
                "`litemcp` and --http cannot be used together; over HTTP it is always served, at /litemcp",
            )),
            Self::Serve if mode.http => Ok(Task::Http),
            Self::Serve | Self::Stdio => Ok(Task::Stdio),
            Self::Http => Ok(Task::Http),
            Self::Litemcp { tool } => Ok(Task::LiteMcp { tool }),
        }
    }
}

/// Returns what is wrong where a flag was given that means nothing to the task.
pub(super) fn check(task: &Task, flags: &Flags, profile: Profile) -> Result<(), Wrong> {
    let is_on_stdio = matches!(task, Task::Stdio | Task::LiteMcp { .. });
    match flags.http_only() {
        Some(flag) if is_on_stdio => {
            return Err(conflict(&format!("{flag} is for HTTP; it means nothing on stdio")));
        }
        Some(flag) if !matches!(task, Task::Http | Task::Help) => {
            return Err(conflict(&format!(
                "{flag} is for serving over HTTP; it means nothing to this command"
            )));
        }
        _ => {}
    }
    if matches!(task, Task::LiteMcp { .. }) && flags.framing.is_some() {
        return Err(conflict("--framing is for MCP on stdio; messages of LiteMCP end at three newlines"));
    }
    if *task == Task::Http && profile == Profile::McpsProxy && flags.namespace.is_some() {
        return Err(conflict(
            "--schema is for --stdio; over HTTP every schema is served at /api/{schema}/mcp",
        ));
    }
    Ok(())
}
