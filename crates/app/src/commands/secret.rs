//! `secret set | list | rm`: what `${secret:NAME}` stands for; `secret rekey | export | import`: the store as a whole.

mod backup;
mod list;
mod rekey;
mod reload;
mod typed;

use std::collections::BTreeMap;
use std::process::ExitCode;

use manifold_config::{Environment, LoadOptions, secrets_used_in, written};
use manifold_credentials::{Given, KeyKind, KeyringError, Kind, Name, Store, StoreError};
use serde::Serialize;

use super::noted::noted;
use super::token::open_key;
use super::verb::Verb;
use crate::cli::SecretCommand;
use crate::output::{Exit, Failure, Suggestion};
use crate::secrets::{store, weakness};
pub(super) use list::{Summary, summary};

pub(super) fn run(command: &SecretCommand, verb: Verb) -> ExitCode {
    if let Some(why) = open_key_file(&verb.options.environment) {
        verb.output.remark(&why);
    }
    verb.run(|verb| match command {
        SecretCommand::Set { name, .. } => noted(verb, "secret set", Some(name.as_str()), || set(name, verb)),
        SecretCommand::List(_) => list::run(verb),
        SecretCommand::Rm { name, .. } => {
            noted(verb, "secret rm", Some(name.as_str()), || remove(name, verb))
        }
        SecretCommand::Rekey(args) => noted(verb, "secret rekey", None, || rekey::run(args, verb)),
        SecretCommand::Export { file, with } => {
            noted(verb, "secret export", None, || backup::export(file, with, verb))
        }
        SecretCommand::Import { file, replace, with } => {
            noted(verb, "secret import", None, || backup::import(file, *replace, with, verb))
        }
    })
}

/// Says that others can read the file with the key, if they can: a key that is given in another way is none of a file.
pub(super) fn open_key_file(environment: &Environment) -> Option<String> {
    match Given::among(&environment.vars)? {
        Given::File(file) => open_key(&environment.cwd.join(file)),
        Given::Variable(_) | Given::Systemd(_) => None,
    }
}

/// What became of one secret.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    name: String,
    /// How often a value was stored under this name; none once it is removed.
    generation: Option<u64>,
    /// What the store is kept with.
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
    let prepared = store.prepare().map_err(|error| failed(&error))?;
    let entry = store.set(&name, &value).map_err(|error| failed(&error))?;
    drop(value);
    let done = Done {
        name: name.to_string(),
        generation: Some(entry.generation),
        key: prepared.kind.word(),
        used_by: used(verb.options).remove(name.as_str()).unwrap_or_default(),
        restarted: reload::running(verb),
    };
    let said = if entry.generation == 1 { "stored" } else { "replaced" };
    tell(verb, &done, said);
    // Once: what was decided with the first value.
    if prepared.is_new {
        warn(verb, prepared.kind, prepared.why_plain.as_ref());
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
        key: kind(&store).map_or("", |kind| kind.word()),
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

/// Returns who uses which secret, as far as the config can be read.
fn used(options: &LoadOptions) -> BTreeMap<String, Vec<String>> {
    let used = written(options).and_then(|(text, path)| secrets_used_in(&text, path.as_deref()));
    used.unwrap_or_default()
}

fn warn(verb: &Verb, kind: KeyKind, why: Option<&KeyringError>) {
    weakness(kind, why).iter().for_each(|text| verb.output.remark(text));
}

/// Returns what a store is kept with, as far as that can be told.
fn kind(store: &Store) -> Option<KeyKind> {
    store.kind().ok().flatten()
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
