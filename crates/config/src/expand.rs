//! Variables and `~` in the strings of a configuration file.
//!
//! `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${env:VAR:-default}` are filled in; a value is never looked into
//! again. Every other `$` is plain text.

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::environment::Environment;

/// A string as written, and what became of it.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    /// As written: safe to show, where `value` may hold secrets.
    pub(crate) raw: String,
    pub(crate) value: String,
    /// Every variable referred to, each once, in order.
    pub(crate) variables: Vec<String>,
    /// Those without a value and without a default; their placeholder stays in `value`.
    pub(crate) missing: Vec<String>,
    /// `${input:…}` placeholders, which only the editor that wrote them could fill in.
    pub(crate) inputs: Vec<String>,
}

/// Fills in the variables of `raw`.
pub(crate) fn expand(raw: &str, environment: &Environment) -> Text {
    let mut text = Text { raw: raw.to_owned(), ..Text::default() };
    let mut rest = raw;
    while let Some(start) = rest.find("${") {
        text.value.push_str(&rest[..start]);
        rest = &rest[start..];
        let known = placeholder(rest).filter(|(whole, inside)| text.fill(whole, inside, environment));
        match known {
            Some((whole, _)) => rest = &rest[whole.len()..],
            // Not one of ours: plain text, though one of ours may stand inside it.
            None => {
                text.value.push_str("${");
                rest = &rest["${".len()..];
            }
        }
    }
    text.value.push_str(rest);
    text
}

impl Text {
    /// Returns the value with a leading `~` or `~/` replaced. A `~` that came out of a variable stays.
    pub(crate) fn with_home(&self, environment: &Environment) -> String {
        if self.raw.starts_with('~') { expand_home(&self.value, environment) } else { self.value.clone() }
    }

    /// Adds what stands for one placeholder; says whether it is one.
    fn fill(&mut self, whole: &str, inside: &str, environment: &Environment) -> bool {
        if let Some(input) = inside.strip_prefix("input:") {
            remember(&mut self.inputs, input);
            self.value.push_str(whole);
            return true;
        }
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_variable_name(name) {
            return false;
        }
        remember(&mut self.variables, name);
        // As in a shell, `:-` also replaces an empty value.
        let found = environment.vars.get(name).filter(|value| default.is_none() || !value.is_empty());
        match found.map(String::as_str).or(default) {
            Some(value) => self.value.push_str(value),
            None => {
                remember(&mut self.missing, name);
                self.value.push_str(whole);
            }
        }
        true
    }
}

/// Replaces a leading `~` or `~/` by the home directory.
pub(crate) fn expand_home(text: &str, environment: &Environment) -> String {
    let Some(home) = &environment.home else { return text.to_owned() };
    match text.strip_prefix('~') {
        Some("") => home.display().to_string(),
        Some(below) if below.starts_with('/') => {
            home.join(Path::new(below.trim_start_matches('/'))).display().to_string()
        }
        _ => text.to_owned(),
    }
}

/// Returns a placeholder as a whole and what stands inside it. Braces are counted, so a default may be JSON.
fn placeholder(text: &str) -> Option<(&str, &str)> {
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

pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn remember(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
