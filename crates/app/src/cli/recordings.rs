//! `record` and `replay`: what passes, kept in files; and what can be done with them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use manifold_recording::Format;

use super::forms::{ListForm, OneForm};
use crate::output::Form;

#[derive(Debug, Clone, PartialEq, Subcommand)]
pub(crate) enum TrafficCommand {
    /// Keep what clients, gateway and servers say to each other in a file
    #[command(after_help = "\
Examples:
  manifold record start bug 'server:github status:error|pending'
  manifold record list             those that run, and those that lie in files
  manifold record stop bug
  manifold record export bug --format har > bug.har

Secrets are taken out before anything is written. The files are
$XDG_STATE_HOME/manifold/recordings/NAME.mfr, for your eyes alone; docs/traffic.md has the
filter and the format.")]
    Record {
        #[command(subcommand)]
        command: RecordCommand,
    },
    /// Serve a recording as the server it was, repeat its calls, or compare it
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "\
Examples:
  manifold replay bug --serve      an MCP server on standard streams, which answers as it was answered then
  manifold replay bug --call 17    the same call again, through the gateway
  manifold replay bug --call 17 --fresh    by a server that is started for it and stopped after
  manifold replay bug --verify --ignore '$..timestamp'
  manifold replay diff before.mfr after.mfr

A recording is named by its name or by its file. In the config, `{\"replay\": \"bug.mfr\"}` is a server
that answers from the file. --verify ends with 0 where all calls give the same, else with 1."
    )]
    Replay(ReplayArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum RecordCommand {
    /// Begin a recording, of everything or of what fits a filter
    Start {
        /// What to call it: letters, digits, `-` and `_`
        name: String,
        /// What to keep, as in `server:git tool:read_file`
        filter: Vec<String>,
        #[command(flatten)]
        form: OneForm,
    },
    /// End one; its file stays
    Stop {
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
    /// Show those that run, and those that lie in files
    List(ListForm),
    /// Show what is in one
    Show {
        /// Its name, or a file
        name: PathBuf,
        #[command(flatten)]
        form: OneForm,
    },
    /// Write one in another format, to standard output
    Export {
        /// Its name, or a file
        name: PathBuf,
        #[arg(long, value_enum)]
        format: FormatArg,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// An HTTP archive, one entry for each call
    Har,
    /// One line for each frame
    Text,
    /// One document
    Json,
}

#[derive(Debug, Clone, PartialEq, Args)]
pub(crate) struct ReplayArgs {
    /// The recording: its name, or a file
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) mode: ReplayMode,
    /// Also calls of tools that do not say that they only read
    #[arg(long)]
    pub(crate) yes: bool,
    /// Ask servers started for this command alone, which end with it
    #[arg(long, conflicts_with = "serve")]
    pub(crate) fresh: bool,
    /// Where results may differ, as a JSON path; can be repeated
    #[arg(long, value_name = "JSONPATH", requires = "verify")]
    pub(crate) ignore: Vec<String>,
    /// Answer as slowly as then, times this; otherwise at once
    #[arg(long, value_name = "TIMES", requires = "serve")]
    pub(crate) pace: Option<f64>,
    /// Serve it although secrets were taken out of its answers
    #[arg(long, requires = "serve")]
    pub(crate) allow_redacted: bool,
    /// Stand in for this server, under its own names
    #[arg(long, value_name = "ID", requires = "serve", hide = true)]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) form: OneForm,
    #[command(subcommand)]
    pub(crate) command: Option<ReplayCommand>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(multiple = false)]
pub(crate) struct ReplayMode {
    /// Answer from it, as an MCP server on standard streams
    #[arg(long)]
    pub(crate) serve: bool,
    /// Make this call again, through the gateway
    #[arg(long, value_name = "NUMBER")]
    pub(crate) call: Option<u64>,
    /// Make all calls again that only read, and compare what they give
    #[arg(long)]
    pub(crate) verify: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ReplayCommand {
    /// Compare two recordings: their tools, and what equal calls gave
    Diff {
        first: PathBuf,
        second: PathBuf,
        /// Where results may differ, as a JSON path; can be repeated
        #[arg(long, value_name = "JSONPATH")]
        ignore: Vec<String>,
        #[command(flatten)]
        form: OneForm,
    },
}

impl TrafficCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Record { command } => match command {
                RecordCommand::Start { form, .. }
                | RecordCommand::Stop { form, .. }
                | RecordCommand::Show { form, .. } => (*form).into(),
                RecordCommand::List(form) => (*form).into(),
                RecordCommand::Export { .. } => Form::Text,
            },
            Self::Replay(args) => match &args.command {
                Some(ReplayCommand::Diff { form, .. }) => (*form).into(),
                None => args.form.into(),
            },
        }
    }
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Har => Self::Har,
            FormatArg::Text => Self::Text,
            FormatArg::Json => Self::Json,
        }
    }
}
