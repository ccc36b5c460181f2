//! `tools`, `tool`, `resources`, `prompts`: what servers offer, as clients see it.

mod list;
#[cfg(test)]
mod tests;
mod tool;

use std::process::ExitCode;

use super::verb::Verb;
use crate::cli::ItemCommand;
use list::Kind;

pub(super) fn run(command: &ItemCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        ItemCommand::Tools(args) => list::run(Kind::Tools, args, verb),
        ItemCommand::Resources { args, templates: false } => list::run(Kind::Resources, args, verb),
        ItemCommand::Resources { args, templates: true } => list::run(Kind::Templates, args, verb),
        ItemCommand::Prompts(args) => list::run(Kind::Prompts, args, verb),
        ItemCommand::Tool(args) => tool::run(args, verb),
    })
}
