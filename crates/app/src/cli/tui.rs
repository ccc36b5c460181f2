//! `tui`: everything in the terminal.

use clap::{Args, Subcommand};

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum TuiCommand {
    /// Watch and manage servers in the terminal
    #[command(after_help = "\
Examples:
  manifold tui                     the daemon's servers; it is started where none runs
  manifold tui --read-only         look, and change nothing
  manifold tui --alone             servers of its own, which end with it

`?` shows the keys, `q` quits; the daemon stays. docs/tui.md shows the screens.")]
    Tui(TuiArgs),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct TuiArgs {
    /// Change nothing, and ask no server
    #[arg(long)]
    pub(crate) read_only: bool,
}
