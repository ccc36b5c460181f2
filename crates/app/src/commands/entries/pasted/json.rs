//! Entries of some program's file.

use std::path::Path;

use manifold_config::{Environment, FoundServer, servers_in};

use super::super::entry::Entry;
use super::{Given, name};
use crate::output::Failure;

/// What an entry of one server has, and a file of servers has not.
const OF_ONE: [&str; 8] = ["command", "url", "httpUrl", "serverUrl", "uri", "cmd", "builtin", "transport"];

/// Reads a whole file, a map of servers, one entry, or a member that was cut out of one of these.
pub(super) fn read(text: &str, environment: &Environment) -> Result<Vec<Given>, Failure> {
    let text = text.trim().trim_end_matches([',', ';']);
    let whole = if text.starts_with('"') { format!("{{{text}}}") } else { text.to_owned() };
    if let Ok(entry) = Entry::parse(&whole)
        && entry.names().any(|name| OF_ONE.contains(&name))
    {
        // Some programs have the name in the entry.
        let own: Option<String> = entry.get("name");
        let given = one(own.as_deref().unwrap_or(UNNAMED), &whole, environment)?;
        let found = || {
            given.entry.command().map_or_else(
                || given.entry.url().and_then(|url| name::of_url(&url)),
                |words| name::of_command(&words),
            )
        };
        let name = own.or_else(found);
        return Ok(vec![Given { name, ..given }]);
    }
    let found = servers_in(&whole, Path::new(PASTED), None, environment)
        .map_err(|error| Failure::config(error.to_string()))?;
    found.into_iter().map(given).collect()
}

/// Reads one entry.
pub(in crate::commands::entries) fn one(
    name: &str,
    entry: &str,
    environment: &Environment,
) -> Result<Given, Failure> {
    let mut file = Entry::default();
    file.set(name, &Entry::parse(entry).map_err(|error| unread(&error))?);
    let mut whole = Entry::default();
    whole.set("mcpServers", &file);
    let found = servers_in(&whole.text(), Path::new(PASTED), None, environment)
        .map_err(|error| Failure::config(error.to_string()))?;
    let first = found.into_iter().next().ok_or_else(|| Failure::config("there is no server in it"))?;
    given(first)
}

/// Where it is said to stand when something is wrong with it.
const PASTED: &str = "pasted.json";
const UNNAMED: &str = "server";

pub(super) fn given(found: FoundServer) -> Result<Given, Failure> {
    if let Some(fault) = found.fault {
        return Err(Failure::config(format!("the entry of '{}' cannot work: {fault}", found.id)));
    }
    let mut entry = Entry::parse(&found.entry).map_err(|error| unread(&error))?;
    if !found.enabled {
        entry.set("disabled", &true);
    }
    let mut remarks = found.remarks;
    for question in found.questions {
        remarks.push(format!("set the variable {}: {}", question.variable, question.about));
    }
    Ok(Given { name: Some(found.id), entry, remarks })
}

fn unread(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("what was pasted is no JSON: {error}"))
}
