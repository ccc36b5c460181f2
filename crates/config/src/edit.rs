//! Changes of a config file that keep all else in it as it is written: comments, order, indents, quotes, line ends.
//!
//! An [`Edit`] becomes a few [`change::Change`]s of the tree, and each of these a cut into the text. What came out is read
//! again: it must be the old tree with these changes and nothing else, or it is not given away.

mod brackets;
mod change;
mod entries;
mod json;
mod lines;
mod locate;
mod plan;
mod revert;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use std::path::Path;

use crate::clients;
use crate::file::{Node, Object, Value};
use crate::load::{LoadOptions, load_text};
use crate::model::{Config, Server};
use crate::problem::Problems;
use crate::syntax::{self, Syntax};
use change::{Change, have_same_members, is_in_order};
pub(crate) use entries::{Entries, entry_text};
pub(crate) use json::inline;
use lines::LineEnds;
use locate::Servers;

pub use revert::{Reverted, revert};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The whole text.
    Text(String),
    /// A server's entry, as JSON; of one that is there only what differs is written.
    PutServer {
        id: String,
        entry: String,
    },
    /// Takes a server out, and out of the namespaces and rules that name it.
    RemoveServer {
        id: String,
    },
    /// Gives a server another id, there and wherever it is named.
    RenameServer {
        id: String,
        to: String,
    },
    SetEnabled {
        id: String,
        enabled: bool,
    },
    /// Has a namespace name a server.
    JoinNamespace {
        namespace: String,
        server: String,
    },
    /// The rule for one item of a server in a namespace; `None` leaves it to the default.
    SetPermission {
        namespace: String,
        server: String,
        kind: PermissionKind,
        /// As the server calls it.
        name: String,
        allow: Option<bool>,
    },
}

/// What a permission can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionKind {
    Tool,
    Prompt,
    Resource,
}

/// Why a change was not made; the text is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("there is no server '{id}'{}", known(.exists))]
    NoSuchServer { id: String, exists: Vec<String> },
    #[error("several schemas have a server '{id}'; name one of {}", .exists.join(", "))]
    AmbiguousServer { id: String, exists: Vec<String> },
    #[error("there is a server '{id}' already")]
    ServerExists { id: String },
    #[error("there is no namespace '{id}'{}", known(.exists))]
    NoSuchNamespace { id: String, exists: Vec<String> },
    #[error("'{server}' is not a server of namespace '{namespace}'")]
    NotInNamespace { namespace: String, server: String },
    /// What was to be put in is no server.
    #[error("{0}")]
    BadEntry(String),
    /// The file cannot be understood, so it cannot be changed.
    #[error("{0}")]
    Unreadable(String),
    /// The file is written in a way that we cannot change without changing more.
    #[error("{0}; change the file by hand")]
    ByHand(String),
}

fn known(exists: &[String]) -> String {
    if exists.is_empty() { "; there is none".to_owned() } else { format!("; there is {}", exists.join(", ")) }
}

/// A change that cannot be cut into this text, and why.
#[derive(Debug)]
struct Stuck(&'static str);

/// Returns the text with one change. `path` and `options` are what the text would be loaded with; an empty text counts as
/// a file that is yet to be written.
pub fn apply(
    text: &str,
    path: Option<&Path>,
    edit: &Edit,
    options: &LoadOptions,
) -> Result<String, EditError> {
    if let Edit::Text(new) = edit {
        return Ok(new.clone());
    }
    let plan = |document: &Object| {
        let servers = Servers::locate(document, path, &options.environment.cwd);
        plan::plan(edit, document, &servers)
    };
    let new = with_changes(text, |text| read(text, path), plan)?;
    if new != text {
        check_meaning(edit, &new, path, options)?;
    }
    Ok(new)
}

/// Returns a text with the changes that are planned for its tree, and nothing else changed: what came out is read again.
fn with_changes(
    text: &str,
    read: impl Fn(&str) -> Result<(Syntax, Object), EditError>,
    plan: impl FnOnce(&Object) -> Result<Vec<Change>, EditError>,
) -> Result<String, EditError> {
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let ends = LineEnds::of(&text[mark.len()..]);
    let old = ends.unified(&text[mark.len()..]);
    let (syntax, document) = read(&old)?;
    let changes = plan(&document)?;
    if changes.is_empty() {
        return Ok(text.to_owned());
    }
    let new = write(&old, syntax, &changes)?;
    check_tree(&document, &changes, &new, syntax)?;
    Ok(format!("{mark}{}", ends.restored(&old, &new)))
}

/// Reads a text as a tree. One in which nothing stands is an empty file of the syntax its name says.
fn read(text: &str, path: Option<&Path>) -> Result<(Syntax, Object), EditError> {
    let empty = syntax::expected(text, path);
    if empty.read(text, &mut Problems::default()).is_ok_and(|node| node.is_none()) {
        return Ok((empty, Object::default()));
    }
    let mut problems = Problems::new(path);
    syntax::parse_as(text, path, clients::is_known, &mut problems).ok_or_else(|| unreadable(problems))
}

/// Reads a text of a syntax that is known. One in which nothing stands is an empty file.
fn read_as(syntax: Syntax, text: &str, path: &Path) -> Result<Object, EditError> {
    let mut problems = Problems::new(Some(path));
    syntax::parse_only(syntax, text, &mut problems).ok_or_else(|| unreadable(problems))
}

fn unreadable(problems: Problems) -> EditError {
    let said: Vec<String> = problems.into_sorted().iter().map(ToString::to_string).collect();
    EditError::Unreadable(said.join("\n"))
}

/// Cuts every change into the text, one after the other.
fn write(text: &str, syntax: Syntax, changes: &[Change]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for change in changes {
        let written = match syntax {
            Syntax::Json => json::write(&text, change),
            Syntax::Toml => toml::write(&text, change),
            Syntax::Yaml => yaml::write(&text, change),
        };
        text = written.map_err(|Stuck(why)| EditError::ByHand(why.to_owned()))?;
    }
    Ok(text)
}

/// Sees to it that the new text is the old tree with these changes, and nothing else.
fn check_tree(before: &Object, changes: &[Change], new: &str, syntax: Syntax) -> Result<(), EditError> {
    let unsure = || EditError::ByHand("the change would change something else as well".to_owned());
    let mut expected = before.clone();
    for change in changes {
        change.make(&mut expected).map_err(|Stuck(why)| EditError::ByHand(why.to_owned()))?;
    }
    let found = syntax.read(new, &mut Problems::default()).map_err(|_| unsure())?;
    let found = found.unwrap_or(Node { line: 1, value: Value::Object(Object::default()) });
    let Value::Object(found) = found.value else { return Err(unsure()) };
    // Tables stand anywhere in TOML: without one of them another may come first. Within each the order is told.
    let is_in_order = syntax == Syntax::Toml || is_in_order(before, &expected, &found);
    if is_in_order && have_same_members(before, &expected, &found) { Ok(()) } else { Err(unsure()) }
}

/// Sees to it that the change is what comes of it: another program's file may have its own ways.
fn check_meaning(
    edit: &Edit,
    new: &str,
    path: Option<&Path>,
    options: &LoadOptions,
) -> Result<(), EditError> {
    // A file that cannot be used is told of by whoever checks it as a whole.
    let Ok(config) = load_text(new, path.or(Some(Path::new(""))), options) else { return Ok(()) };
    let found = |id: &str| config.servers.iter().find(|server| locate::is_called(&server.key, id));
    let holds = match edit {
        Edit::Text(_) => true,
        Edit::PutServer { id, entry } => found(id).is_some_and(|server| {
            config.source.client.is_none() || is_read_as_written(server, entry, path, options)
        }),
        Edit::RemoveServer { id } => found(id).is_none(),
        Edit::RenameServer { id, to } => found(id).is_none() && found(to).is_some(),
        Edit::SetEnabled { id, enabled } => found(id).is_some_and(|server| server.enabled == *enabled),
        Edit::JoinNamespace { namespace, server } => {
            let namespace = config.namespaces.iter().find(|one| one.id == *namespace);
            namespace.is_some_and(|one| one.servers.iter().any(|key| locate::is_called(key, server)))
        }
        Edit::SetPermission { namespace, server, kind, name, allow } => {
            permission(&config, namespace, server, *kind, name) == *allow
        }
    };
    let whose = config.source.client.map_or_else(String::new, |client| format!(" of {client}"));
    let why = || EditError::ByHand(format!("the change would not come of it in a file{whose}"));
    if holds { Ok(()) } else { Err(why()) }
}

/// Tells whether another program's file says of a server what its entry would say in one of ours.
fn is_read_as_written(server: &Server, entry: &str, path: Option<&Path>, options: &LoadOptions) -> bool {
    let ours = path.map(|path| path.with_file_name("manifold.json"));
    let text = format!("{{\"mcpServers\": {{\"it\": {entry}}}}}");
    let config = load_text(&text, ours.as_deref(), options).ok();
    let meant = config.as_ref().and_then(|config| config.servers.first());
    meant.is_some_and(|meant| meant.transport == server.transport && meant.enabled == server.enabled)
}

fn permission(
    config: &Config,
    namespace: &str,
    server: &str,
    kind: PermissionKind,
    name: &str,
) -> Option<bool> {
    let permissions = &config.namespaces.iter().find(|one| one.id == namespace)?.permissions;
    let rules = match kind {
        PermissionKind::Tool => &permissions.rules,
        PermissionKind::Prompt => &permissions.prompts,
        PermissionKind::Resource => &permissions.resources,
    };
    let server = config.servers.iter().find(|one| locate::is_called(&one.key, server))?;
    rules.get(&(server.key.id.clone(), name.to_owned())).copied()
}
