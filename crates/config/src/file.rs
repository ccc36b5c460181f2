//! The file as written: a tree that knows its lines, with variables filled in.

#[cfg(test)]
mod tests;

use indexmap::IndexMap;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::environment::Environment;
use crate::expand::{Text, expand};
use crate::problem::Problems;

/// A value and the line it, or its key, stands on.
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Null,
    Flag(bool),
    /// As written; whether it is usable depends on the key.
    Number(String),
    Text(Text),
    List(Vec<Node>),
    Object(Object),
}

#[derive(Default)]
pub(crate) struct Object {
    pub(crate) line: usize,
    pub(crate) members: IndexMap<String, Node>,
}

/// Reads a whole file. `None` means that the problems tell why.
pub(crate) fn parse(text: &str, environment: &Environment, problems: &mut Problems) -> Option<Object> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = match parse_to_ast(text, &CollectOptions::default(), &json_with_comments()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let what = lower_first(&error.kind().to_string());
            problems.error(error.line_display(), "", what, Some("correct the JSON there".to_owned()));
            return None;
        }
    };
    let Some(value) = parsed.value else {
        problems.whole_file("is empty", Some("write at least `{}`".to_owned()));
        return None;
    };
    let mut reader = Reader { lines: Lines::of(text), environment, problems };
    let node = reader.node(&value, reader.lines.at(value.start()), "");
    match node.value {
        Value::Object(object) => Some(object),
        other => {
            let what = format!("expected an object, found {}", other.describe());
            problems.error(node.line, "", what, Some("put everything between `{` and `}`".to_owned()));
            None
        }
    }
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

impl Node {
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

/// Comments and trailing commas, and nothing else that is not JSON.
fn json_with_comments() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

struct Reader<'a> {
    lines: Lines,
    environment: &'a Environment,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    // The parser has bounded the depth, so this may recurse.
    fn node(&mut self, value: &ast::Value<'_>, line: usize, place: &str) -> Node {
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(flag) => Value::Flag(flag.value),
            ast::Value::NumberLit(number) => Value::Number(number.value.to_owned()),
            ast::Value::StringLit(text) => Value::Text(self.text(&text.value, line, place)),
            ast::Value::Array(list) => Value::List(
                list.elements
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        self.node(item, self.lines.at(item.start()), &format!("{place}[{index}]"))
                    })
                    .collect(),
            ),
            ast::Value::Object(object) => Value::Object(self.object(object, line, place)),
        };
        Node { line, value }
    }

    fn object(&mut self, object: &ast::Object<'_>, line: usize, place: &str) -> Object {
        let mut members = IndexMap::new();
        for property in &object.properties {
            let key = property.name.as_str();
            let line = self.lines.at(property.range.start);
            let node = self.node(&property.value, line, &join(place, key));
            if let Some(earlier) = members.insert(key.to_owned(), node) {
                let what = format!("has `{key}` twice, first in line {}", earlier.line);
                self.problems.warn(line, place, what, Some("the last one counts".to_owned()));
            }
        }
        Object { line, members }
    }

    fn text(&mut self, raw: &str, line: usize, place: &str) -> Text {
        let text = expand(raw, self.environment);
        for input in &text.inputs {
            let what = format!("`${{input:{input}}}` can only be asked for by an editor");
            self.problems.warn(line, place, what, Some("use a variable such as `${NAME}`".to_owned()));
        }
        text
    }
}

/// Where each line starts.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    /// Returns the line, counted from 1, that holds this byte.
    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte)
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
