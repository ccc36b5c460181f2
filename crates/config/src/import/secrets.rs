//! Secrets that stand in an entry as they are.

mod address;
mod looks;

use super::found::LiteralSecret;
use crate::expand::pieces::{Meaning, Piece};
use crate::expand::{Forms, Text};
use crate::file::{Node, Object, Value};
use looks::{is_secret_name, is_secret_value, tokens};

/// A text of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A key of the entry.
    Key(String),
    /// A member of one of its objects.
    Member(String, String),
    /// An argument.
    Argument(usize),
}

/// The objects of an entry that hold texts by name.
const BY_NAME: [&str; 4] = ["env", "headers", "auth", "oauth"];
/// Flags whose value is a header.
const HEADER_FLAGS: [&str; 3] = ["-H", "--header", "--headers"];

/// Finds them all.
pub(super) fn literal_secrets(id: &str, object: &Object) -> Vec<LiteralSecret> {
    let mut search = Search { id, found: Vec::new() };
    for section in BY_NAME {
        for (name, node) in object.object(section).into_iter().flat_map(|object| &object.members) {
            let Some(text) = node.written() else { continue };
            let at = Place::Member(section.to_owned(), name.clone());
            match section {
                "headers" => search.header(&at, name, text, 0),
                _ => search.named(&at, name, name, text, 0),
            }
        }
    }
    search.arguments(object);
    if let Some(url) = object.written("url") {
        search.text(&Place::Key("url".to_owned()), url);
    }
    search.found
}

struct Search<'a> {
    id: &'a str,
    found: Vec<LiteralSecret>,
}

impl Search<'_> {
    fn arguments(&mut self, object: &Object) {
        let args = object.members.get("args").and_then(Node::list).unwrap_or_default();
        let args: Vec<&str> = args.iter().map(|arg| arg.written().unwrap_or_default()).collect();
        for (index, arg) in args.iter().copied().enumerate() {
            let at = Place::Argument(index);
            let before = index.checked_sub(1).map(|before| args[before]).unwrap_or_default();
            let flag = before.starts_with('-').then(|| before.trim_start_matches('-'));
            if HEADER_FLAGS.contains(&before)
                && let Some((name, value)) = arg.split_once(':')
            {
                let value = value.trim_start();
                self.header(&at, name, value, arg.len() - value.len());
            } else if let Some((name, value)) = arg.split_once('=')
                && looks::is_name(name.trim_start_matches('-'))
            {
                let name = name.trim_start_matches('-');
                let hint = if arg.starts_with('-') { self.hint(name) } else { name.to_owned() };
                self.named(&at, name, &hint, value, arg.len() - value.len());
            } else if let Some(flag) = flag.filter(|flag| !flag.contains('=') && !arg.starts_with('-')) {
                let hint = self.hint(flag);
                self.named(&at, flag, &hint, arg, 0);
            } else {
                self.text(&at, arg);
            }
        }
    }

    /// A value whose name says that it is one, or that looks like one.
    fn named(&mut self, at: &Place, name: &str, hint: &str, value: &str, start: usize) {
        if is_secret_name(name) && is_secret_value(value) {
            self.add(at, hint, (start, start + value.len()), value);
        } else {
            self.text_from(at, value, start);
        }
    }

    /// Before what is secret in a header there may be a scheme.
    fn header(&mut self, at: &Place, name: &str, value: &str, start: usize) {
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|char| char.is_ascii_alphabetic());
        let scheme = value.split_once(' ').filter(|(scheme, _)| is_word(scheme));
        let token = scheme.map_or(value, |(_, token)| token.trim_start());
        let hint =
            if name.eq_ignore_ascii_case("authorization") { self.hint("TOKEN") } else { self.hint(name) };
        self.named(at, name, &hint, token, start + value.len() - token.len());
    }

    fn text(&mut self, at: &Place, text: &str) {
        self.text_from(at, text, 0);
    }

    fn text_from(&mut self, at: &Place, text: &str, from: usize) {
        let mut found = address::secrets_of(text);
        found.extend(tokens(text).into_iter().map(|span| ("TOKEN".to_owned(), span)));
        for (name, (start, end)) in found {
            let hint = self.hint(&name);
            self.add(at, &hint, (from + start, from + end), &text[start..end]);
        }
    }

    fn add(&mut self, at: &Place, hint: &str, span: (usize, usize), value: &str) {
        let overlaps = |one: &LiteralSecret| one.at == *at && one.span.0 < span.1 && span.0 < one.span.1;
        if is_literal(value) && !self.found.iter().any(overlaps) {
            let name_hint = as_name(hint);
            self.found.push(LiteralSecret { place: at.shown(), name_hint, at: at.clone(), span });
        }
    }

    fn hint(&self, name: &str) -> String {
        format!("{}_{name}", self.id)
    }
}

/// Tells whether a text refers to nothing.
fn is_literal(text: &str) -> bool {
    let pieces = Forms::OURS.pieces(text);
    pieces.iter().all(|piece| match piece {
        Piece::Literal(_) => true,
        Piece::Reference(reference) => matches!(reference.meaning, Meaning::Verbatim(_)),
    })
}

/// Returns a text as the name of a secret: `[A-Z0-9_]`.
fn as_name(text: &str) -> String {
    let mut name = String::new();
    for char in text.chars() {
        if char.is_ascii_alphanumeric() {
            name.push(char.to_ascii_uppercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() || name.starts_with(|char: char| char.is_ascii_digit()) {
        format!("SECRET_{name}").trim_end_matches('_').to_owned()
    } else {
        name.to_owned()
    }
}

impl Place {
    fn shown(&self) -> String {
        match self {
            Self::Key(key) => key.clone(),
            Self::Member(section, name) => format!("{section}.{name}"),
            Self::Argument(index) => format!("args[{index}]"),
        }
    }

    /// Returns the text that stands there.
    pub(super) fn text_mut<'o>(&self, object: &'o mut Object) -> Option<&'o mut Text> {
        let node = match self {
            Self::Key(key) => object.members.get_mut(key)?,
            Self::Member(section, name) => match &mut object.members.get_mut(section)?.value {
                Value::Object(section) => section.members.get_mut(name)?,
                _ => return None,
            },
            Self::Argument(index) => match &mut object.members.get_mut("args")?.value {
                Value::List(items) => items.get_mut(*index)?,
                _ => return None,
            },
        };
        match &mut node.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}
