//! `secret list`, and what `status` says of it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use manifold_config::Environment;
use manifold_credentials::{KeyKind, Kind, Listed};
use serde::Serialize;

use super::{failed, kind, opened, used, warn};
use crate::commands::verb::Verb;
use crate::output::{Cell, Column, Exit, Failure, Form, Table, Tone, counted};
use crate::secrets::store;

/// All that is stored, and what guards it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    folder: String,
    /// What the store is kept with; empty where there is none yet.
    key: &'static str,
    /// False where whoever can read the files can read the values as well.
    protected: bool,
    /// How many logins are stored beside them.
    logins: usize,
    secrets: Vec<Row>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    generation: Option<u64>,
    changed: Option<String>,
    used_by: Vec<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn run(verb: &Verb) -> Result<Exit, Failure> {
    let store = opened(verb)?;
    let mut used = used(verb.options);
    // Opened where the key is at hand, so that what is broken is told here and not at a server's start.
    let listed = match store.check() {
        Ok(listed) => listed,
        Err(error) => {
            verb.output.remark(&error.to_string());
            store.list(Kind::Secret).map_err(|error| failed(&error))?
        }
    };
    let rows: Vec<Row> = listed.iter().filter_map(|listed| row(listed, &mut used)).collect();
    let kind = kind(&store);
    let output = &verb.output;
    match output.form() {
        Form::Json => {
            let folder = store.path().display().to_string();
            let (key, protected) = (word(kind), kind.is_some_and(KeyKind::protects));
            let logins = store.list(Kind::OAuth).map_or(0, |logins| logins.len());
            output.json(&Report { folder, key, protected, logins, secrets: rows });
        }
        Form::Ids => rows.iter().for_each(|row| _ = output.line(&row.name)),
        Form::Text if rows.is_empty() => {
            output.remark("no secret is stored; `manifold secret set NAME` stores one");
        }
        Form::Text => {
            output.table(&table(&rows));
            if let Some(kind) = kind {
                output.remark(&format!("the store is kept with: {} ({kind})", kind.word()));
                warn(verb, kind, None);
            }
        }
    }
    Ok(Exit::Ok)
}

/// What is stored, in a few words.
#[derive(Serialize)]
pub(in crate::commands) struct Summary {
    stored: usize,
    /// What is stored of servers that one signs in to, whether one is signed in there now or not.
    logins: usize,
    /// The servers of this config where one is.
    #[serde(skip)]
    pub(in crate::commands) signed_in: usize,
    key: &'static str,
    protected: bool,
    /// Why nothing of it can be opened just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Returns what is stored; none where nothing ever was, or where it cannot be told. No value is opened.
pub(in crate::commands) fn summary(environment: &Environment) -> Option<Summary> {
    let store = store(environment)?;
    let kind = store.kind().ok()??;
    let count = |kind| store.list(kind).map(|listed| listed.len()).ok();
    let (stored, logins) = (count(Kind::Secret)?, count(Kind::OAuth)?);
    let problem = store.check_key().err().map(|error| error.to_string());
    Some(Summary { stored, logins, signed_in: 0, key: kind.word(), protected: kind.protects(), problem })
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stored", self.stored)?;
        if self.signed_in > 0 {
            write!(f, ", and {} signed in", counted(self.signed_in, "server"))?;
        }
        write!(f, "; store: {}", self.key)?;
        match (self.key, &self.problem) {
            (_, Some(problem)) => write!(f, ": {problem}"),
            ("plain", None) => f.write_str(" (in clear, in files that only you can read)"),
            ("beside", None) => f.write_str(" (their key lies beside them and protects against little)"),
            _ => Ok(()),
        }
    }
}

fn word(kind: Option<KeyKind>) -> &'static str {
    kind.map_or("", KeyKind::word)
}

fn row(listed: &Listed, used: &mut BTreeMap<String, Vec<String>>) -> Option<Row> {
    let of_file = listed.file.file_name()?.to_str()?.strip_prefix("secret.")?;
    let used_by = used.remove(of_file).unwrap_or_default();
    let name = of_file.to_owned();
    Some(match &listed.entry {
        Ok(entry) => {
            let changed = entry.changed.and_then(|changed| Timestamp::try_from(changed).ok());
            let changed = changed.map(|changed| changed.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
            Row { name, generation: Some(entry.generation), changed, used_by, problem: None }
        }
        Err(error) => {
            Row { name, generation: None, changed: None, used_by, problem: Some(error.to_string()) }
        }
    })
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new([
        Column::id("NAME"),
        Column::number("GENERATION"),
        Column::id("CHANGED"),
        Column::text("USED BY"),
        Column::text("WHAT IS WRONG"),
    ]);
    for row in rows {
        let wrong: Cell = row.problem.as_ref().into();
        table.row([
            Cell::new(&row.name),
            row.generation.map(|generation| generation.to_string()).into(),
            row.changed.as_ref().into(),
            Cell::new(row.used_by.join(", ")),
            wrong.tone(Tone::Bad),
        ]);
    }
    table
}
