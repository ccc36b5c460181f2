//! `call`, `read`, `prompt` and `complete`: a server asked once, from the command line.

mod address;
mod again;
mod arguments;
pub(crate) mod asker;
mod conversation;
mod deadline;
mod find;
pub(crate) mod gateway;
pub(crate) mod inbox;
pub(crate) mod person;
mod progress;
mod questions;
mod reached;
mod save;
mod show;
mod signature;
mod verbs;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use manifold_admin::AskerEnvironment;
use manifold_protocol::Raw;

use arguments::schema::{Branch, Kind, Schema};
use asker::Asker;
use deadline::Deadline;
use gateway::Gateway;
use inbox::Interrupts;
pub(super) use person::Hidden;
use person::{Person, Terminal};

use super::patience::Patience;
use crate::cli::AskCommand;
use crate::output::{Failure, write};
pub(crate) use again::{Again, Hints, Whom};
pub(crate) use reached::ask;

/// Whom a command asks, and as whom.
pub(crate) struct Place<'a> {
    pub(crate) gateway: &'a dyn Gateway,
    /// Caught before any other thread was started.
    pub(crate) interrupts: Interrupts,
    pub(crate) namespace: Option<&'a str>,
    /// What servers are started with; `None`: with what the gateway has.
    pub(crate) environment: Option<AskerEnvironment>,
    /// Whether somebody watches standard error, and it can be written over.
    pub(crate) is_watched: bool,
    pub(crate) deadline: Deadline,
    /// Ends the command where nobody keeps to the deadline.
    pub(crate) patience: Patience,
}

/// Carries out a command and prints what came of it.
pub(crate) fn run(command: &AskCommand, place: Place<'_>) -> Result<ExitCode, Failure> {
    let Place { gateway, interrupts, namespace, environment, is_watched, deadline, patience } = place;
    let mut terminal = Terminal::find().filter(|_| !command.how().no_input);
    let mut asker = Asker {
        gateway,
        person: terminal.as_mut().map(|terminal| terminal as &mut dyn Person),
        interrupts,
        namespace,
        environment,
        to_terminal: io::stdout().is_terminal(),
        is_watched,
        deadline,
    };
    let shown = verbs::run(command, &mut asker).map_err(|failure| deadline.named(failure))?;
    // Whoever reads it may take its time.
    drop(patience);
    write(&shown.text);
    shown.failure.map_or(Ok(shown.exit.into()), |failure| Err(deadline.named(failure)))
}

/// Returns what can be typed of a tool's arguments: `name=`, and `name=value` where there are few.
pub(crate) fn argument_words(input_schema: Raw) -> Vec<String> {
    let mut words = Vec::new();
    for (name, schema, _) in Schema::new(input_schema).members() {
        let name = name.replace('.', "\\.");
        let branches = schema.branches();
        words.push(format!("{name}="));
        for option in branches.iter().filter_map(Branch::options).flatten() {
            let option = arguments::convert::shown(&option);
            // That would be the content of a file, which the server would get.
            if !option.starts_with('@') {
                words.push(format!("{name}={option}"));
            }
        }
        if branches.iter().any(|branch| branch.kinds().contains(&Kind::Boolean)) {
            words.extend([format!("{name}=true"), format!("{name}=false")]);
        }
    }
    words
}
