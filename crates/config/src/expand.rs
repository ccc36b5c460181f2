//! Variables and `~` in the strings of a configuration file.
//!
//! `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${env:VAR:-default}`, `${secret:NAME}` and the names editors have for folders
//! are filled in;
//! in the files of some programs also `$VAR`, `%VAR%`, `{env:VAR}` and the content of files. A value is never looked into
//! again. Everything else is plain text.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::secrets::SECRET;

/// What the strings of one file are filled in with.
pub(crate) struct Variables<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) forms: Forms,
    /// Where relative files are looked for: the folder of the config.
    pub(crate) folder: PathBuf,
    /// What an editor would call `${workspaceFolder}`.
    pub(crate) workspace: PathBuf,
}

/// The ways a file's strings may refer to something, which differ from program to program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forms {
    /// `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${secret:NAME}`, `${input:id}`, `${workspaceFolder}`.
    pub(crate) braced: bool,
    /// `$VAR`
    pub(crate) dollar: bool,
    /// `%VAR%`
    pub(crate) percent: bool,
    /// `{env:VAR}`, `{file:path}`
    pub(crate) bare_braces: bool,
    /// `${file:path}`
    pub(crate) files: bool,
}

impl Forms {
    pub(crate) const OURS: Self =
        Self { braced: true, dollar: false, percent: false, bare_braces: false, files: false };
}

/// How a file that could not be read is named among missing variables.
pub(crate) const FILE: &str = "file:";

/// A string as written, and what became of it.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    /// As written: safe to show, where `value` may hold secrets.
    pub(crate) raw: String,
    pub(crate) value: String,
    /// Every variable referred to, each once, in order.
    pub(crate) variables: Vec<String>,
    /// Those without a value and without a default, and secrets and files with what they are told by before their names;
    /// the placeholder stays in `value`.
    pub(crate) missing: Vec<String>,
    /// Every variable that would count, were it set: also in defaults and for inputs. The environment has no part in it.
    pub(crate) names: Vec<String>,
    /// Every secret referred to, each once, in order.
    pub(crate) secrets: Vec<String>,
    /// `${input:…}` placeholders, which only the editor that wrote them could fill in.
    pub(crate) inputs: Vec<String>,
}

impl Variables<'_> {
    /// Fills in the variables of `raw`.
    pub(crate) fn expand(&self, raw: &str) -> Text {
        let mut text = Text { raw: raw.to_owned(), ..Text::default() };
        let mut rest = raw;
        while let Some(start) = rest.find(['$', '%', '{']) {
            text.value.push_str(&rest[..start]);
            rest = &rest[start..];
            match self.reference(rest).filter(|reference| self.fill(&mut text, reference)) {
                Some(reference) => rest = &rest[reference.whole.len()..],
                // Not one of ours: plain text, though one of ours may stand behind it.
                None => {
                    let skipped = if rest.starts_with("${") { 2 } else { 1 };
                    text.value.push_str(&rest[..skipped]);
                    rest = &rest[skipped..];
                }
            }
        }
        text.value.push_str(rest);
        text
    }

    /// Returns what the text begins with, if this file may refer to something so.
    fn reference<'t>(&self, text: &'t str) -> Option<Reference<'t>> {
        let forms = self.forms;
        if text.starts_with("${") {
            let (whole, inside) = placeholder(text)?;
            return forms.braced.then_some(Reference { whole, inside, braced: true });
        }
        if let Some(after) = text.strip_prefix('{').filter(|_| forms.bare_braces) {
            let inside = &after[..after.find('}')?];
            let named = inside.starts_with("env:") || inside.starts_with(FILE);
            return named.then(|| Reference { whole: &text[..inside.len() + 2], inside, braced: false });
        }
        if let Some(after) = text.strip_prefix('$').filter(|_| forms.dollar) {
            let inside = &after[..name_length(after)];
            return Some(Reference { whole: &text[..=inside.len()], inside, braced: false });
        }
        let after = text.strip_prefix('%').filter(|_| forms.percent)?;
        let inside = &after[..name_length(after)];
        after[inside.len()..].starts_with('%').then(|| Reference {
            whole: &text[..inside.len() + 2],
            inside,
            braced: false,
        })
    }

    /// Adds what stands for one reference; says whether it is one.
    fn fill(&self, text: &mut Text, reference: &Reference<'_>) -> bool {
        let (whole, inside) = (reference.whole, reference.inside);
        if let Some(input) = inside.strip_prefix("input:").filter(|_| reference.braced) {
            self.fill_input(text, whole, input);
            return true;
        }
        if let Some(name) = inside.strip_prefix(SECRET).filter(|_| reference.braced) {
            self.fill_secret(text, whole, name);
            return true;
        }
        let reads_files = self.forms.files || self.forms.bare_braces;
        if let Some(path) = inside.strip_prefix(FILE).filter(|_| reads_files) {
            let path = self.folder.join(expand_home(path.trim(), self.environment));
            match std::fs::read_to_string(path) {
                Ok(content) => text.value.push_str(content.trim_end()),
                Err(_) => text.lack(inside, whole),
            }
            return true;
        }
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match inside.split_once(":-").filter(|_| reference.braced) {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if let Some(default) = default {
            self.expand(default).names.iter().for_each(|name| remember(&mut text.names, name));
        }
        if !is_variable_name(name) {
            return match self.editor(inside).filter(|_| reference.braced) {
                Some(value) => {
                    text.value.push_str(&value);
                    true
                }
                None => false,
            };
        }
        remember(&mut text.names, name);
        // As in a shell, `:-` also replaces an empty value.
        let found = self.environment.vars.get(name).filter(|value| default.is_none() || !value.is_empty());
        if found.is_none()
            && let Some(value) = self.editor(name).filter(|_| reference.braced)
        {
            text.value.push_str(&value);
            return true;
        }
        remember(&mut text.variables, name);
        match found.map(String::as_str).or(default) {
            Some(value) => text.value.push_str(value),
            None => text.lack(name, whole),
        }
        true
    }

    /// Nobody can be asked here, but a variable may hold the answer.
    fn fill_input(&self, text: &mut Text, whole: &str, input: &str) {
        let variable = input_variable(input);
        remember(&mut text.names, &variable);
        match self.environment.vars.get(&variable) {
            Some(value) => text.value.push_str(value),
            None => {
                remember(&mut text.inputs, input);
                text.value.push_str(whole);
            }
        }
    }

    /// A value that comes from here is hidden from now on wherever it turns up, whatever becomes of this text.
    fn fill_secret(&self, text: &mut Text, whole: &str, name: &str) {
        remember(&mut text.secrets, name);
        match self.environment.secrets.get(name) {
            Ok(Some(value)) => text.value.push_str(value.expose()),
            Ok(None) | Err(_) => text.lack(&format!("{SECRET}{name}"), whole),
        }
    }

    /// Returns what editors mean by a name of their own.
    fn editor(&self, name: &str) -> Option<String> {
        // In a workspace of several folders one is named behind a colon.
        match name.split(':').next()? {
            "workspaceFolder" => Some(self.workspace.display().to_string()),
            "workspaceFolderBasename" => {
                Some(self.workspace.file_name().unwrap_or_default().to_string_lossy().into_owned())
            }
            "userHome" => Some(self.environment.home.as_ref()?.display().to_string()),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => None,
        }
    }
}

/// A reference in a text.
struct Reference<'t> {
    whole: &'t str,
    /// What stands between its marks.
    inside: &'t str,
    /// Written as `${…}`.
    braced: bool,
}

impl Text {
    /// Makes the text of a string nothing was filled in.
    pub(crate) fn written(raw: &str) -> Self {
        Self { raw: raw.to_owned(), value: raw.to_owned(), ..Self::default() }
    }

    /// Returns the value with a leading `~` or `~/` replaced. A `~` that came out of a variable stays.
    pub(crate) fn with_home(&self, environment: &Environment) -> String {
        if self.raw.starts_with('~') { expand_home(&self.value, environment) } else { self.value.clone() }
    }

    fn lack(&mut self, name: &str, whole: &str) {
        remember(&mut self.missing, name);
        self.value.push_str(whole);
    }
}

/// Returns the variable that answers `${input:…}` where no editor asks.
pub(crate) fn input_variable(input: &str) -> String {
    let safe = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    format!("INPUT_{}", input.chars().map(safe).collect::<String>())
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

/// Returns how much of the text can be the name of a variable.
fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

fn remember(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
