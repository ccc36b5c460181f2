//! The commands that look after what belongs to the gateway beside its servers: stored secrets, and its health.

use clap::Subcommand;

use super::Task;
use super::forms::{ListForm, OneForm};
use crate::output::Form;

#[derive(Debug, Subcommand)]
pub(super) enum CareCommand {
    /// Store secrets for the config, where `${secret:NAME}` stands for them
    #[command(after_help = "\
Examples:
  manifold secret set GITHUB_TOKEN            asks for the value, and does not show it
  pass show github | manifold secret set GITHUB_TOKEN
  manifold secret list

A value is never an argument: others could see it in the list of processes.")]
    Secret {
        #[command(subcommand)]
        command: SecretCommand,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a value, from standard input or as it is typed
    Set {
        /// The name, as in `${secret:NAME}`
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
    /// Show what is stored, without the values
    List(ListForm),
    /// Remove one
    #[command(visible_alias = "remove")]
    Rm {
        /// The name
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
}

impl CareCommand {
    pub(super) fn task(self) -> Task {
        match self {
            Self::Secret { command } => Task::Secret(command),
        }
    }
}

impl SecretCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Set { form, .. } | Self::Rm { form, .. } => (*form).into(),
            Self::List(form) => (*form).into(),
        }
    }
}
