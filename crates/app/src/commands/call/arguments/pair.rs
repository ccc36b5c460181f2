//! One argument as it is typed: `key=value`, `key:=json`, `key=@file`, `key:=@file`.

use std::io;

use super::ArgumentError;
use super::convert::json;

/// Reads what an `@` names.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    /// As it was typed, for people.
    pub(crate) key: String,
    /// The key cut at its dots. A dot after a backslash is part of a name.
    pub(crate) steps: Vec<String>,
    pub(crate) value: Given,
}

/// A value, before any schema is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
    /// To be converted.
    Text(String),
    /// To be sent as it is.
    Json(String),
    /// To be sent as it is, if it is what the schema takes.
    Typed(String),
}

impl Pair {
    pub(crate) fn parse(argument: &str, read: ReadFile<'_>) -> Result<Self, ArgumentError> {
        let (key, value, is_json) =
            cut(argument).ok_or_else(|| ArgumentError::NoValue { argument: argument.to_owned() })?;
        let steps = steps(key);
        if key.is_empty() {
            return Err(ArgumentError::NoName { argument: argument.to_owned() });
        }
        let text = match value.strip_prefix('@') {
            Some(file) => text_of(key, file, read)?,
            None => value.to_owned(),
        };
        let value = if is_json {
            let not_json = || ArgumentError::NotJson { key: key.to_owned(), text: text.clone() };
            Given::Json(json(&text).ok_or_else(not_json)?)
        } else {
            Given::Text(text)
        };
        Ok(Self { key: key.to_owned(), steps, value })
    }

    /// Returns a pair whose key is one name, dots and all.
    pub(crate) fn literal(key: String, json: String) -> Self {
        Self { steps: vec![key.clone()], key, value: Given::Typed(json) }
    }
}

/// Returns the key, the value, and whether the value is JSON. A backslash takes its meaning from what follows.
fn cut(argument: &str) -> Option<(&str, &str, bool)> {
    let mut escaped = false;
    for (at, c) in argument.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' if argument[at..].starts_with(":=") => {
                return Some((&argument[..at], &argument[at + 2..], true));
            }
            '=' => return Some((&argument[..at], &argument[at + 1..], false)),
            _ => {}
        }
    }
    None
}

/// Returns the name of an argument that has one without dots: what dots mean is for the schema to say.
pub(super) fn plain_name(argument: &str) -> Option<String> {
    let mut steps = steps(cut(argument)?.0);
    steps.pop().filter(|name| steps.is_empty() && !name.is_empty())
}

/// Cuts a key at its dots.
fn steps(key: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut chars = key.chars().peekable();
    while let Some(c) = chars.next() {
        let special = |next: &char| matches!(next, '.' | '=' | ':' | '\\');
        match c {
            '.' => steps.push(String::new()),
            _ => {
                // Before any other character a backslash is one.
                let meant = if c == '\\' { chars.next_if(special).unwrap_or(c) } else { c };
                if let Some(last) = steps.last_mut() {
                    last.push(meant);
                }
            }
        }
    }
    steps
}

/// Returns the text of a file.
pub(super) fn text_of(key: &str, file: &str, read: ReadFile<'_>) -> Result<String, ArgumentError> {
    let unreadable =
        |why: String| ArgumentError::Unreadable { key: key.to_owned(), file: file.to_owned(), why };
    let bytes = read(file).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))
}
