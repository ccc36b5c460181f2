//! `list`, `get`, the orders to servers, `wait`, `logs` and `watch`.

mod again;
mod detail;
mod list;
mod logs;
mod orders;
#[cfg(test)]
mod tests;
mod wait;
mod watch;

use std::process::ExitCode;

pub(super) use list::table;

use super::verb::{Verb, find, suggested};
use crate::cli::ServerCommand;

pub(super) fn run(command: &ServerCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        ServerCommand::List(_) => list::run(verb),
        ServerCommand::Get(named) => detail::run(&named.name, verb),
        ServerCommand::Start(named) => orders::run(orders::Order::Start, &named.name, verb),
        ServerCommand::Stop(named) => orders::run(orders::Order::Stop, &named.name, verb),
        ServerCommand::Restart(named) => orders::run(orders::Order::Restart, &named.name, verb),
        ServerCommand::Enable(named) => orders::run(orders::Order::Enable, &named.name, verb),
        ServerCommand::Disable(named) => orders::run(orders::Order::Disable, &named.name, verb),
        ServerCommand::Refresh(named) => orders::run(orders::Order::Refresh, &named.name, verb),
        ServerCommand::Wait(args) => wait::run(args, verb),
        ServerCommand::Logs(args) => logs::run(args, verb),
        ServerCommand::Watch(args) => watch::run(args, verb),
    })
}
