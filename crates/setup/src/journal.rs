//! The record of what commands changed in users' files: a folder for each command, with what stood in every file before and
//! after. It is on disk before the first file is written, so that what a crash left half done can be undone too.

mod changes;
mod record;
#[cfg(test)]
mod tests;

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use manifold_rendezvous::{Lock, LockError};

use crate::digest;
use crate::locks::{Locks, PATIENCE};
pub(crate) use changes::remove_empty;
pub use changes::{Changes, Watch};
pub use record::{After, Back, Change, Copy, Record, StoredSecret};

/// So many commands can be undone.
const KEPT: usize = 30;

/// The records of one user.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    locks: Locks,
}

/// A file before a command was at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// `None`: it was not there.
    pub text: Option<Vec<u8>>,
    /// Folders that were made for it, the outermost first.
    pub folders: Vec<PathBuf>,
}

impl Journal {
    /// Opens the records in a folder for state, as `$XDG_STATE_HOME` names it. Nothing is written yet.
    pub fn open(state_home: &Path) -> io::Result<Self> {
        if !state_home.is_absolute() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the folder for state is no absolute path"));
        }
        Ok(Self { folder: state_home.join("manifold/backups"), locks: Locks::of_state(state_home) })
    }

    /// Returns every record, the last one first. A folder in which none stands was left by a crash before anything was
    /// written.
    pub fn records(&self) -> io::Result<Vec<Record>> {
        let folders = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            folders => folders?,
        };
        let mut names: Vec<String> =
            folders.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(names.iter().filter_map(|name| Record::load(&self.folder.join(name), name)).collect())
    }

    /// Begins the record of a command. `words` tell people what it was: nothing secret may be among them. There will be a
    /// record once something is changed.
    pub fn begin(&self, verb: &str, words: &str) -> Changes {
        Changes::new(self.clone(), verb, words)
    }

    /// Returns what stood in a file before a command put nothing but this entry into it, if the file is as that command
    /// left it.
    pub fn original(&self, path: &Path, now: &[u8], name: &str) -> io::Result<Option<Original>> {
        let hash = digest(now);
        for record in self.records()?.into_iter().filter(|record| record.undone.is_none()) {
            let is_it = |change: &&Change| {
                let left = matches!(&change.after, After::Text(copy) if copy.sha256 == hash);
                let is_alone = matches!(&change.back, Back::Entries { names, .. } if names == &[name]);
                change.path == path && left && is_alone && !change.is_undone
            };
            let Some(change) = record.changes.iter().find(is_it) else { continue };
            let folder = self.folder_of(&record);
            let text = match &change.before {
                None => None,
                Some(copy) => match copy.read(&folder) {
                    None => return Ok(None),
                    text => text,
                },
            };
            return Ok(Some(Original { text, folders: change.folders.clone() }));
        }
        Ok(None)
    }

    /// Returns what stood in a file after the last command that wrote this entry into it, if any did and its record is
    /// whole. What somebody has made of the entry since is told by comparing.
    pub fn written(&self, path: &Path, name: &str) -> Option<String> {
        let records = self.records().ok()?;
        // What an undo has left stands there still.
        for record in &records {
            let is_it = |change: &&Change| {
                let has_entry = matches!(&change.back, Back::Entries { names, .. } if names.iter().any(|one| one == name));
                change.path == path && has_entry && !change.is_undone
            };
            let Some(change) = record.changes.iter().rev().find(is_it) else { continue };
            let After::Text(copy) = &change.after else { return None };
            return String::from_utf8(copy.read(&self.folder_of(record))?).ok();
        }
        None
    }

    /// Returns the texts that an undo could bring back to our configs.
    pub fn kept_configs(&self) -> io::Result<Vec<String>> {
        let mut texts = Vec::new();
        for record in &self.records()? {
            let is_open = |change: &&Change| matches!(change.back, Back::Config) && !change.is_undone;
            let changes = record.changes.iter().filter(is_open);
            let copies = changes.filter_map(|change| change.before.as_ref()?.read(&self.folder_of(record)));
            texts.extend(copies.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(texts)
    }

    /// Returns whether a command has written a text with these words into a config of ours.
    pub fn has_written(&self, words: &str) -> bool {
        let records = self.records().unwrap_or_default();
        records.iter().any(|record| {
            let changes = record.changes.iter().filter(|change| matches!(change.back, Back::Config));
            let mut texts = changes.filter_map(|change| match &change.after {
                After::Text(copy) => copy.read(&self.folder_of(record)),
                After::Unknown | After::Gone => None,
            });
            texts.any(|text| String::from_utf8_lossy(&text).contains(words))
        })
    }

    /// Returns the configs of ours that commands have changed.
    pub fn config_files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> = Vec::new();
        for change in self.records()?.into_iter().flat_map(|record| record.changes) {
            if matches!(change.back, Back::Config) && !files.contains(&change.file) {
                files.push(change.file);
            }
        }
        Ok(files)
    }

    pub(crate) fn locks(&self) -> &Locks {
        &self.locks
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn folder_of(&self, record: &Record) -> PathBuf {
        self.folder.join(&record.id)
    }

    /// Makes the folder of a new record, which comes after all the others, and holds it.
    fn make(&self, record: &mut Record) -> io::Result<Lock> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
        let _one_by_one = take(&self.folder.join(".lock"))?;
        let mut now = Timestamp::now();
        // A clock that was set back must not put it before those that are there.
        if let Some(last) = self.records()?.first().and_then(|last| last.at.parse::<Timestamp>().ok())
            && last >= now
        {
            now = last.checked_add(SignedDuration::from_micros(1)).unwrap_or(now);
        }
        let verb: String = record.verb.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        record.at = now.to_string();
        record.id = format!("{}-{verb}", now.strftime("%Y%m%dT%H%M%S.%6fZ"));
        let folder = self.folder_of(record);
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        self.hold(&folder)
    }

    /// Holds a record: nobody else writes it, and it is not dropped.
    pub(crate) fn hold(&self, folder: &Path) -> io::Result<Lock> {
        take(&folder.join("lock"))
    }

    /// Drops the oldest records, but none that is being written.
    fn prune(&self) -> io::Result<()> {
        let _one_by_one = take(&self.folder.join(".lock"))?;
        for old in self.records()?.iter().skip(KEPT) {
            let folder = self.folder_of(old);
            if let Ok(_lock) = Lock::try_take(&folder.join("lock")) {
                fs::remove_dir_all(&folder)?;
            }
        }
        Ok(())
    }
}

fn take(path: &Path) -> io::Result<Lock> {
    Lock::take_in_turn(path, PATIENCE).map_err(|error| match error {
        LockError::Io(error) => error,
        LockError::Held => io::Error::new(ErrorKind::WouldBlock, "another command is at it"),
    })
}
