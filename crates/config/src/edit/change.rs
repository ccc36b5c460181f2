//! A change of the tree that a file is read as: what is to come of a cut into its text.

use super::Stuck;
use crate::expand::Text;
use crate::file::{Node, Object, Value};

/// One step down the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

#[derive(Clone)]
pub(super) enum Change {
    /// Gives a member a value; the objects on the way are made where they are missing.
    Set {
        at: Vec<Step>,
        value: Value,
    },
    /// Adds an item to a list, which is made where it is missing.
    Push {
        list: Vec<Step>,
        value: Value,
    },
    Remove {
        at: Vec<Step>,
    },
    /// Gives a member another key in its place.
    Rename {
        at: Vec<Step>,
        to: String,
    },
}

pub(super) fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(Text::written(text))
}

pub(super) fn node(value: Value) -> Node {
    Node { line: 1, value }
}

pub(super) fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let members = members.into_iter().map(|(key, value)| (key, node(value)));
    Value::Object(Object { line: 1, members: members.collect() })
}

/// Returns what has to be set where only the start of the way is there: the value with the objects around it.
pub(super) fn wrapped(missing: &[Step], value: Value) -> Result<Value, Stuck> {
    missing.iter().rev().try_fold(value, |value, step| match step {
        Step::Key(key) => Ok(object([(key.clone(), value)])),
        Step::Index(_) => Err(Stuck("there is no such item in the list")),
    })
}

/// Returns what stands there.
pub(super) fn at<'n>(document: &'n Object, path: &[Step]) -> Option<&'n Node> {
    let (first, rest) = path.split_first()?;
    let Step::Key(key) = first else { return None };
    rest.iter().try_fold(document.members.get(key)?, |node, step| match step {
        Step::Key(key) => node.object()?.members.get(key),
        Step::Index(index) => node.list()?.get(*index),
    })
}

impl Change {
    /// Makes the change in a tree.
    pub(super) fn make(&self, document: &mut Object) -> Result<(), Stuck> {
        match self {
            Self::Set { at, value } => set(document, at, value.clone()),
            Self::Push { list, value } => match at_mut(document, list).map(|node| &mut node.value) {
                Some(Value::List(items)) => {
                    items.push(node(value.clone()));
                    Ok(())
                }
                None | Some(Value::Null) => set(document, list, Value::List(vec![node(value.clone())])),
                Some(_) => Err(Stuck("there is something else than a list")),
            },
            Self::Remove { at } => match at.split_last() {
                Some((Step::Key(key), way)) => {
                    object_at(document, way)?.members.shift_remove(key);
                    Ok(())
                }
                Some((Step::Index(index), way)) => match at_mut(document, way).map(|node| &mut node.value) {
                    Some(Value::List(items)) if *index < items.len() => {
                        items.remove(*index);
                        Ok(())
                    }
                    _ => Err(Stuck("there is no such item in the list")),
                },
                None => Err(Stuck("the file as a whole cannot be removed")),
            },
            Self::Rename { at, to } => {
                let Some((Step::Key(key), way)) = at.split_last() else {
                    return Err(Stuck("an item of a list has no key"));
                };
                let members = &mut object_at(document, way)?.members;
                let renamed = |(name, node)| if name == *key { (to.clone(), node) } else { (name, node) };
                *members = std::mem::take(members).into_iter().map(renamed).collect();
                Ok(())
            }
        }
    }
}

fn set(document: &mut Object, path: &[Step], value: Value) -> Result<(), Stuck> {
    match path {
        [] => Err(Stuck("the file as a whole cannot be replaced")),
        [Step::Key(last)] => {
            document.members.insert(last.clone(), node(value));
            Ok(())
        }
        [Step::Key(first), rest @ ..] => {
            let below = document.members.entry(first.clone()).or_insert_with(|| node(Value::Null));
            set_below(below, rest, value)
        }
        [Step::Index(_), ..] => Err(Stuck("the file is no list")),
    }
}

fn set_below(below: &mut Node, path: &[Step], value: Value) -> Result<(), Stuck> {
    let Some((first, rest)) = path.split_first() else {
        below.value = value;
        return Ok(());
    };
    if matches!(below.value, Value::Null) {
        below.value = Value::Object(Object::default());
    }
    match (first, &mut below.value) {
        (Step::Key(_), Value::Object(object)) => set(object, path, value),
        (Step::Index(index), Value::List(items)) => {
            let item = items.get_mut(*index).ok_or(Stuck("there is no such item in the list"))?;
            set_below(item, rest, value)
        }
        _ => Err(Stuck("there is something else than an object")),
    }
}

fn at_mut<'n>(document: &'n mut Object, path: &[Step]) -> Option<&'n mut Node> {
    let (first, rest) = path.split_first()?;
    let Step::Key(key) = first else { return None };
    rest.iter().try_fold(document.members.get_mut(key)?, |node, step| match (step, &mut node.value) {
        (Step::Key(key), Value::Object(object)) => object.members.get_mut(key),
        (Step::Index(index), Value::List(items)) => items.get_mut(*index),
        _ => None,
    })
}

fn object_at<'n>(document: &'n mut Object, path: &[Step]) -> Result<&'n mut Object, Stuck> {
    if path.is_empty() {
        return Ok(document);
    }
    match at_mut(document, path).map(|node| &mut node.value) {
        Some(Value::Object(object)) => Ok(object),
        _ => Err(Stuck("there is something else than an object")),
    }
}

/// Tells whether a tree is what was expected of it. New members may stand anywhere; those that were there before have kept
/// their order, and a null is as good as nothing (TOML has none).
pub(super) fn agrees(before: Option<&Node>, expected: &Node, found: &Node) -> bool {
    match (&expected.value, &found.value) {
        (Value::Null, Value::Null) => true,
        (Value::Flag(expected), Value::Flag(found)) => expected == found,
        (Value::Number(expected), Value::Number(found)) => is_same_number(expected, found),
        (Value::Text(expected), Value::Text(found)) => expected.raw == found.raw,
        (Value::List(expected), Value::List(found)) => {
            let before = before.and_then(Node::list).unwrap_or_default();
            expected.len() == found.len()
                && expected
                    .iter()
                    .zip(found)
                    .enumerate()
                    .all(|(index, (expected, found))| agrees(before.get(index), expected, found))
        }
        (Value::Object(expected), Value::Object(found)) => {
            let nothing = Object::default();
            let before = before.and_then(Node::object).unwrap_or(&nothing);
            have_same_members(before, expected, found) && is_in_order(before, expected, found)
        }
        _ => false,
    }
}

/// Tells whether an object has the members that were expected of it.
pub(super) fn have_same_members(before: &Object, expected: &Object, found: &Object) -> bool {
    let is_null = |node: &Node| matches!(node.value, Value::Null);
    let expected_is_found = expected.members.iter().all(|(key, node)| match found.members.get(key) {
        Some(found) => agrees(before.members.get(key), node, found),
        None => is_null(node) || was_emptied(before.members.get(key), node),
    });
    let nothing_else =
        found.members.iter().all(|(key, node)| is_null(node) || expected.members.contains_key(key));
    expected_is_found && nothing_else
}

/// The last table under a head or in a list is gone, and with it what held it.
fn was_emptied(before: Option<&Node>, expected: &Node) -> bool {
    let (is_empty, before) = match &expected.value {
        Value::List(items) => (items.is_empty(), before.and_then(Node::list).and_then(<[Node]>::first)),
        Value::Object(object) => {
            let first = before.and_then(Node::object).and_then(|object| object.members.values().next());
            (object.members.is_empty(), first)
        }
        _ => (false, None),
    };
    is_empty && before.is_some_and(|node| node.object().is_some())
}

/// Tells whether the members that were there before stand as they did.
pub(super) fn is_in_order(before: &Object, expected: &Object, found: &Object) -> bool {
    let old = |object: &Object| {
        let keys = object.members.keys();
        keys.filter(|key| before.members.contains_key(*key) && found.members.contains_key(*key))
            .cloned()
            .collect::<Vec<_>>()
    };
    old(expected) == old(found)
}

fn is_same_number(one: &str, other: &str) -> bool {
    let whole = |text: &str| text.parse::<i128>();
    match (whole(one), whole(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other || one.parse::<f64>().is_ok_and(|one| other.parse() == Ok(one)),
    }
}
