//! What is wrong with a configuration, said to the operator.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// One thing found wrong. It never holds a value that came from a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub severity: Severity,
    pub file: Option<PathBuf>,
    /// Counted from 1.
    pub line: Option<usize>,
    /// The path of keys, such as `servers.git`; empty for the file as a whole.
    pub place: String,
    pub what: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A server, or the whole file, cannot be used.
    Error,
    /// We go on with something else than what was written.
    Warning,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            f.write_str(" ")?;
        }
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Gathers the problems of one file, in the order they are found.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    file: Option<PathBuf>,
    found: Vec<Problem>,
    /// A key of ours, and what the file calls it.
    called: Option<(&'static str, String)>,
    /// Whether the file must not be used.
    refused: bool,
}

impl Problems {
    pub(crate) fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Path::to_path_buf), ..Self::default() }
    }

    /// Says places below a key of ours as the file has them.
    pub(crate) fn call(&mut self, ours: &'static str, theirs: &str) {
        self.called = (ours != theirs).then(|| (ours, theirs.to_owned()));
    }

    pub(crate) fn warn(&mut self, line: usize, place: &str, what: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Warning, Some(line), place, what.into(), hint);
    }

    pub(crate) fn error(&mut self, line: usize, place: &str, what: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Error, Some(line), place, what.into(), hint);
    }

    /// Adds a problem for which the file must not be used.
    pub(crate) fn refuse(&mut self, line: usize, place: &str, what: impl Into<String>, hint: Option<String>) {
        self.refused = true;
        self.error(line, place, what, hint);
    }

    /// Returns what was found so far.
    pub(crate) fn found(&self) -> &[Problem] {
        &self.found
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Adds a problem of the file as a whole.
    pub(crate) fn whole_file(&mut self, what: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Error, None, "", what.into(), hint);
    }

    /// Returns everything found, in the order of the file.
    pub(crate) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| problem.line);
        self.found
    }

    fn add(
        &mut self,
        severity: Severity,
        line: Option<usize>,
        place: &str,
        what: String,
        hint: Option<String>,
    ) {
        let place = self.as_written(place);
        self.found.push(Problem { severity, file: self.file.clone(), line, place, what, hint });
    }

    fn as_written(&self, place: &str) -> String {
        let below = self.called.as_ref().and_then(|(ours, theirs)| Some((theirs, place.strip_prefix(ours)?)));
        match below {
            Some((theirs, below)) if theirs.is_empty() => below.trim_start_matches('.').to_owned(),
            Some((theirs, below)) if below.is_empty() || below.starts_with('.') => format!("{theirs}{below}"),
            _ => place.to_owned(),
        }
    }
}
