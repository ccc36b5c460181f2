//! `daemon` and what can be done with it.

use clap::Subcommand;

use super::forms::OneForm;
use crate::daemon::InheritedFds;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Be the daemon, in the foreground, until stopped
    Run {
        /// Leave the terminal and whoever started us
        #[arg(long, hide = true)]
        detach: bool,
        /// We have left; the lock is on standard input
        #[arg(long, hide = true)]
        detached: bool,
        /// Somebody will stop us: do not end with the last client
        #[arg(long, hide = true)]
        stay: bool,
        /// We take the place of another program, which left these descriptors to us
        #[arg(long, hide = true, value_name = "NUMBERS")]
        resume: Option<InheritedFds>,
        /// How many threads serve; one is enough (docs/performance.md)
        #[arg(long, hide = true, default_value_t = 1)]
        threads: usize,
    },
    /// Say whether this program could take the place of a running daemon
    #[command(hide = true)]
    SelfCheck,
    /// Have the installed program take its place; servers and calls go on
    Upgrade(OneForm),
    /// Start it in the background, where it stays until stopped
    Start(OneForm),
    /// Stop it and all its servers
    Stop(OneForm),
    /// Show whether it runs, its servers and its clients
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Have it read its config anew
    Reload(OneForm),
    /// Stop it and start it anew; clients go on
    Restart(OneForm),
    /// Have systemd start it with the first client, apart from all of them
    Install {
        /// Show the units, write nothing
        #[arg(long)]
        print: bool,
    },
    /// Remove what `install` wrote
    Uninstall,
}
