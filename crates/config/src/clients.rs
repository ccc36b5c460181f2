//! Other programs' files, read as what they are: told by their content, brought into the shape of `mcpServers`.

mod entry;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::environment::Environment;
use crate::expand::{Forms, Variables};
use crate::file::{Node, Object, Value};
use crate::keys::table::{SERVER, TOP};
use crate::model::{BARE, summary};
use crate::problem::Problems;
use table::{Client, clients};

/// Where servers stand in files of our own format; the first that holds any counts.
const OWN_ROOTS: [&str; 3] = ["schemas", "servers", "mcpServers"];
/// What an entry has to have to be taken for a server.
const SERVER_KEYS: [&str; 6] = ["command", "url", "serverUrl", "httpUrl", "cmd", "uri"];

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

    /// Fills in the variables as the program that wrote the file would.
    pub(crate) fn fill(&mut self, path: Option<&Path>, environment: &Environment) {
        let folder = path.and_then(Path::parent).unwrap_or(Path::new(""));
        let variables = Variables {
            environment,
            forms: self.forms,
            folder: environment.cwd.join(folder),
            workspace: self.workspace.clone(),
        };
        self.document.fill(&variables);
    }
}

/// Tells whose file it is and brings it into our own shape.
pub(crate) fn read(
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
        Some(told) => reading.document = told.convert(document, environment, problems),
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

/// Whose file it is, and where its servers are.
struct Told {
    client: &'static Client,
    root: &'static [String],
    /// By more than where its servers stand.
    surely: bool,
}

fn recognize(document: &Object, path: Option<&Path>) -> Option<Told> {
    let own = OWN_ROOTS.iter().any(|root| document.members.get(*root).is_some_and(|node| size(node) > 0));
    let mut best: Option<(u32, Told)> = None;
    for client in clients() {
        let by_file = path.is_some_and(|path| client.keeps(path));
        let by_sign = client.signs.iter().any(|sign| document.members.contains_key(sign));
        let Some(root) = root_of(client, document, by_sign) else { continue };
        let is_own = matches!(root, [only] if OWN_ROOTS.contains(&only.as_str()));
        let node = at(document, root);
        let by_list = client.list && node.is_some_and(|node| node.list().is_some());
        let fits = by_file || node.is_none_or(|node| client.list == node.list().is_some());
        let surely = by_file || by_sign || by_list;
        if (own && !is_own) || (is_own && !surely) || (client.by_file && !by_file) || !fits {
            continue;
        }
        let points = 8 * u32::from(by_file)
            + 4 * u32::from(by_sign)
            + 2 * u32::from(node.is_some_and(|node| has_its_shape(client, node)))
            + u32::from(node.is_some_and(|node| size(node) > 0));
        if best.as_ref().is_none_or(|(most, _)| points > *most) {
            best = Some((points, Told { client, root, surely }));
        }
    }
    best.map(|(_, told)| told)
}

/// Returns the first of a program's roots that holds servers, or that is there to hold some.
fn root_of(client: &'static Client, document: &Object, by_sign: bool) -> Option<&'static [String]> {
    let holds = |root: &&Vec<String>| at(document, root).is_some_and(|node| entries(node).any(is_server));
    let waits = |root: &&Vec<String>| {
        at(document, root).is_some_and(|node| size(node) == 0 && !matches!(node.value, Value::Null))
    };
    let found = client.roots.iter().find(holds).or_else(|| client.roots.iter().find(waits));
    let of_projects = || {
        let has_projects = by_sign && document.object(client.projects.as_deref()?).is_some();
        client.roots.first().filter(|_| has_projects)
    };
    found.or_else(of_projects).map(Vec::as_slice)
}

impl Told {
    /// Takes the servers out of the file, each entry in our own words.
    fn convert(self, mut document: Object, environment: &Environment, problems: &mut Problems) -> Object {
        let mut servers = IndexMap::new();
        let mut line = 1;
        if let Some(node) = at(&document, self.root) {
            line = node.line;
            if !matches!(node.value, Value::Object(_) | Value::List(_) | Value::Null) {
                return Object {
                    line: 1,
                    members: IndexMap::from([("mcpServers".to_owned(), node.clone())]),
                };
            }
            self.take(node, &self.root.join("."), &mut servers, problems);
        }
        self.take_project(&document, environment, &mut servers, problems);
        let node = Node { line, value: Value::Object(Object { line, members: servers }) };
        match self.root {
            [own] if OWN_ROOTS.contains(&own.as_str()) => {
                if self.client.settings && self.surely {
                    document.members.retain(|key, _| TOP.key(key).is_some());
                }
                document.members.insert(own.clone(), node);
                document
            }
            _ => Object { line: 1, members: IndexMap::from([("mcpServers".to_owned(), node)]) },
        }
    }

    fn take(&self, node: &Node, place: &str, servers: &mut IndexMap<String, Node>, problems: &mut Problems) {
        for (index, (name, item)) in named(node).into_iter().enumerate() {
            let Some(name) = name else {
                let place = format!("{place}[{index}]");
                problems.warn(item.line, &place, "has no `name`", Some("it is left out".to_owned()));
                continue;
            };
            if let Some(entry) = entry::convert(self.client, item, &format!("{place}.{name}"), problems) {
                servers.insert(name, entry);
            }
        }
    }

    /// Adds what the program would use in the folder we are in; it comes before what holds everywhere.
    fn take_project(
        &self,
        document: &Object,
        environment: &Environment,
        servers: &mut IndexMap<String, Node>,
        problems: &mut Problems,
    ) {
        let Some(key) = &self.client.projects else { return };
        let Some(projects) = document.object(key) else { return };
        let here = environment.cwd.ancestors().filter_map(Path::to_str);
        let Some((folder, project)) = here.into_iter().find_map(|folder| {
            let project = projects.object(folder)?;
            at(project, self.root).is_some_and(|node| size(node) > 0).then_some((folder, project))
        }) else {
            if servers.is_empty() {
                tell_other_projects(projects, self.root, key, problems);
            }
            return;
        };
        if let Some(node) = at(project, self.root) {
            self.take(node, &format!("{key}.{folder}.{}", self.root.join(".")), servers, problems);
        }
        for name in disabled(project, &format!("{key}.{folder}"), problems) {
            if let Some(Node { value: Value::Object(entry), line }) = servers.get_mut(name) {
                let flag = Node { line: *line, value: Value::Flag(true) };
                entry.members.insert("disabled".to_owned(), flag);
            }
        }
    }
}

/// Returns the servers a project goes without. A list that cannot be read must not mean that all are used.
fn disabled<'a>(project: &'a Object, place: &str, problems: &mut Problems) -> Vec<&'a str> {
    const KEY: &str = "disabledMcpServers";
    let Some(node) = project.members.get(KEY).filter(|node| !matches!(node.value, Value::Null)) else {
        return Vec::new();
    };
    let names: Option<Vec<&str>> = match &node.value {
        Value::Text(name) => Some(vec![&name.raw]),
        Value::List(items) => items.iter().map(Node::written).collect(),
        _ => None,
    };
    names.unwrap_or_else(|| {
        let hint = "write a list of names".to_owned();
        problems.refuse(node.line, &format!("{place}.{KEY}"), "is no list of names", Some(hint));
        Vec::new()
    })
}

fn tell_other_projects(projects: &Object, root: &[String], key: &str, problems: &mut Problems) {
    let with_servers = projects.members.iter().filter(|(_, project)| {
        project.object().and_then(|project| at(project, root)).is_some_and(|node| size(node) > 0)
    });
    let folders: Vec<&str> = with_servers.map(|(folder, _)| folder.as_str()).collect();
    if !folders.is_empty() {
        let what = format!("its servers belong to other folders: {}", folders.join(", "));
        let hint = "start in one of these, or copy its servers to a file of your own".to_owned();
        problems.warn(projects.line, key, what, Some(hint));
    }
}

/// Tells whether the whole file is a map of servers by name, without a key around it.
fn is_bare(document: &Object) -> bool {
    let is_setting = |key: &String| key != "$schema" && TOP.key(key).is_some();
    document.members.values().any(is_server) && !document.members.keys().any(is_setting)
}

fn servers_only(servers: Object) -> Object {
    let node = Node { line: 1, value: Value::Object(servers) };
    Object { line: 1, members: IndexMap::from([("mcpServers".to_owned(), node)]) }
}

/// Returns the folder an editor would have open: the project whose file this is, else where we were started.
fn workspace(client: Option<&Client>, path: Option<&Path>, environment: &Environment) -> PathBuf {
    let path = path.map(|path| environment.cwd.join(path));
    let project = path.as_deref().and_then(|path| client?.project_of(path));
    // The file of a user lies in the home folder as that of a project does in its own.
    let project = project.filter(|project| Some(*project) != environment.home.as_deref());
    project.unwrap_or(&environment.cwd).to_path_buf()
}

fn at<'a>(document: &'a Object, root: &[String]) -> Option<&'a Node> {
    let (last, way) = root.split_last()?;
    let mut object = document;
    for key in way {
        object = object.object(key)?;
    }
    object.members.get(last)
}

fn size(node: &Node) -> usize {
    match &node.value {
        Value::Object(object) => object.members.len(),
        Value::List(items) => items.len(),
        _ => 0,
    }
}

fn entries(node: &Node) -> impl Iterator<Item = &Node> {
    let members = node.object().into_iter().flat_map(|object| object.members.values());
    members.chain(node.list().unwrap_or_default())
}

/// Returns each entry with its name, where it has one.
fn named(node: &Node) -> Vec<(Option<String>, &Node)> {
    match &node.value {
        Value::Object(object) => {
            object.members.iter().map(|(name, node)| (Some(name.clone()), node)).collect()
        }
        Value::List(items) => items
            .iter()
            .map(|item| (item.object().and_then(|item| item.written("name")).map(str::to_owned), item))
            .collect(),
        _ => Vec::new(),
    }
}

fn is_server(node: &Node) -> bool {
    let has = |object: &Object| SERVER_KEYS.iter().any(|key| object.members.contains_key(*key));
    let Some(object) = node.object() else { return false };
    has(object) || object.object("transport").is_some_and(has) || object.members.contains_key("builtin")
}

/// Tells whether entries are written as only this program writes them.
fn has_its_shape(client: &Client, node: &Node) -> bool {
    let of_its_type = |entry: &Object| {
        entry.written("type").is_some_and(|said| client.types.iter().any(|(known, _)| known == said))
    };
    let with_its_keys = |entry: &Object| {
        let mut keys = client.fields.iter().filter_map(|(key, _)| key.split('.').next());
        keys.any(|key| SERVER.key(key).is_none() && entry.members.contains_key(key))
    };
    entries(node).filter_map(Node::object).any(|entry| of_its_type(entry) || with_its_keys(entry))
}
