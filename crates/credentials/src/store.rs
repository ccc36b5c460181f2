//! The credentials of one user.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::folder::{Folder, Lock};
use crate::key::{Key, KeyError, KeyKind, KeySource};
use crate::name::{Kind, Name, kind_of};
use crate::sealed::{self, Head, Unread};
use crate::value::{MAX_BYTES, Value};

/// Says which key the store is sealed with.
const RECORD: &str = ".store";
const RECORD_FORMAT: &str = "credentials 1";
const MAX_RECORD_BYTES: usize = 4096;

/// Sealed files in one folder, and the key to them. It holds no value and no file open.
pub struct Store {
    path: PathBuf,
    key: Box<dyn KeySource>,
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

#[derive(Serialize, Deserialize)]
struct Record {
    manifold: String,
    key: KeyKind,
    fingerprint: String,
}

impl Store {
    /// Opens the store of a data folder (`$XDG_DATA_HOME`). Nothing is read, asked for or made yet.
    pub fn open(data_home: &Path, key: Box<dyn KeySource>) -> Self {
        Self { path: data_home.join("manifold/credentials"), key }
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where its key would come from today.
    pub fn key_kind(&self) -> KeyKind {
        self.key.kind()
    }

    /// Returns where its key came from when it was made; `None` for a store that is not there yet.
    pub fn recorded_key(&self) -> Result<Option<KeyKind>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(None) };
        Ok(record(&folder)?.map(|record| record.key))
    }

    /// Returns the value; `None` if there is none of that name.
    pub fn get(&self, name: &Name) -> Result<Option<Value>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(None) };
        let Some(bytes) = folder.read(&name.file(), sealed::MAX_FILE_BYTES)? else { return Ok(None) };
        let key = self.key_of(&folder)?;
        let (_, value) = open(&folder, name, &bytes, &key)?;
        Ok(Some(value))
    }

    /// Stores a value. One that cannot be read is not replaced: whoever finds it broken is to remove it knowingly.
    pub fn set(&self, name: &Name, value: &Value) -> Result<Entry, StoreError> {
        if value.expose().len() > MAX_BYTES {
            return Err(StoreError::TooLong { max: MAX_BYTES });
        }
        let folder = Folder::make(&self.path)?;
        let lock = folder.lock()?;
        let key = self.key_or_new(&folder, &lock)?;
        let file = name.file();
        let generation = match folder.read(&file, sealed::MAX_FILE_BYTES)? {
            Some(bytes) => open(&folder, name, &bytes, &key)?.0.generation.saturating_add(1),
            None => 1,
        };
        let head = Head { name: name.clone(), generation };
        let bytes = sealed::seal(&head, value, &key).map_err(|why| unread(folder.file(&file), why))?;
        folder.replace(&file, &bytes, &lock)?;
        Ok(Entry { name: name.clone(), generation, changed: folder.changed(&file) })
    }

    /// Removes a credential, readable or not; tells whether it was there.
    pub fn remove(&self, name: &Name) -> Result<bool, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(false) };
        let lock = folder.lock()?;
        folder.remove(&name.file(), &lock)
    }

    /// Returns what is there of a kind, by name, told by the files' first lines. The key is not asked for.
    pub fn list(&self, kind: Kind) -> Result<Vec<Listed>, StoreError> {
        self.each(Some(kind), |folder, file, bytes| {
            let head = sealed::head(bytes).map_err(|why| unread(folder.file(file), why))?;
            entry(folder, file, head)
        })
    }

    /// Opens every file, and says what became of each. The values are dropped at once.
    pub fn check(&self) -> Result<Vec<Listed>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(Vec::new()) };
        if !holds_any(&folder)? {
            return Ok(Vec::new());
        }
        let key = self.key_of(&folder)?;
        self.each(None, |folder, file, bytes| {
            let (head, _) = sealed::open(bytes, &key).map_err(|why| unread(folder.file(file), why))?;
            entry(folder, file, head)
        })
    }

    fn each(
        &self,
        kind: Option<Kind>,
        look: impl Fn(&Folder, &str, &[u8]) -> Result<Entry, StoreError>,
    ) -> Result<Vec<Listed>, StoreError> {
        let Some(folder) = Folder::open(&self.path)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for file in folder.names()?.iter().filter(|file| is_wanted(file, kind)) {
            let entry = match folder.read(file, sealed::MAX_FILE_BYTES) {
                Ok(Some(bytes)) => look(&folder, file, &bytes),
                // Somebody has just removed it.
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            found.push(Listed { file: folder.file(file), entry });
        }
        Ok(found)
    }

    /// Returns the key the files were sealed with, or says why it is not at hand.
    fn key_of(&self, folder: &Folder) -> Result<Key, StoreError> {
        let record = record(folder)?.ok_or_else(|| StoreError::NoRecord { path: folder.file(RECORD) })?;
        let found = self.key.find()?;
        let key = found.ok_or_else(|| KeyError::Gone(self.key.place()))?;
        self.compare(folder, &record, key)
    }

    /// Returns the key, a new one for a store that holds nothing yet.
    fn key_or_new(&self, folder: &Folder, lock: &Lock) -> Result<Key, StoreError> {
        if record(folder)?.is_some() || holds_any(folder)? {
            return self.key_of(folder);
        }
        let key = match self.key.find()? {
            Some(key) => key,
            None => self.key.make()?,
        };
        let record = Record {
            manifold: RECORD_FORMAT.to_owned(),
            key: self.key.kind(),
            fingerprint: key.fingerprint(),
        };
        let text = serde_json::to_string(&record)
            .map_err(|error| StoreError::io(folder.file(RECORD), std::io::Error::from(error)))?;
        folder.replace(RECORD, format!("{text}\n").as_bytes(), lock)?;
        Ok(key)
    }

    fn compare(&self, folder: &Folder, record: &Record, key: Key) -> Result<Key, StoreError> {
        if record.fingerprint == key.fingerprint() {
            return Ok(key);
        }
        let (recorded, given) = (record.key, self.key.kind());
        Err(StoreError::OtherKey { path: folder.file(RECORD), recorded, given })
    }
}

fn holds_any(folder: &Folder) -> Result<bool, StoreError> {
    Ok(folder.names()?.iter().any(|file| kind_of(file).is_some()))
}

fn is_wanted(file: &str, kind: Option<Kind>) -> bool {
    kind_of(file).is_some_and(|found| kind.is_none_or(|wanted| wanted == found))
}

fn record(folder: &Folder) -> Result<Option<Record>, StoreError> {
    let Some(bytes) = folder.read(RECORD, MAX_RECORD_BYTES)? else { return Ok(None) };
    let damaged = |why| StoreError::Damaged { path: folder.file(RECORD), why };
    let record: Record = serde_json::from_slice(&bytes).map_err(|_| damaged("is no record of a store"))?;
    match record.manifold == RECORD_FORMAT {
        true => Ok(Some(record)),
        false => Err(damaged("is of a format this version does not know")),
    }
}

fn open(folder: &Folder, name: &Name, bytes: &[u8], key: &Key) -> Result<(Head, Value), StoreError> {
    let path = || folder.file(&name.file());
    let head = sealed::head(bytes).map_err(|why| unread(path(), why))?;
    if head.name != *name {
        return Err(StoreError::Misplaced { path: path(), found: head.name.to_string() });
    }
    sealed::open(bytes, key).map_err(|why| unread(path(), why))
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
