//! YAML, as goose and Continue write it.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{Syntax, Unread, unread};
use crate::expand::Text;
use crate::file::{Node, Object, Value};

/// No config is deeper, and a small stack must do.
const MAX_DEPTH: usize = 24;

pub(super) fn read(text: &str) -> Result<Option<Node>, Unread> {
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(blank) {
        return Ok(None);
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, flow_nesting_limit: MAX_DEPTH },
    };
    let parsed: Spanned<Yaml> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
        let said = error.to_string();
        // Only what is wrong: where it is we say ourselves.
        let what = said.lines().next().unwrap_or_default().split(" at line ").next().unwrap_or_default();
        unread(Syntax::Yaml, line.filter(|line| *line > 0), what)
    })?;
    Ok(Some(Source(text).node(parsed)))
}

/// A value whose members still know where they stand.
enum Yaml {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Self>>),
    Object(IndexMap<String, Spanned<Self>>),
}

/// The text that is read.
struct Source<'t>(&'t str);

impl Source<'_> {
    // The parser has bounded the depth, so this may recurse.
    fn node(&self, spanned: Spanned<Yaml>) -> Node {
        let line = usize::try_from(spanned.referenced.line()).unwrap_or(1).max(1);
        let at = spanned.defined;
        let value = match spanned.value {
            Yaml::Null => Value::Null,
            Yaml::Flag(flag) => self.flag(flag, at),
            Yaml::Number(number) => self.number(number, at),
            Yaml::Text(text) => Value::Text(Text::written(&text)),
            Yaml::List(items) => Value::List(items.into_iter().map(|item| self.node(item)).collect()),
            Yaml::Object(members) => {
                let members = members.into_iter().map(|(key, member)| (key, self.node(member))).collect();
                Value::Object(Object { line, members })
            }
        };
        Node { line, value }
    }

    /// Only `true` and `false` are flags to everybody. `on` and `yes` are words to most programs, and are read as flags
    /// where one is wanted (`meant.rs`).
    fn flag(&self, flag: bool, at: Location) -> Value {
        match self.written(at) {
            Some(word) if word != flag.to_string() => {
                Value::Text(Text { flag: Some(flag), ..Text::written(word) })
            }
            _ => Value::Flag(flag),
        }
    }

    /// A number stays as it was written: `1.10` is a version more often than not. What JSON has no such number for, `010`
    /// or `0x1F`, is a text.
    fn number(&self, number: String, at: Location) -> Value {
        let Some(written) = self.written(at) else { return Value::Number(number) };
        match serde_json::from_str::<serde_json::Number>(written) {
            Ok(_) => Value::Number(written.to_owned()),
            Err(_) => Value::Text(Text::written(written)),
        }
    }

    /// Returns a plain scalar as it was written.
    fn written(&self, at: Location) -> Option<&str> {
        let span = at.span();
        let start = usize::try_from(span.byte_offset()?).ok()?;
        let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
        let written = self.0.get(start..end)?.trim();
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "+-._:".contains(char);
        (!written.is_empty() && written.chars().all(is_plain)).then_some(written)
    }
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Yaml, E> {
        Ok(Yaml::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Yaml, E> {
        Ok(Yaml::Number(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Yaml, E> {
        Ok(Yaml::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Yaml, E> {
        Ok(Yaml::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Yaml, E> {
        Ok(Yaml::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Yaml, D::Error> {
        Yaml::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Yaml, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Yaml::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Yaml, A::Error> {
        let mut members = IndexMap::new();
        while let Some((key, value)) = entries.next_entry::<String, Spanned<Yaml>>()? {
            members.insert(key, value);
        }
        Ok(Yaml::Object(members))
    }
}
