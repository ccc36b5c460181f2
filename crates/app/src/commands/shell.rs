//! What helps to type commands: completions for shells, and manual pages. Nothing is started for either.

mod complete;
mod man;
mod remembered;
mod shells;

use std::process::ExitCode;

pub(crate) use complete::complete_if_asked;

use crate::cli::ShellCommand;

pub(super) fn run(command: &ShellCommand) -> ExitCode {
    match command {
        ShellCommand::Completions { shell } => complete::register(*shell),
        ShellCommand::Man { dir: Some(dir), .. } => man::write_all(dir),
        ShellCommand::Man { verb, dir: None } => man::print_page(verb),
    }
}
