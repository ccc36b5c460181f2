//! The commands about those who use the servers: clients, namespaces, operators.

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::forms::{ListForm, OneForm};
use crate::output::Form;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ClientCommand {
    /// Show who is connected, or disconnect one
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Examples:
  manifold clients
  manifold clients disconnect 3"
    )]
    Clients {
        #[command(subcommand)]
        command: Option<ClientsCommand>,
        #[command(flatten)]
        form: ListForm,
    },
    /// Show namespaces, and allow or deny what is in them
    #[command(
        visible_alias = "namespaces",
        args_conflicts_with_subcommands = true,
        after_help = "\
Examples:
  manifold ns                      all namespaces
  manifold ns show work            one, with its rules
  manifold ns deny work github.delete_repository"
    )]
    Ns {
        #[command(subcommand)]
        command: Option<NsCommand>,
        #[command(flatten)]
        form: ListForm,
    },
    /// Show what operators changed
    #[command(after_help = "\
Example:
  manifold audit -n 5              the last five changes: when, who, what")]
    Audit {
        /// How many at the most, the last ones
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
        lines: usize,
        #[command(flatten)]
        form: OneForm,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ClientsCommand {
    /// Show who is connected
    List(ListForm),
    /// End a client's session
    Disconnect {
        /// The client's id, as `manifold clients` shows it
        id: u64,
        #[command(flatten)]
        form: OneForm,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum NsCommand {
    /// Show all namespaces
    List(ListForm),
    /// Show one namespace with its rules
    Show {
        /// The namespace's id or name
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
    /// Let the clients of a namespace use something
    Allow(RuleArgs),
    /// Keep something from the clients of a namespace
    Deny(RuleArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RuleArgs {
    /// The namespace's id
    pub(crate) namespace: String,
    /// server.tool or server/tool, as the server calls it; `*` stands for any characters: 'git.*'
    pub(crate) item: String,
    /// What it is
    #[arg(long, value_enum, default_value_t)]
    pub(crate) kind: ItemKindArg,
    /// Take the rule back: what holds by default holds again
    #[arg(long)]
    pub(crate) unset: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ItemKindArg {
    #[default]
    Tool,
    Prompt,
    Resource,
}

impl ClientCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Clients { command: Some(ClientsCommand::Disconnect { form, .. }), .. }
            | Self::Ns { command: Some(NsCommand::Show { form, .. }), .. }
            | Self::Audit { form, .. } => (*form).into(),
            Self::Clients { command: Some(ClientsCommand::List(form)), .. }
            | Self::Clients { command: None, form }
            | Self::Ns { command: Some(NsCommand::List(form)), .. }
            | Self::Ns { command: None, form } => (*form).into(),
            Self::Ns { command: Some(NsCommand::Allow(args) | NsCommand::Deny(args)), .. } => {
                args.form.into()
            }
        }
    }
}
