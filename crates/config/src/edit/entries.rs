//! Entries of another program's file, where it is known whose it is: put in and taken out by name.

use std::path::Path;

use super::change::{Change, Step, at, key};
use super::plan::{below, differences};
use super::{EditError, json, read_as, with_changes};
use crate::clients::named;
use crate::file::{Node, Object, Value};
use crate::syntax::Syntax;

/// The entries under one root of a file.
pub(crate) struct Entries<'a> {
    pub(crate) text: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) syntax: Syntax,
    pub(crate) root: &'a [String],
    /// They are a list, and carry their names.
    pub(crate) is_list: bool,
}

impl Entries<'_> {
    /// Returns the file as a tree; an empty one where nothing stands in it.
    pub(crate) fn document(&self) -> Result<Object, EditError> {
        let unmarked = self.text.strip_prefix('\u{feff}').unwrap_or(self.text);
        read_as(self.syntax, unmarked, self.path)
    }

    /// Returns the text with an entry: a new one, or one that is there with what differs. `first` are members that the
    /// file gets before it.
    pub(crate) fn put(&self, name: &str, entry: Object, first: Object) -> Result<String, EditError> {
        let plan = |document: &Object| {
            let mut changes: Vec<Change> = first
                .members
                .iter()
                .map(|(name, node)| Change::Set { at: vec![key(name)], value: node.value.clone() })
                .collect();
            let entry = Node { line: 1, value: Value::Object(entry.clone()) };
            match self.find(document, name).last() {
                Some(place) => {
                    if let Some(old) = at(document, place) {
                        differences(place, old, &entry, &mut changes);
                    }
                }
                None if self.is_list => changes.push(Change::Push { list: self.steps(), value: entry.value }),
                None => changes.push(Change::Set { at: below(&self.steps(), name), value: entry.value }),
            }
            Ok(changes)
        };
        with_changes(self.text, |text| Ok((self.syntax, read_as(self.syntax, text, self.path)?)), plan)
    }

    /// Returns the text without some entries.
    pub(crate) fn take(&self, names: &[&str]) -> Result<String, EditError> {
        let plan = |document: &Object| {
            let mut places = Vec::new();
            for name in names {
                let found = self.find(document, name);
                if found.is_empty() {
                    let exists = self.names(document);
                    return Err(EditError::NoSuchServer { id: (*name).to_owned(), exists });
                }
                places.extend(found);
            }
            // From the end, so that the items of a list keep their numbers.
            let index = |place: &Vec<Step>| match place.last() {
                Some(Step::Index(index)) => *index,
                _ => 0,
            };
            places.sort_by_key(|place| std::cmp::Reverse(index(place)));
            places.dedup();
            Ok(places.into_iter().map(|at| Change::Remove { at }).collect())
        };
        with_changes(self.text, |text| Ok((self.syntax, read_as(self.syntax, text, self.path)?)), plan)
    }

    fn steps(&self) -> Vec<Step> {
        self.root.iter().map(|name| key(name)).collect()
    }

    fn names(&self, document: &Object) -> Vec<String> {
        let entries = at(document, &self.steps()).map(named).unwrap_or_default();
        entries.into_iter().filter_map(|(name, _)| name).collect()
    }

    /// Returns everywhere an entry of this name stands.
    fn find(&self, document: &Object, name: &str) -> Vec<Vec<Step>> {
        let root = self.steps();
        let Some(node) = at(document, &root) else { return Vec::new() };
        let is_list = node.list().is_some();
        let step = |index| if is_list { Step::Index(index) } else { key(name) };
        let entries = named(node).into_iter().enumerate();
        let found = entries.filter(|(_, (found, _))| found.as_deref() == Some(name));
        found.map(|(index, _)| root.iter().cloned().chain([step(index)]).collect()).collect()
    }
}

/// Writes an entry as JSON in one line.
pub(crate) fn entry_text(entry: &Object) -> String {
    json::inline(&Value::Object(entry.clone()))
}
