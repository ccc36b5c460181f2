//! `undo`: takes back what commands changed in users' files, the last one first.

mod keeper;
mod remains;

use std::path::Path;

use keeper::Keeper;
use manifold_setup::{Journal, Record, UndoError, Undone, Which};
use remains::Secrets;
use serde::Serialize;

use super::bundles;
use super::verb::Verb;
use crate::cli::UndoArgs;
use crate::output::{Cell, Column, Exit, Failure, Table};

/// What was undone, as programs read it.
#[derive(Serialize)]
struct Report {
    restored: Vec<String>,
    removed: Vec<String>,
    left: Vec<LeftRow>,
    /// The ids of commands that came later, changed the same files and stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    later: Vec<String>,
}

#[derive(Serialize)]
struct LeftRow {
    file: String,
    why: String,
}

/// One command that changed something.
#[derive(Serialize)]
struct Row<'r> {
    id: &'r str,
    at: &'r str,
    command: &'r str,
    files: Vec<String>,
    undone: bool,
}

pub(super) fn run(args: &UndoArgs, verb: &Verb) -> Result<Exit, Failure> {
    let journal = journal(verb)?;
    if args.list {
        return list(&journal, verb);
    }
    let which = match (&args.id, &args.client) {
        (Some(id), _) => Which::Record(id),
        (None, Some(client)) => Which::Client(client),
        (None, None) => Which::Last,
    };
    let before = remains::Configs::read(&journal);
    let words = args.id.clone().or_else(|| args.client.clone()).unwrap_or_default();
    let undone = journal.undo(which, &Keeper::new(verb, words)).map_err(refused)?;
    let is_whole = undone.left.is_empty();
    let secrets = before.clear(&undone, &journal, verb);
    if verb.output.is_json() {
        verb.output.json(&report(&undone, &secrets));
    } else {
        tell(&undone, verb);
        for (name, _) in &secrets.removed {
            verb.output.line(&format!("  removed the secret {name}"));
        }
        secrets.left.iter().for_each(|(_, why)| verb.output.remark(why));
    }
    bundles::collect(&journal, verb);
    Ok(if is_whole { Exit::Ok } else { Exit::Failed })
}

/// Opens the records of this user.
pub(super) fn journal(verb: &Verb) -> Result<Journal, Failure> {
    let home = verb.options.environment.state_home();
    let home = home.ok_or_else(|| {
        Failure::new(Exit::Failed, "failed", "there is no home folder to keep records in")
            .hint("set HOME or XDG_STATE_HOME")
    })?;
    Journal::open(&home).map_err(|error| {
        Failure::new(Exit::Failed, "failed", format!("records cannot be kept in {}: {error}", home.display()))
    })
}

fn tell(undone: &Undone, verb: &Verb) {
    let is_nothing_done = undone.restored.is_empty() && undone.removed.is_empty();
    verb.output.line(&match (undone.left.is_empty(), is_nothing_done) {
        (true, _) => format!("undone: {}", undone.words),
        (false, true) => format!("not undone: {}", undone.words),
        (false, false) => format!("undone in part: {}", undone.words),
    });
    let files = |word: &str, files: &[std::path::PathBuf]| {
        for file in files {
            verb.output.line(&format!("  {word} {}", file.display()));
        }
    };
    files("restored", &undone.restored);
    files("removed", &undone.removed);
    if undone.restored.is_empty() && undone.removed.is_empty() && undone.left.is_empty() {
        verb.output.line("  nothing of it was left in any file");
    }
    for left in &undone.left {
        verb.output.remark(&format!("{} is left as it is: {}", left.file.display(), left.why));
    }
    if undone.is_blocked {
        verb.output.remark("once it can be written, `manifold undo` tries again");
    }
    for (id, words) in &undone.later {
        verb.output.remark(&format!("what `{words}` did later stays; `manifold undo {id}` takes it back"));
    }
}

fn report(undone: &Undone, secrets: &Secrets) -> Report {
    let text = |path: &Path| path.display().to_string();
    let removed = undone.removed.iter().chain(secrets.removed.iter().map(|(_, file)| file));
    let left = undone.left.iter().map(|left| (&left.file, &left.why));
    let left = left.chain(secrets.left.iter().map(|(file, why)| (file, why)));
    Report {
        restored: undone.restored.iter().map(|path| text(path)).collect(),
        removed: removed.map(|path| text(path)).collect(),
        left: left.map(|(file, why)| LeftRow { file: text(file), why: why.clone() }).collect(),
        later: undone.later.iter().map(|(id, _)| id.clone()).collect(),
    }
}

fn list(journal: &Journal, verb: &Verb) -> Result<Exit, Failure> {
    let records = journal.records().map_err(|error| {
        Failure::new(Exit::Failed, "failed", format!("the records cannot be read: {error}"))
    })?;
    if verb.output.is_json() {
        let rows: Vec<Row> = records.iter().map(row).collect();
        verb.output.json(&rows);
        return Ok(Exit::Ok);
    }
    if records.is_empty() {
        verb.output.remark("there is nothing to undo");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([
        Column::id("ID"),
        Column::text("COMMAND"),
        Column::text("FILES"),
        Column::text("UNDONE"),
    ]);
    for record in &records {
        let undone = if record.undone.is_some() { "yes" } else { "no" };
        table.row([
            Cell::new(&record.id),
            Cell::new(&record.words),
            Cell::new(files(record).join(", ")),
            Cell::new(undone),
        ]);
    }
    verb.output.table(&table);
    Ok(Exit::Ok)
}

fn row(record: &Record) -> Row<'_> {
    Row {
        id: &record.id,
        at: &record.at,
        command: &record.words,
        files: files(record),
        undone: record.undone.is_some(),
    }
}

fn files(record: &Record) -> Vec<String> {
    let mut files: Vec<String> =
        record.changes.iter().map(|change| change.path.display().to_string()).collect();
    files.dedup();
    files
}

fn refused(error: UndoError) -> Failure {
    let exit = match error {
        UndoError::NoSuchRecord(_) => Exit::Unknown,
        _ => Exit::Failed,
    };
    let failure = Failure::new(exit, "nothing-to-undo", error.to_string());
    match error {
        UndoError::Nothing => failure,
        UndoError::NothingOf(_) | UndoError::NoSuchRecord(_) => {
            failure.hint("`manifold undo --list` shows what can be undone")
        }
        UndoError::Io { .. } => Failure { code: "failed".to_owned(), ..failure },
    }
}
