//! The three ways a configuration file may be written: JSON with comments, TOML and YAML. Each becomes the same tree.

pub(crate) mod json;
#[cfg(test)]
mod tests;
mod toml;
mod unclosed;
mod yaml;

use std::path::Path;

use crate::file::{Node, Object, Value};
use crate::problem::Problems;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Toml,
    Yaml,
}

/// Why a text is not of its syntax.
#[derive(Debug)]
pub(crate) struct Unread {
    line: Option<usize>,
    what: String,
    hint: String,
}

impl Syntax {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
        }
    }

    /// Reads a text of this syntax; `None` where nothing stands in it.
    pub(crate) fn read(self, text: &str, problems: &mut Problems) -> Result<Option<Node>, Unread> {
        match self {
            Self::Json => json::read(text, problems),
            Self::Toml => toml::read(text).map(|object| Some(whole(object))),
            Self::Yaml => yaml::read(text),
        }
    }
}

/// Reads a whole file. `None` means that the problems tell why. `known` says whether what another syntax found is a file
/// somebody writes: a text that is neither is told as the JSON it was most likely meant to be.
pub(crate) fn parse(
    text: &str,
    path: Option<&Path>,
    known: impl Fn(&Object) -> bool,
    problems: &mut Problems,
) -> Option<Object> {
    parse_as(text, path, known, problems).map(|(_, object)| object)
}

/// Does the same, and tells the syntax it was read as.
pub(crate) fn parse_as(
    text: &str,
    path: Option<&Path>,
    known: impl Fn(&Object) -> bool,
    problems: &mut Problems,
) -> Option<(Syntax, Object)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut syntax = expected(text, path);
    let read = match syntax.read(text, problems) {
        Err(unread) if syntax == Syntax::Json && !begins_as_json(text) => {
            let other = [Syntax::Toml, Syntax::Yaml].into_iter().find_map(|other| {
                let node = other.read(text, &mut Problems::new(None)).ok()??;
                matches!(&node.value, Value::Object(object) if known(object)).then_some((other, node))
            });
            other
                .map(|(other, node)| {
                    syntax = other;
                    Some(node)
                })
                .ok_or(unread)
        }
        read => read,
    };
    match read {
        Ok(None) => {
            problems.whole_file("is empty", Some("write at least `{}`".to_owned()));
            None
        }
        read => object_of(read, problems).map(|object| (syntax, object)),
    }
}

/// Reads a file whose syntax is known; one in which nothing stands is empty.
pub(crate) fn parse_only(syntax: Syntax, text: &str, problems: &mut Problems) -> Option<Object> {
    object_of(syntax.read(text, problems), problems)
}

fn object_of(read: Result<Option<Node>, Unread>, problems: &mut Problems) -> Option<Object> {
    match read {
        Ok(None) => Some(Object::default()),
        Ok(Some(Node { value: Value::Object(object), .. })) => Some(object),
        Ok(Some(node)) => {
            let what = format!("expected an object, found {}", node.value.describe());
            problems.error(node.line, "", what, Some("put everything between `{` and `}`".to_owned()));
            None
        }
        Err(unread) => {
            match unread.line {
                Some(line) => problems.error(line, "", unread.what, Some(unread.hint)),
                None => problems.whole_file(unread.what, Some(unread.hint)),
            }
            None
        }
    }
}

/// The content decides where it is plain, the name of the file where it is not.
pub(crate) fn expected(text: &str, path: Option<&Path>) -> Syntax {
    let extension = path.and_then(Path::extension).and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") if !begins_as_json(text) => Syntax::Toml,
        Some("yaml" | "yml") if !begins_as_json(text) => Syntax::Yaml,
        _ => Syntax::Json,
    }
}

fn begins_as_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '/'])
}

fn whole(object: Object) -> Node {
    Node { line: 1, value: Value::Object(object) }
}

fn unread(syntax: Syntax, line: Option<usize>, what: &str) -> Unread {
    Unread { line, what: lower_first(what), hint: format!("correct the {} there", syntax.name()) }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
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
