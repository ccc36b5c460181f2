//! What a command changed, so that `undo` can take it back: one record for all of it.

use std::path::PathBuf;

use manifold_setup::{Back, Changes, Journal, Rules, StoredSecret, TargetFile, WriteError};

use super::verb::Verb;
use crate::output::{Exit, Failure, Output};

/// The record of one command. What changed nothing leaves none.
pub(super) struct Record {
    /// The command's word.
    name: &'static str,
    changes: Changes,
    /// Which files may be our config.
    own: Rules,
}

/// What is to become of our config.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) path: PathBuf,
    /// `None`: there is no file.
    pub(super) before: Option<String>,
    pub(super) after: String,
}

impl Record {
    /// Opens the record of a command. `words` tell people what it was, without secrets.
    pub(super) fn of(verb: &Verb, name: &'static str, words: &str) -> Result<Self, Failure> {
        let unkept = |why: String| {
            Failure::new(Exit::Failed, "failed", format!("no record can be kept to undo it by: {why}"))
                .hint("name a folder that can be written with XDG_STATE_HOME")
        };
        let state = verb.options.environment.state_home();
        let state = state.ok_or_else(|| unkept("there is no home folder".to_owned()))?;
        let journal = Journal::open(&state).map_err(|error| unkept(error.to_string()))?;
        let own = Rules::Own { home: verb.options.environment.home.clone() };
        Ok(Self { name, changes: journal.begin(name, words), own })
    }

    /// Returns the command's word.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the changes, for those of other programs' files.
    pub(super) fn changes(&mut self) -> &mut Changes {
        &mut self.changes
    }

    /// Notes secrets that were stored for what is about to be changed.
    pub(super) fn stored(&mut self, secrets: Vec<StoredSecret>) -> Result<(), Failure> {
        self.changes.stored(secrets).map_err(unwritten)
    }

    /// Writes our config, if it still says what it said before.
    pub(super) fn write(&mut self, planned: &Planned) -> Result<(), Failure> {
        let file = TargetFile::find(&planned.path, &self.own).map_err(unwritten)?;
        let before = planned.before.as_deref().map(str::as_bytes);
        self.changes.write(&file, before, planned.after.as_bytes(), Back::Config).map_err(unwritten)
    }

    /// Notes what somebody else is about to make of our config.
    pub(super) fn note(&mut self, planned: &Planned) -> Result<(), Failure> {
        let file = TargetFile::find(&planned.path, &self.own).map_err(unwritten)?;
        let before = planned.before.as_deref().map(str::as_bytes);
        self.changes.note(&file, before, Some(planned.after.as_bytes()), Back::Config).map_err(unwritten)
    }

    /// Strikes out what was noted last if it has not been done. A gateway may refuse to serve what it has written.
    pub(super) fn forget_unless_written(&mut self, planned: &Planned) {
        if !std::fs::read(&planned.path).is_ok_and(|now| now == planned.after.as_bytes()) {
            // A change in the record that was not made is found out by `undo`.
            let _ = self.changes.forget_last();
        }
    }

    /// Ends the record of one change that somebody else was asked for.
    pub(super) fn settle(mut self, planned: &Planned, is_done: bool, output: &Output) {
        if !is_done {
            self.forget_unless_written(planned);
        }
        self.finish(output);
    }

    /// Ends it: from now on it can be undone.
    pub(super) fn finish(self, output: &Output) {
        if let Err(error) = self.changes.finish() {
            output.remark(&format!("old records of changes cannot be dropped: {error}"));
        }
    }
}

fn unwritten(error: WriteError) -> Failure {
    let hint = error.hint();
    let (exit, code) = match error {
        WriteError::Changed(_) => (Exit::Usage, "stale"),
        _ => (Exit::Failed, "failed"),
    };
    Failure { hint, ..Failure::new(exit, code, error.to_string()) }
}
