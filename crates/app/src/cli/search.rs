//! `search`: what the MCP Registry has.

use clap::{Args, Subcommand};

use super::forms::ListForm;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum SearchCommand {
    /// Look for servers in the MCP Registry
    #[command(after_help = "\
Examples:
  manifold search weather          what there is, and how each is started
  manifold search github issues --limit 50 --json
  manifold search weather --offline

MANIFOLD_REGISTRY names another registry than registry.modelcontextprotocol.io. What it answered is kept for an
hour; --offline takes what was kept, however old, and asks nobody.")]
    Search(SearchArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct SearchArgs {
    /// All of them must be in a server's name or description; one must be in its name
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// How many to show at the most
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) limit: u16,
    /// Ask nobody; take what was kept of earlier answers
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) form: ListForm,
}
