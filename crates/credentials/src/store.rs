//! The credentials of one user.

mod backup;
mod logins;
mod record;
mod rekey;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::StoreError;
use crate::folder::{Folder, Lock};
use crate::head::{self, Head, Unread};
use crate::key::{Chosen, KeyError, KeyKind, KeyringError, Keys};
use crate::name::{Kind, Name, kind_of};
use crate::protection::{MAX_FILE_BYTES, Protection};
use crate::value::{MAX_BYTES, Value};
pub use backup::{Became, Restored};
pub use logins::CredentialLock;
use record::{RECORD, Record};
pub use rekey::{NewKey, Rekeyed};

/// How often a file is read again because the store got another key meanwhile.
const MAX_ROUNDS: usize = 16;

/// Files in one folder, and where the key to them may come from. It holds no value and no file open.
pub struct Store {
    path: PathBuf,
    keys: Keys,
}

/// One credential, without what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: Name,
    /// How often a value was stored under this name.
    pub generation: u64,
    pub changed: Option<SystemTime>,
}

/// One file of the store.
#[derive(Debug)]
pub struct Listed {
    pub file: PathBuf,
    pub entry: Result<Entry, StoreError>,
}

/// What a store is kept with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub kind: KeyKind,
    /// True if that was decided just now.
    pub is_new: bool,
    /// Why it is not the keyring, where that was tried.
    pub why_plain: Option<KeyringError>,
}

impl Store {
    /// Opens the store of a data folder (`$XDG_DATA_HOME`). Nothing is read, asked for or made yet.
    pub fn open(data_home: &Path, keys: Keys) -> Self {
        Self { path: data_home.join("manifold/credentials"), keys }
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what it is kept with, as that was decided with its first value; `None` if it is not there yet.
    pub fn kind(&self) -> Result<Option<KeyKind>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(None) };
        Ok(record::read(&folder)?.map(|record| record.key))
    }

    /// Makes the store if need be, and sees to it that values can be stored: before somebody is asked for one.
    pub fn prepare(&self) -> Result<Prepared, StoreError> {
        let folder = Folder::make(&self.path)?;
        let lock = self.lock(&folder)?;
        self.key_or_new(&folder, &lock).map(|(_, prepared)| prepared)
    }

    /// Sees to it that what is stored can be opened, if anything is.
    pub fn check_key(&self) -> Result<(), StoreError> {
        match Folder::open(&self.path)? {
            Some(folder) if holds_any(&folder)? => self.key_of(&folder).map(drop),
            _ => Ok(()),
        }
    }

    /// Returns the value; `None` if there is none of that name.
    pub fn get(&self, name: &Name) -> Result<Option<Value>, StoreError> {
        Ok(self.load(name)?.map(|(_, value)| value))
    }

    /// Returns the value and which it is of those that were stored.
    pub fn load(&self, name: &Name) -> Result<Option<(Entry, Value)>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(None) };
        let file = name.file();
        let mut round = 0;
        loop {
            let record = record::read(&folder)?;
            let Some(bytes) = read(&folder, record.as_ref(), &file)? else { return Ok(None) };
            let opened = self
                .key_by(&folder, record.clone())
                .and_then(|protection| open(&folder, name, &bytes, &protection));
            match opened {
                Ok((head, value)) => return Ok(Some((entry(&folder, &file, head)?, value))),
                // The store has got another key between the one look and the other.
                Err(_) if round < MAX_ROUNDS && record::read(&folder)? != record => round += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Stores a value. One that cannot be read is not replaced: whoever finds it broken is to remove it knowingly.
    pub fn set(&self, name: &Name, value: &Value) -> Result<Entry, StoreError> {
        self.put(name, value, |_| Ok(()))
    }

    /// Removes a credential, readable or not; tells whether it was there.
    pub fn remove(&self, name: &Name) -> Result<bool, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(false) };
        let lock = self.lock(&folder)?;
        logins::before_removal(&folder, name)?;
        folder.remove(&name.file(), &lock)
    }

    /// Returns what is there of a kind, by name, told by the files' first lines. The key is not asked for.
    pub fn list(&self, kind: Kind) -> Result<Vec<Listed>, StoreError> {
        self.each(Some(kind), |folder, file, bytes| {
            let head = head::head(bytes).map_err(|why| unread(folder.file(file), why))?;
            entry(folder, file, head)
        })
    }

    /// Opens every file, and says what became of each. The values are dropped at once.
    pub fn check(&self) -> Result<Vec<Listed>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(Vec::new()) };
        if !holds_any(&folder)? {
            return Ok(Vec::new());
        }
        let protection = self.key_of(&folder)?;
        self.each(None, |folder, file, bytes| {
            let (head, _) = protection.decode(bytes).map_err(|why| unread(folder.file(file), why))?;
            entry(folder, file, head)
        })
    }

    /// Stores a value if what is there is as it is wanted to be.
    fn put(
        &self,
        name: &Name,
        value: &Value,
        permits: impl FnOnce(Option<u64>) -> Result<(), StoreError>,
    ) -> Result<Entry, StoreError> {
        if value.expose().len() > MAX_BYTES {
            return Err(StoreError::TooLong { max: MAX_BYTES });
        }
        let folder = Folder::make(&self.path)?;
        let lock = self.lock(&folder)?;
        let (protection, _) = self.key_or_new(&folder, &lock)?;
        let file = name.file();
        let present = match folder.read(&file, MAX_FILE_BYTES)? {
            Some(bytes) => Some(open(&folder, name, &bytes, &protection)?.0.generation),
            None => None,
        };
        permits(present)?;
        let before = present.unwrap_or_else(|| logins::last_generation(&folder, name));
        let head = Head { name: name.clone(), generation: before.saturating_add(1) };
        write(&folder, &head, value, &protection, &lock)?;
        entry(&folder, &file, head)
    }

    fn each(
        &self,
        kind: Option<Kind>,
        look: impl Fn(&Folder, &str, &[u8]) -> Result<Entry, StoreError>,
    ) -> Result<Vec<Listed>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(Vec::new()) };
        let record = record::read(&folder).unwrap_or_default();
        let mut found = Vec::new();
        for file in folder.names()?.iter().filter(|file| is_wanted(file, kind)) {
            let entry = match read(&folder, record.as_ref(), file) {
                Ok(Some(bytes)) => look(&folder, file, &bytes),
                // Somebody has just removed it.
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            found.push(Listed { file: folder.file(file), entry });
        }
        Ok(found)
    }

    /// Waits until nobody else changes files, and brings to its end what a crash has left half done.
    fn lock(&self, folder: &Folder) -> Result<Lock, StoreError> {
        let lock = folder.lock()?;
        self.finish_rekey(folder, &lock)?;
        Ok(lock)
    }

    /// Returns what the files are kept with, or says why the key is not at hand.
    fn key_of(&self, folder: &Folder) -> Result<Protection, StoreError> {
        self.key_by(folder, record::read(folder)?)
    }

    fn key_by(&self, folder: &Folder, record: Option<Record>) -> Result<Protection, StoreError> {
        let record = record.ok_or_else(|| StoreError::NoRecord { path: folder.file(RECORD) })?;
        let path = folder.file(RECORD);
        let chosen = match self.keys.recorded(record.key, &record.fingerprint) {
            Err(KeyError::NotGiven(recorded)) => return Err(StoreError::KeyNotGiven { path, recorded }),
            chosen => chosen?,
        };
        if chosen.fingerprint() == record.fingerprint {
            return Ok(chosen.protection);
        }
        let (recorded, given) = (record.key, chosen.kind);
        Err(StoreError::OtherKey { path, recorded, given })
    }

    /// Returns what the files are kept with. For a store that holds nothing it is chosen, or chosen anew.
    fn key_or_new(&self, folder: &Folder, lock: &Lock) -> Result<(Protection, Prepared), StoreError> {
        let record = record::read(folder)?;
        let kept = |record: &Record| Prepared { kind: record.key, is_new: false, why_plain: None };
        // A key of the keyring serves again; every other choice is made anew.
        let serves = |record: &Record| record.key == KeyKind::Keyring && self.keys.given().is_none();
        if holds_any(folder)? {
            let prepared = record.as_ref().map(kept);
            let protection = self.key_by(folder, record)?;
            return Ok((protection, prepared.unwrap_or_else(|| Prepared::of(KeyKind::Plain))));
        }
        if let Some(record) = record.as_ref().filter(|record| serves(record))
            && let Ok(protection) = self.key_by(folder, Some(record.clone()))
        {
            return Ok((protection, kept(record)));
        }
        let chosen = self.keys.choose()?;
        let new = Record::of(&chosen);
        let is_new = record.as_ref() != Some(&new);
        if is_new {
            record::write(folder, &new, lock)?;
        }
        let Chosen { kind, protection, why_plain } = chosen;
        Ok((protection, Prepared { kind, is_new, why_plain }))
    }
}

impl Prepared {
    fn of(kind: KeyKind) -> Self {
        Self { kind, is_new: false, why_plain: None }
    }
}

fn holds_any(folder: &Folder) -> Result<bool, StoreError> {
    Ok(folder.names()?.iter().any(|file| kind_of(file).is_some()))
}

fn is_wanted(file: &str, kind: Option<Kind>) -> bool {
    kind_of(file).is_some_and(|found| kind.is_none_or(|wanted| wanted == found))
}

/// Reads a file as the record says where it stands.
fn read(
    folder: &Folder,
    record: Option<&Record>,
    file: &str,
) -> Result<Option<zeroize::Zeroizing<Vec<u8>>>, StoreError> {
    if record.is_some_and(|record| record.replaces.is_some())
        && let Some(bytes) = folder.read(&rekey::staged(file), MAX_FILE_BYTES)?
    {
        return Ok(Some(bytes));
    }
    folder.read(file, MAX_FILE_BYTES)
}

fn write(
    folder: &Folder,
    head: &Head,
    value: &Value,
    protection: &Protection,
    lock: &Lock,
) -> Result<(), StoreError> {
    let file = head.name.file();
    let bytes = protection.encode(head, value).map_err(|why| unread(folder.file(&file), why))?;
    folder.replace(&file, &bytes, lock)
}

fn open(
    folder: &Folder,
    name: &Name,
    bytes: &[u8],
    protection: &Protection,
) -> Result<(Head, Value), StoreError> {
    let path = || folder.file(&name.file());
    let head = head::head(bytes).map_err(|why| unread(path(), why))?;
    if head.name != *name {
        return Err(StoreError::Misplaced { path: path(), found: head.name.to_string() });
    }
    protection.decode(bytes).map_err(|why| unread(path(), why))
}

fn entry(folder: &Folder, file: &str, head: Head) -> Result<Entry, StoreError> {
    if head.name.file() != file {
        return Err(StoreError::Misplaced { path: folder.file(file), found: head.name.to_string() });
    }
    Ok(Entry { name: head.name, generation: head.generation, changed: folder.changed(file) })
}

fn unread(path: PathBuf, why: Unread) -> StoreError {
    match why {
        Unread::Damaged(why) => StoreError::Damaged { path, why },
        Unread::NotOpened => StoreError::NotOpened { path },
    }
}
