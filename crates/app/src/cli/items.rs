//! The commands that show what servers offer, as clients see it.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::forms::{ListForm, OneForm};
use crate::output::Form;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ItemCommand {
    /// Show the tools that clients see
    #[command(after_help = "\
Examples:
  manifold tools                   all of them
  manifold tools file --server files
  manifold tools --namespace work --json | jq 'map(.bytes) | add'")]
    Tools(ItemArgs),
    /// Show one tool: what it does and what it takes
    #[command(after_help = "\
Examples:
  manifold tool git__git_log       by the name that clients see
  manifold tool git.git_log        by its server's id and its own name
  manifold tool git_log --json     as a client gets it")]
    Tool(ToolArgs),
    /// Show the resources that clients see
    #[command(after_help = "\
Examples:
  manifold resources
  manifold resources --templates   the templates of their addresses")]
    Resources {
        #[command(flatten)]
        args: ItemArgs,
        /// Templates of addresses instead
        #[arg(long)]
        templates: bool,
    },
    /// Show the prompts that clients see
    #[command(after_help = "\
Example:
  manifold prompts --server docs")]
    Prompts(ItemArgs),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct ItemArgs {
    /// Only those with this in their name or description
    pub(crate) pattern: Option<String>,
    /// Only those of one server
    #[arg(long, value_name = "ID")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) form: ListForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ToolArgs {
    /// As clients see it, server.tool, server/tool, or its own name where only one server has it
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct PatienceArgs {
    /// How long to wait for servers that are starting
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub(crate) timeout: u64,
}

impl PatienceArgs {
    pub(crate) fn patience(self) -> Duration {
        Duration::from_millis(self.timeout)
    }
}

impl ItemCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Tools(args) | Self::Resources { args, .. } | Self::Prompts(args) => args.form.into(),
            Self::Tool(args) => args.form.into(),
        }
    }
}
