//! A change of the config in the record of what can be undone: one that a page or another program asked for is taken back
//! by `manifold undo` like a command.

use std::path::Path;

use manifold_config::Edit;
use manifold_setup::{Back, Changes, Journal, TargetFile, WriteError};
use tracing::warn;

/// A change that is about to be made. Nothing is noted of one whose asker does so.
#[derive(Default)]
pub(super) struct Noted(Option<Changes>);

impl Noted {
    /// Notes what a file will say, before it does.
    pub(super) fn begin(
        state_home: &Path,
        edit: &Edit,
        file: &TargetFile,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<Self, WriteError> {
        let journal = Journal::open(state_home)
            .map_err(|source| WriteError::Record { folder: state_home.to_owned(), source })?;
        let (verb, words) = words(edit);
        let mut changes = journal.begin(verb, &words);
        changes.note(file, old, Some(new), Back::Config)?;
        Ok(Self(Some(changes)))
    }

    /// Ends the record and returns its id: from now on the change can be undone. One that was not made is struck out.
    pub(super) fn settle(&mut self, is_done: bool) -> Option<String> {
        let mut changes = self.0.take()?;
        if !is_done {
            // A change in the record that was not made is found out by `undo`.
            let _ = changes.forget_last();
        }
        let id = changes.folder().and_then(|folder| Some(folder.file_name()?.to_str()?.to_owned()));
        if let Err(error) = changes.finish() {
            warn!("old records of changes cannot be dropped: {error}");
        }
        id.filter(|_| is_done)
    }
}

/// Returns the command that would have made this change, for people: its verb, and the whole of it.
fn words(edit: &Edit) -> (&'static str, String) {
    match edit {
        Edit::Text(_) => ("config", "config edit".to_owned()),
        Edit::PutServer { id, .. } => ("add", format!("add {id}")),
        Edit::RemoveServer { id } => ("remove", format!("remove {id}")),
        Edit::RenameServer { id, to } => ("rename", format!("rename {id} {to}")),
        Edit::SetEnabled { id, enabled: true } => ("enable", format!("enable {id}")),
        Edit::SetEnabled { id, enabled: false } => ("disable", format!("disable {id}")),
        Edit::JoinNamespace { namespace, server } => ("add", format!("add {server} --namespace {namespace}")),
        Edit::SetPermission { namespace, server, name, allow, .. } => {
            let (word, unset) = match allow {
                Some(true) => ("allow", ""),
                Some(false) => ("deny", ""),
                None => ("allow", " --unset"),
            };
            ("ns", format!("ns {word} {namespace} {server}.{name}{unset}"))
        }
    }
}
