//! `secret set | list | rm`: what `${secret:NAME}` stands for.

mod reload;
mod typed;

use std::collections::BTreeMap;
use std::fmt;
use std::process::ExitCode;

use jiff::Timestamp;
use manifold_config::{Environment, LoadOptions, secrets_used_in, written};
use manifold_credentials::{KeyKind, Kind, Listed, Name, Store, StoreError};
use serde::Serialize;

use super::verb::Verb;
use crate::cli::SecretCommand;
use crate::output::{Cell, Column, Exit, Failure, Form, Suggestion, Table, Tone};
use crate::secrets::store;

pub(super) fn run(command: &SecretCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        SecretCommand::Set { name, .. } => set(name, verb),
        SecretCommand::List(_) => list(verb),
        SecretCommand::Rm { name, .. } => remove(name, verb),
    })
}

/// What became of one secret.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    name: String,
    /// How often a value was stored under this name; none once it is removed.
    generation: Option<u64>,
    /// Where the key comes from.
    key: &'static str,
    /// The servers and settings of this config that use it.
    used_by: Vec<String>,
    /// The servers that were started anew for it; none where nothing runs.
    restarted: Option<Vec<String>>,
}

fn set(name: &str, verb: &Verb) -> Result<Exit, Failure> {
    let name = checked(name)?;
    let store = opened(verb)?;
    let value = typed::value(&name)?;
    let entry = store.set(&name, &value).map_err(|error| failed(&error))?;
    drop(value);
    let done = Done {
        name: name.to_string(),
        generation: Some(entry.generation),
        key: store.key_kind().word(),
        used_by: used(verb.options).remove(name.as_str()).unwrap_or_default(),
        restarted: reload::running(verb),
    };
    let said = if entry.generation == 1 { "stored" } else { "replaced" };
    tell(verb, &done, said);
    if entry.generation == 1 {
        warn_of_key(verb, store.key_kind());
    }
    Ok(Exit::Ok)
}

fn remove(name: &str, verb: &Verb) -> Result<Exit, Failure> {
    let name = checked(name)?;
    let store = opened(verb)?;
    if !store.remove(&name).map_err(|error| failed(&error))? {
        let stored = store.list(Kind::Secret).unwrap_or_default();
        let names: Vec<String> =
            stored.into_iter().filter_map(|listed| Some(listed.entry.ok()?.name.to_string())).collect();
        let hint = Suggestion::among(names.iter().map(String::as_str), name.as_str());
        let message = format!("there is no secret '{name}'");
        return Err(Failure::new(Exit::Unknown, "unknown-secret", message)
            .hint(hint.or("`manifold secret list` shows those there are")));
    }
    let done = Done {
        name: name.to_string(),
        generation: None,
        key: store.key_kind().word(),
        used_by: used(verb.options).remove(name.as_str()).unwrap_or_default(),
        restarted: reload::running(verb),
    };
    tell(verb, &done, "removed");
    if !done.used_by.is_empty() {
        verb.output.remark(&format!("it is still used by {}", done.used_by.join(", ")));
    }
    Ok(Exit::Ok)
}

fn tell(verb: &Verb, done: &Done, said: &str) {
    if verb.output.is_json() {
        return verb.output.json(done);
    }
    let restarted = match done.restarted.as_deref() {
        None | Some([]) => String::new(),
        Some(servers) => format!("; started anew: {}", servers.join(", ")),
    };
    verb.output.line(&format!("the secret {} has been {said}{restarted}", done.name));
}

/// All that is stored, and what guards it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    folder: String,
    key: &'static str,
    /// False where whoever can read the files can read the key as well.
    protected: bool,
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

fn list(verb: &Verb) -> Result<Exit, Failure> {
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
    let kind = store.recorded_key().ok().flatten().unwrap_or(store.key_kind());
    let output = &verb.output;
    match output.form() {
        Form::Json => {
            let folder = store.path().display().to_string();
            let (key, protected) = (kind.word(), kind.protects());
            output.json(&Report { folder, key, protected, secrets: rows });
        }
        Form::Ids => rows.iter().for_each(|row| _ = output.line(&row.name)),
        Form::Text if rows.is_empty() => {
            output.remark("no secret is stored; `manifold secret set NAME` stores one");
        }
        Form::Text => {
            output.table(&table(&rows));
            warn_of_key(verb, kind);
        }
    }
    Ok(Exit::Ok)
}

/// What is stored, in a few words.
#[derive(Serialize)]
pub(super) struct Summary {
    stored: usize,
    key: &'static str,
    protected: bool,
}

/// Returns what is stored; none where nothing ever was, or where it cannot be told.
pub(super) fn summary(environment: &Environment) -> Option<Summary> {
    let store = store(environment)?;
    let kind = store.recorded_key().ok()??;
    let stored = store.list(Kind::Secret).ok()?.len();
    Some(Summary { stored, key: kind.word(), protected: kind.protects() })
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stored, ", self.stored)?;
        match self.protected {
            true => write!(f, "sealed (key: {})", self.key),
            false => f.write_str("their key lies beside them and protects against little"),
        }
    }
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

/// Says plainly what a key beside the store is worth.
fn warn_of_key(verb: &Verb, kind: KeyKind) {
    if !kind.protects() {
        verb.output.remark(
            "the key lies beside the sealed files, so it protects against little: whoever can read your files can \
             read both; give a key by MANIFOLD_KEY or --key-file before the first secret is stored",
        );
    }
}

/// Returns who uses which secret, as far as the config can be read.
fn used(options: &LoadOptions) -> BTreeMap<String, Vec<String>> {
    let used = written(options).and_then(|(text, path)| secrets_used_in(&text, path.as_deref()));
    used.unwrap_or_default()
}

fn opened(verb: &Verb) -> Result<Store, Failure> {
    store(&verb.options.environment).ok_or_else(|| {
        Failure::usage("there is no home directory to keep secrets in").hint("set XDG_DATA_HOME")
    })
}

fn checked(name: &str) -> Result<Name, Failure> {
    Name::secret(name).map_err(|bad| Failure::usage(bad.to_string()))
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(Exit::Failed, "store", error.to_string())
}
