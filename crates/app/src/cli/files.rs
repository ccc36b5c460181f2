//! `status` and `config`: what is written in files, and how it is doing.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Task;

#[derive(Debug, Subcommand)]
pub(super) enum FileCommand {
    /// Show what is configured, and what is wrong with it
    Status(StatusArgs),
    /// Check a config, or print its JSON Schema
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
    /// Print the JSON Schema of config files
    Schema,
}

impl FileCommand {
    pub(super) fn task(self) -> Task {
        match self {
            Self::Status(args) => Task::Status(args),
            Self::Config { command: ConfigCommand::Check { file, json } } => Task::ConfigCheck { file, json },
            Self::Config { command: ConfigCommand::Schema } => Task::ConfigSchema,
        }
    }
}
