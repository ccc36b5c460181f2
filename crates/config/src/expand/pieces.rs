//! A string cut into plain text and what it refers to, whatever that stands for.

use super::{FILE, Forms, is_variable_name};
use crate::secrets::SECRET;

/// A part of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Literal(&'t str),
    Reference(Reference<'t>),
}

/// A reference in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference<'t> {
    /// As written.
    pub(crate) whole: &'t str,
    pub(crate) meaning: Meaning<'t>,
    /// Written as `${…}`.
    pub(crate) braced: bool,
}

/// What is referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning<'t> {
    /// A variable; an editor's name for a folder may be one, too, where it is not set.
    Variable { name: &'t str, default: Option<&'t str> },
    /// What an editor calls something, with more than a variable's name could have.
    Editor(&'t str),
    /// What an editor would ask for.
    Input(&'t str),
    /// The content of a file.
    File(&'t str),
    /// A value from the secret store.
    Secret(&'t str),
    /// The text itself.
    Verbatim(&'t str),
}

/// The names editors have for folders and marks.
pub(crate) const EDITOR_NAMES: [&str; 5] =
    ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/"];

impl Forms {
    /// Cuts a text at its references.
    pub(crate) fn pieces(self, text: &str) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        let (mut literal, mut at) = (0, 0);
        while let Some(mark) = text[at..].find(['$', '%', '{']) {
            at += mark;
            let rest = &text[at..];
            let Some(reference) = self.reference(rest) else {
                // Not one of its forms: plain text, though one may stand behind it.
                at += if rest.starts_with("${") { 2 } else { 1 };
                continue;
            };
            if literal < at {
                pieces.push(Piece::Literal(&text[literal..at]));
            }
            pieces.push(Piece::Reference(reference));
            at += reference.whole.len();
            literal = at;
        }
        if literal < text.len() {
            pieces.push(Piece::Literal(&text[literal..]));
        }
        pieces
    }

    /// Returns what the text begins with, if it may refer to something so.
    fn reference(self, text: &str) -> Option<Reference<'_>> {
        let plain = |inside: &str, marks: usize| (&text[..inside.len() + marks], false);
        let (inside, (whole, braced)) = if text.starts_with("${") {
            let (whole, inside) = placeholder(text).filter(|_| self.braced)?;
            (inside, (whole, true))
        } else if let Some(after) = text.strip_prefix('{').filter(|_| self.bare_braces) {
            let inside = &after[..after.find('}')?];
            if !inside.starts_with("env:") && !inside.starts_with(FILE) {
                return None;
            }
            (inside, plain(inside, 2))
        } else if let Some(after) = text.strip_prefix('$').filter(|_| self.dollar) {
            let inside = &after[..name_length(after)];
            (inside, plain(inside, 1))
        } else {
            let after = text.strip_prefix('%').filter(|_| self.percent)?;
            let inside = &after[..name_length(after)];
            after[inside.len()..].strip_prefix('%')?;
            (inside, plain(inside, 2))
        };
        let meaning = self.meaning(inside, braced)?;
        Some(Reference { whole, meaning, braced })
    }

    /// Returns what is meant by the text between the marks.
    fn meaning(self, inside: &str, braced: bool) -> Option<Meaning<'_>> {
        if let Some(input) = inside.strip_prefix("input:").filter(|_| braced) {
            return Some(Meaning::Input(input));
        }
        if let Some(path) = inside.strip_prefix(FILE).filter(|_| self.files || self.bare_braces) {
            return Some(Meaning::File(path.trim()));
        }
        if let Some(name) = inside.strip_prefix(SECRET).filter(|_| braced && self.secrets) {
            return Some(Meaning::Secret(name));
        }
        if let Some(text) = inside.strip_prefix(":-").filter(|_| braced && self.verbatim) {
            return Some(Meaning::Verbatim(text));
        }
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match inside.split_once(":-").filter(|_| braced) {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if is_variable_name(name) {
            return Some(Meaning::Variable { name, default });
        }
        let of_editor = inside.split(':').next().is_some_and(|name| EDITOR_NAMES.contains(&name));
        (braced && of_editor).then_some(Meaning::Editor(inside))
    }
}

/// Returns a placeholder as a whole and what stands inside it. Braces are counted, so a default may be JSON.
pub(crate) fn placeholder(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some((&text[..=at], &text["${".len()..at])),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns how much of the text can be the name of a variable.
fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}
