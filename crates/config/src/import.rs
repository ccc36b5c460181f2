//! The servers of any program's file as entries of ours, to be taken over: in our keys, with variables in our syntax and not
//! filled in.
//!
//! [`servers_in`] reads one file, [`find_servers`] all that the programs we know have written, [`plan_import`] says what to
//! add to a config of ours. Nothing is written here, and nobody is asked.

mod approvals;
mod check;
mod entry;
mod found;
mod known;
mod launch;
mod ourselves;
mod places;
mod plan;
mod scan;
mod secrets;
mod start;
#[cfg(test)]
mod tests;
mod translate;

use std::path::{Path, PathBuf};

use crate::clients::{self, Client, Groups, Scope};
use crate::environment::Environment;
use crate::file::{Node, Object, Value};
use crate::load::{LoadError, MAX_BYTES, failure};
use crate::meant;
use crate::problem::Problems;
use crate::syntax;

use approvals::Approvals;
pub use found::{FoundServer, LiteralSecret, Question};
pub use places::files_to_import;
pub use plan::{ImportPlan, Outcome, PlannedServer, plan_import};
pub use scan::{Scan, find_servers};
use translate::{Inputs, Translation};

/// More servers than this in one file are nothing that somebody uses.
const MAX_SERVERS: usize = 1000;

/// Reads the servers of a text as if it were read from `path`: of this program's file, or of whoever's it turns out to be. A
/// file that is broken, too large or without servers is an error.
pub fn servers_in(
    text: &str,
    path: &Path,
    client: Option<&'static Client>,
    environment: &Environment,
) -> Result<Vec<FoundServer>, LoadError> {
    let found = servers_or_none(text, path, client, environment)?;
    if found.is_empty() {
        let hint = "name a file that has some, such as a client's config";
        return Err(failure(path, "has no servers", hint));
    }
    Ok(found)
}

/// Reads a file that is to be imported. One too large to be a config is refused before it is read.
pub fn read_to_import(path: &Path) -> Result<String, LoadError> {
    crate::load::read(path)
}

/// Does what [`servers_in`] does; a file without servers gives none.
fn servers_or_none(
    text: &str,
    path: &Path,
    client: Option<&'static Client>,
    environment: &Environment,
) -> Result<Vec<FoundServer>, LoadError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(failure(path, "is larger than 64 MiB", "it is hardly a config; name another file"));
    }
    let mut problems = Problems::new(Some(path));
    let document = syntax::parse(text, Some(path), clients::is_known, &mut problems);
    let refused = |problems: Problems| LoadError { problems: problems.into_sorted(), recognized: None };
    let Some(document) = document else { return Err(refused(problems)) };
    // What stands under a key that is there again is not read, and nobody would know.
    let repeated: Vec<String> =
        problems.found().iter().map(|problem| format!("left out: {problem}")).collect();
    let all = clients::groups(&document, path, client, &mut problems);
    // A list of switched-off servers that cannot be read must not switch them on.
    if problems.is_refused() {
        return Err(refused(problems));
    }
    if all.groups.iter().map(|group| group.entries.len()).sum::<usize>() > MAX_SERVERS {
        let what = format!("has more than {MAX_SERVERS} servers");
        return Err(failure(path, &what, "it is hardly a config; name another file"));
    }
    let mut found = Reader::new(path, &all, environment).read(all);
    if let Some(first) = found.first_mut() {
        first.remarks.extend(repeated);
    }
    Ok(found)
}

/// Makes entries of ours of one file's.
struct Reader<'a> {
    file: PathBuf,
    client: Option<&'static Client>,
    scope: Scope,
    /// The project whose file it is.
    project: Option<PathBuf>,
    inputs: Inputs,
    approvals: Approvals,
    environment: &'a Environment,
}

impl<'a> Reader<'a> {
    fn new(path: &Path, all: &Groups, environment: &'a Environment) -> Self {
        let file = environment.cwd.join(path);
        let project = places::project_of(all.client, &file, environment);
        let approvals = project.as_deref().map(|project| Approvals::read(project, environment));
        Self {
            scope: if project.is_some() { Scope::Project } else { Scope::User },
            client: all.client,
            inputs: Inputs::of(&all.inputs),
            approvals: approvals.unwrap_or_default(),
            file,
            project,
            environment,
        }
    }

    fn read(&self, all: Groups) -> Vec<FoundServer> {
        let switched_off: Vec<(String, Vec<String>)> = all
            .groups
            .iter()
            .filter_map(|group| Some((group.folder.clone()?, group.disabled.clone())))
            .collect();
        let mut found = Vec::new();
        for group in all.groups {
            let folder = group.folder.as_ref().map(PathBuf::from);
            for entry in group.entries {
                let Some(mut server) = self.server(&entry.name, &entry.node, folder.as_deref()) else {
                    continue;
                };
                let said = entry.problems.iter().map(|problem| match &problem.hint {
                    Some(hint) => format!("{}; {hint}", problem.what),
                    None => problem.what.clone(),
                });
                server.remarks.extend(said);
                server.enabled &= !group.disabled.contains(&entry.name);
                for (elsewhere, _) in
                    switched_off.iter().filter(|(_, names)| folder.is_none() && names.contains(&entry.name))
                {
                    server
                        .remarks
                        .push(format!("it is switched off in {elsewhere}, which is not taken over"));
                }
                found.push(server);
            }
        }
        found
    }

    /// Makes one server; `None` where there is no entry at all.
    fn server(&self, name: &str, node: &Node, folder: Option<&Path>) -> Option<FoundServer> {
        let project = folder.or(self.project.as_deref());
        let translation = Translation {
            forms: self.client.map_or(crate::expand::Forms::OURS, |client| client.forms),
            folder: self.file.parent().unwrap_or(Path::new("/")),
            project,
            inputs: &self.inputs,
        };
        let written = as_meant(name, node)?;
        let mut remarks = Vec::new();
        let made = entry::ours(name, &written, &translation, &mut remarks);
        let mut found = FoundServer::new(name, made.object, self.environment);
        found.client = self.client.map(|client| client.id);
        found.scope = self.scope;
        found.project = project.map(Path::to_path_buf);
        found.file.clone_from(&self.file);
        found.line = node.line;
        found.enabled = made.enabled && !self.approvals.refuses(name);
        found.approved = self.scope == Scope::User || self.approvals.allows(name);
        found.questions = made.questions;
        found.remarks = remarks;
        Some(found)
    }
}

/// Reads keys and flags that are spelt another way as what they mean, as the loading of a config does.
fn as_meant(name: &str, node: &Node) -> Option<Object> {
    if matches!(node.value, Value::Null) {
        return None;
    }
    let one = |name: &str, node: Node| {
        let members = indexmap::IndexMap::from([(name.to_owned(), node)]);
        Object { line: 1, members }
    };
    let servers = Node { line: 1, value: Value::Object(one(name, node.clone())) };
    let mut document = one("mcpServers", servers);
    meant::read(&mut document, &mut Problems::default());
    let entry = document.object("mcpServers").and_then(|servers| servers.members.get(name));
    Some(entry.and_then(Node::object).cloned().unwrap_or_default())
}
