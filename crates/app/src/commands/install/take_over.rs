//! The servers of a client's file on their way behind us: which of them may go from it. Only one that we serve, so that none is
//! lost on the way.

use manifold_config::{FoundServer, Outcome, Scope, Server, load_text, servers_in};

use super::super::entries::{Imported, import_found};
use super::super::record::Record;
use super::super::verb::Verb;
use super::{ClientFile, LeftServer};
use crate::cli::{ImportArgs, InstallArgs};
use crate::output::Failure;

/// What may go from a file, and what may not.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) names: Vec<String>,
    pub(super) left: Vec<LeftServer>,
    /// Whether our config was changed for it.
    pub(super) is_imported: bool,
}

/// Imports the servers of a file into our config.
pub(super) fn import(
    file: &ClientFile,
    args: &InstallArgs,
    verb: &Verb,
    record: &mut Record,
) -> Result<Taken, Failure> {
    if file.client.names_in(&file.text, file.path())?.is_empty() {
        return Ok(Taken::default());
    }
    let found = servers_in(&file.text, file.path(), Some(file.client), &verb.options.environment)
        .map_err(|error| Failure::config(error.to_string()))?;
    let found: Vec<FoundServer> = found.into_iter().filter(|server| is_of(server, file)).collect();
    let how = ImportArgs { dry_run: args.dry_run, form: args.form, ..ImportArgs::default() };
    let imported = import_found(found, &how, verb, record)?;
    imported.remark(verb);
    imported.tell_problems(verb);
    of(&imported, file, verb)
}

/// Returns what an import allows to be taken out of a file.
pub(super) fn of(imported: &Imported, file: &ClientFile, verb: &Verb) -> Result<Taken, Failure> {
    let names = file.client.names_in(&file.text, file.path())?;
    let path = &imported.changed.base.path;
    let ours = match imported.changed.after.trim().is_empty() {
        true => Vec::new(),
        false => {
            load_text(&imported.changed.after, Some(path), verb.options)
                .map_err(|error| Failure::config(error.to_string()))?
                .servers
        }
    };
    let mut taken = Taken { is_imported: imported.changed.is_change(), ..Taken::default() };
    let outcomes = imported.found.iter().zip(&imported.plan.outcomes);
    for (server, outcome) in outcomes.filter(|(server, _)| is_of(server, file) && names.contains(&server.id))
    {
        match reason_to_leave(server, outcome, &ours) {
            None => taken.names.push(server.id.clone()),
            Some(_) if server.is_ourselves => {}
            Some(why) => taken.left.push(LeftServer { id: server.id.clone(), why }),
        }
    }
    Ok(taken)
}

/// Tells whether a server stands in this file for all of its user's folders.
fn is_of(server: &FoundServer, file: &ClientFile) -> bool {
    server.scope == Scope::User && server.project.is_none() && server.file == file.path()
}

/// Returns why a server must stay where it is, if so.
fn reason_to_leave(server: &FoundServer, outcome: &Outcome, ours: &[Server]) -> Option<String> {
    let id = match outcome {
        Outcome::Skipped(why) => return Some(why.clone()),
        Outcome::Added(id) | Outcome::Same(id) => id,
    };
    let mut served = ours.iter().filter(|one| one.key.id == *id).peekable();
    if served.peek().is_none() {
        return Some("it did not get into our config".to_owned());
    }
    let is_switched_off = server.enabled && !served.any(|one| one.enabled);
    is_switched_off.then(|| {
        format!("'{id}' in our config is the same and is disabled; `manifold enable {id}` lets it be used")
    })
}
