//! `tools`, `tool`, `resources`, `prompts`: what servers offer, as clients see it.

mod list;
#[cfg(test)]
mod tests;
mod tool;

use std::process::ExitCode;
use std::time::Duration;

use manifold_admin::ListedItem;

use super::source::Source;
use super::verb::Verb;
use crate::cli::ItemCommand;
use crate::output::Failure;
use list::Kind;

/// How long servers may take to say what they offer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns all tools of a namespace, with their definitions.
pub(super) fn tools(source: &Source, namespace: Option<&str>) -> Result<Vec<ListedItem>, Failure> {
    let asked = list::Asked { namespace, full: true, ..list::Asked::default() };
    Ok(list::awaited(Kind::Tools, asked, source, PATIENCE, |_| false)?.items)
}

pub(super) fn run(command: &ItemCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        ItemCommand::Tools(args) => list::run(Kind::Tools, args, verb),
        ItemCommand::Resources { args, templates: false } => list::run(Kind::Resources, args, verb),
        ItemCommand::Resources { args, templates: true } => list::run(Kind::Templates, args, verb),
        ItemCommand::Prompts(args) => list::run(Kind::Prompts, args, verb),
        ItemCommand::Tool(args) => tool::run(args, verb),
    })
}
