//! `install`: one entry for us in the file of each client that is named.
//!
//! What would be written is shown first; a file is changed by the client's own command where there is one, else in place.
//! Then we connect as the client would and say what it will see. One record holds all of it, for one `undo`.

mod choose;
mod client_file;
mod diff;
mod job;
mod ours;
mod own_command;
mod plug;
mod probe;
mod program;
mod take_over;
#[cfg(test)]
mod tests;

use manifold_config::{Client, Plug, Scope};
use serde::Serialize;

use super::record::Record;
use super::verb::Verb;
use crate::cli::InstallArgs;
use crate::output::{Exit, Failure, escaped_text};

pub(super) use choose::{chosen, present};
pub(super) use client_file::ClientFile;
pub(super) use job::{Job, Others};
pub(super) use ours::check as check_ours;
pub(super) use own_command::{change_by_command, check_not_running, check_stays, has_command};
pub(super) use plug::of as plug_of;
pub(super) use probe::tell_all;

/// What became of one client, as programs read it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    pub(super) client: &'static str,
    pub(super) file: String,
    /// The folder of the record that `undo` goes by.
    pub(super) backup: Option<String>,
    pub(super) changed: bool,
    /// Servers that moved behind us.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) taken: Vec<String>,
    /// Servers that were to move and did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left: Vec<LeftServer>,
}

/// A server that stays in a client's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct LeftServer {
    pub(super) id: String,
    pub(super) why: String,
}

/// Installs us into the clients that were named.
pub(super) fn run(args: &InstallArgs, verb: &Verb) -> Result<Exit, Failure> {
    if args.take_over && Scope::from(args.scope) == Scope::Project {
        return Err(Failure::usage("a project's servers are not taken over: others share its file")
            .hint("`manifold import` takes them into your config, and leaves the file as it is"));
    }
    let clients = chosen(&args.which, "install", verb)?;
    // A name that none of them could use is wrong in itself.
    let mut unfit = clients.iter().map(|client| client.check_name(&args.name).err());
    if let Some(Some(why)) = unfit.next()
        && unfit.all(|why| why.is_some())
    {
        return Err(Failure::usage(why.to_string()));
    }
    let plug = plug::of(args, verb)?;
    if args.print {
        return print(&clients, args, &plug, verb);
    }
    let others = if args.take_over { Others::TakenOver } else { Others::Stay };
    let job = Job { args, verb, plug: &plug, others };
    let mut record = Record::of(verb, "install", &words(&clients, args))?;
    let done = each(&clients, args.which.clients.len() == 1, verb, |client| {
        let row = job.install(client, &mut record)?;
        if !args.dry_run {
            probe::tell(client, &args.name, &plug, verb);
        }
        Ok(row)
    });
    record.finish(&verb.output);
    done
}

/// Does something for each client. What fails for one is said, and done for the others.
pub(super) fn each(
    clients: &[&'static Client],
    is_one: bool,
    verb: &Verb,
    mut act: impl FnMut(&'static Client) -> Result<Row, Failure>,
) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    let mut exit = Exit::Ok;
    for client in clients {
        match act(client) {
            Ok(row) => rows.push(row),
            Err(failure) if is_one => return Err(failure),
            Err(failure) => {
                verb.output.fail(&failure);
                exit = Exit::Failed;
            }
        }
    }
    if verb.output.is_json() {
        match rows.as_slice() {
            [row] if is_one => verb.output.json(row),
            rows => verb.output.json(&rows),
        }
    }
    Ok(exit)
}

/// Returns the command for people, as the record keeps it.
fn words(clients: &[&'static Client], args: &InstallArgs) -> String {
    let ids: Vec<&str> = clients.iter().map(|client| client.id()).collect();
    let take_over = if args.take_over { " --take-over" } else { "" };
    format!("install {}{take_over}", ids.join(" "))
}

/// Prints what to paste, and a link where the client has one.
fn print(clients: &[&'static Client], args: &InstallArgs, plug: &Plug, verb: &Verb) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Printed {
        client: &'static str,
        entry: String,
        link: Option<String>,
    }
    let mut rows = Vec::new();
    for client in clients {
        let entry = client.printed_entry(&args.name, plug)?;
        let link = client.deep_link(&args.name, plug);
        rows.push(Printed { client: client.id(), entry, link });
    }
    if verb.output.is_json() {
        match rows.as_slice() {
            [row] if args.which.clients.len() == 1 => verb.output.json(row),
            rows => verb.output.json(&rows),
        }
        return Ok(Exit::Ok);
    }
    for (client, row) in clients.iter().zip(&rows) {
        if let Some(note) = client.note() {
            verb.output.remark(&format!("{}: {note}", client.title()));
        }
        verb.output.text(&escaped_text(&row.entry));
        if let Some(link) = &row.link {
            verb.output.line(link);
        }
    }
    Ok(Exit::Ok)
}
