//! A whole store into one sealed file, and back.

use std::path::Path;

use super::{Store, entry, holds_any, logins, open, rekey, unread, write};
use crate::backup::{self, BackupKey};
use crate::error::StoreError;
use crate::folder::{self, Folder};
use crate::head::{Head, Unread};
use crate::name::Name;
use crate::protection::MAX_FILE_BYTES;
use crate::value::Value;

/// What became of one credential of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub name: Name,
    pub became: Became,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// There was none of that name.
    Added,
    /// Another value was there, and is gone.
    Replaced,
    /// The same value was there.
    Unchanged,
    /// Another value is there, and stays.
    Kept,
}

impl Store {
    /// Writes everything into a new file, sealed; returns the names.
    pub fn export(&self, path: &Path, with: &BackupKey) -> Result<Vec<Name>, StoreError> {
        let all = self.all()?;
        let bytes = backup::seal(&all, with).map_err(|why| unread(path.to_owned(), why))?;
        folder::write_beside(path, &bytes)?;
        Ok(all.into_iter().map(|(head, _)| head.name).collect())
    }

    /// Takes over what a backup holds. What is there under the same name with another value stays, unless it is to be
    /// replaced: it may well be the newer.
    pub fn import(&self, path: &Path, with: &BackupKey, replaces: bool) -> Result<Vec<Restored>, StoreError> {
        let bytes = folder::read_any(path, backup::MAX_BYTES)?;
        let all = backup::open(&bytes, with).map_err(|why| match why {
            Unread::NotOpened => StoreError::BackupNotOpened { path: path.to_owned() },
            why => StoreError::BadBackup { path: path.to_owned(), why: why.reason() },
        })?;
        let folder = Folder::make(self.path())?;
        let lock = self.lock(&folder)?;
        let (protection, _) = self.key_or_new(&folder, &lock)?;
        let mut done = Vec::new();
        for (head, value) in all {
            let name = head.name;
            let present = match folder.read(&name.file(), MAX_FILE_BYTES)? {
                Some(bytes) => Some(open(&folder, &name, &bytes, &protection)?),
                None => None,
            };
            let (became, after) = match &present {
                None => (Became::Added, logins::last_generation(&folder, &name)),
                Some((_, there)) if *there == value => (Became::Unchanged, 0),
                Some((there, _)) if replaces => (Became::Replaced, there.generation),
                Some(_) => (Became::Kept, 0),
            };
            if matches!(became, Became::Added | Became::Replaced) {
                let generation = after.saturating_add(1).max(head.generation);
                write(&folder, &Head { name: name.clone(), generation }, &value, &protection, &lock)?;
            }
            done.push(Restored { name, became });
        }
        Ok(done)
    }

    /// Opens everything there is.
    fn all(&self) -> Result<Vec<(Head, Value)>, StoreError> {
        let Some(folder) = Folder::open(self.path())? else { return Ok(Vec::new()) };
        let _lock = self.lock(&folder)?;
        if !holds_any(&folder)? {
            return Ok(Vec::new());
        }
        let protection = self.key_of(&folder)?;
        let opened = rekey::each(&folder, |file, bytes, path| {
            let (head, value) = protection.decode(bytes).map_err(|why| unread(path, why))?;
            entry(&folder, file, head.clone())?;
            Ok((head, value))
        })?;
        Ok(opened.into_iter().map(|(_, opened)| opened).collect())
    }
}
