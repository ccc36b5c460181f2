//! What is asked before an import: whether a project's servers may be started, and whether secrets are moved.

use std::collections::BTreeMap;

use manifold_config::{FoundServer, ImportPlan, LiteralSecret};

use super::super::ask::is_agreed;
use super::super::secrets::Keeper;
use crate::output::{Failure, counted};

/// Asks whether projects' servers among those that would be added may be started.
pub(super) fn ask_for_projects(found: &mut [FoundServer], plan: &ImportPlan) {
    let new: Vec<usize> = plan.added.iter().map(|server| server.found).collect();
    approve(found, &new);
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

/// Finds the secrets of those that would be added.
pub(super) struct Literal(Vec<(usize, Vec<LiteralSecret>)>);

impl Literal {
    pub(super) fn of(found: &[FoundServer], plan: &ImportPlan) -> Self {
        let of = |at: usize| found.get(at).map(|server| (at, server.secrets.clone()));
        let all = plan.added.iter().filter_map(|server| of(server.found));
        Self(all.filter(|(_, secrets)| !secrets.is_empty()).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks whether they go into the store.
    pub(super) fn is_to_be_moved(&self, found: &[FoundServer]) -> bool {
        let of = |(at, secrets): &(usize, Vec<LiteralSecret>)| {
            let id = found.get(*at).map(|server| server.id.clone()).unwrap_or_default();
            secrets.iter().map(|secret| format!("{id} {}", secret.place)).collect::<Vec<_>>()
        };
        let places: Vec<String> = self.0.iter().flat_map(of).collect();
        let stand = match places.len() {
            1 => "1 secret stands".to_owned(),
            count => format!("{count} secrets stand"),
        };
        let places = places.join(", ");
        is_agreed(&format!(
            "{stand} in these entries as they are ({places}). Move them into the secret store?"
        ))
    }

    /// Writes names in their places.
    pub(super) fn take(self, found: &mut [FoundServer], keeper: &mut Keeper) -> Result<(), Failure> {
        for (at, secrets) in self.0 {
            let Some(server) = found.get_mut(at) else { continue };
            // From the last: each that is taken moves those behind it.
            for secret in secrets.iter().rev() {
                let Some(value) = server.clone().take_secret(secret, "") else { continue };
                let name = keeper.name_for(&secret.name_hint, value.expose())?;
                server.take_secret(secret, &name);
            }
        }
        Ok(())
    }
}
