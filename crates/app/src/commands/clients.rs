//! `clients`, `ns` and `audit`: who uses the servers, what of them, and what operators changed.

mod audit;
mod connected;
pub(in crate::commands) mod namespaces;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use super::verb::Verb;
use crate::cli::{ClientCommand, ClientsCommand, NsCommand};

pub(super) fn run(command: &ClientCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        ClientCommand::Clients { command: Some(ClientsCommand::Disconnect { id, .. }), .. } => {
            connected::disconnect(*id, verb)
        }
        ClientCommand::Clients { .. } => connected::list(verb),
        ClientCommand::Ns { command: Some(NsCommand::Show { name, .. }), .. } => namespaces::show(name, verb),
        ClientCommand::Ns { command: Some(NsCommand::Allow(args)), .. } => namespaces::rule(args, true, verb),
        ClientCommand::Ns { command: Some(NsCommand::Deny(args)), .. } => namespaces::rule(args, false, verb),
        ClientCommand::Ns { .. } => namespaces::list(verb),
        ClientCommand::Audit { lines, .. } => audit::run(*lines, verb),
    })
}
