//! `open`: the page in the browser.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::forms::OneForm;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum OpenCommand {
    /// Open the dashboard in the browser
    #[command(after_help = "\
Examples:
  manifold open                    look at servers, clients and traffic
  manifold open --act              also call tools, start and stop servers
  manifold open --edit             also change the config, for an hour
  manifold open --print            only say where it is, for a browser elsewhere

The address is good for one use, within a minute. docs/dashboard.md tells the rest.")]
    Open(OpenArgs),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct OpenArgs {
    /// The page may also call tools, start and stop servers, and read what messages say
    #[arg(long)]
    pub(crate) act: bool,
    /// The page may also change the config and clients' files, for an hour
    #[arg(long, conflicts_with = "act")]
    pub(crate) edit: bool,
    /// Start no browser; write the address alone
    #[arg(long)]
    pub(crate) print: bool,
    /// Read the files of the page from this folder, for those who work on it
    #[arg(long, value_name = "DIR")]
    pub(crate) dev: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: OneForm,
}
