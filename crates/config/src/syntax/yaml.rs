//! YAML, as goose and Continue write it.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

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
    Ok(Some(node(parsed)))
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

// The parser has bounded the depth, so this may recurse.
fn node(spanned: Spanned<Yaml>) -> Node {
    let line = usize::try_from(spanned.referenced.line()).unwrap_or(1).max(1);
    let value = match spanned.value {
        Yaml::Null => Value::Null,
        Yaml::Flag(flag) => Value::Flag(flag),
        Yaml::Number(number) => Value::Number(number),
        Yaml::Text(text) => Value::Text(Text::written(&text)),
        Yaml::List(items) => Value::List(items.into_iter().map(node).collect()),
        Yaml::Object(members) => {
            let members = members.into_iter().map(|(key, member)| (key, node(member))).collect();
            Value::Object(Object { line, members })
        }
    };
    Node { line, value }
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
