//! `uninstall`: our entry out of the files of clients, and nothing else.

use std::path::Path;

use manifold_config::{Client, OwnCommand, Plug, Writing};
use manifold_setup::{Back, Changes, WriteError};

use super::install::{
    ClientFile, Row, change_by_command, check_not_running, check_ours, check_stays, chosen, each,
};
use super::record::Record;
use super::undo::journal;
use super::verb::Verb;
use crate::cli::UninstallArgs;
use crate::output::{Exit, Failure};

pub(super) fn run(args: &UninstallArgs, verb: &Verb) -> Result<Exit, Failure> {
    let clients = chosen(&args.which, "uninstall", verb)?;
    let ids: Vec<&str> = clients.iter().map(|client| client.id()).collect();
    let mut record = Record::of(verb, "uninstall", &format!("uninstall {}", ids.join(" ")))?;
    let done = each(&clients, args.which.clients.len() == 1, verb, |client| {
        uninstall(client, args, verb, record.changes())
    });
    record.finish(&verb.output);
    done
}

fn uninstall(
    client: &'static Client,
    args: &UninstallArgs,
    verb: &Verb,
    changes: &mut Changes,
) -> Result<Row, Failure> {
    if client.writing() != Writing::File {
        let said = format!("{} is not written by us: take the entry out by hand", client.title());
        return Err(Failure::new(Exit::Failed, "unsupported", said));
    }
    let file = ClientFile::open(client, args.scope.into(), verb)?;
    let is_there = file.has(&file.text, &args.name)?;
    let mut backup = None;
    if is_there {
        if !args.force {
            check_ours(&file, &file.text, &args.name, &unknown(), verb)?;
            check_unedited(&file, &args.name, verb)?;
        }
        if !args.dry_run {
            write(&file, args, verb, changes)?;
            backup = changes.folder();
        }
    }
    if !verb.output.is_json() {
        let said = match (is_there, args.dry_run) {
            (false, _) => "has no entry of ours",
            (true, true) => "would lose our entry",
            (true, false) => "has lost our entry",
        };
        verb.output.line(&format!("{}: {} {said}", client.title(), file.shown()));
    }
    let backup = backup.map(|folder| folder.display().to_string());
    Ok(Row { client: client.id(), file: file.shown(), backup, changed: is_there, ..Row::default() })
}

fn write(file: &ClientFile, args: &UninstallArgs, verb: &Verb, changes: &mut Changes) -> Result<(), Failure> {
    let name = args.name.as_str();
    let back = Back::entry(file.client.id(), name);
    let steps = [(OwnCommand::Remove, name)];
    let is_gone = |text: &str| file.has(text, name).is_ok_and(|is_there| !is_there);
    let scope = args.scope.into();
    if !change_by_command(file, &steps, &unknown(), scope, &back, changes, verb, &is_gone)? {
        check_not_running(file, args.force, verb)?;
        if !bring_back(file, name, &back, changes, verb)? {
            changes.edit(&file.target, &back, |old| -> Result<_, Failure> {
                let text = file.read_as_text(old)?;
                if is_gone(&text) {
                    return Ok(None);
                }
                Ok(Some(file.told(file.client.take_entry(&text, file.path(), name))?.into_bytes()))
            })?;
        }
    }
    check_stays(file, &is_gone, verb)
}

/// Gives a file that nobody has written since `install` the bytes it had, or removes it. Tells whether it did.
fn bring_back(
    file: &ClientFile,
    name: &str,
    back: &Back,
    changes: &mut Changes,
    verb: &Verb,
) -> Result<bool, Failure> {
    let now = file.text.as_bytes();
    let original = journal(verb)?.original(file.path(), now, name).ok().flatten();
    let Some(original) = original else { return Ok(false) };
    let before = original.text.clone();
    let had_entry = file.has(&file.read_as_text(before.as_deref())?, name)?;
    if had_entry {
        return Ok(false);
    }
    let written = match before {
        Some(before) => changes.write(&file.target, Some(now), &before, back.clone()),
        None => changes.remove(&file.target, now, &original.folders, back.clone()),
    };
    match written {
        Ok(()) => Ok(true),
        Err(WriteError::Changed(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses an entry that somebody has changed since it was written: it is the user's by now.
fn check_unedited(file: &ClientFile, name: &str, verb: &Verb) -> Result<(), Failure> {
    let Some(written) = journal(verb)?.written(file.path(), name) else { return Ok(()) };
    if !is_edited(file.client, file.path(), name, &written, &file.text) {
        return Ok(());
    }
    let said = format!("the entry '{name}' in {} has been changed since it was written", file.shown());
    Err(Failure::new(Exit::Failed, "edited", said)
        .hint(format!("`manifold uninstall {} --force` takes it out all the same", file.client.id())))
}

/// Tells whether an entry says something else than it did.
pub(super) fn is_edited(client: &Client, path: &Path, name: &str, written: &str, now: &str) -> bool {
    let entry = |text: &str| client.entry_in(text, path, name).ok().flatten();
    let value = |text: String| serde_json::from_str::<serde_json::Value>(&text).ok();
    match (entry(written), entry(now)) {
        // The order of members and the space between them say nothing.
        (Some(written), Some(now)) => written != now && value(written) != value(now),
        _ => false,
    }
}

/// To take an entry out, what it says need not be known.
fn unknown() -> Plug {
    Plug::Stdio { command: String::new(), args: Vec::new(), env: Vec::new() }
}
