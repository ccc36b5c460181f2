//! Values as TOML.

use super::super::Stuck;
use super::super::change::Step;
use super::super::json::quoted;
use crate::file::{Object, Value};

/// Writes a value in one line.
pub(super) fn inline(value: &Value) -> Result<String, Stuck> {
    Ok(match value {
        Value::Null => return Err(Stuck("TOML has no null")),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.clone(),
        Value::Text(text) => basic(&text.raw),
        Value::List(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| inline(&item.value)).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(object) => {
            let members: Result<Vec<_>, Stuck> = written(object)
                .map(|(key, value)| Ok(format!("{} = {}", key_text(key), inline(value)?)))
                .collect();
            let members = members?;
            if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
        }
    })
}

/// Writes the lines below a head.
pub(super) fn table_lines(object: &Object) -> Result<String, Stuck> {
    written(object).map(|(key, value)| Ok(format!("{} = {}\n", key_text(key), inline(value)?))).collect()
}

/// A null is as good as nothing.
fn written(object: &Object) -> impl Iterator<Item = (&str, &Value)> {
    let members = object.members.iter().filter(|(_, node)| !matches!(node.value, Value::Null));
    members.map(|(key, node)| (key.as_str(), &node.value))
}

pub(super) fn table_head(at: &[Step]) -> Result<String, Stuck> {
    Ok(format!("[{}]", path(at)?))
}

pub(super) fn array_head(at: &[Step]) -> Result<String, Stuck> {
    Ok(format!("[[{}]]", path(at)?))
}

fn path(at: &[Step]) -> Result<String, Stuck> {
    let names: Option<Vec<&str>> = at
        .iter()
        .map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
        .collect();
    Ok(dotted(&names.ok_or(Stuck("it stands in a list"))?))
}

pub(super) fn dotted(names: &[&str]) -> String {
    names.iter().map(|name| key_text(name)).collect::<Vec<_>>().join(".")
}

/// Returns a key, between quotes where it needs them.
pub(super) fn key_text(key: &str) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { basic(key) }
}

/// The escapes of JSON are TOML's too; one control character more needs one.
fn basic(text: &str) -> String {
    quoted(text).replace('\u{7f}', "\\u007F")
}
