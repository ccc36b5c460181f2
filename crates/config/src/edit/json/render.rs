//! Values as JSON, in the style of the text around them.

use super::super::lines::{indent_at, indent_unit};
use crate::file::{Object, Value};

/// How the text around is indented.
pub(super) struct Style<'t> {
    /// Of the line the value begins in.
    pub(super) indent: &'t str,
    /// Of one level.
    pub(super) unit: &'t str,
}

impl<'t> Style<'t> {
    pub(super) fn at(text: &'t str, at: usize) -> Self {
        Self { indent: indent_at(text, at), unit: indent_unit(text) }
    }

    /// Writes a value over several lines, where it has members.
    pub(super) fn open(&self, value: &Value) -> String {
        self.open_at(value, self.indent)
    }

    // As deep as what was read, which its parser has bounded.
    fn open_at(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        match value {
            Value::Object(Object { members, .. }) if !members.is_empty() => {
                let members = members.iter().map(|(key, node)| {
                    format!("{inner}{}: {}", quoted(key), self.open_at(&node.value, &inner))
                });
                format!("{{\n{}\n{indent}}}", members.collect::<Vec<_>>().join(",\n"))
            }
            Value::List(items) if items.iter().any(|item| item.object().is_some()) => {
                let items = items.iter().map(|item| format!("{inner}{}", self.open_at(&item.value, &inner)));
                format!("[\n{}\n{indent}]", items.collect::<Vec<_>>().join(",\n"))
            }
            other => inline(other),
        }
    }
}

/// Writes a value in one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Object(object) if !object.members.is_empty() => {
            let members = object.members.iter();
            let members = members.map(|(key, node)| format!("{}: {}", quoted(key), inline(&node.value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::List(items) => {
            let items = items.iter().map(|item| inline(&item.value));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        other => plain(other),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.clone(),
        Value::Text(text) => quoted(&text.raw),
        Value::List(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
    }
}

/// Returns a text between quotes, as JSON has it.
pub(in super::super) fn quoted(text: &str) -> String {
    // Writing a string into memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}
