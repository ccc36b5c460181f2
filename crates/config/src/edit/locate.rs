//! Where in a file its servers stand, whosever file it is.

use std::path::Path;

use super::EditError;
use super::change::{Step, at, key};
use crate::clients::{self, named};
use crate::file::{Node, Object};
use crate::model::ServerKey;

/// The servers of a file.
pub(super) struct Servers {
    pub(super) found: Vec<Found>,
    pub(super) home: Home,
    /// Lists of servers that the folder we are in goes without.
    pub(super) disabled: Option<Vec<Step>>,
}

/// One server, and the way to it.
pub(super) struct Found {
    pub(super) schema: Option<String>,
    pub(super) id: String,
    pub(super) at: Vec<Step>,
}

/// Where a new server belongs.
pub(super) enum Home {
    /// An object by id.
    Map(Vec<Step>),
    /// A list, each item with its `name`.
    List(Vec<Step>),
    /// The schemas there are, each with servers of its own.
    Schemas(Vec<String>),
}

impl Servers {
    /// Looks where the servers of this file stand; `folder` is the one whose project counts.
    pub(super) fn locate(document: &Object, path: Option<&Path>, folder: &Path) -> Self {
        match clients::roots(document, path, folder) {
            Some(roots) => {
                let steps = |keys: Vec<String>| keys.into_iter().map(Step::Key).collect::<Vec<_>>();
                let (root, project) = (steps(roots.root), roots.project.map(steps));
                let mut found = below(document, &root);
                found.extend(project.iter().flat_map(|project| below(document, project)));
                let is_list = at(document, &root).map_or(roots.is_list, |node| node.list().is_some());
                let home = if is_list { Home::List(root) } else { Home::Map(root) };
                Self { found, home, disabled: roots.disabled.map(steps) }
            }
            None => Self::of_ours(document),
        }
    }

    fn of_ours(document: &Object) -> Self {
        let root = clients::own_root(document);
        if root != "schemas" {
            let root = vec![key(root)];
            return Self { found: below(document, &root), home: Home::Map(root), disabled: None };
        }
        let schemas = document.object(root).into_iter().flat_map(|schemas| schemas.members.keys());
        let schemas: Vec<String> = schemas.cloned().collect();
        let mut found = Vec::new();
        for schema in &schemas {
            let servers = below(document, &in_schema(schema));
            found.extend(servers.into_iter().map(|one| Found { schema: Some(schema.clone()), ..one }));
        }
        Self { found, home: Home::Schemas(schemas), disabled: None }
    }

    /// Returns everywhere a server of this id stands: of several, the last one counts.
    pub(super) fn find(&self, id: &str) -> Result<Vec<&Found>, EditError> {
        let mut found: Vec<&Found> = self.found.iter().filter(|one| one.id == id).collect();
        if found.is_empty() {
            found = self.found.iter().filter(|one| one.schema.is_some() && one.label() == id).collect();
        }
        let exists = |found: &[&Found]| found.iter().map(|one| one.label()).collect();
        match found.as_slice() {
            [] => {
                let all: Vec<&Found> = self.found.iter().collect();
                Err(EditError::NoSuchServer { id: id.to_owned(), exists: exists(&all) })
            }
            [first, rest @ ..] if rest.iter().any(|one| one.schema != first.schema) => {
                Err(EditError::AmbiguousServer { id: id.to_owned(), exists: exists(&found) })
            }
            _ => Ok(found),
        }
    }
}

impl Found {
    /// Returns what names this server alone.
    fn label(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}/{}", self.id),
            None => self.id.clone(),
        }
    }
}

/// Returns the way to the servers of a schema.
pub(super) fn in_schema(schema: &str) -> Vec<Step> {
    vec![key("schemas"), key(schema), key("mcpServers")]
}

/// Tells whether a server is the one meant.
pub(super) fn is_called(key: &ServerKey, id: &str) -> bool {
    let of_schema = || key.schema.as_ref().is_some_and(|schema| id == format!("{schema}/{}", key.id));
    key.id == id || of_schema()
}

fn below(document: &Object, root: &[Step]) -> Vec<Found> {
    let step = |index: usize, is_list: bool, id: &str| {
        let last = if is_list { Step::Index(index) } else { key(id) };
        root.iter().cloned().chain([last]).collect()
    };
    let entries = match root {
        [] => document.members.iter().map(|(id, node)| (Some(id.clone()), node)).collect(),
        _ => at(document, root).map(named).unwrap_or_default(),
    };
    let is_list = at(document, root).is_some_and(|node| node.list().is_some());
    let is_entry = |node: &Node| !root.is_empty() || node.object().is_some();
    let found = entries.into_iter().enumerate().filter(|(_, (_, node))| is_entry(node));
    found
        .filter_map(|(index, (id, _))| id.map(|id| Found { schema: None, at: step(index, is_list, &id), id }))
        .collect()
}
