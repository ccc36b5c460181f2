//! How an entry is written: a tree with places to fill in.

use std::fmt;

use indexmap::IndexMap;

use super::plug::{Parts, Takes};
use crate::expand::Text;
use crate::file::{Node, Object, Value};

/// An entry with places such as `{command}` in it.
#[derive(Clone)]
pub(crate) struct Shape(Object);

/// Every place there is.
const PLACES: [&str; 9] = [
    "{name}",
    "{command}",
    "{args}",
    "{env}",
    "{env_names}",
    "{url}",
    "{headers}",
    "{bearer_variable}",
    "{header_variables}",
];

/// What comes in a place.
enum Filled {
    Nothing,
    One(Value),
    /// Items of the list around it, or a list of their own.
    Many(Vec<Node>),
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.members.keys()).finish()
    }
}

impl Shape {
    /// Takes a table of a data file for a shape, all of whose places are known.
    pub(super) fn from_data(object: Object) -> Result<Self, String> {
        let node = Node { line: 1, value: Value::Object(object.clone()) };
        let mut wrong = None;
        node.each_text("", &mut |text, _, place| {
            if text.raw.contains(['{', '}']) && !PLACES.contains(&text.raw.as_str()) {
                wrong = Some(format!("{place}: `{}` is no place to fill in", text.raw));
            }
        });
        wrong.map_or(Ok(Self(object)), Err)
    }

    /// Tells whether a place is in it.
    pub(super) fn has(&self, place: &str) -> bool {
        let mut found = false;
        let node = Node { line: 1, value: Value::Object(self.0.clone()) };
        node.each_text("", &mut |text, _, _| found |= text.raw == place);
        found
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.members.keys()
    }

    pub(super) fn takes(&self) -> Takes {
        Takes {
            env_names: self.has("{env_names}"),
            bearer_variable: self.has("{bearer_variable}"),
            header_variables: self.has("{header_variables}"),
        }
    }

    /// Returns the entry; keys whose place has nothing in it are left out.
    pub(super) fn filled(&self, name: &str, parts: &Parts) -> Object {
        match fill(&Value::Object(self.0.clone()), name, parts) {
            Filled::One(Value::Object(object)) => object,
            _ => Object::default(),
        }
    }
}

// As deep as our own data files.
fn fill(value: &Value, name: &str, parts: &Parts) -> Filled {
    match value {
        Value::Text(text) => fill_place(&text.raw, name, parts),
        Value::List(items) => {
            let mut list = Vec::new();
            for item in items {
                match fill(&item.value, name, parts) {
                    Filled::Nothing => {}
                    Filled::One(value) => list.push(node(value)),
                    Filled::Many(items) => list.extend(items),
                }
            }
            Filled::One(Value::List(list))
        }
        Value::Object(object) => {
            let mut members = IndexMap::new();
            for (key, member) in &object.members {
                let value = match fill(&member.value, name, parts) {
                    Filled::Nothing => continue,
                    Filled::One(value) => value,
                    Filled::Many(items) => Value::List(items),
                };
                members.insert(key.clone(), node(value));
            }
            if members.is_empty() {
                Filled::Nothing
            } else {
                Filled::One(Value::Object(Object { line: 1, members }))
            }
        }
        other => Filled::One(other.clone()),
    }
}

fn fill_place(place: &str, name: &str, parts: &Parts) -> Filled {
    match place {
        "{name}" => Filled::One(text(name)),
        "{command}" => Filled::One(text(&parts.command)),
        "{args}" => Filled::Many(parts.args.iter().map(|arg| node(text(arg))).collect()),
        "{env}" => members(&parts.env),
        "{env_names}" if parts.env_names.is_empty() => Filled::Nothing,
        "{env_names}" => Filled::Many(parts.env_names.iter().map(|name| node(text(name))).collect()),
        "{url}" => Filled::One(text(&parts.url)),
        "{headers}" => members(&parts.headers),
        "{bearer_variable}" => {
            parts.bearer_variable.as_deref().map_or(Filled::Nothing, |name| Filled::One(text(name)))
        }
        "{header_variables}" => members(&parts.header_variables),
        plain => Filled::One(text(plain)),
    }
}

fn members(pairs: &[(String, String)]) -> Filled {
    if pairs.is_empty() {
        return Filled::Nothing;
    }
    let members = pairs.iter().map(|(name, value)| (name.clone(), node(text(value)))).collect();
    Filled::One(Value::Object(Object { line: 1, members }))
}

fn text(raw: &str) -> Value {
    Value::Text(Text::written(raw))
}

fn node(value: Value) -> Node {
    Node { line: 1, value }
}
