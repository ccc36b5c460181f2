//! `secret export | import`: everything that is stored, in one sealed file.

use std::path::Path;

use manifold_credentials::{BackupKey, Became, Given, Kind, Name, Store};
use serde::Serialize;

use super::{failed, opened, reload, typed, warn};
use crate::cli::BackupArgs;
use crate::commands::verb::Verb;
use crate::logins::{Whose, whose};
use crate::output::{Exit, Failure, counted};

/// One credential, without its value.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    /// Of a login, the server it is for.
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// The host of who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    /// What became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    became: Option<&'static str>,
}

#[derive(Serialize)]
struct Report {
    file: String,
    credentials: Vec<Row>,
    /// The servers that were started anew for it; none where nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarted: Option<Vec<String>>,
}

pub(super) fn export(file: &Path, args: &BackupArgs, verb: &Verb) -> Result<Exit, Failure> {
    let store = opened(verb)?;
    let path = verb.options.environment.cwd.join(file);
    if path.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("{}: is there already", path.display())).hint("name a new file"));
    }
    store.check_key().map_err(|error| failed(&error))?;
    let with = key(args, true, verb)?;
    let names = store.export(&path, &with).map_err(|error| failed(&error))?;
    let credentials: Vec<Row> = names.iter().map(|name| row(&store, name, None)).collect();
    let count = counted(credentials.len(), "credential");
    let file = path.display().to_string();
    if verb.output.is_json() {
        verb.output.json(&Report { file, credentials, restarted: None });
    } else {
        verb.output.line(&format!("{count} written to {file}"));
    }
    Ok(Exit::Ok)
}

pub(super) fn import(file: &Path, replaces: bool, args: &BackupArgs, verb: &Verb) -> Result<Exit, Failure> {
    let store = opened(verb)?;
    let path = verb.options.environment.cwd.join(file);
    if !path.is_file() {
        return Err(Failure::new(
            Exit::Failed,
            "store",
            format!("{}: there is no such file", path.display()),
        ));
    }
    let with = key(args, false, verb)?;
    let prepared = store.prepare().map_err(|error| failed(&error))?;
    let restored = store.import(&path, &with, replaces).map_err(|error| failed(&error))?;
    let restarted = reload::running(verb);
    let count = |wanted| restored.iter().filter(|restored| restored.became == wanted).count();
    let kept = count(Became::Kept);
    if verb.output.is_json() {
        let row =
            |became: &manifold_credentials::Restored| row(&store, &became.name, Some(word(became.became)));
        let credentials = restored.iter().map(row).collect();
        verb.output.json(&Report { file: path.display().to_string(), credentials, restarted });
    } else {
        verb.output.line(&format!(
            "{} taken over: {} added, {} replaced, {} unchanged, {kept} kept",
            counted(restored.len(), "credential"),
            count(Became::Added),
            count(Became::Replaced),
            count(Became::Unchanged),
        ));
    }
    if kept > 0 {
        verb.output.remark("what is stored with another value was kept; `--replace` replaces it");
    }
    if prepared.is_new {
        warn(verb, prepared.kind, prepared.why_plain.as_ref());
    }
    Ok(Exit::Ok)
}

/// Returns what a backup is sealed with.
fn key(args: &BackupArgs, is_new: bool, verb: &Verb) -> Result<BackupKey, Failure> {
    match &args.with_key_file {
        Some(file) => {
            let given = Given::File(verb.options.environment.cwd.join(file));
            let key = given.read().map_err(|error| Failure::usage(error.to_string()))?;
            Ok(BackupKey::Key(key))
        }
        None => typed::passphrase(is_new).map(BackupKey::Passphrase),
    }
}

fn row(store: &Store, name: &Name, became: Option<&'static str>) -> Row {
    let plain = |kind| Row { kind, name: name.as_str().to_owned(), account: None, issuer: None, became };
    match name.kind() {
        Kind::Secret => plain("secret"),
        Kind::OAuth => match whose(store, name) {
            Some(Whose { server, account, issuer }) => {
                Row { name: server, account: Some(account), issuer, ..plain("login") }
            }
            None => plain("login"),
        },
    }
}

fn word(became: Became) -> &'static str {
    match became {
        Became::Added => "added",
        Became::Replaced => "replaced",
        Became::Unchanged => "unchanged",
        Became::Kept => "kept",
    }
}
