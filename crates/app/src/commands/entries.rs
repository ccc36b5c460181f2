//! The verbs that change which servers the config has: `add`, `add-json`, `remove`, `rename`, `import`.

mod add;
mod ask;
mod entry;
mod import;
mod name;
mod packages;
mod pasted;
mod put;
mod remove;
mod rename;
mod report;
mod secrets;

use std::process::ExitCode;

pub(super) use ask::{is_somebody_there, line};
pub(super) use import::{Found, Imported, find_all, import_found};
pub(super) use report::Report;

use super::verb::Verb;
use crate::cli::EntryCommand;

pub(super) fn run(command: &EntryCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        EntryCommand::Add(args) => add::run(args, verb),
        EntryCommand::AddJson(args) => add::run_json(args, verb),
        EntryCommand::Remove(args) => remove::run(args, verb),
        EntryCommand::Rename(args) => rename::run(args, verb),
        EntryCommand::Import(args) => import::run(args, verb),
    })
}
