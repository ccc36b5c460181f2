//! Variables and `~` in the strings of a configuration file.
//!
//! `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${env:VAR:-default}` and the names editors have for folders are filled in;
//! in our own files also `${secret:NAME}`, a value from the secret store, `${file:path}`, the content of a file, and
//! `${:-text}`, the text itself; in the files of some
//! programs also `$VAR`, `%VAR%`, `{env:VAR}` and the content of files. A value is never looked into again. Everything
//! else is plain text.

pub(crate) mod pieces;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::secrets::SECRET;
use pieces::{Meaning, Piece, Reference};

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
    /// `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}`, `${workspaceFolder}`.
    pub(crate) braced: bool,
    /// `$VAR`
    pub(crate) dollar: bool,
    /// `%VAR%`
    pub(crate) percent: bool,
    /// `{env:VAR}`, `{file:path}`
    pub(crate) bare_braces: bool,
    /// `${file:path}`
    pub(crate) files: bool,
    /// `${:-text}`: a name that is never set, so the text stands for itself.
    pub(crate) verbatim: bool,
    /// `${secret:NAME}`
    pub(crate) secrets: bool,
}

impl Forms {
    /// What our own files may say.
    pub(crate) const OURS: Self = Self { files: true, verbatim: true, secrets: true, ..Self::USUAL };
    /// What most programs know.
    pub(crate) const USUAL: Self = Self {
        braced: true,
        dollar: false,
        percent: false,
        bare_braces: false,
        files: false,
        verbatim: false,
        secrets: false,
    };
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
    /// Those without a value and without a default; their placeholder stays in `value`.
    pub(crate) missing: Vec<String>,
    /// Every variable that would count, were it set: also in defaults and for inputs. The environment has no part in it.
    pub(crate) names: Vec<String>,
    /// Every secret referred to, each once, in order.
    pub(crate) secrets: Vec<String>,
    /// `${input:…}` placeholders, which only the editor that wrote them could fill in.
    pub(crate) inputs: Vec<String>,
    /// What YAML takes this word for where no text is wanted: `yes`, `on`.
    pub(crate) flag: Option<bool>,
}

impl Variables<'_> {
    /// Fills in the variables of `raw`.
    pub(crate) fn expand(&self, raw: &str) -> Text {
        let mut text = Text { raw: raw.to_owned(), ..Text::default() };
        for piece in self.forms.pieces(raw) {
            match piece {
                Piece::Literal(literal) => text.value.push_str(literal),
                Piece::Reference(reference) => self.fill(&mut text, &reference),
            }
        }
        text
    }

    /// Adds what stands for one reference.
    fn fill(&self, text: &mut Text, reference: &Reference<'_>) {
        let whole = reference.whole;
        match reference.meaning {
            Meaning::Input(input) => self.fill_input(text, whole, input),
            Meaning::File(path) => {
                let file = self.folder.join(expand_home(path, self.environment));
                match std::fs::read_to_string(file) {
                    Ok(content) => text.value.push_str(content.trim_end()),
                    Err(_) => text.lack(&format!("{FILE}{path}"), whole),
                }
            }
            Meaning::Secret(name) => self.fill_secret(text, whole, name),
            Meaning::Verbatim(literal) => text.value.push_str(literal),
            Meaning::Editor(name) => text.value.push_str(self.editor(name).as_deref().unwrap_or(whole)),
            Meaning::Variable { name, default } => self.fill_variable(text, reference, name, default),
        }
    }

    fn fill_variable(&self, text: &mut Text, reference: &Reference<'_>, name: &str, default: Option<&str>) {
        if let Some(default) = default {
            self.expand(default).names.iter().for_each(|name| remember(&mut text.names, name));
        }
        remember(&mut text.names, name);
        // As in a shell, `:-` also replaces an empty value.
        let found = self.environment.vars.get(name).filter(|value| default.is_none() || !value.is_empty());
        if found.is_none()
            && let Some(value) = self.editor(name).filter(|_| reference.braced)
        {
            text.value.push_str(&value);
            return;
        }
        remember(&mut text.variables, name);
        match found.map(String::as_str).or(default) {
            Some(value) => text.value.push_str(value),
            None => text.lack(name, reference.whole),
        }
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
