//! `status` and `config`: what is written in files, and how it is doing.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Task;
use super::forms::OneForm;

#[derive(Debug, Subcommand)]
pub(super) enum FileCommand {
    /// Show what is configured, what is wrong with it, and how it is doing
    #[command(after_help = "\
Examples:
  manifold status
  manifold status --json | jq .problems
  manifold status --running        ends with 3 where nothing runs

Ends with 1 where a server cannot work or has failed.")]
    Status(StatusArgs),
    /// Check, show or edit a config, or print its JSON Schema
    #[command(after_help = "\
Examples:
  manifold config check ~/mcp.json
  manifold config show             the file, with secrets hidden
  manifold config edit             in $EDITOR; checked before it is saved
  manifold config schema > schema.json")]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct StatusArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// End with 3 where nothing runs
    #[arg(long)]
    pub(crate) running: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check a config file and report every problem
    Check {
        /// The file [default: as --config]
        file: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the config file with secrets hidden
    Show(OneForm),
    /// Edit the config in $VISUAL or $EDITOR, check it and save it; `undo` takes it back
    Edit(OneForm),
    /// Print the JSON Schema of config files
    Schema,
}

impl FileCommand {
    pub(super) fn task(self) -> Task {
        match self {
            Self::Status(args) => Task::Status(args),
            Self::Config { command: ConfigCommand::Check { file, json } } => Task::ConfigCheck { file, json },
            Self::Config { command: ConfigCommand::Show(form) } => Task::ConfigShow(form),
            Self::Config { command: ConfigCommand::Edit(form) } => Task::ConfigEdit(form),
            Self::Config { command: ConfigCommand::Schema } => Task::ConfigSchema,
        }
    }
}
