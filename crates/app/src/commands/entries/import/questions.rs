//! What is asked before an import: whether a project's servers may be started, and whether secrets are moved.

use std::collections::BTreeMap;

use manifold_config::{FoundServer, ImportPlan, LiteralSecret};

use super::super::ask::is_agreed;
use super::super::secrets;
use crate::commands::verb::Verb;
use crate::output::{Failure, counted};

/// Asks about those that would be added.
pub(super) fn ask(found: &mut [FoundServer], plan: &ImportPlan, verb: &Verb) -> Result<(), Failure> {
    let new: Vec<usize> = plan.added.iter().map(|server| server.found).collect();
    approve(found, &new);
    keep_secrets(found, &new, verb)
}

/// A repository cannot approve itself: whoever cloned it is asked, file by file.
fn approve(found: &mut [FoundServer], new: &[usize]) {
    let mut files: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for at in new {
        let Some(server) = found.get(*at).filter(|server| server.enabled && !server.approved) else {
            continue;
        };
        files.entry(server.file.display().to_string()).or_default().push(*at);
    }
    for (file, servers) in files {
        let ids: Vec<&str> =
            servers.iter().filter_map(|at| found.get(*at)).map(|server| server.id.as_str()).collect();
        let question = format!(
            "{file} of this project has {}: {}. May it be started?",
            counted(ids.len(), "server"),
            ids.join(", ")
        );
        if is_agreed(&question) {
            for at in servers {
                if let Some(server) = found.get_mut(at) {
                    server.approved = true;
                }
            }
        }
    }
}

/// Puts what should not stand in a config into the secret store, if that is wanted.
fn keep_secrets(found: &mut [FoundServer], new: &[usize], verb: &Verb) -> Result<(), Failure> {
    let of = |at: &usize| found.get(*at).map(|server| (*at, server.secrets.clone()));
    let all: Vec<(usize, Vec<LiteralSecret>)> =
        new.iter().filter_map(of).filter(|(_, secrets)| !secrets.is_empty()).collect();
    if all.is_empty() || !secrets::has_store(verb) {
        return Ok(());
    }
    let places: Vec<String> = all
        .iter()
        .filter_map(|(at, secrets)| Some((found.get(*at)?, secrets)))
        .flat_map(|(server, secrets)| secrets.iter().map(|secret| format!("{} {}", server.id, secret.place)))
        .collect();
    let question = format!(
        "{} in these entries as they are ({}). Move them into the secret store?",
        if places.len() == 1 {
            "1 secret stands".to_owned()
        } else {
            format!("{} secrets stand", places.len())
        },
        places.join(", ")
    );
    if !is_agreed(&question) {
        return Ok(());
    }
    for (at, secrets) in all {
        let Some(server) = found.get_mut(at) else { continue };
        // From the last: each that is taken moves those behind it.
        for secret in secrets.iter().rev() {
            let Some(value) = server.take_secret(secret, &secret.name_hint) else { continue };
            secrets::keep(&secret.name_hint, &value, verb)?;
        }
    }
    Ok(())
}
