//! Values as YAML.

use super::super::json::quoted;
use crate::file::{Object, Value};
use crate::problem::Problems;
use crate::syntax::Syntax;

/// How the file is indented.
pub(super) struct Style {
    pub(super) step: usize,
}

impl Style {
    pub(super) fn of(lines: &[String]) -> Self {
        let indents =
            lines.iter().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        let step =
            indents.map(|line| line.len() - line.trim_start_matches(' ').len()).find(|indent| *indent > 0);
        Self { step: step.unwrap_or(2).min(8) }
    }
}

/// Returns what stands behind a key, and the lines below it.
pub(super) fn lines_of(value: &Value, indent: usize, style: &Style) -> (String, Vec<String>) {
    if let Some(plain) = scalar(value) {
        return (format!(" {plain}"), Vec::new());
    }
    let inner = indent + style.step;
    let mut lines = Vec::new();
    match value {
        Value::Object(object) => members(object, inner, style, &mut lines),
        Value::List(items) => {
            for node in items {
                let (first, more) = match &node.value {
                    Value::Object(object) if !object.members.is_empty() => item(object, inner, style),
                    value => lines_of(value, inner, style),
                };
                lines.push(format!("{}-{first}", " ".repeat(inner)));
                lines.extend(more);
            }
        }
        _ => {}
    }
    (String::new(), lines)
}

/// Returns what stands behind the mark of an item, and the lines below it.
pub(super) fn item(object: &Object, indent: usize, style: &Style) -> (String, Vec<String>) {
    let mut lines = Vec::new();
    members(object, indent + 2, style, &mut lines);
    let first = lines.remove(0);
    (format!(" {}", first.trim_start()), lines)
}

fn members(object: &Object, indent: usize, style: &Style, lines: &mut Vec<String>) {
    for (key, node) in &object.members {
        let (first, more) = lines_of(&node.value, indent, style);
        lines.push(format!("{}{}:{first}", " ".repeat(indent), key_text(key)));
        lines.extend(more);
    }
}

/// Returns a value that stands in one line; none for one that has lines of its own.
pub(super) fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.clone(),
        Value::Text(text) => plain_or_quoted(&text.raw),
        Value::List(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(object) if object.members.is_empty() => "{}".to_owned(),
        Value::List(_) | Value::Object(_) => return None,
    })
}

pub(super) fn key_text(key: &str) -> String {
    plain_or_quoted(key)
}

/// Leaves the quotes out where the text is read as itself without them.
fn plain_or_quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_/.@+-".contains(char);
    let starts = text.starts_with(|char: char| char.is_ascii_alphabetic() || "_/.".contains(char));
    let reads_back = || {
        let read = Syntax::Yaml.read(&format!("a: {text}"), &mut Problems::default()).ok().flatten();
        read.and_then(|node| Some(node.object()?.written("a")? == text)) == Some(true)
    };
    // Other readers take more words for flags than ours.
    let is_word =
        ["yes", "no", "on", "off", "y", "n", "true", "false", "null"].contains(&text.to_lowercase().as_str());
    if starts && !is_word && text.chars().all(is_plain) && reads_back() {
        text.to_owned()
    } else {
        quoted(text).replace('\u{7f}', "\\x7F").replace('\u{feff}', "\\uFEFF")
    }
}
