//! The commands about servers: look at them, run them, end them.

use clap::{Args, Subcommand};

use super::forms::{ListForm, OneForm};
use super::values::{Span, span};
use crate::output::Form;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ServerCommand {
    /// Show all servers with their state
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  manifold list                    a table of all servers
  manifold list --json | jq -r '.[] | select(.state == \"failed\") | .id'
  manifold list -q | xargs -n1 manifold restart"
    )]
    List(ListForm),
    /// Show all there is to say of one server
    #[command(after_help = "\
Examples:
  manifold get git                 its state, why, its processes and its calls
  manifold get git --json | jq .pids")]
    Get(Named),
    /// Start a server now instead of with its first call
    #[command(after_help = "\
Example:
  manifold start git               comes back when it is ready, or ends with 4")]
    Start(Named),
    /// End a server's processes; it is not started again until told so
    #[command(after_help = "\
Example:
  manifold stop git && manifold start git")]
    Stop(Named),
    /// End a server's processes and start it anew
    #[command(after_help = "\
Example:
  manifold restart git             calls in flight are finished first")]
    Restart(Named),
    /// Let a server be used, in the config
    #[command(after_help = "\
Example:
  manifold enable git              comments in the file stay where they are")]
    Enable(Named),
    /// Let a server not be used, in the config
    #[command(after_help = "\
Example:
  manifold disable git             its tools are gone from all clients at once")]
    Disable(Named),
    /// Read a server's tools, resources and prompts anew
    #[command(after_help = "\
Example:
  manifold refresh git")]
    Refresh(Named),
    /// Wait until a server is ready, or has failed
    #[command(after_help = "\
Example:
  manifold wait git --timeout 10000 && manifold call git.git_status repo_path=.

Ends with 0 when it is ready, 4 when it has failed, 124 when neither happens in time.")]
    Wait(WaitArgs),
    /// Show what servers write beside the protocol
    #[command(after_help = "\
Examples:
  manifold logs git -n 20          the last 20 lines
  manifold logs git -f             and what follows, until Ctrl-C
  manifold logs --since 10m        of all servers, in the last ten minutes")]
    Logs(LogsArgs),
    /// Show what goes between clients and servers, as it does
    #[command(after_help = "\
Examples:
  manifold watch                           every message, on both sides of the gateway
  manifold watch 'server:git status:error' answers of one server that say what went wrong
  manifold watch 'took:>200ms' --bodies    slow calls, with what was said
  manifold watch --json | jq .             one frame a line

Ends with 2 where the filter cannot be read, naming the column, and 3 where no gateway runs.
docs/traffic.md has the filter's words. Secrets are not shown.")]
    Watch(WatchArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct WatchArgs {
    /// Which messages: words such as server:git tool:add status:error took:>1s, all of which must fit [default: all]
    #[arg(value_name = "FILTER", num_args = 0..)]
    pub(crate) filter: Vec<String>,
    /// With what was said, up to 16 KiB of each message
    #[arg(long)]
    pub(crate) bodies: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Named {
    /// The server's id, or schema/id
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct WaitArgs {
    /// The server's id, or schema/id
    pub(crate) name: String,
    /// For how many milliseconds at the most
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct LogsArgs {
    /// The server's id, or schema/id [default: all]
    pub(crate) name: Option<String>,
    /// Go on until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many lines at the most, the last ones
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    pub(crate) lines: usize,
    /// Only of this last time: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) since: Option<Span>,
    /// With the time before each line
    #[arg(short, long)]
    pub(crate) timestamps: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl ServerCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::List(form) => (*form).into(),
            Self::Get(named)
            | Self::Start(named)
            | Self::Stop(named)
            | Self::Restart(named)
            | Self::Enable(named)
            | Self::Disable(named)
            | Self::Refresh(named) => named.form.into(),
            Self::Wait(args) => args.form.into(),
            Self::Logs(args) => OneForm { json: args.json }.into(),
            Self::Watch(args) => OneForm { json: args.json }.into(),
        }
    }
}
