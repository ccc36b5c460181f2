//! Whether an entry that bears our name is one of ours: another's is not touched.

use std::path::Path;

use manifold_config::{Plug, servers_in};
use serde_json::Value;

use super::super::verb::Verb;
use super::ClientFile;
use crate::output::{Exit, Failure};

/// Refuses to change an entry that is not ours.
pub(in super::super) fn check(
    file: &ClientFile,
    text: &str,
    name: &str,
    plug: &Plug,
    verb: &Verb,
) -> Result<(), Failure> {
    let Some(entry) = file.client.entry_in(text, file.path(), name)? else { return Ok(()) };
    let program = verb.options.environment.program.as_deref();
    if is_ours(&entry, plug, program) || is_known_as_ours(file, text, name, verb) {
        return Ok(());
    }
    let said = format!("{} has another server of the name '{name}'", file.path().display());
    Err(Failure::new(Exit::Failed, "exists", said)
        .hint("give ours another with --name, or replace it with --force"))
}

/// Tells whether an import would take it for us: started by `npx`, say.
fn is_known_as_ours(file: &ClientFile, text: &str, name: &str, verb: &Verb) -> bool {
    let environment = &verb.options.environment;
    let found = servers_in(text, file.path(), Some(file.client), environment).unwrap_or_default();
    found.iter().any(|server| server.id == name && server.project.is_none() && server.is_ourselves)
}

/// Tells by the program it starts, or the address it has.
pub(in super::super) fn is_ours(entry: &str, plug: &Plug, program: Option<&Path>) -> bool {
    let Ok(entry) = serde_json::from_str::<Value>(entry) else { return false };
    let mut texts = Vec::new();
    for key in ["command", "cmd"] {
        match entry.get(key) {
            Some(Value::Array(words)) => texts.extend(words.first().and_then(Value::as_str)),
            Some(Value::Object(object)) => texts.extend(object.get("path").and_then(Value::as_str)),
            other => texts.extend(other.and_then(Value::as_str)),
        }
    }
    let starts_us = |text: &&str| {
        let path = Path::new(text);
        let name = path.file_name();
        let is_program = program.is_some_and(|program| path.canonicalize().is_ok_and(|path| path == program));
        is_program || name.is_some_and(|name| name == "manifold" || name == "manifold.exe")
    };
    let has_address = |url: &str| {
        let keys = ["url", "serverUrl", "httpUrl", "uri"];
        keys.iter().any(|key| entry.get(key).and_then(Value::as_str) == Some(url))
    };
    let is_same = match plug {
        Plug::Http { url, .. } => has_address(url),
        Plug::Stdio { command, .. } => texts.contains(&command.as_str()),
    };
    is_same || texts.iter().any(starts_us)
}
