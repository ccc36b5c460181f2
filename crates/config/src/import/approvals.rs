//! What a user has told Claude Code of the servers a project brings: which may be started, and which not.

use std::path::Path;

use crate::environment::Environment;
use crate::file::{Node, Object};
use crate::load::read;
use crate::problem::Problems;
use crate::syntax;

use super::places::files_of;
use crate::clients::Scope;

/// The lists kept for each project in the user's own file. What stands in the project's files cannot approve itself.
const APPROVED: &str = "enabledMcpjsonServers";
const REFUSED: &str = "disabledMcpjsonServers";

/// What is said of the servers of one project.
#[derive(Default)]
pub(super) struct Approvals {
    approved: Vec<String>,
    refused: Vec<String>,
}

impl Approvals {
    /// Reads what is said; nothing where no program keeps such a list, or it cannot be read.
    pub(super) fn read(project: &Path, environment: &Environment) -> Self {
        let mut approvals = Self::default();
        for client in crate::clients::clients() {
            let Some(key) = &client.projects else { continue };
            for file in files_of(client, Scope::User, environment) {
                let Ok(text) = read(&file) else { continue };
                let document = syntax::parse(&text, Some(&file), |_| true, &mut Problems::default());
                let projects = document.as_ref().and_then(|document| document.object(key));
                let said = project.to_str().and_then(|folder| projects?.object(folder));
                if let Some(said) = said {
                    approvals.approved.extend(names(said, APPROVED));
                    approvals.refused.extend(names(said, REFUSED));
                }
            }
        }
        approvals
    }

    pub(super) fn allows(&self, name: &str) -> bool {
        self.approved.iter().any(|approved| approved == name) && !self.refuses(name)
    }

    pub(super) fn refuses(&self, name: &str) -> bool {
        self.refused.iter().any(|refused| refused == name)
    }
}

fn names(project: &Object, key: &str) -> Vec<String> {
    let list = project.members.get(key).and_then(Node::list).unwrap_or_default();
    list.iter().filter_map(|name| name.written().map(str::to_owned)).collect()
}
