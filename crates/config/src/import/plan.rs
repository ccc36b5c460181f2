//! What to add to a config of ours: each server once, whoever has it.

use std::path::PathBuf;

use super::FoundServer;
use crate::clients::Scope;
use crate::edit::inline;
use crate::expand::Text;
use crate::file::{Node, Object, Value};

/// What an import would change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ImportPlan {
    pub added: Vec<PlannedServer>,
    /// Those that are in the config already, by the id they have there.
    pub same: Vec<String>,
    /// Those that are not taken over, and why.
    pub skipped: Vec<(String, String)>,
    /// What became of each that was found, in the order of finding.
    pub outcomes: Vec<Outcome>,
}

/// A server to be added.
#[derive(Debug, PartialEq, Eq)]
pub struct PlannedServer {
    pub id: String,
    /// The whole entry; one that is not enabled says so.
    pub entry: String,
    pub enabled: bool,
    /// Which of those found it is.
    pub found: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is added under this id.
    Added(String),
    /// It would start the same as the server of this id.
    Same(String),
    Skipped(String),
}

/// Plans an import. `existing` are the servers of our config as [`servers_in`](super::servers_in) reads them. A project's
/// servers come first; they are added disabled unless they are approved.
pub fn plan_import(existing: &[FoundServer], found: &[FoundServer]) -> ImportPlan {
    let mut plan = ImportPlan::default();
    let mut outcomes: Vec<Option<Outcome>> = found.iter().map(|server| settled(server, existing)).collect();
    let mut taken: Vec<String> = existing.iter().map(|server| server.id.clone()).collect();
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|index| found[*index].scope != Scope::Project);
    for first in &order {
        if outcomes[*first].is_some() {
            continue;
        }
        let alike: Vec<usize> = order
            .iter()
            .copied()
            .filter(|index| outcomes[*index].is_none() && found[*index].starts_same(&found[*first]))
            .collect();
        // One that may be started counts before the same that may not.
        let chosen = alike.iter().copied().find(|index| may_start(&found[*index])).unwrap_or(*first);
        let id = free_id(&found[chosen], &taken);
        taken.push(id.clone());
        let folders = alike.iter().map(|index| found[*index].project.as_ref());
        plan.added.push(PlannedServer {
            entry: entry(&found[chosen], common(folders)),
            enabled: may_start(&found[chosen]),
            found: chosen,
            id: id.clone(),
        });
        for index in alike {
            let outcome = if index == chosen { Outcome::Added } else { Outcome::Same };
            outcomes[index] = Some(outcome(id.clone()));
        }
    }
    plan.outcomes = outcomes.into_iter().flatten().collect();
    plan.tell(found);
    plan
}

impl ImportPlan {
    fn tell(&mut self, found: &[FoundServer]) {
        for (server, outcome) in found.iter().zip(&self.outcomes) {
            match outcome {
                Outcome::Skipped(why) => self.skipped.push((server.id.clone(), why.clone())),
                Outcome::Same(id)
                    if !self.same.contains(id) && !self.added.iter().any(|added| added.id == *id) =>
                {
                    self.same.push(id.clone());
                }
                Outcome::Same(_) | Outcome::Added(_) => {}
            }
        }
    }
}

/// Returns what is clear of a server without looking at the others.
fn settled(server: &FoundServer, existing: &[FoundServer]) -> Option<Outcome> {
    if server.is_ourselves {
        return Some(Outcome::Skipped("it is Manifold itself".to_owned()));
    }
    if let Some(fault) = &server.fault {
        return Some(Outcome::Skipped(fault.clone()));
    }
    existing.iter().find(|one| one.starts_same(server)).map(|one| Outcome::Same(one.id.clone()))
}

fn may_start(server: &FoundServer) -> bool {
    server.enabled && server.approved
}

/// Returns the folder that all of them are meant for.
fn common<'a>(mut folders: impl Iterator<Item = Option<&'a PathBuf>>) -> Option<&'a PathBuf> {
    let first = folders.next()??;
    folders.all(|folder| folder == Some(first)).then_some(first)
}

/// Returns the entry as it is to be written: in the folder it was meant for, with what we know of it.
fn entry(server: &FoundServer, folder: Option<&PathBuf>) -> String {
    let mut members = server.object().members.clone();
    let mut put = |key: &str, value: Value| {
        members.entry(key.to_owned()).or_insert(Node { line: 1, value });
    };
    if server.is_known_shared() {
        put("shared", Value::Flag(true));
    } else if let Some(folder) = folder.filter(|_| server.object().members.contains_key("command")) {
        let folder = super::translate::plain(&folder.display().to_string());
        put("cwd", Value::Text(Text::written(&folder)));
    }
    if !may_start(server) {
        put("disabled", Value::Flag(true));
    }
    inline(&Value::Object(Object { line: 1, members }))
}

/// What our own tools begin with, which no server should be called.
const RESERVED: &str = "manifold";

/// Returns an id nobody has: the server's own, else with the program it is from, else also with its folder or a number.
fn free_id(server: &FoundServer, taken: &[String]) -> String {
    let plain = valid_id(&server.id);
    let from = format!("{plain}-{}", server.client.unwrap_or("import"));
    let folder = server.project.as_ref().and_then(|project| project.file_name());
    let in_folder = folder.map(|folder| valid_id(&format!("{from}-{}", folder.to_string_lossy())));
    let numbered = (2_usize..).map(|number| format!("{from}-{number}"));
    let is_free = |id: &String| {
        !id.eq_ignore_ascii_case(RESERVED) && !taken.iter().any(|one| one.eq_ignore_ascii_case(id))
    };
    let mut ids = [plain, from.clone()].into_iter().chain(in_folder).chain(numbered);
    ids.find(is_free).unwrap_or(from)
}

/// Returns a name as an id of `[A-Za-z0-9_-]`.
fn valid_id(name: &str) -> String {
    let mut id = String::new();
    for char in name.chars() {
        if char.is_ascii_alphanumeric() || char == '_' || char == '-' {
            id.push(char);
        } else if !id.ends_with('-') {
            id.push('-');
        }
    }
    let id = id.trim_matches('-');
    if id.is_empty() { "server".to_owned() } else { id.to_owned() }
}
