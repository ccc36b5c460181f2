//! TOML, as Codex and a few others write it.

use toml_edit::{Document, Item, TableLike, Value as Toml};

use super::{Lines, Syntax, Unread, unread};
use crate::expand::Text;
use crate::file::{Node, Object, Value};

pub(super) fn read(text: &str) -> Result<Object, Unread> {
    let lines = Lines::of(text);
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map(|span| lines.at(span.start));
        let what = error.message().lines().next().unwrap_or("it cannot be read");
        unread(Syntax::Toml, line, what)
    })?;
    Ok(table(document.as_table(), 1, &lines))
}

// The parser has bounded the depth, so this may recurse.
fn table(table: &dyn TableLike, line: usize, lines: &Lines) -> Object {
    let mut members = indexmap::IndexMap::new();
    for (name, item) in table.iter() {
        let key = table.key(name).and_then(|key| key.span());
        // A table made only by the heads of those below it has no place of its own.
        let line = key.or_else(|| item.span()).map_or(line, |span| lines.at(span.start));
        members.insert(name.to_owned(), node(item, line, lines));
    }
    Object { line, members }
}

fn node(item: &Item, line: usize, lines: &Lines) -> Node {
    let value = match item {
        Item::None => Value::Null,
        Item::Value(toml) => value(toml, line, lines),
        Item::Table(inner) => Value::Object(table(inner, line, lines)),
        Item::ArrayOfTables(tables) => Value::List(
            tables
                .iter()
                .map(|inner| {
                    let line = inner.span().map_or(line, |span| lines.at(span.start));
                    Node { line, value: Value::Object(table(inner, line, lines)) }
                })
                .collect(),
        ),
    };
    Node { line, value }
}

fn value(toml: &Toml, line: usize, lines: &Lines) -> Value {
    match toml {
        Toml::String(text) => Value::Text(Text::written(text.value())),
        Toml::Integer(number) => Value::Number(number.value().to_string()),
        Toml::Float(number) => Value::Number(number.value().to_string()),
        Toml::Boolean(flag) => Value::Flag(*flag.value()),
        Toml::Datetime(date) => Value::Text(Text::written(&date.value().to_string())),
        Toml::Array(items) => Value::List(
            items
                .iter()
                .map(|item| {
                    let line = item.span().map_or(line, |span| lines.at(span.start));
                    Node { line, value: value(item, line, lines) }
                })
                .collect(),
        ),
        Toml::InlineTable(inner) => Value::Object(table(inner, line, lines)),
    }
}
