//! What the exit codes mean. Scripts rely on them.

use std::process::ExitCode;

use manifold_admin::ErrorCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    /// The command line, or the config, is wrong.
    Usage = 2,
    /// Nothing runs that could be asked.
    NotRunning = 3,
    /// A server cannot be reached or does not come up.
    Unreachable = 4,
    /// The tool answered `isError`.
    #[allow(dead_code, reason = "calls end with it")]
    ToolError = 5,
    SignIn = 6,
    /// There is no such server, tool, namespace or client.
    Unknown = 7,
    /// A rule of the config forbids it.
    Denied = 8,
    TimedOut = 124,
    Interrupted = 130,
}

impl Exit {
    /// Returns how a command ends that was refused for this.
    pub(crate) fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::UnknownServer
            | ErrorCode::UnknownNamespace
            | ErrorCode::UnknownItem
            | ErrorCode::UnknownClient => Self::Unknown,
            ErrorCode::AmbiguousServer
            | ErrorCode::AmbiguousItem
            | ErrorCode::BadRequest
            | ErrorCode::Stale
            | ErrorCode::ConfigRefused => Self::Usage,
            ErrorCode::Denied => Self::Denied,
            ErrorCode::TimedOut => Self::TimedOut,
            ErrorCode::FailedToStart => Self::Unreachable,
            ErrorCode::SignIn | ErrorCode::SessionEnded => Self::SignIn,
            ErrorCode::UnknownRoute
            | ErrorCode::ServerError
            | ErrorCode::Unsupported
            | ErrorCode::Busy
            | ErrorCode::NothingToUndo
            | ErrorCode::ShuttingDown
            | ErrorCode::Failed
            | ErrorCode::Other => Self::Failed,
        }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
