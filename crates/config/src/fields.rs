//! Reads the members of an object by the table of keys. What does not fit reads as absent: `check` has told.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::environment::Environment;
use crate::expand::Text;
use crate::file::{Node, Object, Value};
use crate::keys::{Kind, Section, Unit, Verdict, scalar, size};

/// An object seen through its section.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) object: &'a Object,
    section: &'static Section,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(object: &'a Object, section: &'static Section) -> Self {
        Self { object, section }
    }

    /// Returns the member if it is there, not null, and of the right kind.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        let key = self.section.key(name);
        debug_assert!(key.is_some(), "`{name}` is not in the table of `{}`", self.section.name);
        let node = self.present(name)?;
        (!matches!(key?.kind.judge(node), Verdict::Wrong(_))).then_some(node)
    }

    /// Returns the member if it is there and not null, whatever it is.
    pub(crate) fn present(&self, name: &str) -> Option<&'a Node> {
        self.object.members.get(name).filter(|node| !matches!(node.value, Value::Null))
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a Text> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(|text| text.value.clone())
    }

    pub(crate) fn path(&self, name: &str, environment: &Environment) -> Option<String> {
        self.text(name).map(|text| text.with_home(environment)).filter(|path| !path.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match (&self.get(name)?.value, self.section.key(name)?.kind) {
            (Value::Number(number), Kind::Number(range)) => range.read(number),
            _ => None,
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        let Kind::Number(range) = self.section.key(name)?.kind else { return None };
        let number = self.number(name)?;
        Some(if range.unit == Unit::Seconds {
            Duration::from_secs(number)
        } else {
            Duration::from_millis(number)
        })
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<u64> {
        size(self.get(name)?)
    }

    pub(crate) fn items(&self, name: &str) -> Option<&'a [Node]> {
        match &self.get(name)?.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn strings(&self, name: &str) -> Option<Vec<String>> {
        Some(self.items(name)?.iter().filter_map(scalar).collect())
    }

    /// Returns the texts of an object, by their names.
    pub(crate) fn texts_by_name(&self, name: &str) -> BTreeMap<String, String> {
        let members = self.object(name).into_iter().flat_map(|object| &object.members);
        members.filter_map(|(name, node)| Some((name.clone(), scalar(node)?))).collect()
    }

    pub(crate) fn object(&self, name: &str) -> Option<&'a Object> {
        match &self.get(name)?.value {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the section below, if the table has one there and the file too.
    pub(crate) fn section(&self, name: &str, section: &'static Section) -> Option<Fields<'a>> {
        self.object(name).map(|object| Fields::new(object, section))
    }
}
