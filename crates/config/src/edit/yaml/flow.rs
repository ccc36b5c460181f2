//! What stands between brackets in one line: written anew as a whole, for there is no comment in it.

use super::super::Stuck;
use super::super::change::{Change, Step, key, node};
use super::super::json::inline;
use crate::file::{Object, Value};
use crate::problem::Problems;
use crate::syntax::Syntax;

/// The member that stands for the whole, so that a way through it has a beginning.
const WHOLE: &str = "whole";

pub(super) fn write(text: &str, change: &Change) -> Result<String, Stuck> {
    let read = Syntax::Yaml.read(&format!("{WHOLE}: {text}"), &mut Problems::default());
    let Ok(Some(read)) = read else { return Err(Stuck("what is between its brackets cannot be read")) };
    let Value::Object(mut whole) = read.value else { return Err(Stuck("it is no object")) };
    within(change).make(&mut whole)?;
    let Object { members, .. } = whole;
    let value = members.into_iter().next().map_or(node(Value::Null), |(_, node)| node);
    // JSON is YAML.
    Ok(inline(&value.value))
}

fn within(change: &Change) -> Change {
    let below = |at: &[Step]| std::iter::once(key(WHOLE)).chain(at.iter().cloned()).collect();
    match change {
        Change::Set { at, value } => Change::Set { at: below(at), value: value.clone() },
        Change::Push { list, value } => Change::Push { list: below(list), value: value.clone() },
        Change::Remove { at } => Change::Remove { at: below(at) },
        Change::Rename { at, to } => Change::Rename { at: below(at), to: to.clone() },
    }
}
