//! The config file under an operator's hand: read, checked, and changed with its comments kept.
//!
//! Whoever writes holds a lock for that file, in this process and in others; what somebody else wrote meanwhile is seen
//! before the new text takes its place.

mod noted;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use manifold_admin::{
    CommandError, ConfigChanged, ConfigCheck, ConfigFile, ErrorCode, Problem, ReloadReport, Severity,
};
use manifold_config::{
    Config, Edit, EditError, LoadOptions, Server, ServerFault, apply, config_path, diff, load_text, written,
};
use manifold_engine::{Reloader, reload_report};
use manifold_frontends::admin::Undo;
use manifold_setup::{Locks, Rules, TargetFile, WriteError, digest};
use noted::Noted;

/// How often a change is made anew when somebody else wrote the file at the same moment.
const TRIES: usize = 8;

/// Reads, checks and writes one config file. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConfigEditor {
    options: Arc<LoadOptions>,
}

/// The config as it was found by whoever means to change it.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) text: String,
    /// That of the file; of what is built in where there is none.
    pub(crate) revision: String,
    pub(crate) path: PathBuf,
    /// Whether there is a file.
    pub(crate) is_there: bool,
}

/// What a change would make of the config.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) report: ReloadReport,
}

/// What stands in the file.
struct Found {
    text: String,
    /// `None`: there is no file, and this is what is built in.
    path: Option<PathBuf>,
}

impl ConfigEditor {
    pub(crate) fn new(options: LoadOptions) -> Self {
        Self { options: Arc::new(options) }
    }

    /// Returns the config as it is written, and what is wrong with it.
    pub(crate) fn file(&self) -> Result<ConfigFile, CommandError> {
        let found = self.read()?;
        let problems = match load_text(&found.text, found.path.as_deref(), &self.options) {
            Ok(config) => config.problems,
            Err(error) => error.problems,
        };
        Ok(ConfigFile {
            path: found.path.map(|path| path.display().to_string()),
            revision: revision(&found.text),
            text: found.text,
            problems: problems.iter().map(problem).collect(),
        })
    }

    /// Returns the revision of the config as it is written.
    pub(crate) fn revision(&self) -> Result<String, CommandError> {
        self.read().map(|found| revision(&found.text))
    }

    /// Returns the config for somebody who means to change it.
    pub(crate) fn base(&self) -> Result<Base, CommandError> {
        let path = self.path().ok_or_else(homeless)?;
        let Found { text, path: found } = self.read_to_change(&path)?;
        Ok(Base { revision: revision(&text), text, is_there: found.is_some(), path })
    }

    /// Makes several changes, one after the other, and judges what comes of them. Nothing is written.
    pub(crate) fn draft(&self, base: &Base, edits: &[Edit]) -> Result<Draft, CommandError> {
        let mut text = base.text.clone();
        for edit in edits {
            text = apply(&text, Some(&base.path), edit, &self.options).map_err(refused)?;
        }
        let found = Found { text: base.text.clone(), path: base.is_there.then(|| base.path.clone()) };
        let report = self.judge(&found, &text, &base.path, edits)?;
        Ok(Draft { text, report })
    }

    /// Tells what would come of a text, compared with the config in force; without one, with what is in the file.
    pub(crate) fn check(&self, text: &str, in_force: Option<&Config>) -> ConfigCheck {
        let path = self.path();
        match load_text(text, path.as_deref(), &self.options) {
            Err(error) => ConfigCheck {
                refused: Some(error.to_string()),
                problems: error.problems.iter().map(problem).collect(),
                plan: None,
            },
            Ok(new) => {
                let old = in_force.cloned().or_else(|| self.load(&self.read().ok()?));
                ConfigCheck {
                    refused: None,
                    problems: new.problems.iter().map(problem).collect(),
                    plan: old.map(|old| reload_report(&diff(&old, &new), &new)),
                }
            }
        }
    }

    /// Changes the file, and has the gateway take it over: done when that is done. `expected` is the revision the change
    /// was thought of for.
    pub(crate) async fn edit(
        &self,
        edit: Edit,
        expected: Option<String>,
        undo: Undo,
        reloader: &dyn Reloader,
    ) -> Result<ConfigChanged, CommandError> {
        let editor = self.clone();
        let writing = tokio::task::spawn_blocking(move || editor.write(&edit, expected.as_deref(), undo));
        let changed = writing.await.map_err(|_| failed("the change broke off"))??;
        if changed.before != changed.revision {
            reloader.reload().await.map_err(|why| {
                let message =
                    format!("{} was changed, and the gateway could not take it over: {why}", changed.path);
                CommandError::new(ErrorCode::ConfigRefused, message)
            })?;
        }
        Ok(changed)
    }

    /// Changes the file. Blocks while another writes it.
    pub(crate) fn write(
        &self,
        edit: &Edit,
        expected: Option<&str>,
        undo: Undo,
    ) -> Result<ConfigChanged, CommandError> {
        let path = self.path().ok_or_else(homeless)?;
        let file = TargetFile::find(&path, &self.rules()).map_err(|error| unwritten(&error))?;
        let locks = Locks::of(&self.options.environment);
        let _lock = file.lock(&locks).map_err(|error| unwritten(&error))?;
        for _ in 0..TRIES {
            let found = self.read_to_change(&path)?;
            let before = revision(&found.text);
            if expected.is_some_and(|expected| expected != before) {
                return Err(stale(&path));
            }
            let new = apply(&found.text, Some(&path), edit, &self.options).map_err(refused)?;
            let report = self.judge(&found, &new, &path, std::slice::from_ref(edit))?;
            let changed = ConfigChanged {
                path: path.display().to_string(),
                revision: revision(&new),
                before,
                report,
                undo: None,
            };
            let is_there = found.path.is_some();
            if is_there && new == found.text {
                return Ok(changed);
            }
            let old = is_there.then_some(found.text.as_bytes());
            let mut noted = self.note(edit, undo, &file, old, new.as_bytes())?;
            let written = file.replace(old, new.as_bytes());
            let undo = noted.settle(written.is_ok());
            match written {
                Ok(()) => return Ok(ConfigChanged { undo, ..changed }),
                // Somebody wrote it at the same moment: the change is made in what they wrote.
                Err(WriteError::Changed(_)) => {}
                Err(error) => return Err(unwritten(&error)),
            }
        }
        Err(stale(&path))
    }

    /// Checks a text before it is written; what is wrong with it that was not before is reported.
    fn judge(
        &self,
        found: &Found,
        new: &str,
        path: &Path,
        edits: &[Edit],
    ) -> Result<ReloadReport, CommandError> {
        let new = load_text(new, Some(path), &self.options)
            .map_err(|error| CommandError::new(ErrorCode::ConfigRefused, error.to_string()))?;
        for edit in edits {
            if let Edit::PutServer { id, .. } = edit {
                check_entry(&new, id)?;
            }
        }
        let Some(old) = self.load(found) else {
            return Ok(reload_report(&diff(&empty(&new), &new), &new));
        };
        let mut report = reload_report(&diff(&old, &new), &new);
        let is_old = |one: &Problem| {
            old.problems.iter().any(|known| known.place == one.place && known.what == one.what)
        };
        report.problems.retain(|one| !is_old(one));
        Ok(report)
    }

    fn load(&self, found: &Found) -> Option<Config> {
        load_text(&found.text, found.path.as_deref(), &self.options).ok()
    }

    /// Notes a change, where that is for us to do, so that it can be undone. What cannot be is not made.
    fn note(
        &self,
        edit: &Edit,
        undo: Undo,
        file: &TargetFile,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<Noted, CommandError> {
        let state = self.options.environment.state_home().filter(|_| undo == Undo::Program);
        match state {
            Some(state) => Noted::begin(&state, edit, file, old, new).map_err(|error| unwritten(&error)),
            None => Ok(Noted::default()),
        }
    }

    /// Returns which files may be ours.
    fn rules(&self) -> Rules {
        Rules::Own { home: self.options.environment.home.clone() }
    }

    /// Returns the file's path, wherever we are.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        config_path(&self.options).map(|path| self.options.environment.cwd.join(path))
    }

    fn read(&self) -> Result<Found, CommandError> {
        let (text, path) = written(&self.options)
            .map_err(|error| CommandError::new(ErrorCode::ConfigRefused, error.to_string()))?;
        Ok(Found { text, path: path.map(|path| self.options.environment.cwd.join(path)) })
    }

    /// A file that was named and is not there yet begins empty; else what is built in becomes the file.
    fn read_to_change(&self, path: &Path) -> Result<Found, CommandError> {
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.options.path.is_some() => {
                Ok(Found { text: String::new(), path: None })
            }
            // A link to what is not there yet.
            Ok(found) if found.is_symlink() && !path.exists() => {
                Ok(Found { text: String::new(), path: None })
            }
            _ => self.read(),
        }
    }
}

/// Refuses an entry that is wrong in itself. What is missing around it, such as its program, may come.
fn check_entry(config: &Config, id: &str) -> Result<(), CommandError> {
    let is_meant = |server: &&Server| {
        let schema = server.key.schema.as_deref();
        server.key.id == id || schema.is_some_and(|schema| format!("{schema}/{}", server.key.id) == id)
    };
    let fault = config.servers.iter().find(is_meant).and_then(|server| server.fault.as_ref());
    match fault {
        Some(fault @ (ServerFault::BadEntry { .. } | ServerFault::Itself)) => {
            let message = format!("the entry of '{id}' cannot work: {}", fault.message());
            Err(CommandError::new(ErrorCode::ConfigRefused, message))
        }
        _ => Ok(()),
    }
}

/// Returns what names a text: another for every other one.
pub(crate) fn revision(text: &str) -> String {
    let mut digest = digest(text.as_bytes());
    digest.truncate(16);
    digest
}

/// A config without servers, to compare the first one with.
fn empty(config: &Config) -> Config {
    Config { servers: Vec::new(), namespaces: Vec::new(), ..config.clone() }
}

fn refused(error: EditError) -> CommandError {
    let code = match &error {
        EditError::NoSuchServer { .. } => ErrorCode::UnknownServer,
        EditError::AmbiguousServer { .. } => ErrorCode::AmbiguousServer,
        EditError::NoSuchNamespace { .. } => ErrorCode::UnknownNamespace,
        EditError::ServerExists { .. } | EditError::NotInNamespace { .. } | EditError::BadEntry(_) => {
            ErrorCode::BadRequest
        }
        EditError::Unreadable(_) => ErrorCode::ConfigRefused,
        EditError::ByHand(_) => ErrorCode::Unsupported,
    };
    CommandError::new(code, error.to_string())
}

fn stale(path: &Path) -> CommandError {
    let message = format!("{} has changed since it was read", path.display());
    let hint = Some("read it again, and make the change in that".to_owned());
    CommandError { hint, ..CommandError::new(ErrorCode::Stale, message) }
}

fn unwritten(error: &WriteError) -> CommandError {
    CommandError { hint: error.hint(), ..failed(&error.to_string()) }
}

fn homeless() -> CommandError {
    failed("there is no home folder to keep a config in")
}

fn failed(what: &str) -> CommandError {
    CommandError::new(ErrorCode::Failed, what)
}

/// Returns a problem of a config in the words of the control API.
pub(crate) fn problem(problem: &manifold_config::Problem) -> Problem {
    Problem {
        severity: match problem.severity {
            manifold_config::Severity::Error => Severity::Error,
            manifold_config::Severity::Warning => Severity::Warning,
        },
        file: problem.file.as_ref().map(|file| file.display().to_string()),
        line: problem.line,
        place: problem.place.clone(),
        what: problem.what.clone(),
        hint: problem.hint.clone(),
    }
}
