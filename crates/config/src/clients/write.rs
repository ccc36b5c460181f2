//! Our entry put into a program's file and taken out again. Everything else in the file stays as it is written.

use std::path::Path;

use serde::de::IgnoredAny;

use super::plug::{Parts, Plug};
use super::shape::Shape;
use super::table::Client;
use super::{SERVER_KEYS, Writing, at, entry, named};
use crate::edit::{EditError, Entries, entry_text};
use crate::file::{Node, Object, Value};

/// How long the name of our entry may be, so that names of tools are not cut behind it.
const MAX_NAME: usize = 12;

/// What says in any program's entry how a server is reached. One of these beside ours would say two things.
const REACHED_BY: [&str; 19] = [
    "type",
    "transport",
    "transportType",
    "args",
    "cwd",
    "env",
    "envs",
    "environment",
    "envFile",
    "env_keys",
    "env_vars",
    "headers",
    "headersHelper",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "requestOptions",
    "auth",
    "oauth",
];

impl Client {
    /// Returns the text of a file with our entry in it; of one that is there only what differs is written. An empty text
    /// is a file that is yet to be made.
    pub fn put_entry(&self, text: &str, path: &Path, name: &str, plug: &Plug) -> Result<String, EditError> {
        self.check_writable()?;
        self.check_name(name)?;
        self.put(text, path, name, plug)
    }

    fn put(&self, text: &str, path: &Path, name: &str, plug: &Plug) -> Result<String, EditError> {
        let document = self.read_file(text, path)?;
        let root = self.root_in(&document);
        let mut entry = self.entry(name, plug, Some((path, root)))?;
        let there = self.node_of(&document, name).and_then(Node::object);
        for (key, node) in
            there.into_iter().flat_map(|there| &there.members).filter(|(key, _)| self.is_users(key))
        {
            entry.members.entry(key.clone()).or_insert_with(|| node.clone());
        }
        let new_file = self.new_file.as_ref().filter(|_| document.members.is_empty());
        let first = new_file.map(|shape| shape.filled(name, &Parts::default())).unwrap_or_default();
        self.entries(text, path, root).put(name, entry, first)
    }

    /// Returns the text of a file without an entry. What held it stays, even where nothing is left in it.
    pub fn take_entry(&self, text: &str, path: &Path, name: &str) -> Result<String, EditError> {
        self.take_entries(text, path, &[name])
    }

    /// Returns the text of a file without some of its entries.
    pub fn take_entries(&self, text: &str, path: &Path, names: &[&str]) -> Result<String, EditError> {
        self.check_writable()?;
        let document = self.read_file(text, path)?;
        self.entries(text, path, self.root_in(&document)).take(names)
    }

    /// Returns the text of a file with no server but the one that is kept, and the names of those taken out. Parts of the
    /// program itself stay, for nobody else can run them.
    pub fn take_others(
        &self,
        text: &str,
        path: &Path,
        kept: &str,
    ) -> Result<(String, Vec<String>), EditError> {
        let mut names = self.names_in(text, path)?;
        names.retain(|name| name != kept);
        let taken: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok((self.take_entries(text, path, &taken)?, names))
    }

    /// Returns the names of the servers in a file, in its order, without the parts of the program itself.
    pub fn names_in(&self, text: &str, path: &Path) -> Result<Vec<String>, EditError> {
        let document = self.read_file(text, path)?;
        let Some(node) = at(&document, self.root_in(&document)) else { return Ok(Vec::new()) };
        let servers = named(node).into_iter().filter(|(_, node)| !entry::is_own(self, node));
        Ok(servers.filter_map(|(name, _)| name).collect())
    }

    /// Returns an entry of a file as JSON, if it is there.
    pub fn entry_in(&self, text: &str, path: &Path, name: &str) -> Result<Option<String>, EditError> {
        let document = self.read_file(text, path)?;
        Ok(self.node_of(&document, name).and_then(Node::object).map(entry_text))
    }

    /// Returns whether nothing stands in a file but what a new one would have without our entry.
    pub fn holds_nothing(&self, text: &str, path: &Path) -> Result<bool, EditError> {
        let mut document = self.read_file(text, path)?;
        let new_file = self.new_file.as_ref().map(|shape| shape.filled("", &Parts::default()));
        for (key, node) in new_file.unwrap_or_default().members {
            let is_same = document.members.get(&key).is_some_and(|found| found.written() == node.written());
            if is_same {
                document.members.shift_remove(&key);
            }
        }
        let mut left = &document;
        for key in self.root_in(&document) {
            match left.members.get(key).map(|node| &node.value) {
                Some(Value::Object(below)) if left.members.len() == 1 => left = below,
                Some(Value::List(items)) => return Ok(items.is_empty() && left.members.len() == 1),
                _ => break,
            }
        }
        Ok(left.members.is_empty())
    }

    /// Returns a whole file with our entry, to be pasted.
    pub fn printed_entry(&self, name: &str, plug: &Plug) -> Result<String, EditError> {
        self.check_name(name)?;
        self.put("", Path::new(""), name, plug)
    }

    /// Refuses a name that some program could not use.
    pub fn check_name(&self, name: &str) -> Result<(), EditError> {
        let is_known = |char: char| char.is_ascii_alphanumeric() || char == '-';
        let is_short = (1..=MAX_NAME).contains(&name.len());
        // A program's own command would take one that begins with a dash for an option.
        if !is_short || !name.chars().all(is_known) || name.starts_with('-') {
            let what = format!(
                "the entry's name is 1 to {MAX_NAME} letters, digits and dashes, and begins with no dash"
            );
            return Err(EditError::BadEntry(what));
        }
        let is_it = |reserved: &&String| reserved.eq_ignore_ascii_case(name);
        match self.limits.reserved.iter().find(is_it) {
            Some(_) => Err(EditError::BadEntry(format!("{} keeps the name `{name}` for itself", self.title))),
            None => Ok(()),
        }
    }

    fn check_writable(&self) -> Result<(), EditError> {
        let why = self.note.as_deref().unwrap_or("its file is not written by us");
        match self.writing {
            Writing::File => Ok(()),
            Writing::Print | Writing::Never => Err(EditError::BadEntry(format!("{}: {why}", self.title))),
        }
    }

    /// Reads a file as this program would.
    fn read_file(&self, text: &str, path: &Path) -> Result<Object, EditError> {
        let document = self.entries(text, path, &self.root).document()?;
        let plain = text.trim_start_matches('\u{feff}');
        let is_read = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        if self.is_strict && !plain.trim().is_empty() && !is_read(plain) {
            let (title, path) = (&self.title, path.display());
            let what =
                format!("{path}: has comments or commas too many, which {title} cannot read; take them out");
            return Err(EditError::Unreadable(what));
        }
        Ok(document)
    }

    fn entries<'a>(&self, text: &'a str, path: &'a Path, root: &'a [String]) -> Entries<'a> {
        Entries { text, path, syntax: self.syntax, root, is_list: self.list }
    }

    /// Returns where this file has its servers, or where it is to have them.
    fn root_in(&self, document: &Object) -> &[String] {
        let is_entries = |node: &Node| match &node.value {
            Value::Object(object) => object.members.values().all(|entry| entry.object().is_some()),
            Value::List(_) => self.list,
            _ => false,
        };
        self.roots.iter().find(|root| at(document, root).is_some_and(is_entries)).unwrap_or(&self.root)
    }

    fn node_of<'d>(&self, document: &'d Object, name: &str) -> Option<&'d Node> {
        let entries = named(at(document, self.root_in(document))?);
        entries.into_iter().rev().find(|(found, _)| found.as_deref() == Some(name)).map(|(_, node)| node)
    }

    /// Tells whether a key of an entry is its user's to say, such as what is approved: it stays when we write the others.
    fn is_users(&self, key: &str) -> bool {
        let mut of_ours = self.stdio.iter().chain(&self.remote).flat_map(Shape::keys);
        !of_ours.any(|ours| ours == key) && !REACHED_BY.contains(&key) && !SERVER_KEYS.contains(&key)
    }

    /// Returns our entry as this program writes it; in a file that is known, as it does there.
    pub(super) fn entry(
        &self,
        name: &str,
        plug: &Plug,
        file: Option<(&Path, &[String])>,
    ) -> Result<Object, EditError> {
        let shape = match plug {
            Plug::Stdio { .. } => self.stdio.as_ref(),
            Plug::Http { .. } => self.remote.as_ref(),
        };
        let shape = shape.ok_or_else(|| {
            let why = self.no_remote.as_deref().unwrap_or("it is not written by us");
            EditError::BadEntry(format!("{}: {why}", self.title))
        })?;
        let mut entry = shape.filled(name, &Parts::of(plug, self, shape.takes())?);
        for (place, keys) in &self.left_out {
            let is_there = file.is_some_and(|(path, root)| match place.as_str() {
                "project" => self.project_of(path).is_some(),
                place => root.join(".") == place,
            });
            entry.members.retain(|key, _| !is_there || !keys.contains(key));
        }
        Ok(entry)
    }
}
