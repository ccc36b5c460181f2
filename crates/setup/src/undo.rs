//! Taking a command back: every file becomes what it was, or loses only what the command put into it, or is left with the
//! reason told. What a crash interrupts can be asked for again: each step looks at what is there.

#[cfg(test)]
pub(crate) mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use manifold_config::{client, revert};
use manifold_rendezvous::Lock;

use crate::digest;
use crate::error::WriteError;
use crate::file::{Draft, TargetFile};
use crate::journal::{After, Back, Change, Journal, Record, StoredSecret, remove_empty};

/// How often a file is looked at anew when somebody else wrote it at the same moment.
const TRIES: usize = 3;

/// Which command is to be undone.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// The last one that was not.
    Last,
    /// Of the last one that changed this client's files, these changes.
    Client(&'a str),
    /// The one with this id, also if something of it was left the last time.
    Record(&'a str),
}

/// The gateway that serves our config, if one runs: it is the one that writes it.
pub trait ConfigKeeper {
    /// Tells whether it serves this file.
    fn serves(&self, file: &Path) -> bool;

    /// Has it put a new text in the place of the old one. Tells whether it did: it takes no text that it could not serve.
    fn write(&self, file: &Path, old: &str, new: &str) -> Result<bool, WriteError>;

    /// Notes what was written without it. `None` is a file that is not there.
    fn wrote(&self, file: &Path, old: Option<&[u8]>, new: Option<&[u8]>);
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// The command that was undone.
    pub words: String,
    /// Commands that came after it, changed the same files and stay: their ids and words, the first one first.
    pub later: Vec<(String, String)>,
    /// Something could not be written now, and can be undone later.
    pub is_blocked: bool,
    pub restored: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    pub left: Vec<Left>,
    /// What it had put into the store of secrets, once all else of it is over.
    pub secrets: Vec<StoredSecret>,
}

/// A file in which something of the command still stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub file: PathBuf,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("there is nothing to undo")]
    Nothing,
    #[error("there is nothing to undo in the files of '{0}'")]
    NothingOf(String),
    #[error("there is no command '{0}' to undo")]
    NoSuchRecord(String),
    #[error("the records in {} cannot be used: {source}", .folder.display())]
    Io { folder: PathBuf, source: io::Error },
}

/// What became of one file.
enum Outcome {
    Restored,
    Removed,
    /// It is as it was before the command.
    AsItWas,
    Left(String),
    /// It cannot be written now; it may be later.
    Blocked(String),
}

impl Journal {
    /// Undoes a command.
    pub fn undo(&self, which: Which<'_>, keeper: &dyn ConfigKeeper) -> Result<Undone, UndoError> {
        let failed = |source| UndoError::Io { folder: self.folder().to_owned(), source };
        let chosen = self.choose(which)?;
        let folder = self.folder_of(&chosen);
        let _lock = self.hold(&folder).map_err(failed)?;
        // It may have grown until its lock was free, or been undone.
        let mut record = Record::load(&folder, &chosen.id).ok_or(UndoError::Nothing)?;
        let later = self.later(&record).map_err(failed)?;
        let mut undone = Undone { words: record.words.clone(), later, ..Undone::default() };
        for at in (0..record.changes.len()).rev() {
            let change = &record.changes[at];
            if change.is_undone || !is_meant(change, which) {
                continue;
            }
            let outcome = self.take_back(change, &folder, keeper);
            undone.tell(&change.path, &outcome);
            undone.is_blocked |= matches!(outcome, Outcome::Blocked(_));
            record.changes[at].is_undone = !matches!(outcome, Outcome::Left(_) | Outcome::Blocked(_));
            record.save(&folder).map_err(failed)?;
        }
        // What was left is left: the next undo is that of the command before. What could not be written may be tried again.
        let is_over = !undone.is_blocked && !matches!(which, Which::Client(_));
        if is_over || record.changes.iter().all(|change| change.is_undone) {
            record.undone = Some(Timestamp::now().to_string());
            undone.secrets.clone_from(&record.secrets);
            record.save(&folder).map_err(failed)?;
        }
        Ok(undone)
    }

    fn choose(&self, which: Which<'_>) -> Result<Record, UndoError> {
        let records =
            self.records().map_err(|source| UndoError::Io { folder: self.folder().to_owned(), source })?;
        let mut records = records.into_iter();
        match which {
            Which::Last => records.find(|record| record.undone.is_none()).ok_or(UndoError::Nothing),
            Which::Client(client) => records
                .find(|record| {
                    let mut changes = record.changes.iter();
                    record.undone.is_none()
                        && changes.any(|change| is_meant(change, which) && !change.is_undone)
                })
                .ok_or_else(|| UndoError::NothingOf(client.to_owned())),
            Which::Record(id) => {
                records.find(|record| record.id == id).ok_or_else(|| UndoError::NoSuchRecord(id.to_owned()))
            }
        }
    }

    /// Returns the commands after this one that changed the same files and were not undone, the first one first.
    fn later(&self, record: &Record) -> io::Result<Vec<(String, String)>> {
        let shares = |other: &Record| {
            let mut changes = other.changes.iter().filter(|change| !change.is_undone);
            changes.any(|change| record.changes.iter().any(|one| one.file == change.file))
        };
        let records = self.records()?.into_iter();
        let later = records.filter(|other| other.id > record.id && other.undone.is_none() && shares(other));
        let mut later: Vec<(String, String)> = later.map(|other| (other.id, other.words)).collect();
        later.reverse();
        Ok(later)
    }

    fn take_back(&self, change: &Change, folder: &Path, keeper: &dyn ConfigKeeper) -> Outcome {
        for _ in 0..TRIES {
            match self.try_take_back(change, folder, keeper) {
                Ok(outcome) => return outcome,
                Err(WriteError::Changed(_)) => {}
                Err(error) => return Outcome::Blocked(error.to_string()),
            }
        }
        Outcome::Blocked("another program writes it all the time".to_owned())
    }

    fn try_take_back(
        &self,
        change: &Change,
        folder: &Path,
        keeper: &dyn ConfigKeeper,
    ) -> Result<Outcome, WriteError> {
        let target = change.target()?;
        if target.path() != change.file {
            return Ok(Outcome::Left(format!("it leads to {} now", target.path().display())));
        }
        let keeper = Some(keeper).filter(|_| matches!(change.back, Back::Config));
        // A gateway takes the lock itself.
        let is_served = keeper.is_some_and(|keeper| keeper.serves(target.path()));
        let _lock = if is_served { None } else { Some(target.lock(self.locks())?) };
        let pen = Pen { target: &target, keeper, is_served, journal: self };
        if let Some(draft) = &change.draft {
            let _ = fs::remove_file(draft);
        }
        let now = target.read()?;
        let hash = now.as_deref().map(digest);
        if hash.as_deref() == change.before.as_ref().map(|copy| copy.sha256.as_str()) {
            if now.is_none() {
                remove_empty(&change.folders);
            }
            return Ok(Outcome::AsItWas);
        }
        let is_as_left = match &change.after {
            After::Unknown => false,
            After::Gone => now.is_none(),
            After::Text(copy) => hash.as_ref() == Some(&copy.sha256),
        };
        match now {
            now if is_as_left => restore(&pen, change, folder, now.as_deref()),
            Some(now) => take_out(&pen, change, folder, &now),
            None => Ok(Outcome::Left("somebody has removed it since".to_owned())),
        }
    }
}

/// Gives a file that is as the command left it the bytes it had.
fn restore(pen: &Pen<'_>, change: &Change, folder: &Path, now: Option<&[u8]>) -> Result<Outcome, WriteError> {
    match (&change.before, now) {
        (Some(copy), now) => {
            let Some(before) = copy.read(folder) else { return Ok(damaged()) };
            pen.replace(now, &before, change.mode)?;
            Ok(Outcome::Restored)
        }
        (None, Some(now)) => {
            pen.remove(now)?;
            remove_empty(&change.folders);
            Ok(Outcome::Removed)
        }
        (None, None) => Ok(Outcome::AsItWas),
    }
}

/// Takes only what the command did out of a file that has moved on since.
fn take_out(pen: &Pen<'_>, change: &Change, folder: &Path, now: &[u8]) -> Result<Outcome, WriteError> {
    let target = pen.target;
    let names = match &change.back {
        Back::Entries { names, .. } => Some(names.as_slice()),
        Back::Config => None,
        Back::None => return Ok(Outcome::Left("it has changed since".to_owned())),
    };
    let (Some(before), Some(after)) = (before(change, folder), after(change, folder, now)) else {
        return Ok(damaged());
    };
    let texts = [now, &before, &after].map(std::str::from_utf8);
    let [Ok(text), Ok(before), Ok(after)] = texts else {
        return Ok(Outcome::Left("it has changed since, and is no text".to_owned()));
    };
    if names.is_none() && change.after == After::Unknown {
        return Ok(Outcome::Left(
            "it has changed since, and what was changed by whom is not known".to_owned(),
        ));
    }
    let reverted = match revert(text, before, after, target.named(), names) {
        Ok(reverted) => reverted,
        Err(error) => return Ok(Outcome::Left(format!("it has changed since: {error}"))),
    };
    let is_changed = reverted.text != text;
    if is_changed && reverted.left.is_empty() && is_bare(change, target, &reverted.text) {
        pen.remove(now)?;
        remove_empty(&change.folders);
        return Ok(Outcome::Removed);
    }
    if is_changed {
        pen.replace(Some(now), reverted.text.as_bytes(), None)?;
    }
    if !reverted.left.is_empty() {
        let places = reverted.left.join(", ");
        return Ok(Outcome::Left(format!("somebody has changed {places} since")));
    }
    Ok(if is_changed { Outcome::Restored } else { Outcome::AsItWas })
}

/// Tells whether a file that was made for us has nothing left in it but what its program puts into any.
fn is_bare(change: &Change, target: &TargetFile, text: &str) -> bool {
    let client = change.client().and_then(client);
    let is_bare = client.and_then(|client| client.holds_nothing(text, target.named()).ok());
    change.before.is_none() && is_bare == Some(true)
}

fn before(change: &Change, folder: &Path) -> Option<Vec<u8>> {
    change.before.as_ref().map_or(Some(Vec::new()), |copy| copy.read(folder))
}

/// What is not known is taken to be what stands there: only entries that bear our names are looked at then.
fn after(change: &Change, folder: &Path, now: &[u8]) -> Option<Vec<u8>> {
    match &change.after {
        After::Unknown => Some(now.to_vec()),
        After::Gone => Some(Vec::new()),
        After::Text(copy) => copy.read(folder),
    }
}

/// Writes one file: by the gateway that serves it, or in its place.
struct Pen<'p> {
    target: &'p TargetFile,
    /// Set for our own config.
    keeper: Option<&'p dyn ConfigKeeper>,
    is_served: bool,
    journal: &'p Journal,
}

impl Pen<'_> {
    fn replace(&self, old: Option<&[u8]>, new: &[u8], mode: Option<u32>) -> Result<(), WriteError> {
        let texts = old.and_then(|old| Some((str::from_utf8(old).ok()?, str::from_utf8(new).ok()?)));
        if let (Some(keeper), Some((old, new))) = (self.keeper.filter(|_| self.is_served), texts)
            && keeper.write(self.target.path(), old, new)?
        {
            return Ok(());
        }
        let _lock = self.lock()?;
        let folder = self.target.path().parent().unwrap_or(self.target.path());
        let draft = Draft::name_in(folder).map_err(|error| WriteError::io(self.target.named(), error))?;
        self.target.replace_by(&draft, old, new, mode)?;
        self.wrote(old, Some(new));
        Ok(())
    }

    fn remove(&self, old: &[u8]) -> Result<(), WriteError> {
        let _lock = self.lock()?;
        self.target.remove(old)?;
        self.wrote(Some(old), None);
        Ok(())
    }

    /// Takes the lock where it was left to the gateway.
    fn lock(&self) -> Result<Option<Lock>, WriteError> {
        self.is_served.then(|| self.target.lock(self.journal.locks())).transpose()
    }

    fn wrote(&self, old: Option<&[u8]>, new: Option<&[u8]>) {
        if let Some(keeper) = self.keeper {
            keeper.wrote(self.target.path(), old, new);
        }
    }
}

fn damaged() -> Outcome {
    Outcome::Left("its backup is damaged".to_owned())
}

fn is_meant(change: &Change, which: Which<'_>) -> bool {
    match which {
        Which::Client(client) => change.client() == Some(client),
        Which::Last | Which::Record(_) => true,
    }
}

impl Undone {
    fn tell(&mut self, file: &Path, outcome: &Outcome) {
        let list = match outcome {
            Outcome::Restored => &mut self.restored,
            Outcome::Removed => &mut self.removed,
            Outcome::AsItWas => return,
            Outcome::Left(why) | Outcome::Blocked(why) => {
                self.left.push(Left { file: file.to_owned(), why: why.clone() });
                return;
            }
        };
        if !list.iter().any(|one| one == file) {
            list.push(file.to_owned());
        }
    }
}
