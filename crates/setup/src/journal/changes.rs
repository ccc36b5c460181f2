//! The changes of one command, as they are made: each is in the record before it is in the file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use manifold_rendezvous::Lock;

use super::Journal;
use super::record::{After, Back, Change, Copy, Record, StoredSecret};
use crate::error::WriteError;
use crate::file::{Draft, TargetFile};

/// How often a change is made anew when somebody else wrote the file at the same moment.
const TRIES: usize = 3;

/// The record of a command that is under way. Commands within a command write into the same one.
pub struct Changes {
    journal: Journal,
    record: Record,
    /// The folder of the record, and its lock, once there is anything to keep.
    open: Option<(PathBuf, Lock)>,
    /// How many copies were kept.
    copies: usize,
}

/// A file that another program is about to change.
#[derive(Debug)]
pub struct Watch {
    file: TargetFile,
    before: Option<Vec<u8>>,
    back: Back,
    /// Where in the record it stands.
    at: usize,
}

impl Changes {
    pub(super) fn new(journal: Journal, verb: &str, words: &str) -> Self {
        Self { journal, record: Record::new(verb, words), open: None, copies: 0 }
    }

    /// Returns the folder of the record, if anything was changed.
    pub fn folder(&self) -> Option<PathBuf> {
        self.open.as_ref().map(|(folder, _)| folder.clone())
    }

    /// Replaces what a file says, if it says what was expected.
    pub fn write(
        &mut self,
        file: &TargetFile,
        expected: Option<&[u8]>,
        new: &[u8],
        back: Back,
    ) -> Result<(), WriteError> {
        let _lock = file.lock(self.journal.locks())?;
        self.write_locked(file, expected, new, back)
    }

    /// Changes a file: `change` is given what it says and returns what it shall say, or that nothing is to be done. It is
    /// asked again when somebody else wrote the file at the same moment. Tells whether the file was changed.
    pub fn edit<E: From<WriteError>>(
        &mut self,
        file: &TargetFile,
        back: &Back,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<bool, E> {
        let _lock = file.lock(self.journal.locks())?;
        for _ in 0..TRIES {
            let old = file.read()?;
            let Some(new) = change(old.as_deref())? else { return Ok(false) };
            match self.write_locked(file, old.as_deref(), &new, back.clone()) {
                Err(WriteError::Changed(_)) => {}
                done => return done.map(|()| true).map_err(E::from),
            }
        }
        Err(WriteError::Changed(file.named().to_owned()).into())
    }

    /// Removes a file, if it says what was expected, and the folders that were made for it where nothing else is in them.
    pub fn remove(
        &mut self,
        file: &TargetFile,
        expected: &[u8],
        folders: &[PathBuf],
        back: Back,
    ) -> Result<(), WriteError> {
        let _lock = file.lock(self.journal.locks())?;
        self.add(file, Some(expected), Some(None), back, None)?;
        file.remove(expected).inspect_err(|_| {
            let _ = self.drop_change(self.record.changes.len() - 1);
        })?;
        remove_empty(folders);
        Ok(())
    }

    /// Notes a change that somebody else makes: the daemon, to whom the new text is sent. To be called before it is.
    pub fn note(
        &mut self,
        file: &TargetFile,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        back: Back,
    ) -> Result<(), WriteError> {
        self.add(file, before, Some(after), back, None)
    }

    /// Notes that another program is about to change a file: a client's own command.
    pub fn watch(&mut self, file: &TargetFile, back: Back) -> Result<Watch, WriteError> {
        let before = file.read()?;
        self.add(file, before.as_deref(), None, back.clone(), None)?;
        Ok(Watch { file: file.clone(), before, back, at: self.record.changes.len() - 1 })
    }

    /// Notes what that program made of it. Tells whether it changed anything.
    pub fn settle(&mut self, watch: Watch) -> Result<bool, WriteError> {
        let after = watch.file.read()?;
        if after == watch.before {
            self.drop_change(watch.at).map_err(|error| self.unkept(error))?;
            return Ok(false);
        }
        let kept = after.map(|after| self.keep(&after)).transpose().map_err(|error| self.unkept(error))?;
        if let Some(change) = self.record.changes.get_mut(watch.at) {
            change.after = kept.map_or(After::Gone, After::Text);
            change.back = watch.back;
        }
        self.save().map_err(|error| self.unkept(error))?;
        Ok(true)
    }

    /// Notes secrets that were stored for what is changed. They alone make no record.
    pub fn stored(&mut self, secrets: Vec<StoredSecret>) -> Result<(), WriteError> {
        self.record.secrets.extend(secrets);
        self.save().map_err(|error| self.unkept(error))
    }

    /// Strikes out the change that was noted last: whoever was to make it did not.
    pub fn forget_last(&mut self) -> Result<(), WriteError> {
        let Some(last) = self.record.changes.len().checked_sub(1) else { return Ok(()) };
        self.drop_change(last).map_err(|error| self.unkept(error))
    }

    /// Ends the record and drops the oldest ones. Returns its id, if anything was changed.
    pub fn finish(self) -> io::Result<Option<String>> {
        let Self { journal, record, open, .. } = self;
        if open.is_none() {
            return Ok(None);
        }
        drop(open);
        journal.prune()?;
        Ok(Some(record.id))
    }

    fn write_locked(
        &mut self,
        file: &TargetFile,
        expected: Option<&[u8]>,
        new: &[u8],
        back: Back,
    ) -> Result<(), WriteError> {
        // What the links say now: a folder may be there by now, and another file behind them.
        let file = &TargetFile::find(file.named(), file.rules())?;
        if file.read()?.as_deref() != expected {
            return Err(WriteError::Changed(file.named().to_owned()));
        }
        let folder = file.path().parent().unwrap_or(file.path());
        let draft = Draft::name_in(folder).map_err(|error| WriteError::io(file.named(), error))?;
        self.add(file, expected, Some(Some(new)), back, Some(draft.clone()))?;
        file.replace_by(&draft, expected, new, None).inspect_err(|_| {
            remove_empty(file.missing_folders());
            // If this fails, the record tells of a change that was not made: the file is as it was, so undo leaves it.
            let _ = self.drop_change(self.record.changes.len() - 1);
        })
    }

    /// Puts a change into the record, with what stood in the file and, if it is known, what will.
    fn add(
        &mut self,
        file: &TargetFile,
        before: Option<&[u8]>,
        after: Option<Option<&[u8]>>,
        back: Back,
        draft: Option<PathBuf>,
    ) -> Result<(), WriteError> {
        let mode = file.metadata()?.map(|metadata| metadata.mode() & 0o7777);
        let mut change = Change { mode, draft, ..Change::of(file, back) };
        let mut add = || {
            change.before = before.map(|bytes| self.keep(bytes)).transpose()?;
            change.after = match after {
                None => After::Unknown,
                Some(None) => After::Gone,
                Some(Some(bytes)) => After::Text(self.keep(bytes)?),
            };
            self.folder_to_write()?;
            self.record.changes.push(change.clone());
            self.save()
        };
        add().map_err(|error| self.unkept(error))
    }

    fn drop_change(&mut self, at: usize) -> io::Result<()> {
        let Some((folder, _)) = &self.open else { return Ok(()) };
        let change = self.record.changes.remove(at);
        if self.record.changes.is_empty() {
            fs::remove_dir_all(folder)?;
            self.open = None;
            return Ok(());
        }
        for copy in change.before.iter().chain(match &change.after {
            After::Text(copy) => Some(copy),
            After::Unknown | After::Gone => None,
        }) {
            copy.drop_from(folder);
        }
        self.save()
    }

    fn keep(&mut self, bytes: &[u8]) -> io::Result<Copy> {
        let folder = self.folder_to_write()?;
        self.copies += 1;
        Copy::keep(&folder, self.copies.to_string(), bytes)
    }

    fn folder_to_write(&mut self) -> io::Result<PathBuf> {
        if self.open.is_none() {
            let lock = self.journal.make(&mut self.record)?;
            self.open = Some((self.journal.folder_of(&self.record), lock));
        }
        self.folder().ok_or_else(|| io::Error::other("there is no folder for the record"))
    }

    fn save(&self) -> io::Result<()> {
        match &self.open {
            Some((folder, _)) => self.record.save(folder),
            None => Ok(()),
        }
    }

    fn unkept(&self, source: io::Error) -> WriteError {
        WriteError::Record { folder: self.journal.folder().to_owned(), source }
    }
}

/// Removes folders, the innermost first, as far as nothing is in them.
pub(crate) fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
