//! The file as written: a tree that knows its lines. Variables are filled in once it is known who wrote it.

#[cfg(test)]
mod tests;

use indexmap::IndexMap;

use crate::expand::{Text, Variables};

/// A value and the line it, or its key, stands on.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    /// As written; whether it is usable depends on the key.
    Number(String),
    Text(Text),
    List(Vec<Node>),
    Object(Object),
}

#[derive(Clone, Default)]
pub(crate) struct Object {
    pub(crate) line: usize,
    pub(crate) members: IndexMap<String, Node>,
}

impl Value {
    /// Returns what kind of value this is, never the value itself.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl Object {
    /// Returns the member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<&Self> {
        self.members.get(name).and_then(Node::object)
    }

    /// Returns a member's text as written.
    pub(crate) fn written(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Node::written)
    }
}

impl Node {
    pub(crate) fn object(&self) -> Option<&Object> {
        match &self.value {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn written(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(&text.raw),
            _ => None,
        }
    }

    /// Fills in the variables of every text below.
    pub(crate) fn fill(&mut self, variables: &Variables<'_>) {
        match &mut self.value {
            Value::Text(text) => *text = Text { flag: text.flag, ..variables.expand(&text.raw) },
            Value::List(items) => items.iter_mut().for_each(|item| item.fill(variables)),
            Value::Object(object) => object.members.values_mut().for_each(|node| node.fill(variables)),
            Value::Null | Value::Flag(_) | Value::Number(_) => {}
        }
    }

    /// Calls `visit` for every text below, with its place.
    pub(crate) fn each_text<'a>(&'a self, place: &str, visit: &mut dyn FnMut(&'a Text, usize, &str)) {
        match &self.value {
            Value::Text(text) => visit(text, self.line, place),
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.each_text(&format!("{place}[{index}]"), visit);
                }
            }
            Value::Object(object) => {
                for (key, member) in &object.members {
                    member.each_text(&join(place, key), visit);
                }
            }
            Value::Null | Value::Flag(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the place of `key` below `place`.
pub(crate) fn join(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}
