//! Other programs' files, read as what they are: told by their content, brought into the shape of `mcpServers`.

mod convert;
mod data;
mod entry;
mod groups;
mod limits;
mod own_command;
mod places;
mod plug;
mod recognize;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::expand::{Forms, Variables};
use crate::file::{Node, Object, Value};
use crate::keys::scalar;
use crate::model::{BARE, summary};
use crate::problem::Problems;
use convert::{DISABLED, servers_only, workspace};
pub(crate) use groups::{Groups, groups};
use recognize::{is_bare, recognize};

pub use limits::ToolLimits;
pub use own_command::OwnCommand;
pub use plug::Plug;
pub use table::{Client, client, clients};

/// Where servers stand in files of our own format; the first that holds any counts.
pub(crate) const OWN_ROOTS: [&str; 3] = ["schemas", "servers", "mcpServers"];
/// What an entry has to have to be taken for a server.
const SERVER_KEYS: [&str; 6] = ["command", "url", "serverUrl", "httpUrl", "cmd", "uri"];

/// Whose servers a file has: a user's everywhere, or those of one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    User,
    Project,
}

/// How our entry gets into a program's config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Into its file.
    File,
    /// By its user: its file cannot be written from outside.
    Print,
    /// Not at all.
    Never,
}

/// How sure we are of what we know about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sure {
    /// The program itself took what we wrote.
    Tried,
    /// Its source says so.
    Source,
    /// Its documentation does.
    Documented,
    /// Other tools that write its file do.
    Reported,
}

impl Writing {
    const WORDS: [(&'static str, Self); 3] =
        [("file", Self::File), ("print", Self::Print), ("never", Self::Never)];
}

impl Sure {
    const WORDS: [(&'static str, Self); 4] = [
        ("tried", Self::Tried),
        ("source", Self::Source),
        ("documented", Self::Documented),
        ("reported", Self::Reported),
    ];
}

impl Client {
    /// Returns what commands call it.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Returns what people call it.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns what it calls itself when it connects (`clientInfo.name`); its id where that is not known.
    pub fn known_as(&self) -> &str {
        self.known_as.as_deref().unwrap_or(self.id)
    }

    pub fn writing(&self) -> Writing {
        self.writing
    }

    pub fn sure(&self) -> Sure {
        self.sure
    }

    /// Returns the month or day our knowledge is of: `2026-08`.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    pub fn limits(&self) -> &ToolLimits {
        &self.limits
    }

    /// Returns why it takes no URL in its file, and what to do instead.
    pub fn no_remote(&self) -> Option<&str> {
        self.no_remote.as_deref()
    }

    /// Returns what its user has to know or do once our entry is there.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns the program that rewrites the file as a whole while it runs, so that nobody else should.
    pub fn rewritten_by(&self) -> Option<&str> {
        self.rewritten_by.as_deref()
    }
}

/// A file in the shape of our own.
pub(crate) struct Reading {
    pub(crate) document: Object,
    /// Whose it is, if it is another program's.
    pub(crate) client: Option<&'static str>,
    /// What the file calls its servers.
    pub(crate) root: Option<String>,
    forms: Forms,
    workspace: PathBuf,
}

impl Reading {
    /// Returns whose file it is and what is in it, if it is another program's.
    pub(crate) fn summary(&self) -> Option<String> {
        let of_ours = OWN_ROOTS.iter().find_map(|root| self.document.object(root));
        Some(summary(self.client?, of_ours.map_or(0, |servers| servers.members.len())))
    }

    /// Fills in the variables as the program that wrote the file would: those of servers from one environment, those of
    /// settings from our own.
    pub(crate) fn fill(&mut self, path: Option<&Path>, servers: &Environment, own: &Environment) {
        let folder = own.cwd.join(path.and_then(Path::parent).unwrap_or(Path::new("")));
        let from = |environment| Variables {
            environment,
            forms: self.forms,
            folder: folder.clone(),
            workspace: self.workspace.clone(),
        };
        let (of_servers, of_settings) = (from(servers), from(own));
        for (key, node) in &mut self.document.members {
            let is_servers = OWN_ROOTS.contains(&key.as_str());
            node.fill(if is_servers { &of_servers } else { &of_settings });
        }
    }
}

/// Tells whose file it is and brings it into our own shape, with the servers it has for the folder we are in.
pub(crate) fn read(
    document: Object,
    path: Option<&Path>,
    environment: &Environment,
    problems: &mut Problems,
) -> Reading {
    read_for(Some(&environment.cwd), document, path, environment, problems)
}

/// Does the same with the servers the file has for any folder.
pub(crate) fn read_everywhere(document: Object, path: Option<&Path>, problems: &mut Problems) -> Reading {
    read_for(None, document, path, &Environment::default(), problems)
}

fn read_for(
    project: Option<&Path>,
    mut document: Object,
    path: Option<&Path>,
    environment: &Environment,
    problems: &mut Problems,
) -> Reading {
    let told = recognize(&document, path);
    let mut reading = Reading {
        client: told.as_ref().map(|told| told.client.title.as_str()),
        root: told.as_ref().map(|told| told.root.join(".")),
        forms: told.as_ref().map_or(Forms::OURS, |told| told.client.forms),
        workspace: workspace(told.as_ref().map(|told| told.client), path, environment),
        document: Object::default(),
    };
    match told {
        Some(told) => reading.document = told.convert(document, project, problems),
        None if is_bare(&document) => {
            reading.client = Some(BARE);
            reading.root = Some(String::new());
            document.members.shift_remove("$schema");
            reading.document = servers_only(document);
        }
        None => {
            for root in ["servers", "mcpServers"] {
                if let Some(node) = document.members.get_mut(root) {
                    entry::unfold_transports(node);
                }
            }
            reading.document = document;
        }
    }
    reading
}

/// Where another program's file has its servers.
pub(crate) struct Roots {
    /// The keys on the way to them; none where the file is nothing else.
    pub(crate) root: Vec<String>,
    /// Whether they are a list.
    pub(crate) is_list: bool,
    /// Where those of the folder we are in are, which come before the others.
    pub(crate) project: Option<Vec<String>>,
    /// The list of those that this folder goes without.
    pub(crate) disabled: Option<Vec<String>>,
}

/// Returns where the servers of another program's file are; `None` for a file of our own.
pub(crate) fn roots(document: &Object, path: Option<&Path>, folder: &Path) -> Option<Roots> {
    let Some(told) = recognize(document, path) else {
        let bare = Roots { root: Vec::new(), is_list: false, project: None, disabled: None };
        return is_bare(document).then_some(bare);
    };
    let project = told.project(document, folder).zip(told.client.projects.as_ref());
    let project = project.map(|((folder, _), key)| vec![key.clone(), folder.to_owned()]);
    let below = |project: &Vec<String>, keys: &[String]| [project.as_slice(), keys].concat();
    Some(Roots {
        root: told.root.to_vec(),
        is_list: told.client.list,
        disabled: project.as_ref().map(|project| below(project, &[DISABLED.to_owned()])),
        project: project.as_ref().map(|project| below(project, told.root)),
    })
}

/// Returns the key under which a file of our own has its servers: the first that holds any, else the first that is there.
pub(crate) fn own_root(document: &Object) -> &'static str {
    let holds_any = |root: &&&str| document.object(root).is_some_and(|object| !object.members.is_empty());
    let is_there = |root: &&&str| document.members.contains_key(**root);
    let mut roots = OWN_ROOTS.iter();
    roots.clone().find(holds_any).or_else(|| roots.find(is_there)).copied().unwrap_or("mcpServers")
}

/// Returns whether somebody writes such files.
pub(crate) fn is_known(document: &Object) -> bool {
    OWN_ROOTS.iter().any(|root| document.members.contains_key(*root))
        || recognize(document, None).is_some()
        || is_bare(document)
}

/// Returns every key servers are looked for under, for a file that has none of them.
pub(crate) fn looked_for() -> Vec<String> {
    let mut roots: Vec<String> = ["mcpServers", "servers", "schemas"].map(str::to_owned).to_vec();
    for root in clients().iter().flat_map(|client| &client.roots) {
        let root = root.join(".");
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// Returns what we call the key of some program's servers whose name is the one wanted.
pub(crate) fn respelled(is_wanted: impl Fn(&str) -> bool) -> Option<&'static str> {
    let mut fields = clients().iter().flat_map(|client| &client.fields);
    fields.find(|(theirs, _)| is_wanted(theirs)).map(|(_, ours)| ours.as_str())
}

fn at<'a>(document: &'a Object, root: &[String]) -> Option<&'a Node> {
    let (last, way) = root.split_last()?;
    let mut object = document;
    for key in way {
        object = object.object(key)?;
    }
    object.members.get(last)
}

/// Returns each entry with its name, where it has one.
pub(crate) fn named(node: &Node) -> Vec<(Option<String>, &Node)> {
    match &node.value {
        Value::Object(object) => {
            object.members.iter().map(|(name, node)| (Some(name.clone()), node)).collect()
        }
        Value::List(items) => items
            .iter()
            .map(|item| (item.object().and_then(|item| name_of(item.members.get("name")?)), item))
            .collect(),
        _ => Vec::new(),
    }
}

/// A server may be called `2048`, or `on`.
fn name_of(node: &Node) -> Option<String> {
    node.written().map(str::to_owned).or_else(|| scalar(node))
}
